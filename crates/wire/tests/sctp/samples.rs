//! A chunk of each type.

use std::net::Ipv6Addr;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sctp::{Cause, Chunk, Data, Gap, Init, Packet, Parameter, Sack, code};

pub(crate) fn packet(chunks: Vec<Chunk>) -> Packet {
    Packet { src_port: 0x0102, dst_port: 0x0304, tag: 0x0506_0708, chunks }
}

pub(crate) fn data() -> Data {
    Data {
        tsn: SeqNum(0x1112_1314),
        stream: 0x2122,
        ssn: 0x3132,
        ppid: 0x4142_4344,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: Bytes::from_static(b"hello"),
    }
}

pub(crate) fn init() -> Init {
    Init {
        tag: 0x1112_1314,
        a_rwnd: 0x2122_2324,
        outbound_streams: 0x3132,
        inbound_streams: 0x4142,
        initial_tsn: SeqNum(0x5152_5354),
        parameters: vec![
            Parameter::Address([192, 0, 2, 1].into()),
            Parameter::Address(Ipv6Addr::LOCALHOST.into()),
            Parameter::SupportedAddressTypes(vec![5]),
            Parameter::StateCookie("abc".into()),
        ],
    }
}

pub(crate) fn sack() -> Sack {
    Sack {
        cumulative: SeqNum(0x1112_1314),
        a_rwnd: 0x2122_2324,
        gaps: vec![Gap { start: 2, end: 3 }, Gap { start: 5, end: 0x0607 }],
        duplicates: vec![SeqNum(0x3132_3334)],
    }
}

/// One of each type, and of each parameter and cause.
pub(crate) fn chunks() -> Vec<Chunk> {
    let more = Init {
        parameters: vec![
            Parameter::CookiePreservative(7),
            Parameter::HostName("host\0".into()),
            Parameter::Unrecognized("\u{c0}\0\0\u{4}".into()),
            Parameter::Unknown { kind: 0x8008, value: "x".into() },
        ],
        ..init()
    };
    vec![
        Chunk::Data(data()),
        Chunk::Init(init()),
        Chunk::InitAck(more),
        Chunk::Sack(sack()),
        Chunk::Heartbeat("beat".into()),
        Chunk::HeartbeatAck("beats".into()),
        Chunk::Abort { reflected: true, causes: vec![Cause::plain(code::USER_INITIATED_ABORT)] },
        Chunk::Shutdown { cumulative: SeqNum(0x1112_1314) },
        Chunk::ShutdownAck,
        Chunk::Error(vec![
            Cause::InvalidStream(9),
            Cause::Other { code: code::UNRECOGNIZED_CHUNK_TYPE, value: "12345".into() },
            Cause::StaleCookie { microseconds: 3 },
            Cause::NoUserData(SeqNum(4)),
        ]),
        Chunk::CookieEcho("cookie".into()),
        Chunk::CookieAck,
        Chunk::ShutdownComplete { reflected: false },
        Chunk::Unknown { kind: 0xc1, flags: 0x55, value: "123".into() },
    ]
}
