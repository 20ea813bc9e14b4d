//! Packets for the tests: any that has a form on the wire.

pub(crate) mod sdtp;
pub(crate) mod survive;

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sdtp::Sdtp;
use handfast_wire::tcp::{
    AccEcnOption, AccEcnOrder, Estimate, Flags, Probe, RareOptions, RateOption, SackBlock, SackBlocks,
    Segment, Timestamps, TrainKind,
};
use handfast_wire::{
    Body, Datagram, Ethernet, Packet, Payload, QuickStart, QuickStartNonce, QuickStartRate,
    QuickStartResponse, Vlan,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Kinds of options that this crate speaks; an unknown option of such a kind has a length that is not that kind's.
const KNOWN: [u8; 10] = [0, 1, 2, 3, 4, 5, 8, 27, 172, 174];

fn ethernet() -> impl Strategy<Value = Ethernet> {
    let vlan = (0..8_u8, any::<bool>(), 0..4096_u16).prop_map(|(priority, drop_eligible, id)| Vlan {
        priority,
        drop_eligible,
        id,
    });
    (any::<[u8; 6]>(), any::<[u8; 6]>(), of(vlan)).prop_map(|(dst, src, vlan)| Ethernet { dst, src, vlan })
}

fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        (any::<[u8; 4]>(), any::<[u8; 4]>()).prop_map(|(a, b)| (a.into(), b.into())),
        (any::<[u8; 16]>(), any::<[u8; 16]>()).prop_map(|(a, b)| (a.into(), b.into())),
    ]
}

/// Payload as a parser gives it: real bytes, or the one empty payload.
fn real_payload() -> impl Strategy<Value = Payload> {
    vec(any::<u8>(), 0..200)
        .prop_map(|bytes| if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(Bytes::from(bytes)) })
}

fn synthetic_payload() -> impl Strategy<Value = Payload> {
    (any::<u32>(), 0..u64::MAX / 2, 0..3000_u32).prop_map(|(stream, offset, len)| Payload::Synthetic {
        stream,
        offset,
        len,
    })
}

fn unknown_option() -> impl Strategy<Value = Vec<u8>> {
    let foreign = (any::<u8>().prop_filter("a foreign kind", |kind| !KNOWN.contains(kind)), 0..9_usize);
    // MSS is 4 bytes, window scale 3, SACK-permitted 2, SACK 2 + 8n, timestamps 10.
    let misshapen =
        prop_oneof![Just((2, 3)), Just((3, 0)), Just((4, 1)), Just((5, 0)), Just((5, 9)), Just((8, 6))];
    (prop_oneof![foreign, misshapen], any::<u8>()).prop_map(|((kind, len), fill)| {
        let mut option = vec![kind, len as u8 + 2];
        option.resize(len + 2, fill);
        option
    })
}

fn rare() -> impl Strategy<Value = Option<Box<RareOptions>>> {
    (accecn(), rate_option(), vec(unknown_option(), 0..4)).prop_map(|(accecn, rate, unknown)| {
        let rare = RareOptions { accecn, rate, unknown: unknown.concat().into_boxed_slice(), filled: false };
        (rare != RareOptions::default()).then(|| Box::new(rare))
    })
}

fn accecn() -> impl Strategy<Value = Option<AccEcnOption>> {
    let order = prop_oneof![Just(AccEcnOrder::Ect0First), Just(AccEcnOrder::Ect1First)];
    of((order, 0..=AccEcnOption::MOST_FIELDS, any::<[u32; 4]>()).prop_map(|(order, fields, counters)| {
        AccEcnOption::new(order, fields, |mark| counters[mark as usize])
    }))
}

fn sack() -> impl Strategy<Value = SackBlocks> {
    vec((any::<u32>(), any::<u32>()), 0..=4).prop_map(|edges| {
        let mut sack = SackBlocks::NONE;
        for (start, end) in edges {
            sack.push(SackBlock { start: SeqNum(start), end: SeqNum(end) });
        }
        sack
    })
}

fn quick_start_fields() -> impl Strategy<Value = (QuickStartRate, u8, QuickStartNonce)> {
    any::<(u8, u8, u32)>()
        .prop_map(|(rate, ttl, nonce)| (QuickStartRate::from_field(rate), ttl, QuickStartNonce::new(nonce)))
}

fn quick_start() -> impl Strategy<Value = QuickStart> {
    (any::<bool>(), quick_start_fields()).prop_map(|(request, (rate, ttl, nonce))| {
        if request { QuickStart::Request { rate, ttl, nonce } } else { QuickStart::Report { rate, nonce } }
    })
}

fn rate_option() -> impl Strategy<Value = Option<RateOption>> {
    let kind = || prop_oneof![Just(TrainKind::Pair), Just(TrainKind::Chirp)];
    let response = quick_start_fields().prop_map(|(rate, ttl_diff, nonce)| {
        RateOption::QuickStart(QuickStartResponse { rate, ttl_diff, nonce })
    });
    let probe =
        (kind(), any::<(u8, u16, u16, u32)>()).prop_map(|(kind, (train, index, count, offset_ns))| {
            RateOption::Probe(Probe { kind, train, index, count, offset_ns })
        });
    let estimate = (kind(), any::<(u8, u32)>())
        .prop_map(|(kind, (train, bytes_per_s))| RateOption::Estimate(Estimate { kind, train, bytes_per_s }));
    of(prop_oneof![response, probe, estimate])
}

