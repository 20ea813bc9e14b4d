//! Reports and instructions as `OpenFlow` 1.3: packet-ins, packet-outs, and orders that are actions and messages of an
//! experimenter.
//!
//! A packet-out with an order carries it as its first action, so that a handshake costs no message more than `[sdtp]` Figure 2 has.

use bytes::{BufMut, Bytes};
use handfast_wire::openflow::{
    Action, Body, Match, Message, NO_BUFFER, PacketIn, PacketInReason, PacketOut, Port as OpenFlowPort,
    PortNo, PortReason, PortStatus,
};
use handfast_wire::{Checksums, Ethernet, LinkType, Packet};

use super::numbers::{CLOSED, EXPERIMENTER, LEAVING, LOCATE, STARTED, port_no, port_of};
use super::reader::Reader;
use super::writer::{put_address, put_name, put_order};
use super::{Instruction, Order, Report, Unknown};

/// `OFPT_EXPERIMENTER` (§7.5.4), and `OFPAT_EXPERIMENTER` (§7.2.5).
const EXPERIMENTER_MESSAGE: u8 = 4;
const EXPERIMENTER_ACTION: u16 = 0xffff;

impl Report {
    /// As an `OpenFlow` message. [`None`]: the packet has no form on the wire.
    pub fn emit(&self) -> Option<Bytes> {
        let body = match self {
            Self::Handshake(packet) => {
                let data = frame(packet)?;
                Body::PacketIn(PacketIn {
                    buffer_id: NO_BUFFER,
                    total_len: u16::try_from(data.len()).ok()?,
                    reason: PacketInReason::Action,
                    table_id: 0,
                    cookie: 0,
                    matches: Match { in_port: Some(PortNo(1)), ..Match::default() },
                    data,
                })
            }
            Self::Started => experimenter(|out| out.put_u32(STARTED)),
            Self::Leaving => experimenter(|out| out.put_u32(LEAVING)),
            Self::Locate(host) => experimenter(|out| {
                out.put_u32(LOCATE);
                put_address(out, *host);
            }),
            Self::Closed(name) => experimenter(|out| {
                out.put_u32(CLOSED);
                put_name(out, name);
            }),
            Self::PortStatus(port, is_up) => {
                let state = if *is_up { 0 } else { OpenFlowPort::LINK_DOWN };
                let port = OpenFlowPort { state, ..OpenFlowPort::plain(port_no(*port), [0; 6]) };
                Body::PortStatus(PortStatus { reason: PortReason::Modify, port })
            }
        };
        emit(body)
    }

    /// # Errors
    /// The bytes are none.
    pub fn parse(bytes: &Bytes) -> Result<Self, Unknown> {
        match Message::parse(bytes).map_err(|_| Unknown)?.body {
            Body::PacketIn(PacketIn { data, .. }) => Ok(Self::Handshake(packet(&data)?)),
            Body::PortStatus(PortStatus { port, .. }) => {
                Ok(Self::PortStatus(port_of(port.port_no).ok_or(Unknown)?, port.is_up()))
            }
            Body::Unknown { kind: EXPERIMENTER_MESSAGE, body } => Reader::new(body)?.report(),
            _ => Err(Unknown),
        }
    }
}

impl Instruction {
    /// As an `OpenFlow` message. [`None`]: the packet has no form on the wire.
    pub fn emit(&self) -> Option<Bytes> {
        let order = self.order.as_ref();
        let Some(packet) = &self.packet else {
            return emit(experimenter(|out| order.into_iter().for_each(|order| put_order(out, order))));
        };
        let action = |order: &Order| {
            let mut body = Vec::new();
            body.put_u32(EXPERIMENTER);
            put_order(&mut body, order);
            // §7.2.5: type, length and this together are a multiple of eight.
            body.resize((body.len() + 4).next_multiple_of(8) - 4, 0);
            Action::Other { kind: EXPERIMENTER_ACTION, body: body.into() }
        };
        let table = Action::Output { port: PortNo::TABLE, max_len: 0 };
        let actions = order.map(action).into_iter().chain([table]).collect();
        let (buffer_id, in_port) = (NO_BUFFER, PortNo::CONTROLLER);
        emit(Body::PacketOut(PacketOut { buffer_id, in_port, actions, data: frame(packet)? }))
    }

    /// # Errors
    /// The bytes are none.
    pub fn parse(bytes: &Bytes) -> Result<Self, Unknown> {
        match Message::parse(bytes).map_err(|_| Unknown)?.body {
            Body::PacketOut(PacketOut { actions, data, .. }) => {
                let order = actions.into_iter().find_map(|action| match action {
                    Action::Other { kind: EXPERIMENTER_ACTION, body } => Some(body),
                    _ => None,
                });
                let order = order.map(|body| Reader::new(body)?.order()).transpose()?;
                Ok(Self { order, packet: Some(packet(&data)?) })
            }
            Body::Unknown { kind: EXPERIMENTER_MESSAGE, body } => {
                Ok(Self::order(Reader::new(body)?.order()?))
            }
            _ => Err(Unknown),
        }
    }
}

