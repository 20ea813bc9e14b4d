//! ICMP errors (RFC 792, RFC 4443).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_core::SeqNum;

const ICMPV4: u8 = 1;
const ICMPV6: u8 = 58;
const TCP: u8 = 6;
const HEADER: usize = 8;

/// One that tells of a TCP segment of ours.
pub(super) struct Error {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) seq: SeqNum,
    pub(super) what: What,
}

/// What it tells.
pub(super) enum What {
    /// The way carries packets of so many octets: RFC 1191 §4, RFC 8201 §4.
    TooBig {
        mtu: u32,
    },
    Unreachable(Unreachable),
}

/// What it means that segments do not get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreachable {
    /// What the application is told.
    pub(super) errno: i32,
    /// It ends a connection that has not been accepted (`tcp_req_err`).
    pub(super) ends_request: bool,
    /// It tells that packets do not reach the peer's network: RFC 6069 §4.1.
    pub(super) no_route: bool,
}

pub(super) fn parse(protocol: u8, bytes: &[u8]) -> Option<Error> {
    let &[kind, code, _, _, m0, m1, m2, m3] = bytes.first_chunk::<HEADER>()?;
    let mtu = u32::from_be_bytes([m0, m1, m2, m3]);
    let original = bytes.get(HEADER..)?;
    match protocol {
        ICMPV4 => of_v4(kind, code, mtu & 0xffff, original),
        ICMPV6 => of_v6(kind, code, mtu, original),
        _ => None,
    }
}

fn of_v4(kind: u8, code: u8, mtu: u32, original: &[u8]) -> Option<Error> {
    // Linux's `icmp_err_convert` and `tcp_v4_err`.
    let errno = match (kind, code) {
        (3, 0 | 6 | 9 | 11) => libc::ENETUNREACH,
        (3, 1 | 10 | 12..=15) | (11, _) => libc::EHOSTUNREACH,
        (3, 2) => libc::ENOPROTOOPT,
        (3, 3) => libc::ECONNREFUSED,
        (3, 4) => libc::EMSGSIZE,
        (3, 5) => libc::EOPNOTSUPP,
        (3, 7) => libc::EHOSTDOWN,
        (3, 8) => libc::ENONET,
        (12, _) => libc::EPROTO,
        _ => return None,
    };
    let no_route = kind == 3 && code <= 1;
    let ends_request = no_route || kind == 11 || kind == 12;
    let what = match (kind, code) {
        (3, 4) => What::TooBig { mtu },
        _ => What::Unreachable(Unreachable { errno, ends_request, no_route }),
    };
    let len = usize::from(original.first()? & 0xf) * 4;
    let fixed = original.first_chunk::<20>().filter(|fixed| fixed[9] == TCP)?;
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    error(address(12).into(), address(16).into(), original.get(len..)?, what)
}

fn of_v6(kind: u8, code: u8, mtu: u32, original: &[u8]) -> Option<Error> {
    // Linux's `icmpv6_err_convert` and `tcp_v6_err`.
    let (errno, ends_request) = match (kind, code) {
        (1, 0) => (libc::ENETUNREACH, false),
        (1, 1 | 5 | 6) => (libc::EACCES, true),
        (1, 4) => (libc::ECONNREFUSED, true),
        (2, _) => (libc::EMSGSIZE, false),
        (1 | 3, _) => (libc::EHOSTUNREACH, false),
        (4, _) => (libc::EPROTO, true),
        _ => return None,
    };
    let no_route = (kind, code) == (1, 0);
    let what = match kind {
        2 => What::TooBig { mtu },
        _ => What::Unreachable(Unreachable { errno, ends_request, no_route }),
    };
    let (fixed, rest) = original.split_first_chunk::<40>()?;
    let address = |at: usize| fixed[at..at + 16].try_into().map(|octets: [u8; 16]| Ipv6Addr::from(octets));
    let (src, dst) = (address(8).ok()?, address(24).ok()?);
    error(src.into(), dst.into(), rest, what).filter(|_| fixed[6] == TCP)
}

fn error(src: std::net::IpAddr, dst: std::net::IpAddr, tcp: &[u8], what: What) -> Option<Error> {
    let &[s0, s1, d0, d1, q0, q1, q2, q3] = tcp.first_chunk::<8>()?;
    Some(Error {
        local: SocketAddr::new(src, u16::from_be_bytes([s0, s1])),
        remote: SocketAddr::new(dst, u16::from_be_bytes([d0, d1])),
        seq: SeqNum(u32::from_be_bytes([q0, q1, q2, q3])),
        what,
    })
}