fn header() -> impl Strategy<Value = Segment> {
    (any::<(u16, u16, u32, u32)>(), 0..=0xfff_u16, any::<(u16, u16)>()).prop_map(
        |((src_port, dst_port, seq, ack), flags, (window, urgent))| Segment {
            src_port,
            dst_port,
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            flags: Flags(flags),
            window,
            urgent,
            ..Segment::EMPTY
        },
    )
}

/// Any segment, its options within 40 bytes or not.
pub(crate) fn any_segment(payload: impl Strategy<Value = Payload>) -> impl Strategy<Value = Segment> {
    let timestamps = of(any::<(u32, u32)>().prop_map(|(val, ecr)| Timestamps { val, ecr }));
    let options = (of(any::<u16>()), of(any::<u8>()), any::<bool>(), timestamps, sack(), rare());
    (header(), options, payload).prop_map(|(header, options, payload)| {
        let (mss, window_scale, sack_permitted, timestamps, sack, rare) = options;
        Segment { mss, window_scale, sack_permitted, timestamps, sack, rare, payload, ..header }
    })
}

/// A segment all of whose options fit.
fn segment(payload: impl Strategy<Value = Payload>) -> impl Strategy<Value = Segment> {
    any_segment(payload).prop_map(|mut segment| {
        if segment.options_len() > 40 {
            segment.rare = None;
        }
        let mut sack = SackBlocks::NONE;
        for &block in segment.sack.as_slice().iter().take(segment.sack_room()) {
            sack.push(block);
        }
        Segment { sack, ..segment }
    })
}

/// Any body but SDTP.
fn body(payload: BoxedStrategy<Payload>) -> impl Strategy<Value = Body> {
    // Neither TCP nor UDP, and not an IPv6 hop-by-hop header, which cannot be empty.
    let protocol = (1..=255_u8).prop_filter("not TCP or UDP", |protocol| ![6, 17].contains(protocol));
    let datagram = (any::<(u16, u16)>(), payload.clone())
        .prop_map(|((src_port, dst_port), payload)| Datagram { src_port, dst_port, payload });
    prop_oneof![
        4 => segment(payload.clone()).prop_map(Body::Tcp),
        2 => datagram.prop_map(Body::Udp),
        1 => (protocol, payload).prop_map(|(protocol, payload)| Body::Other { protocol, payload }),
    ]
}

fn packet_with(payload: BoxedStrategy<Payload>) -> impl Strategy<Value = Packet> {
    let sdtp = sdtp_with(payload.clone());
    (ip_packet(payload), of(sdtp)).prop_map(|(packet, sdtp)| match sdtp {
        Some(sdtp) => sdtp::carried(packet, sdtp),
        None => packet,
    })
}

fn sdtp_with(payload: BoxedStrategy<Payload>) -> impl Strategy<Value = Sdtp> {
    let whole = ip_packet(payload.clone()).prop_map(|packet| {
        // No checksum covers another body.
        let corrupted = packet.corrupted && !matches!(packet.body, Body::Other { .. });
        Packet { ethernet: None, corrupted, ..packet }
    });
    sdtp::sdtp(segment(payload).boxed(), whole.boxed())
}

/// A packet of any body but SDTP.
fn ip_packet(payload: BoxedStrategy<Payload>) -> impl Strategy<Value = Packet> {
    let header = (any::<(u8, u8, u16)>(), any::<(bool, u32, bool)>(), of(quick_start()));
    (of(ethernet()), addresses(), header, body(payload)).prop_map(|(ethernet, (src, dst), header, body)| {
        let ((hop_limit, traffic_class, identification), (may_fragment, label, corrupted), quick_start) =
            header;
        let quick_start = quick_start.filter(|_| src.is_ipv4());
        let identification = if src.is_ipv4() { identification } else { 0 };
        Packet {
            ethernet,
            hop_limit,
            traffic_class,
            identification,
            may_fragment: may_fragment && src.is_ipv4(),
            flow_label: if src.is_ipv4() { 0 } else { label & 0xf_ffff },
            quick_start,
            corrupted,
            body,
            ..Packet::tcp(src, dst, Segment::EMPTY)
        }
    })
}

/// Any packet that a parse can give: real payload.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    packet_with(real_payload().boxed()).prop_map(|packet| {
        // No checksum covers another body, so a parse never finds it corrupted.
        let corrupted = packet.corrupted && !matches!(packet.body, Body::Other { .. });
        Packet { corrupted, ..packet }
    })
}

/// Any packet that a simulation sends: synthetic payload too, whatever the body is marked as.
pub(crate) fn simulated_packet() -> impl Strategy<Value = Packet> {
    packet_with(prop_oneof![real_payload(), synthetic_payload()].boxed())
}
