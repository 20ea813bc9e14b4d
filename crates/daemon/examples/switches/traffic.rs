//! What stations are sent: frames of 64 bytes whose payload says which they are.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::openflow::{Body, EthAddr, Match, Message, NO_BUFFER, PacketIn, PacketInReason, PortNo};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet, Payload};

/// A frame for a station: Ethernet, IPv4 and TCP headers of 54 bytes, and these.
const PAYLOAD: usize = 10;
const HEADERS: usize = 54;

/// A segment: which connection, and its place among those of the connection, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) connection: u32,
    pub(crate) index: u32,
}

/// Stations and their connections; connection `c` is one of station `c % stations`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) stations: u32,
    pub(crate) connections: u32,
}

impl Traffic {
    /// All connections.
    pub(crate) fn all(self) -> u32 {
        self.stations * self.connections
    }

    pub(crate) fn station_of(self, connection: u32) -> u32 {
        connection % self.stations
    }

    /// A segment with data.
    pub(crate) fn data(self, name: Name) -> Vec<u8> {
        let mut payload = [0; PAYLOAD];
        payload[..4].copy_from_slice(&name.connection.to_be_bytes());
        payload[4..8].copy_from_slice(&name.index.to_be_bytes());
        let payload = Payload::Bytes(Bytes::copy_from_slice(&payload));
        let seq = SeqNum(1 + name.index * PAYLOAD as u32);
        self.frame(name.connection, Segment { seq, flags: Flags::ACK, payload, ..Segment::EMPTY })
    }

    fn frame(self, connection: u32, segment: Segment) -> Vec<u8> {
        let station = self.station_of(connection);
        let [.., high, low] = station.to_be_bytes();
        let [src, dst] = [[198, 51, 100, 1], [10, 0, high, low]].map(|v4| IpAddr::V4(Ipv4Addr::from(v4)));
        let segment =
            Segment { src_port: 443, dst_port: 10_000 + (connection / self.stations) as u16, ..segment };
        let ethernet = Some(Ethernet { dst: address(station), ..Ethernet::default() });
        let packet = Packet { ethernet, ..Packet::tcp(src, dst, segment) };
        let mut frame = Vec::with_capacity(HEADERS + PAYLOAD);
        packet.emit(&mut frame).unwrap_or_else(|error| unreachable!("it has a form on the wire: {error}"));
        frame
    }
}

/// A station's Ethernet address: of those that are given out locally.
pub(crate) fn address(station: u32) -> EthAddr {
    let [a, b, c, d] = station.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// Which segment a frame says it is.
pub(crate) fn name(frame: &[u8]) -> Option<Name> {
    let payload = frame.get(HEADERS..)?;
    let (connection, rest) = payload.split_first_chunk()?;
    let (connection, index) = (u32::from_be_bytes(*connection), u32::from_be_bytes(*rest.first_chunk()?));
    Some(Name { connection, index })
}

/// Appends a frame's way to the controller.
pub(crate) fn put_packet_in(cookie: u64, frame: Vec<u8>, out: &mut Vec<u8>) {
    let packet = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: frame.len() as u16,
        reason: PacketInReason::Action,
        table_id: 0,
        cookie,
        matches: Match { in_port: Some(PortNo(1)), ..Match::default() },
        data: frame.into(),
    };
    let emitted = Message { xid: 0, body: Body::PacketIn(packet) }.emit(out);
    emitted.unwrap_or_else(|error| unreachable!("it has a form on the wire: {error}"));
}
