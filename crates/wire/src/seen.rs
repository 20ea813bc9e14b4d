//! What a frame seems to carry, by a few bytes of it: for those who look at some of the frames that pass, and not at all.

use crate::tcp::{self, Flags};
use crate::{Checksums, ethernet, ip, ipv4, ipv6, sdtp, udp};

/// What a frame seems to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A TCP segment.
    Tcp(Flags),
    /// SDTP, in whatever carries it.
    Sdtp,
    /// Anything else, such as a fragment.
    Other,
}

impl Seen {
    /// Looks at a frame. Checksums are not looked at.
    pub fn at(frame: &[u8]) -> Self {
        Self::find(frame).unwrap_or(Self::Other)
    }

    fn find(frame: &[u8]) -> Option<Self> {
        let (_, ether_type, data) = ethernet::parse(frame).ok()?;
        let (header, body) = match ether_type {
            ethernet::IPV4 => ipv4::parse(data, Checksums::Trust).ok()?,
            ethernet::IPV6 => ipv6::parse(data).ok()?,
            ethernet::SDTP => return Self::sdtp(data),
            _ => return None,
        };
        match header.protocol {
            ip::TCP => tcp::flags_of(body).map(Self::Tcp),
            ip::UDP => Self::sdtp(udp::parse(body)?.2),
            sdtp::PROTOCOL => Self::sdtp(body),
            _ => None,
        }
    }

    fn sdtp(data: &[u8]) -> Option<Self> {
        sdtp::packet_len(data).map(|_| Self::Sdtp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdtp::{Carriage, Message, Notification, Sdtp};
    use crate::tcp::Segment;
    use crate::{Body, Datagram, Ethernet, Packet, Payload};
    use handfast_core::SeqNum;
    use std::net::IpAddr;

    fn frame(body: Body) -> Vec<u8> {
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        let ethernet = Some(Ethernet::default());
        let mut frame = Vec::new();
        let packet = Packet { ethernet, body, ..Packet::tcp(address, address, Segment::EMPTY) };
        packet.emit(&mut frame).unwrap();
        frame
    }

    #[test]
    fn each_kind_is_seen() {
        let tcp = frame(Body::Tcp(Segment { flags: Flags::SYN | Flags::ACK, ..Segment::EMPTY }));
        assert_eq!(Seen::at(&tcp), Seen::Tcp(Flags::SYN | Flags::ACK));
        for carriage in [Carriage::Native, Carriage::Ip, Carriage::Udp] {
            let message = Message::Notification(Notification { until: SeqNum(0) });
            let sequence = SeqNum(0);
            let sdtp = Sdtp { carriage, slice: 1, connection: 2, sequence, message, seal: None };
            assert_eq!(Seen::at(&frame(Body::Sdtp(Box::new(sdtp)))), Seen::Sdtp, "{carriage:?}");
        }
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 50 };
        let udp = Body::Udp(Datagram { src_port: 1, dst_port: 2, payload: payload.clone() });
        for other in [udp, Body::Other { protocol: 1, payload }] {
            assert_eq!(Seen::at(&frame(other)), Seen::Other);
        }
        for len in 0..tcp.len() {
            assert_eq!(Seen::at(&tcp[..len]), Seen::Other, "{len}");
        }
    }
}
