//! The one packet type: what every machine and every simulated link handles.

use std::net::IpAddr;

use crate::sdtp::{Carriage, Sdtp};
use crate::tcp::Segment;
use crate::udp::{self, Datagram};
use crate::{Ecn, IpFacts, Payload, QuickStart};

/// An IEEE 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Priority code point, 0-7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN identifier, 0-4095.
    pub id: u16,
}

/// An Ethernet header without its type, which follows from the IP version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ethernet {
    /// Destination address.
    pub dst: [u8; 6],
    /// Source address.
    pub src: [u8; 6],
    /// The 802.1Q tag, if there is one.
    pub vlan: Option<Vlan>,
}

/// What an IP packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram with a checksum. One without stays as it came.
    Udp(Datagram),
    /// SDTP, in whatever carries it.
    Sdtp(Box<Sdtp>),
    /// Anything else, by protocol number.
    Other {
        /// IP protocol number; IPv6: the next-header value of the fixed header, be it that of an extension header.
        protocol: u8,
        /// The bytes after the IP header; IPv6: extension headers included.
        payload: Payload,
    },
}

impl Body {
    /// The payload that it carries. That of SDTP is its data's.
    pub fn payload(&self) -> &Payload {
        match self {
            Self::Tcp(segment) => &segment.payload,
            Self::Udp(datagram) => &datagram.payload,
            Self::Sdtp(sdtp) => sdtp.payload(),
            Self::Other { payload, .. } => payload,
        }
    }

    /// Gives it another payload, where it carries one.
    pub(crate) fn set_payload(&mut self, new: Payload) {
        match self {
            Self::Tcp(segment) => segment.payload = new,
            Self::Udp(datagram) => datagram.payload = new,
            Self::Sdtp(sdtp) => sdtp.set_payload(new),
            Self::Other { payload, .. } => *payload = new,
        }
    }
}

/// An IPv4 or IPv6 packet with its parsed headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The frame it travels in; absent on links that are not Ethernet.
    pub ethernet: Option<Ethernet>,
    /// Source address; the same family as `dst`.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// DSCP and ECN: the IPv4 TOS byte or the IPv6 traffic class.
    pub traffic_class: u8,
    /// IPv4 identification; 0 for IPv6.
    pub identification: u16,
    /// IPv4: routers may fragment it, for "do not fragment" is not set. TCP's senders set it (RFC 8900 §6.1).
    pub may_fragment: bool,
    /// IPv6 flow label, 20 bits; 0 for IPv4.
    pub flow_label: u32,
    /// The Quick-Start option of an IPv4 header (RFC 4782 §3.1).
    pub quick_start: Option<QuickStart>,
    /// Bit errors that a checksum would reveal. Only nodes that verify checksums may look at it.
    pub corrupted: bool,
    /// What it carries.
    pub body: Body,
}

impl Packet {
    /// The hop limit of [`Packet::tcp`]: what hosts begin with (RFC 1700, "IP time to live parameter").
    pub const HOP_LIMIT: u8 = IpFacts::PLAIN.ttl;

    /// A TCP segment between two hosts, not yet framed.
    pub fn tcp(src: IpAddr, dst: IpAddr, segment: Segment) -> Self {
        Self {
            ethernet: None,
            src,
            dst,
            hop_limit: Self::HOP_LIMIT,
            traffic_class: 0,
            identification: 0,
            may_fragment: false,
            flow_label: 0,
            quick_start: None,
            corrupted: false,
            body: Body::Tcp(segment),
        }
    }

    /// The same, with what the sender decides of the IP header.
    pub fn tcp_with(src: IpAddr, dst: IpAddr, segment: Segment, ip: IpFacts) -> Self {
        Self {
            hop_limit: ip.ttl,
            traffic_class: ip.ecn.within(0),
            quick_start: ip.quick_start(),
            ..Self::tcp(src, dst, segment)
        }
    }

    /// An SDTP packet between two edges, not yet framed.
    pub fn sdtp(src: IpAddr, dst: IpAddr, sdtp: Sdtp) -> Self {
        Self { body: Body::Sdtp(Box::new(sdtp)), ..Self::tcp(src, dst, Segment::EMPTY) }
    }

    /// The congestion marks.
    pub fn ecn(&self) -> Ecn {
        Ecn::of(self.traffic_class)
    }

    /// This packet out of one around it that came with these marks. [`None`]: RFC 6040 §4.2 drops it.
    pub fn out_of(self, outer: Ecn) -> Option<Self> {
        let ecn = self.ecn().out_of(outer)?;
        Some(Self { traffic_class: ecn.within(self.traffic_class), ..self })
    }

    /// What a transport protocol is told of the IP header.
    pub fn ip_facts(&self) -> IpFacts {
        IpFacts::new(self.ecn(), self.hop_limit).with_quick_start(self.quick_start)
    }

    /// Bytes of the IP packet: what a link's rate and a queue's byte limit count. A frame's header does not count, as in
    /// the papers' settings and in ns-2.
    pub fn ip_len(&self) -> usize {
        let body = match &self.body {
            Body::Tcp(segment) => segment.header_len() + segment.payload.len(),
            Body::Udp(datagram) => udp::HEADER_LEN + datagram.payload.len(),
            Body::Sdtp(sdtp) => match sdtp.carriage {
                // Figure 3's header takes the place of the IP header.
                Carriage::Native => return sdtp.len(),
                Carriage::Ip => sdtp.len(),
                Carriage::Udp => udp::HEADER_LEN + sdtp.len(),
            },
            Body::Other { payload, .. } => payload.len(),
        };
        header_len(self.src, self.quick_start) + body
    }

    /// [`Packet::ip_len`] of the packet in which `src` sends a segment, without IP options.
    #[inline]
    pub fn tcp_len(src: IpAddr, segment: &Segment) -> usize {
        header_len(src, None) + segment.header_len() + segment.payload.len()
    }
}

/// Bytes of the IP header that a packet from `src` has.
#[inline]
fn header_len(src: IpAddr, option: Option<QuickStart>) -> usize {
    if src.is_ipv4() { crate::ipv4::len_of(option) } else { crate::ipv6::HEADER_LEN }
}

// Simulations copy packets on every hop: a larger one is a decision, not an accident. Three cache lines.
const _: () = assert!(size_of::<Packet>() <= 192 && size_of::<Segment>() <= 120);