fn emit(body: Body) -> Option<Bytes> {
    let mut out = Vec::new();
    Message { xid: 0, body }.emit(&mut out).ok()?;
    Some(out.into())
}

fn experimenter(write: impl FnOnce(&mut Vec<u8>)) -> Body {
    let mut body = Vec::new();
    body.put_u32(EXPERIMENTER);
    write(&mut body);
    Body::Unknown { kind: EXPERIMENTER_MESSAGE, body: body.into() }
}

/// `OpenFlow` carries frames: a packet without one has a header of zeros.
fn frame(packet: &Packet) -> Option<Bytes> {
    let mut out = Vec::new();
    let ethernet = Some(packet.ethernet.unwrap_or_default());
    Packet { ethernet, ..packet.clone() }.emit(&mut out).ok()?;
    Some(out.into())
}

fn packet(data: &Bytes) -> Result<Packet, Unknown> {
    let packet = Packet::parse(LinkType::Ethernet, data, Checksums::Verify).map_err(|_| Unknown)?;
    let ethernet = packet.ethernet.filter(|ethernet| *ethernet != Ethernet::default());
    Ok(Packet { ethernet, ..packet })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use handfast_core::Duration;
    use handfast_net::Port;
    use handfast_wire::tcp::{Flags, Segment};

    use super::*;
    use crate::sdtp::control::{Activation, Admission, Location, Name, Steering};

    fn ip(host: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, host).into()
    }

    fn syn() -> Packet {
        Packet::tcp(ip(1), ip(2), Segment { src_port: 5, dst_port: 6, flags: Flags::SYN, ..Segment::EMPTY })
    }

    const NAME: Name = Name { peer: IpAddr::V6(Ipv6Addr::LOCALHOST), slice: 7, connection: 8 };

    fn orders() -> [Order; 10] {
        let (client, server) = (SocketAddr::new(ip(1), 5), SocketAddr::new(ip(2), 6));
        let (from, to, round_trip) = (ip(8), ip(9), Duration::from_millis(20));
        [
            Order::Admit(Admission { name: NAME, client, server }),
            Order::Approve(NAME),
            Order::Forget(NAME),
            Order::ForgetEdge(NAME.peer),
            Order::Release(NAME.peer),
            Order::Route(Location { host: ip(1), edge: Some((ip(9), 7)) }),
            Order::Route(Location { host: ip(1), edge: None }),
            Order::Steer(Steering { from: ip(8), to: ip(9), port: Some(Port(3)) }),
            Order::Steer(Steering { from: ip(8), to: ip(9), port: None }),
            Order::Activate(Activation {
                from,
                to,
                slice: 7,
                caching: true,
                retransmission: false,
                round_trip,
            }),
        ]
    }

    /// In a frame whose first byte would be that of an IPv4 header.
    fn framed() -> Packet {
        let ethernet = Ethernet { dst: [0x46, 0, 0, 0, 0, 1], src: [0x62, 0, 0, 0, 0, 2], vlan: None };
        Packet { ethernet: Some(ethernet), ..syn() }
    }

    #[test]
    fn reports_come_back_from_the_wire() {
        for report in [
            Report::Started,
            Report::Leaving,
            Report::Handshake(syn()),
            Report::Handshake(framed()),
            Report::Closed(NAME),
            Report::Locate(ip(2)),
            Report::PortStatus(Port(0), true),
            Report::PortStatus(Port(7), false),
        ] {
            assert_eq!(Report::parse(&report.emit().unwrap()), Ok(report));
        }
    }

    #[test]
    fn instructions_come_back_from_the_wire() {
        for order in orders() {
            for packet in [None, Some(syn()), Some(framed())] {
                let instruction = Instruction { order: Some(order.clone()), packet };
                assert_eq!(Instruction::parse(&instruction.emit().unwrap()), Ok(instruction));
            }
        }
        let bare = Instruction { order: None, packet: Some(syn()) };
        assert_eq!(Instruction::parse(&bare.emit().unwrap()), Ok(bare));
    }

    #[test]
    fn what_is_cut_or_of_another_experimenter_is_none() {
        let bytes = Instruction::order(orders()[0].clone()).emit().unwrap();
        for len in 0..bytes.len() {
            let mut cut = bytes[..len].to_vec();
            if let Some(length) = cut.get_mut(2..4) {
                length.copy_from_slice(&(len as u16).to_be_bytes());
            }
            assert_eq!(Instruction::parse(&cut.into()), Err(Unknown), "{len}");
        }
        let mut other = bytes.to_vec();
        other[11] ^= 1;
        assert_eq!(Instruction::parse(&other.into()), Err(Unknown));
        assert_eq!(Report::parse(&bytes), Err(Unknown), "an order is no report");
    }
}
