//! The state cookie (§5.1.3): all that a server would have to remember of an INIT, with a code that only it can make.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use bytes::{Buf, BufMut, Bytes};
use handfast_core::{Duration, Instant, SeqNum};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::MAX_PATHS;

/// Bytes of the code before the rest.
const TAG_LEN: usize = 32;

/// The secret of a listener. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct CookieKey([u8; 32]);

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey(..)")
    }
}

impl CookieKey {
    /// From 32 random bytes.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    fn code(&self) -> Hmac<Sha256> {
        // HMAC takes a key of any length (RFC 2104 §3).
        Hmac::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!())
    }
}

/// What one end knows of an association that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Instant,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) local_tag: u32,
    pub(crate) remote_tag: u32,
    pub(crate) local_tsn: SeqNum,
    pub(crate) remote_tsn: SeqNum,
    /// Streams that we may send on, and the peer.
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) remote_rwnd: u32,
    /// Local and Peer's Tie-Tag (§5.2.2): what names an association that there was already; 0 where there was none.
    pub(crate) tie: [u32; 2],
    /// The address to which the INIT came.
    pub(crate) local: IpAddr,
    /// The peer's addresses, that of the INIT first.
    pub(crate) remote: Vec<IpAddr>,
}

impl Cookie {
    pub(crate) fn seal(&self, key: &CookieKey) -> Bytes {
        let mut body = Vec::with_capacity(256);
        body.put_u64(self.created.as_nanos());
        for port in [self.local_port, self.remote_port] {
            body.put_u16(port);
        }
        for word in [self.local_tag, self.remote_tag, self.local_tsn.0, self.remote_tsn.0] {
            body.put_u32(word);
        }
        body.put_u16(self.outbound_streams);
        body.put_u16(self.inbound_streams);
        for word in [self.remote_rwnd, self.tie[0], self.tie[1]] {
            body.put_u32(word);
        }
        put_address(self.local, &mut body);
        for &address in self.remote.iter().take(MAX_PATHS) {
            put_address(address, &mut body);
        }
        let code = key.code().chain_update(&body).finalize().into_bytes();
        [&code[..], &body[..]].concat().into()
    }

    /// The cookie, if it is one that was sealed with this key.
    pub(crate) fn open(sealed: &[u8], key: &CookieKey) -> Option<Self> {
        let (tag, body) = sealed.split_first_chunk::<TAG_LEN>()?;
        key.code().chain_update(body).verify_slice(tag).ok()?;
        Self::parse(body)
    }

    /// The same, with any of these.
    pub(crate) fn open_with(sealed: &[u8], keys: &[CookieKey]) -> Option<Self> {
        keys.iter().find_map(|key| Self::open(sealed, key))
    }

    fn parse(mut body: &[u8]) -> Option<Self> {
        let cookie = Self {
            created: Instant::from_nanos(body.try_get_u64().ok()?),
            local_port: body.try_get_u16().ok()?,
            remote_port: body.try_get_u16().ok()?,
            local_tag: body.try_get_u32().ok()?,
            remote_tag: body.try_get_u32().ok()?,
            local_tsn: SeqNum(body.try_get_u32().ok()?),
            remote_tsn: SeqNum(body.try_get_u32().ok()?),
            outbound_streams: body.try_get_u16().ok()?,
            inbound_streams: body.try_get_u16().ok()?,
            remote_rwnd: body.try_get_u32().ok()?,
            tie: [body.try_get_u32().ok()?, body.try_get_u32().ok()?],
            local: get_address(&mut body)?,
            remote: std::iter::from_fn(|| get_address(&mut body)).collect(),
        };
        (!cookie.remote.is_empty()).then_some(cookie)
    }

    /// How long it is dead (§5.1.5 step 4); [`None`]: it lives.
    pub(crate) fn staleness(&self, now: Instant, life: Duration) -> Option<Duration> {
        let late = now.since(self.created + life);
        (late > Duration::ZERO).then_some(late)
    }
}

/// An IPv4 address goes as IPv6 has it (RFC 4291 §2.5.5.2).
fn put_address(address: IpAddr, out: &mut Vec<u8>) {
    let v6 = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    out.put_slice(&v6.octets());
}

fn get_address(from: &mut &[u8]) -> Option<IpAddr> {
    let v6 = Ipv6Addr::from_bits(from.try_get_u128().ok()?);
    Some(v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie() -> Cookie {
        Cookie {
            created: Instant::from_millis(5),
            local_port: 1,
            remote_port: 2,
            local_tag: 3,
            remote_tag: 4,
            local_tsn: SeqNum(5),
            remote_tsn: SeqNum(6),
            outbound_streams: 7,
            inbound_streams: 8,
            remote_rwnd: 9,
            tie: [10, 11],
            local: [10, 0, 0, 1].into(),
            remote: vec![[10, 0, 0, 2].into(), Ipv6Addr::LOCALHOST.into()],
        }
    }

    #[test]
    fn only_what_was_sealed_opens() {
        let key = CookieKey::new([1; 32]);
        let sealed = cookie().seal(&key);
        assert_eq!(Cookie::open(&sealed, &key), Some(cookie()));
        assert_eq!(Cookie::open(&sealed, &CookieKey::new([2; 32])), None);
        for at in 0..sealed.len() {
            let mut forged = sealed.to_vec();
            forged[at] ^= 1;
            assert_eq!(Cookie::open(&forged, &key), None, "byte {at}");
            assert_eq!(Cookie::open(&sealed[..at], &key), None, "{at} bytes");
        }
    }

    #[test]
    fn a_cookie_lives_for_its_life() {
        let life = Duration::from_secs(60);
        assert_eq!(cookie().staleness(Instant::from_millis(60_005), life), None);
        assert_eq!(cookie().staleness(Instant::from_millis(60_006), life), Some(Duration::from_millis(1)));
    }
}
