//! Units as types, seeded random streams, a queue, a prefetch: what every machine of handfast shares.
//!
//! Nothing here knows a protocol. A quantity that crosses a public boundary carries its unit in its type, so that
//! a duration cannot be passed where a byte count is meant, and text has one format per unit ([`units`]).
#![forbid(unsafe_code)]

pub mod prefetch;
mod quantity;
mod random;
mod seq;
mod short_queue;
mod signal;
mod space;
mod time;
pub mod units;

pub use quantity::{BitRate, Bytes};
pub use random::{Stream, fnv1a};
pub use seq::SeqNum;
pub use short_queue::ShortQueue;
pub use signal::{Db, Dbm};
pub use space::{Length, Speed};
pub use time::{Duration, Instant};
