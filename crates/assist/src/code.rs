//! The message authentication code that systems here seal and name things with.

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

/// HMAC-SHA-256 (RFC 2104), before its message.
pub(crate) type Code = Hmac<Sha256>;

/// The code under a key.
pub(crate) fn code(key: &[u8]) -> Code {
    // HMAC takes a key of any length (RFC 2104 §3).
    Code::new_from_slice(key).unwrap_or_else(|_| unreachable!())
}
