//! How an association begins (§5.1): INIT, INIT ACK, and the cookie that carries all that the server knows between them.

mod cookie;
mod offer;

pub use cookie::CookieKey;

pub(crate) use cookie::Cookie;
pub(crate) use offer::{Terms, answer, is_unicast, joined, missing_cookie, new_addresses, offer, tag};
