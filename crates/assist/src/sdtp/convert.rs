//! Header conversion and reversion at the edges (`[sdtp]` §III-B): a host's TCP packet to SDTP data, and back.

use std::net::{IpAddr, SocketAddr};

use handfast_core::SeqNum;
use handfast_wire::sdtp::{Carriage, Content, Data, HEADER_LEN, InnerIp, Message, OPTIONAL_LEN, Sdtp};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Ecn, Ethernet, Packet};

use super::control::Name;

/// How one direction of a connection travels between the edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// What its packets travel in.
    pub(super) carriage: Carriage,
    /// This edge.
    pub(super) edge: IpAddr,
    /// The connection, and the other edge.
    pub(super) name: Name,
    /// The host here, by its number; 0: packets of several.
    pub(super) host: u16,
}

/// With what an SDTP packet came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    /// Its frame.
    pub(super) ethernet: Option<Ethernet>,
    /// Its marks.
    pub(super) ecn: Ecn,
}

impl Outer {
    pub(super) fn of(packet: &Packet) -> Self {
        Self { ethernet: packet.ethernet, ecn: packet.ecn() }
    }
}

/// The traffic class of a packet that carries one of this class.
pub(super) fn outer_class(carriage: Carriage, inner: u8) -> u8 {
    match carriage {
        // Figure 3 has no field for DSCP.
        Carriage::Native => Ecn::of(inner).within(0),
        // RFC 6040 §4.1, normal mode: the outer header has the inner one's marks.
        Carriage::Ip | Carriage::Udp => inner,
    }
}

/// Why a packet stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unconverted {
    /// It is no TCP segment.
    NotTcp,
    /// The optional field has no room for the urgent pointer, nor for IP options.
    NoRoom,
}

/// Whether the optional field has room for all that the packet says.
pub(super) fn convertible(packet: &Packet) -> Result<&Segment, Unconverted> {
    let Body::Tcp(segment) = &packet.body else { return Err(Unconverted::NotTcp) };
    let fits = segment.urgent == 0 && !segment.flags.contains(Flags::URG) && packet.quick_start.is_none();
    if fits { Ok(segment) } else { Err(Unconverted::NoRoom) }
}

/// The SDTP packet of a host's packet that is [`convertible`]. `start`: the sequence number of the first byte of its direction.
pub(super) fn to_sdtp(path: &Path, start: SeqNum, packet: Packet) -> Option<Packet> {
    let Packet { ethernet, src, hop_limit, traffic_class, identification, may_fragment, flow_label, .. } =
        packet;
    let Body::Tcp(segment) = packet.body else { return None };
    let v6 = src.is_ipv6();
    let dont_fragment = !v6 && !may_fragment;
    let ip = InnerIp { v6, hop_limit, traffic_class, identification, dont_fragment, flow_label };
    let since = u16::try_from(segment.seq.distance(start)).unwrap_or(u16::MAX);
    let sequence = segment.seq;
    let content = Content::Segment(Segment { src_port: 0, dst_port: 0, ..segment });
    let Path { carriage, edge, name, host } = *path;
    let message = Message::Data(Data { ip, since_start: since, host, content });
    let (slice, connection) = (name.slice, name.connection);
    let sdtp = Sdtp { carriage, slice, connection, sequence, message, seal: None };
    let traffic_class = outer_class(carriage, traffic_class);
    // In the host's frame: it takes the way that the host's packet would have taken.
    Some(Packet { ethernet, traffic_class, ..Packet::sdtp(edge, name.peer, sdtp) })
}

/// The host's packet again, in the frame with which the SDTP packet came. [`None`]: RFC 6040 §4.2 drops it.
pub(super) fn to_tcp(from: SocketAddr, to: SocketAddr, outer: Outer, data: Data) -> Option<Packet> {
    let Data { ip, content, .. } = data;
    let Content::Segment(segment) = content else { return None };
    let v6 = from.is_ipv6();
    let ecn = Ecn::of(ip.traffic_class).out_of(outer.ecn)?;
    let segment = Segment { src_port: from.port(), dst_port: to.port(), ..segment };
    Some(Packet {
        ethernet: outer.ethernet,
        hop_limit: ip.hop_limit,
        traffic_class: ecn.within(ip.traffic_class),
        // What the hosts' IP version has no field for was made up.
        identification: if v6 { 0 } else { ip.identification },
        may_fragment: !v6 && !ip.dont_fragment,
        flow_label: if v6 { ip.flow_label } else { 0 },
        ..Packet::tcp(from.ip(), to.ip(), segment)
    })
}

/// The SDTP packet around a packet that no connection has.
pub(super) fn whole(path: &Path, sequence: SeqNum, packet: Packet) -> Packet {
    let Packet { ethernet, src, hop_limit, traffic_class, identification, .. } = packet;
    let packet = Packet { ethernet: None, ..packet };
    // Besides the version and the marks, which an RD repeats, nobody reads this: the packet has its header.
    let ip = InnerIp { v6: src.is_ipv6(), hop_limit, traffic_class, identification, ..InnerIp::default() };
    let since_start = u16::try_from(sequence.0).unwrap_or(u16::MAX);
    let Path { carriage, edge, name: Name { peer, slice, connection }, host } = *path;
    let content = Content::Packet(Box::new(packet));
    let message = Message::Data(Data { ip, since_start, host, content });
    let sdtp = Sdtp { carriage, slice, connection, sequence, message, seal: None };
    let traffic_class = outer_class(carriage, traffic_class);
    Packet { ethernet, traffic_class, ..Packet::sdtp(edge, peer, sdtp) }
}

