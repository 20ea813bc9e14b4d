//! Between the two ends of a session everything is authenticated and encrypted, by Noise (revision 34) with the library `snow`.
//!
//! Ends know each other by static keys, and need no authority: a key has come over ssh, as mosh's does, or is pinned on first use.
//! Where the key of the end that is dialled is known, the handshake is IK: the first message carries what the path is for, and a
//! resume takes one round trip. Otherwise it is XX, once. `handfastd` speaks TLS to switches, whose certificates an operator
//! makes; here TLS 1.3 would need the same certificates or its raw keys, and its early data (RFC 8446 §8) can be replayed as well.
//!
//! The first message of IK can be replayed, and its payload is known to whoever gets the static key of the end that was dialled
//! later (Noise §7.7, source 1 and destination 2). So it holds no octet of a program; what it asks for has an epoch that is used
//! once, and takes effect with the next record, which needs the keys of this handshake.
//!
//! Randomness is an argument ([`Entropy`]): `snow` asks the resolver that is given to it, and never the system.

mod channel;
mod entropy;
mod keys;
mod records;
mod replay;
mod transport;

pub use channel::{Broken, Channel, Pattern};
pub use entropy::Entropy;
pub use keys::{Allowed, Keys, PublicKey};
pub use records::{MOST_MESSAGE, MOST_PLAIN, MOST_RECORD, Reader, Record, TooLong};
pub use transport::AROUND_DATAGRAM;

#[cfg(test)]
mod tests;
