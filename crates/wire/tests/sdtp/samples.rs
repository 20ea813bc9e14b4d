//! One packet of each message, between 192.0.2.1 and 192.0.2.2, and the bytes that it is.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sdtp::{
    Carriage, Congestion, Content, Data, Expected, Information, InnerIp, Message, Notification, Outcome,
    Parity, Repeat, Request, Sdtp, Trigger,
};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Checksums, LinkType, Packet, ParseError, Payload};

/// Bytes of an IPv4 header.
pub(crate) const IPV4: usize = 20;

/// The packet, of connection 0x0102 and slice 0x0304, with sequence number 0x05060708.
pub(crate) fn sdtp(message: Message) -> Sdtp {
    let (slice, connection, sequence) = (0x0304, 0x0102, SeqNum(0x0506_0708));
    Sdtp { carriage: Carriage::Native, slice, connection, sequence, message, seal: None }
}

pub(crate) fn between_edges(sdtp: Sdtp) -> Packet {
    Packet::sdtp([192, 0, 2, 1].into(), [192, 0, 2, 2].into(), sdtp)
}

pub(crate) fn packet(message: Message) -> Packet {
    between_edges(sdtp(message))
}

pub(crate) fn segment() -> Segment {
    Segment {
        seq: SeqNum(0x0506_0708),
        ack: SeqNum(0x1112_1314),
        flags: Flags::ACK | Flags::PSH | Flags::ELN,
        window: 0x2122,
        timestamps: Some(Timestamps { val: 0x3132_3334, ecr: 0x4142_4344 }),
        payload: Payload::Bytes(Bytes::from_static(b"hi")),
        ..Segment::EMPTY
    }
}

pub(crate) fn ip() -> InnerIp {
    InnerIp {
        v6: false,
        hop_limit: 0x3f,
        traffic_class: 0xb8,
        identification: 0x5152,
        dont_fragment: true,
        flow_label: 0,
    }
}

pub(crate) fn data() -> Data {
    Data { ip: ip(), since_start: 0x6162, host: 0, content: Content::Segment(segment()) }
}

/// A whole packet of 21 bytes: protocol 59, "no next header".
pub(crate) fn whole() -> Data {
    let body = Body::Other { protocol: 59, payload: Payload::Bytes(Bytes::from_static(b"x")) };
    let packet = Packet { body, ..Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Segment::EMPTY) };
    Data { content: Content::Packet(Box::new(packet)), ip: InnerIp::default(), since_start: 0x6162, host: 0 }
}

pub(crate) const EXPECTED: Expected =
    Expected { start: SeqNum(0x7172_7374), end: Some(SeqNum(0x8182_8384)), start_num: 0x9192 };

pub(crate) fn request() -> Message {
    Message::Request(Request { trigger: Trigger::Timeout, expected: EXPECTED, timestamp: 0xa1a2_a3a4 })
}

pub(crate) fn repeat() -> Message {
    Message::Repeat(Repeat {
        trigger: Trigger::Time,
        start: SeqNum(0x7172_7374),
        start_num: 0x9192,
        timestamp: 0xa1a2_a3a4,
        data: data(),
    })
}

pub(crate) fn information(outcome: Outcome) -> Message {
    Message::Information(Information { trigger: Trigger::Count, expected: EXPECTED, outcome })
}

pub(crate) fn notification() -> Message {
    Message::Notification(Notification { until: SeqNum(0x7172_7374) })
}

pub(crate) fn congestion() -> Message {
    Message::Congestion(Congestion { until: SeqNum(0x7172_7374), held: 0x8182_8384 })
}

pub(crate) fn parity() -> Message {
    Message::Parity(Parity {
        trigger: Trigger::Time,
        timestamp: 0xa1a2_a3a4,
        start: SeqNum(0x7172_7374),
        end: SeqNum(0x8182_8384),
        count: 2,
        lengths: 0xc1c2,
        check: 0xd1d2_d3d4,
        v6: false,
        sum: Bytes::from_static(b"sum"),
    })
}

/// One of each.
pub(crate) fn messages() -> [Message; 8] {
    [
        Message::Data(data()),
        Message::Data(whole()),
        request(),
        repeat(),
        information(Outcome::Later { add_l: 0xb1b2 }),
        notification(),
        congestion(),
        parity(),
    ]
}

pub(crate) fn emit(packet: &Packet) -> Vec<u8> {
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap();
    frame
}

pub(crate) fn parse(frame: &[u8]) -> Result<Packet, ParseError> {
    Packet::parse(LinkType::RawIp, &Bytes::copy_from_slice(frame), Checksums::Verify)
}
