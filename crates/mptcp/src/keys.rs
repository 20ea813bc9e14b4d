//! Keys, and what is computed from them (RFC 8684 §3.1, §3.2, §3.4.1).

use std::fmt;
use std::net::IpAddr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The key of one end. It is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) u64);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    fn digest(self) -> [u8; 32] {
        Sha256::digest(self.0.to_be_bytes()).into()
    }

    /// What names a connection in a SYN with `MP_JOIN` (§3.1): the most significant 32 bits of the hash.
    pub(crate) fn token(self) -> u32 {
        let [a, b, c, d, ..] = self.digest();
        u32::from_be_bytes([a, b, c, d])
    }

    /// The initial data sequence number (§3.1): the least significant 64 bits of the hash. The first octet of data has the next one.
    pub(crate) fn initial_data_seq(self) -> u64 {
        let digest = self.digest();
        u64::from_be_bytes(std::array::from_fn(|at| digest[24 + at]))
    }
}

/// The HMAC of who has `own` and sends it to who has `peer` (§3.2).
fn hmac(own: Key, peer: Key, message: &[u8]) -> [u8; 32] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&own.0.to_be_bytes());
    key[8..].copy_from_slice(&peer.0.to_be_bytes());
    // HMAC takes a key of any length (RFC 2104 §3).
    let mut code = Hmac::<Sha256>::new_from_slice(&key).unwrap_or_else(|_| unreachable!());
    code.update(message);
    code.finalize().into_bytes().into()
}

/// What authenticates an end that joins (§3.2): over its own random number, then the peer's.
pub(crate) fn join_hmac(own: Key, peer: Key, own_nonce: u32, peer_nonce: u32) -> [u8; 32] {
    let mut message = [0; 8];
    message[..4].copy_from_slice(&own_nonce.to_be_bytes());
    message[4..].copy_from_slice(&peer_nonce.to_be_bytes());
    hmac(own, peer, &message)
}

/// The leftmost 64 bits: what a SYN/ACK carries.
pub(crate) fn left_64(hmac: &[u8; 32]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|at| hmac[at]))
}

/// The leftmost 160 bits: what the third ACK carries.
pub(crate) fn left_160(hmac: &[u8; 32]) -> [u8; 20] {
    std::array::from_fn(|at| hmac[at])
}

/// What authenticates `ADD_ADDR` (§3.4.1): the rightmost 64 bits, over address ID, address and port (0: none).
pub(crate) fn address_hmac(own: Key, peer: Key, id: u8, address: IpAddr, port: Option<u16>) -> u64 {
    let mut message = vec![id];
    match address {
        IpAddr::V4(v4) => message.extend(v4.octets()),
        IpAddr::V6(v6) => message.extend(v6.octets()),
    }
    message.extend(port.unwrap_or(0).to_be_bytes());
    let code = hmac(own, peer, &message);
    u64::from_be_bytes(std::array::from_fn(|at| code[24 + at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of an independent implementation: Python's `hashlib` and `hmac`.
    #[test]
    fn hashes_are_those_of_rfc_8684() {
        let (a, b) = (Key(0x0102_0304_0506_0708), Key(0x1112_1314_1516_1718));
        assert_eq!(a.token(), TOKEN);
        assert_eq!(a.initial_data_seq(), IDSN);
        let code = join_hmac(a, b, 0x2122_2324, 0x3132_3334);
        assert_eq!(left_64(&code), JOIN);
        assert_eq!(left_160(&code)[..8], JOIN.to_be_bytes());
        assert_eq!(address_hmac(a, b, 5, IpAddr::from([10, 0, 0, 9]), Some(80)), ADDRESS);
        assert_ne!(join_hmac(b, a, 0x2122_2324, 0x3132_3334), code, "whose key comes first counts");
        assert_eq!(format!("{a:?}"), "Key(..)");
    }

    const TOKEN: u32 = 0x6684_0dda;
    const IDSN: u64 = 0xf5a1_01d3_d29d_6f72;
    const JOIN: u64 = 0xe19a_d4ac_22d5_1c2f;
    const ADDRESS: u64 = 0x10f6_0cec_cd5f_30ec;
}