/// The packet that data carries whole, in the frame with which it came.
pub(super) fn unwrap(outer: Outer, data: Data) -> Option<Packet> {
    match data.content {
        Content::Packet(packet) => Some(Packet { ethernet: outer.ethernet, ..*packet }),
        Content::Segment(_) => None,
    }
}

/// Bytes that an SDTP packet has more than the TCP packet from which it was made, of this address family at the edges.
pub(super) fn overhead(carriage: Carriage, hosts_v6: bool, edges_v6: bool) -> i32 {
    around(carriage, edges_v6) as i32 - ip_header(hosts_v6) as i32 - handfast_wire::tcp::HEADER_LEN as i32
}

/// Bytes before what data carries.
pub(super) fn around(carriage: Carriage, edges_v6: bool) -> usize {
    let outer = match carriage {
        Carriage::Native => 0,
        Carriage::Ip => ip_header(edges_v6),
        Carriage::Udp => ip_header(edges_v6) + 8,
    };
    outer + HEADER_LEN + OPTIONAL_LEN
}

fn ip_header(v6: bool) -> usize {
    if v6 { 40 } else { 20 }
}

/// Lowers the maximum segment size that a SYN or SYN-ACK announces, so that what is sent to its sender fits through the core
/// (RFC 9293 §3.7.1: an upper limit that the peer states). One without the option means 536 bytes (ibid.), which always fit.
pub(super) fn clamp_mss(segment: &mut Segment, most: u16) {
    segment.mss = segment.mss.map(|mss| mss.min(most));
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use handfast_wire::Payload;
    use handfast_wire::tcp::Timestamps;
    use proptest::prelude::*;

    use super::*;

    fn ip(host: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, host).into()
    }

    const NAME: Name = Name { peer: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9)), slice: 3, connection: 4 };

    fn path(carriage: Carriage) -> Path {
        Path { carriage, edge: ip(8), name: NAME, host: 9 }
    }

    fn packet(seq: u32, len: u32, traffic_class: u8) -> Packet {
        let segment = Segment {
            src_port: 5,
            dst_port: 6,
            seq: SeqNum(seq),
            flags: Flags::ACK,
            timestamps: Some(Timestamps { val: 1, ecr: 2 }),
            payload: Payload::Synthetic { stream: 1, offset: 7, len },
            ..Segment::EMPTY
        };
        Packet { traffic_class, hop_limit: 60, ..Packet::tcp(ip(1), ip(2), segment) }
    }

    fn data(packet: &Packet) -> Data {
        let Body::Sdtp(sdtp) = &packet.body else { panic!("{packet:?}") };
        sdtp.data().unwrap().clone()
    }

    proptest! {
        #[test]
        fn reversion_gives_the_packet_back(
            seq: u32, start: u32, len in 0_u32..9000, class: u8, may_fragment: bool, label in 0..1_u32 << 20, v6: bool
        ) {
            let ethernet = Some(Ethernet { dst: [2; 6], src: [4; 6], vlan: None });
            let mut packet = Packet { ethernet, may_fragment, identification: 77, ..packet(seq, len, class) };
            if v6 {
                (packet.src, packet.dst) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
                (packet.may_fragment, packet.flow_label, packet.identification) = (false, label, 0);
            }
            for carriage in [Carriage::Native, Carriage::Ip, Carriage::Udp] {
                let sdtp = to_sdtp(&path(carriage), SeqNum(start), packet.clone()).unwrap();
                prop_assert_eq!(sdtp.ip_len() as i32, packet.ip_len() as i32 + overhead(carriage, v6, false));
                prop_assert_eq!((sdtp.src, sdtp.dst, sdtp.ecn()), (ip(8), NAME.peer, packet.ecn()));
                let (from, to) = (SocketAddr::new(packet.src, 5), SocketAddr::new(packet.dst, 6));
                prop_assert_eq!(to_tcp(from, to, Outer::of(&sdtp), data(&sdtp)), Some(packet.clone()));
            }
        }
    }

    #[test]
    fn a_node_learns_where_a_connection_began_from_its_first_64_kib() {
        for (seq, since) in
            [(100, 0), (101, 1), (65_634, 65_534), (65_635, u16::MAX), (90_000, u16::MAX), (99, u16::MAX)]
        {
            let sdtp = to_sdtp(&path(Carriage::Ip), SeqNum(100), packet(seq, 1, 0)).unwrap();
            assert_eq!(data(&sdtp).since_start, since, "{seq}");
        }
    }

    #[test]
    fn urgent_data_and_ip_options_go_unconverted() {
        let plain = packet(1, 1, 0);
        assert!(convertible(&plain).is_ok());
        let with = |change: fn(&mut Segment)| {
            let mut packet = plain.clone();
            if let Body::Tcp(segment) = &mut packet.body {
                change(segment);
            }
            packet
        };
        let urgent = with(|segment| segment.flags = segment.flags | Flags::URG);
        assert_eq!(convertible(&urgent), Err(Unconverted::NoRoom));
        assert_eq!(convertible(&with(|segment| segment.urgent = 1)), Err(Unconverted::NoRoom));
        let other = Packet { body: Body::Other { protocol: 1, payload: Payload::EMPTY }, ..plain.clone() };
        assert_eq!(convertible(&other), Err(Unconverted::NotTcp));
    }

    #[test]
    fn the_segment_size_is_only_lowered() {
        for (announced, clamped) in [(Some(1460), Some(1428)), (Some(536), Some(536)), (None, None)] {
            let mut segment = Segment { mss: announced, ..Segment::EMPTY };
            clamp_mss(&mut segment, 1428);
            assert_eq!(segment.mss, clamped);
        }
    }
}
