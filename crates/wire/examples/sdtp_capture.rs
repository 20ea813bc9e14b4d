//! Writes a capture of SDTP to standard output: each message in each carriage, then acknowledgements with the bits of ELN.

use std::error::Error;
use std::io::{self, BufWriter};

use bytes::Bytes;
use handfast_core::{Instant, SeqNum};
use handfast_wire::pcapng::PcapngWriter;
use handfast_wire::sdtp::{
    Carriage, Congestion, Content, Data, Expected, Information, InnerIp, Message, Notification, Outcome,
    Parity, Repeat, Request, Sdtp, Seal, Trigger,
};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Datagram, Ethernet, LinkType, Packet, Payload};

const SEQUENCE: SeqNum = SeqNum(3_000_000_000);
const EXPECTED: Expected = Expected { start: SeqNum(1000), end: Some(SeqNum(2460)), start_num: 3 };

fn main() -> Result<(), Box<dyn Error>> {
    let mut capture = PcapngWriter::new(BufWriter::new(io::stdout().lock()))?;
    let wire = capture.add_interface("edge1-eth0", LinkType::Ethernet, None)?;
    let in_each = |message: Message| {
        [Carriage::Native, Carriage::Ip, Carriage::Udp].map(|carriage| packet(carriage, message.clone()))
    };
    let sdtp = messages().into_iter().flat_map(in_each);
    for (n, packet) in sdtp.chain([corrupted()]).chain(acknowledgements()).enumerate() {
        let ethernet = Some(Ethernet { dst: [2, 0, 0, 0, 0, 2], src: [2, 0, 0, 0, 0, 1], vlan: None });
        capture.record(wire, Instant::from_nanos(n as u64), &Packet { ethernet, ..packet })?;
    }
    capture.finish()?;
    Ok(())
}

fn packet(carriage: Carriage, message: Message) -> Packet {
    let seal = match message {
        Message::Data(_) => None,
        _ => Some(Seal { node: 9, counter: 1 << 40, tag: [0xab; 16] }),
    };
    let sdtp = Sdtp { carriage, slice: 772, connection: 258, sequence: SEQUENCE, message, seal };
    let packet = Packet::sdtp([192, 0, 2, 1].into(), [192, 0, 2, 2].into(), sdtp);
    Packet { traffic_class: 2, ..packet }
}

fn corrupted() -> Packet {
    Packet {
        corrupted: true,
        ..packet(Carriage::Ip, Message::Notification(Notification { until: SEQUENCE }))
    }
}

/// In the order of the types; data twice: a segment and a whole packet. RI twice: "later" and "never".
fn messages() -> Vec<Message> {
    let (start, start_num, timestamp, trigger) = (SeqNum(1000), 3, 4_000_000_000, Trigger::Time);
    let expected = Expected { end: None, ..EXPECTED };
    let later = Outcome::Later { add_l: 5 };
    let information = |trigger, outcome| Information { trigger, expected: EXPECTED, outcome };
    let sum = Bytes::from_static(b"sum");
    let (end, count, lengths) = (SeqNum(2460), 2, 0x20);
    let parity = Parity { trigger, timestamp, start, end, count, lengths, check: 0xabcd, v6: true, sum };
    vec![
        Message::Data(segment()),
        Message::Data(whole()),
        Message::Request(Request { trigger: Trigger::Timeout, expected: EXPECTED, timestamp }),
        Message::Request(Request { trigger: Trigger::Time, expected, timestamp }),
        Message::Repeat(Repeat { trigger, start, start_num, timestamp, data: segment() }),
        Message::Information(information(Trigger::Count, later)),
        Message::Information(information(Trigger::Count, Outcome::Never)),
        Message::Notification(Notification { until: SeqNum(5000) }),
        Message::Parity(parity),
        Message::Congestion(Congestion { until: SeqNum(6000), held: 2400 }),
    ]
}

fn segment() -> Data {
    let segment = Segment {
        seq: SEQUENCE,
        ack: SeqNum(77),
        flags: Flags::ACK | Flags::ELN | Flags::ELN_LOSS,
        window: 501,
        timestamps: Some(Timestamps { val: 1, ecr: 2 }),
        payload: Payload::Bytes(Bytes::from_static(b"hi")),
        ..Segment::EMPTY
    };
    let ip = InnerIp {
        v6: true,
        hop_limit: 63,
        traffic_class: 0xb8,
        identification: 0,
        dont_fragment: false,
        flow_label: 0x54321,
    };
    Data { ip, since_start: 1460, host: 5, content: Content::Segment(segment) }
}

fn whole() -> Data {
    let datagram =
        Datagram { src_port: 5000, dst_port: 6000, payload: Payload::Bytes(Bytes::from_static(b"whole")) };
    let packet = Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Segment::EMPTY);
    let packet = Packet { body: Body::Udp(datagram), ..packet };
    Data { ip: InnerIp::default(), since_start: 9, host: 0, content: Content::Packet(Box::new(packet)) }
}

/// A plain one, one of a loss, one of a handoff.
fn acknowledgements() -> [Packet; 3] {
    [Flags::ACK, Flags::ACK | Flags::ELN | Flags::ELN_LOSS, Flags::ACK | Flags::ELN].map(|flags| {
        let segment = Segment { src_port: 80, dst_port: 40000, flags, ..Segment::EMPTY };
        Packet::tcp([192, 0, 2, 1].into(), [192, 0, 2, 2].into(), segment)
    })
}
