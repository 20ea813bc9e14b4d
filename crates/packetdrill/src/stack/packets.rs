//! A packet arrives: whose it is, and what becomes of one that is nobody's.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_tcp::{Endpoint, Received};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Checksums, IpFacts, LinkType, Packet};

use super::connection::Connection;
use super::path_mtu::segment_in;
use super::{Fd, MOST, Stack};
use icmp::What;

impl Stack {
    /// A packet arrives. What no parser takes, and what is corrupted, is dropped.
    pub fn arrive(&mut self, bytes: &[u8]) {
        let frame = Bytes::copy_from_slice(bytes);
        let Ok(packet) = Packet::parse(LinkType::RawIp, &frame, Checksums::Verify) else { return };
        if packet.corrupted {
            return;
        }
        let (src, dst, ip) = (packet.src, packet.dst, packet.ip_facts());
        match packet.body {
            Body::Tcp(segment) => {
                let remote = SocketAddr::new(src, segment.src_port);
                self.arrive_segment(SocketAddr::new(dst, segment.dst_port), remote, &segment, ip);
            }
            Body::Other { protocol, payload } => self.arrive_icmp(protocol, &payload.to_bytes()),
            Body::Udp(_) | Body::Sdtp(_) => {}
        }
    }

    fn arrive_segment(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment, ip: IpFacts) {
        let now = self.now;
        let id = self.connection_of(local, remote).or_else(|| self.open(local, remote, segment));
        let Some(id) = id else { return self.refuse(local, remote, segment) };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let segment = &with_bits(segment, connection.options.help.arriving);
        let taken = connection.on_segment(now, &Received { segment, ip });
        self.after(id);
        if !taken {
            self.refuse(local, remote, segment);
        }
    }

    /// A SYN to somebody who listens begins a connection.
    fn open(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment) -> Option<super::Id> {
        let begins = segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST);
        let fd = self.listener_of(local).filter(|_| begins && self.connections.len() < MOST)?;
        let options = self.sockets.get(&fd)?.options.clone();
        let settings = self.settings();
        let (link, mtu) = self.mtu_to(&settings, remote.ip());
        let config = options.config(&settings, segment_in(link, local.ip()), true);
        let advertised = config.mss;
        let endpoint = Endpoint::listen(Arc::new(config), local.port(), self.iss());
        let mut connection =
            Connection::new(endpoint, (local, remote), options, settings, (advertised, link));
        connection.begin_path(self.now, mtu);
        connection.listener = Some(fd);
        Some(self.insert(connection))
    }

    /// RFC 9293 §3.10.7.1: a segment of no connection is answered with a reset, unless it is one.
    fn refuse(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let (flags, seq, ack) = if segment.flags.contains(Flags::ACK) {
            (Flags::RST, segment.ack, SeqNum(0))
        } else {
            (Flags::RST | Flags::ACK, SeqNum(0), segment.seq + segment.seq_len())
        };
        let (src_port, dst_port) = (local.port(), remote.port());
        self.send_stray(local, remote, Segment { src_port, dst_port, seq, ack, flags, ..Segment::EMPTY });
    }

    /// The descriptor of a connection that nobody has accepted is its listener's no more.
    pub(super) fn forget_listener(&mut self, fd: Fd) {
        let of_it = self.connections.iter().filter(|(_, c)| c.listener == Some(fd) && c.fd.is_none());
        for id in of_it.map(|(&id, _)| id).collect::<Vec<_>>() {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.reset();
            }
            self.after(id);
        }
    }

    /// RFC 5927 §6: an ICMP error counts where the segment in it is one that is outstanding.
    fn arrive_icmp(&mut self, protocol: u8, bytes: &Bytes) {
        let Some(error) = icmp::parse(protocol, bytes) else { return };
        let Some(id) = self.connection_of(error.local, error.remote) else { return };
        let now = self.now;
        match error.what {
            What::TooBig { mtu } => self.arrive_path_mtu(id, error.seq, mtu),
            What::Unreachable(why) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.on_icmp(now, error.seq, why);
                }
            }
        }
        self.after(id);
    }
}

/// The segment as if it had come with these bits, which packetdrill cannot write.
fn with_bits(segment: &Segment, bits: Flags) -> Segment {
    Segment { flags: segment.flags | bits, ..segment.clone() }
}

/// ICMP errors (RFC 792, RFC 4443).
pub(super) mod icmp {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    use handfast_core::SeqNum;

    const ICMPV4: u8 = 1;
    const ICMPV6: u8 = 58;
    const TCP: u8 = 6;
    const HEADER: usize = 8;

    /// One that tells of a TCP segment of ours.
    pub(in crate::stack) struct Error {
        pub(in crate::stack) local: SocketAddr,
        pub(in crate::stack) remote: SocketAddr,
        pub(in crate::stack) seq: SeqNum,
        pub(in crate::stack) what: What,
    }

    /// What it tells.
    pub(in crate::stack) enum What {
        /// The way carries packets of so many octets: RFC 1191 §4, RFC 8201 §4.
        TooBig {
            mtu: u32,
        },
        Unreachable(Unreachable),
    }

    /// What it means that segments do not get there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::stack) struct Unreachable {
        /// What the application is told.
        pub(in crate::stack) errno: i32,
        /// It ends a connection that has not been accepted (`tcp_req_err`).
        pub(in crate::stack) ends_request: bool,
        /// It tells that packets do not reach the peer's network: RFC 6069 §4.1.
        pub(in crate::stack) no_route: bool,
    }

    pub(in crate::stack) fn parse(protocol: u8, bytes: &[u8]) -> Option<Error> {
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
        let address =
            |at: usize| fixed[at..at + 16].try_into().map(|octets: [u8; 16]| Ipv6Addr::from(octets));
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
}
