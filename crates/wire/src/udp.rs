//! UDP datagrams (RFC 768).

use std::net::IpAddr;

use bytes::{BufMut, BytesMut};

use crate::checksum::pseudo_header;
use crate::{Body, Packet, Payload};

/// The IP protocol number of UDP.
pub const PROTOCOL: u8 = 17;
/// Ports, length, checksum.
pub const HEADER_LEN: usize = 8;

/// A UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// What it carries.
    pub payload: Payload,
}

impl Datagram {
    /// The body of the IP packet that carries it between these addresses.
    pub fn body(&self, src: IpAddr, dst: IpAddr) -> Body {
        let len = HEADER_LEN + self.payload.len();
        let mut out = BytesMut::with_capacity(len);
        out.put_u16(self.src_port);
        out.put_u16(self.dst_port);
        out.put_u16(len as u16);
        out.put_u16(0);
        out.put_slice(&self.payload.to_bytes());
        let sum = pseudo_header(src, dst, PROTOCOL, len).add(&out).checksum();
        // RFC 768: a checksum of zero is sent as all ones; zero says that there is none.
        out[6..8].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
        Body::Other { protocol: PROTOCOL, payload: Payload::Bytes(out.freeze()) }
    }

    /// The datagram that a packet carries; [`None`]: none, or one that is not whole.
    pub fn parse(packet: &Packet) -> Option<Self> {
        let Body::Other { protocol: PROTOCOL, payload } = &packet.body else { return None };
        let bytes = payload.to_bytes();
        let header = bytes.first_chunk::<HEADER_LEN>()?;
        let [src_port, dst_port, len] = [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let len = usize::from(len);
        if !(HEADER_LEN..=bytes.len()).contains(&len) {
            return None;
        }
        let has_checksum = header[6..8] != [0, 0];
        let sum = pseudo_header(packet.src, packet.dst, PROTOCOL, len).add(&bytes[..len]);
        if has_checksum && sum.fold() != 0xffff {
            return None;
        }
        Some(Self { src_port, dst_port, payload: Payload::Bytes(bytes.slice(HEADER_LEN..len)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Segment;
    use bytes::Bytes;

    fn packet(datagram: &Datagram) -> Packet {
        let [src, dst] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        Packet { body: datagram.body(src, dst), ..Packet::tcp(src, dst, Segment::EMPTY) }
    }

    fn datagram() -> Datagram {
        Datagram { src_port: 5001, dst_port: 53, payload: Payload::Bytes(Bytes::from_static(b"odd")) }
    }

    fn octets(packet: &Packet) -> Vec<u8> {
        packet.body.payload().to_bytes().to_vec()
    }

    fn with(octets: Vec<u8>) -> Packet {
        let body = Body::Other { protocol: PROTOCOL, payload: Payload::Bytes(octets.into()) };
        Packet { body, ..packet(&datagram()) }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let packet = packet(&datagram());
        assert_eq!(Datagram::parse(&packet), Some(datagram()));
        assert_eq!(octets(&packet)[..6], [0x13, 0x89, 0, 53, 0, 11]);
        let mut more = octets(&packet);
        more.extend([1, 2]);
        assert_eq!(Datagram::parse(&with(more)), Some(datagram()), "what follows is padding");
    }

    #[test]
    fn a_datagram_that_is_damaged_is_none() {
        let good = octets(&packet(&datagram()));
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Datagram::parse(&with(damaged)), None, "octet {at}");
        }
        for len in 0..good.len() {
            assert_eq!(Datagram::parse(&with(good[..len].to_vec())), None, "{len} octets");
        }
        assert_eq!(Datagram::parse(&Packet { body: Body::Tcp(Segment::EMPTY), ..with(good) }), None);
    }

    #[test]
    fn no_checksum_is_no_damage() {
        let mut octets = octets(&packet(&datagram()));
        octets[6..8].fill(0);
        assert_eq!(Datagram::parse(&with(octets)), Some(datagram()));
    }
}
