//! What anybody may send to a socket of SCTP in UDP: also a fuzz target.

use std::net::{IpAddr, SocketAddr};

use bytes::{BufMut, Bytes};
use handfast_assist::iosl::inside::{Config, Connections, DATAGRAM, InsideId, Kind};
use handfast_core::{Duration, Instant};
use handfast_sctp::Association;
use handfast_wire::sctp::{HEADER_LEN, UDP_PORT};

const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9)), 7_443);
const OWN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

struct Ends {
    now: Instant,
    server: Connections,
    client: Connections,
    id: InsideId,
    /// Octets to and from somebody whose address nobody has seen to be real.
    stranger: [usize; 2],
}

impl Ends {
    fn new() -> Self {
        let config = Config { most: 4, ..Config::default() };
        let mut server = Connections::new(config.clone(), [3; 32]);
        server.listen(Kind::Sctp);
        let mut client = Connections::new(config, [4; 32]);
        let now = Instant::from_millis(1);
        let id = client.connect(now, Kind::Sctp, PEER, &[OWN]).unwrap();
        Self { now, server, client, id, stranger: [0; 2] }
    }

    fn home() -> SocketAddr {
        SocketAddr::new(OWN, 9)
    }

    /// What the two say to each other.
    fn converse(&mut self) {
        for _ in 0..8 {
            let mut out = Vec::new();
            while self.client.poll_transmit(self.now, &mut out, |_| true).is_some() {
                assert!(out.len() <= DATAGRAM);
                self.server.on_datagram(self.now, Self::home(), None, &std::mem::take(&mut out).into());
            }
            while let Some(leaving) = self.server.poll_transmit(self.now, &mut out, |_| true) {
                assert!(out.len() <= DATAGRAM);
                let octets: Bytes = std::mem::take(&mut out).into();
                if leaving.to.ip() == OWN {
                    self.client.on_answer(self.now, self.id, OWN, &octets);
                } else {
                    self.stranger[1] += octets.len();
                }
            }
        }
    }

    /// A packet that an attacker has made: he knows the tags of the client's association, or says others.
    fn attack(&mut self, how: u8, body: &[u8]) {
        let association = self.client.association(self.id);
        let (local, remote) = association.map_or((0, 0), Association::tags);
        let (own_port, _) = association.map_or((0, 0), Association::ports);
        let tag = [0, 7, local, remote][usize::from(how & 3)];
        let mut octets = Vec::with_capacity(HEADER_LEN + body.len());
        octets.put_u16(if how & 4 == 0 { own_port } else { UDP_PORT });
        octets.put_u16(if how & 4 == 0 { UDP_PORT } else { own_port });
        octets.put_u32(tag);
        octets.put_u32(0);
        octets.extend_from_slice(body);
        let sum = crc(&octets);
        octets[8..12].copy_from_slice(&sum.to_le_bytes());
        let octets = Bytes::from(octets);
        match how & 0x18 {
            0 => self.client.on_answer(self.now, self.id, OWN, &octets),
            8 => drop(self.server.on_datagram(self.now, Self::home(), None, &octets)),
            _ => {
                self.stranger[0] += octets.len();
                self.server.on_datagram(self.now, ([203, 0, 113, 5], 53).into(), None, &octets);
            }
        }
    }
}

/// `CRC32c` as RFC 9260 appendix A has it, bit by bit: a packet whose sum is wrong goes no further.
fn crc(octets: &[u8]) -> u32 {
    !octets.iter().fold(!0_u32, |sum, octet| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

/// Packets, each behind how it comes and its length, between what two ends say to each other.
pub(crate) fn survive_input(input: &[u8]) {
    let mut ends = Ends::new();
    let mut rest = input;
    while let [how, len, behind @ ..] = rest {
        let (body, behind) = behind.split_at(usize::from(*len).min(behind.len()));
        rest = behind;
        ends.attack(*how, body);
        if how & 0x20 != 0 {
            ends.converse();
        }
        while ends.server.accept().is_some() {}
        ends.converse();
        for end in [&mut ends.server, &mut ends.client] {
            while let Some(id) = end.poll_touched() {
                while end.read(ends.now, id, 1 << 16).is_some() {}
                end.write(id, b"octets");
                let _ = (end.is_at_end(id), end.window(ends.now, id), end.local(id));
            }
            assert!(end.len() <= 4);
        }
        let [received, sent] = ends.stranger;
        assert!(sent <= 3 * received, "{sent} for {received}");
        ends.now += Duration::from_millis(u64::from(*len) * 7);
        for end in [&mut ends.server, &mut ends.client] {
            end.on_timer(ends.now);
            end.poll_transmit(ends.now, &mut Vec::new(), |_| false);
            assert!(end.deadline().is_none_or(|at| at > ends.now), "a deadline is in the future");
        }
    }
}
