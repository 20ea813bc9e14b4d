//! The acknowledgment that a controller makes up in a receiver's place.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Checksums, Ethernet, LinkType, Packet};

/// The frame that answers `frame`: all before `ack` has come, and there is no room for more (`[sdn]` §3.1).
pub(in super::super) fn answer(frame: &Bytes, ack: SeqNum) -> Option<Bytes> {
    let packet = Packet::parse(LinkType::Ethernet, frame, Checksums::Trust).ok()?;
    let (Body::Tcp(segment), Some(ethernet)) = (&packet.body, packet.ethernet) else { return None };
    // RFC 7323 §4.3, §5.3: the newest time stamp of the station that its peer has seen, which is therefore not too old for it.
    let timestamps = segment.timestamps.map(|stamps| Timestamps { val: stamps.ecr, ecr: stamps.val });
    let reply = Segment {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        // What the peer expects: the station has sent nothing since.
        seq: segment.ack,
        ack,
        flags: Flags::ACK,
        window: 0,
        timestamps,
        ..Segment::EMPTY
    };
    let ethernet = Some(Ethernet { dst: ethernet.src, src: ethernet.dst, vlan: ethernet.vlan });
    let reply = Packet { ethernet, ..Packet::tcp(packet.dst, packet.src, reply) };
    let mut bytes = Vec::new();
    reply.emit(&mut bytes).ok()?;
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::Payload;

    fn frame(stamps: Option<Timestamps>) -> Bytes {
        let [src, dst] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let segment = Segment {
            src_port: 80,
            dst_port: 4000,
            seq: SeqNum(1000),
            ack: SeqNum(77),
            flags: Flags::ACK,
            window: 500,
            timestamps: stamps,
            payload: Payload::Bytes(Bytes::from_static(b"hello")),
            ..Segment::EMPTY
        };
        let ethernet = Some(Ethernet { dst: [2; 6], src: [1; 6], vlan: None });
        let mut bytes = Vec::new();
        Packet { ethernet, ..Packet::tcp(src, dst, segment) }.emit(&mut bytes).unwrap();
        bytes.into()
    }

    #[test]
    fn the_answer_is_what_the_station_would_say_without_room() {
        let stamps = Timestamps { val: 5, ecr: 3 };
        let reply = answer(&frame(Some(stamps)), SeqNum(1005)).unwrap();
        let reply = Packet::parse(LinkType::Ethernet, &reply, Checksums::Verify).unwrap();
        assert_eq!(reply.ethernet, Some(Ethernet { dst: [1; 6], src: [2; 6], vlan: None }));
        assert_eq!([reply.src, reply.dst].map(|address| address.to_string()), ["192.0.2.2", "192.0.2.1"]);
        let Body::Tcp(segment) = reply.body else { panic!() };
        let expected = Segment {
            src_port: 4000,
            dst_port: 80,
            seq: SeqNum(77),
            ack: SeqNum(1005),
            flags: Flags::ACK,
            timestamps: Some(Timestamps { val: 3, ecr: 5 }),
            ..Segment::EMPTY
        };
        assert_eq!(segment, expected);
    }

    #[test]
    fn without_time_stamps_there_are_none() {
        let reply = answer(&frame(None), SeqNum(1005)).unwrap();
        let reply = Packet::parse(LinkType::Ethernet, &reply, Checksums::Verify).unwrap();
        assert!(matches!(reply.body, Body::Tcp(Segment { timestamps: None, window: 0, .. })));
    }

    #[test]
    fn what_is_no_tcp_has_no_answer() {
        assert_eq!(answer(&Bytes::from_static(&[0; 60]), SeqNum(1)), None);
    }
}
