//! The rules of TCP options, byte by byte.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::tcp::{
    AccEcnOption, AccEcnOrder, Estimate, Probe, RareOptions, RateOption, SackBlock, SackBlocks, Segment,
    Timestamps, TrainKind,
};
use handfast_wire::{
    Body, Checksums, Ecn, EmitError, LinkType, Packet, ParseError, QuickStartNonce, QuickStartRate,
    QuickStartResponse,
};

const STAMPS: Option<Timestamps> = Some(Timestamps { val: 1, ecr: 2 });
/// As they are written.
const TIMESTAMPS: [u8; 10] = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];

fn packet(segment: Segment) -> Packet {
    Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), segment)
}

/// The options as emitted.
fn emit(segment: &Segment) -> Vec<u8> {
    let mut frame = Vec::new();
    packet(segment.clone()).emit(&mut frame).unwrap();
    frame.split_off(40)
}

/// The segment whose header has these options, a multiple of four bytes.
fn parse(options: &[u8]) -> Result<Segment, ParseError> {
    let mut frame = Vec::new();
    packet(Segment::EMPTY).emit(&mut frame).unwrap();
    frame[3] += options.len() as u8;
    frame[32] = (5 + options.len() as u8 / 4) << 4;
    frame.extend_from_slice(options);
    match Packet::parse(LinkType::RawIp, &Bytes::from(frame), Checksums::Trust)?.body {
        Body::Tcp(segment) => Ok(segment),
        Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => panic!("it was TCP"),
    }
}

fn unknown(options: &[u8]) -> RareOptions {
    RareOptions { unknown: options.into(), ..RareOptions::default() }
}

fn sack(edges: &[(u32, u32)]) -> SackBlocks {
    let mut blocks = SackBlocks::NONE;
    for &(start, end) in edges {
        assert!(blocks.push(SackBlock { start: SeqNum(start), end: SeqNum(end) }));
    }
    blocks
}

#[test]
fn unknown_options_are_found_by_their_kind() {
    // A payload that looks like another kind is none.
    let segment = parse(&[1, 1, 253, 4, 30, 30, 19, 2, 1, 1, 1, 1]).unwrap();
    let found = [253, 19, 30, 1, 8].map(|kind| segment.has_unknown_option(kind));
    assert_eq!(found, [true, true, false, false, false]);
    assert!(!parse(&[]).unwrap().has_unknown_option(0));
}

#[test]
fn a_syn_looks_like_the_kernel_s() {
    let segment = Segment {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: STAMPS,
        window_scale: Some(7),
        ..Segment::EMPTY
    };
    let options = [&[2, 4, 0x05, 0xb4, 4, 2][..], &TIMESTAMPS, &[1, 3, 3, 7]].concat();
    assert_eq!(emit(&segment), options);
    assert_eq!(segment.options_len(), 20);
    assert_eq!(parse(&options), Ok(segment));
}

#[test]
fn each_option_alone_is_aligned_by_nops() {
    let timestamps = Segment { timestamps: STAMPS, ..Segment::EMPTY };
    assert_eq!(emit(&timestamps), [&[1, 1], &TIMESTAMPS[..]].concat());
    assert_eq!(emit(&Segment { sack_permitted: true, ..Segment::EMPTY }), [1, 1, 4, 2]);
    assert_eq!(emit(&Segment { window_scale: Some(14), ..Segment::EMPTY }), [1, 3, 3, 14]);
    assert_eq!(emit(&Segment { mss: Some(536), ..Segment::EMPTY }), [2, 4, 2, 24]);
    let one = Segment { sack: sack(&[(1, 0x0102_0304)]), ..Segment::EMPTY };
    assert_eq!(emit(&one), [1, 1, 5, 10, 0, 0, 0, 1, 1, 2, 3, 4]);
}

#[test]
fn an_unknown_option_is_kept_and_padded_with_zeros() {
    let segment =
        Segment { rare: Some(Box::new(unknown(&[34, 2, 254, 5, 1, 2, 3]))), mss: Some(9), ..Segment::EMPTY };
    assert_eq!(emit(&segment), [2, 4, 0, 9, 34, 2, 254, 5, 1, 2, 3, 0]);
    // They keep their order, whatever stands between them.
    assert_eq!(parse(&[34, 2, 1, 2, 4, 0, 9, 1, 254, 5, 1, 2, 3, 0, 0, 0]), Ok(segment));
}

#[test]
fn nothing_after_the_end_of_options_counts() {
    assert_eq!(parse(&[0, 2, 4, 9]), Ok(Segment::EMPTY));
    assert_eq!(parse(&[1, 1, 1, 1]), Ok(Segment::EMPTY));
}

#[test]
fn an_illegal_length_is_an_error() {
    assert_eq!(parse(&[8, 0, 0, 0]), Err(ParseError::TcpOption { kind: 8, stated: 0, room: 4 }));
    assert_eq!(parse(&[1, 99, 1, 0]), Err(ParseError::TcpOption { kind: 99, stated: 1, room: 3 }));
    assert_eq!(parse(&[1, 2, 4, 9]), Err(ParseError::TcpOption { kind: 2, stated: 4, room: 3 }));
    assert_eq!(parse(&[1, 1, 1, 8]), Err(ParseError::TcpOption { kind: 8, stated: 0, room: 1 }));
}

/// As Linux writes an option of MPTCP behind timestamps.
#[test]
fn nops_behind_the_last_option_come_back_where_it_is_unknown() {
    let options = [&[1, 1], &TIMESTAMPS[..], &[30, 6, 0x20, 1, 2, 3, 1, 1]].concat();
    let segment = parse(&options).unwrap();
    assert!(segment.rare.as_ref().unwrap().filled);
    assert_eq!(emit(&segment), options);
    // Zeros, and where nothing is filled up once options stand where they are written.
    for other in [&[30, 3, 7, 1, 0, 0, 0, 0][..], &[1, 30, 4, 7, 8, 1, 1, 1], &[30, 3, 7, 0]] {
        let segment = parse(other).unwrap();
        assert!(!segment.rare.as_ref().unwrap().filled, "{other:?}");
        assert_eq!(parse(&emit(&segment)), Ok(segment));
    }
}

#[test]
fn a_known_kind_with_another_length_is_unknown() {
    for option in
        [&[2, 3, 9][..], &[2, 5, 9, 9, 9], &[3, 2], &[4, 3, 9], &[8, 9, 1, 2, 3, 4, 5, 6, 7], &[5, 2]]
    {
        let mut options = option.to_vec();
        options.resize(12, 0);
        let expected = Segment { rare: Some(Box::new(unknown(option))), ..Segment::EMPTY };
        assert_eq!(parse(&options), Ok(expected));
    }
    let not_whole_blocks = [[5, 12].as_slice(), &[7; 10]].concat();
    let expected = Segment { rare: Some(Box::new(unknown(&not_whole_blocks))), ..Segment::EMPTY };
    assert_eq!(parse(&not_whole_blocks), Ok(expected));
}

#[test]
fn what_finds_a_rate_has_its_bytes() {
    let with = |option| {
        let rare = RareOptions { rate: Some(option), ..RareOptions::default() };
        Segment { rare: Some(Box::new(rare)), ..Segment::EMPTY }
    };
    // RFC 4782 §4.2, figure 5.
    let (rate, nonce) = (QuickStartRate::from_field(10), QuickStartNonce::new(1));
    let response = with(RateOption::QuickStart(QuickStartResponse { rate, ttl_diff: 28, nonce }));
    assert_eq!(emit(&response), [27, 8, 10, 28, 0, 0, 0, 4]);
    // RFC 6994 §3: kind 253 and an identifier of the experiment.
    let probe = Probe { kind: TrainKind::Chirp, train: 2, index: 3, count: 0x0405, offset_ns: 0x0607_0809 };
    let probe = with(RateOption::Probe(probe));
    assert_eq!(emit(&probe), [253, 14, b'h', b'f', 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 0, 0]);
    let estimate = Estimate { kind: TrainKind::Pair, train: 2, bytes_per_s: 0x0304_0506 };
    let estimate = with(RateOption::Estimate(estimate));
    assert_eq!(emit(&estimate), [253, 10, b'h', b'f', 0, 2, 3, 4, 5, 6, 0, 0]);
    for segment in [response, probe, estimate] {
        assert_eq!(parse(&emit(&segment)), Ok(segment));
    }
    // Another experiment, and what is not of its shape, is not ours.
    for foreign in [
        [253, 10, b'h', b'g', 0, 2, 3, 4, 5, 6, 0, 0],
        [253, 10, b'h', b'f', 2, 2, 3, 4, 5, 6, 0, 0],
        [253, 9, b'h', b'f', 0, 2, 3, 4, 5, 0, 0, 0],
        [27, 7, 10, 28, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let segment = parse(&foreign).unwrap();
        assert!(segment.rate_option().is_none() && segment.rare.is_some(), "{foreign:?}");
    }
}

#[test]
fn of_two_the_last_counts() {
    let twice = [2, 4, 0, 1, 2, 4, 0, 2];
    assert_eq!(parse(&twice), Ok(Segment { mss: Some(2), ..Segment::EMPTY }));
}

#[test]
fn sack_blocks_keep_their_order_up_to_four() {
    let edges = [(10, 20), (1, 2), (u32::MAX, 5), (0, 0)];
    let segment = Segment { sack: sack(&edges), ..Segment::EMPTY };
    let options = emit(&segment);
    assert_eq!(options.len(), 36);
    assert_eq!(parse(&options), Ok(segment.clone()));
    assert!(!segment.sack.clone().push(SackBlock::default()));
}

#[test]
fn sack_gives_way_to_other_options() {
    let four = sack(&[(1, 2), (3, 4), (5, 6), (7, 8)]);
    let segment = Segment { timestamps: STAMPS, sack: four, ..Segment::EMPTY };
    assert_eq!((segment.options_len(), segment.sack_room()), (40, 3));
    assert_eq!(parse(&emit(&segment)).unwrap().sack, sack(&[(1, 2), (3, 4), (5, 6)]));
    // MPTCP's data sequence signal of 20 bytes beside timestamps.
    let crowded =
        Segment { rare: Some(Box::new(unknown(&[[30, 20].as_slice(), &[0; 18]].concat()))), ..segment };
    assert_eq!((crowded.options_len(), crowded.sack_room()), (40, 1));
    assert_eq!(parse(&emit(&crowded)).unwrap().sack, sack(&[(1, 2)]));
    let roomless = Segment { mss: Some(1), window_scale: Some(2), ..crowded };
    assert_eq!((roomless.options_len(), roomless.sack_room()), (40, 0));
    assert!(parse(&emit(&roomless)).unwrap().sack.is_empty());
    assert_eq!(Segment::EMPTY.sack_room(), 4);
}

#[test]
fn options_are_packed_before_sack_gives_way() {
    // Aligned: 12 + 12 + 19 → 44 bytes. Packed: 10 + 10 + 19 → 40.
    let foreign = [[99, 19].as_slice(), &[7; 17]].concat();
    let segment = Segment {
        timestamps: STAMPS,
        sack: sack(&[(1, 2)]),
        rare: Some(Box::new(unknown(&foreign))),
        ..Segment::EMPTY
    };
    let packed = [&TIMESTAMPS[..], &[5, 10, 0, 0, 0, 1, 0, 0, 0, 2], &foreign, &[0]].concat();
    assert_eq!(emit(&segment), packed);
    assert_eq!((segment.options_len(), segment.sack_room()), (40, 1));
    assert_eq!(parse(&packed), Ok(segment));
}

#[test]
fn options_that_cannot_be_sent_are_refused() {
    let refused = |segment: Segment| packet(segment).emit(&mut Vec::new()).unwrap_err();
    let with = |bytes: &[u8]| Segment { rare: Some(Box::new(unknown(bytes))), ..Segment::EMPTY };
    // Empty, a NOP, the end, cut off, a length below 2, a kind that is known.
    for bytes in [&[][..], &[99, 2, 1], &[99, 2, 0], &[99, 3], &[99], &[99, 1], &[2, 4, 0, 9], &[99, 2, 4, 2]]
    {
        assert_eq!(refused(with(bytes)), EmitError::UnknownOptions, "{bytes:?}");
    }
    let long = [[99, 38].as_slice(), &[0; 36]].concat();
    assert!(packet(with(&long)).emit(&mut Vec::new()).is_ok());
    let longer = Segment { mss: Some(1), ..with(&long) };
    assert_eq!(longer.options_len(), 44);
    assert_eq!(refused(longer), EmitError::OptionsLength(44));
}

fn accecn(order: AccEcnOrder, fields: usize) -> RareOptions {
    let counter = |mark| match mark {
        Ecn::Capable0 => 0x0102_0304,
        Ecn::Capable1 => 5,
        _ => 6,
    };
    let option = Some(AccEcnOption::new(order, fields, counter));
    RareOptions { accecn: option, ..RareOptions::default() }
}

/// RFC 9768 §3.2.3, figure 5 and table 5.
#[test]
fn accurate_ecn_has_its_bytes_in_both_orders() {
    for (order, fields, options) in [
        (AccEcnOrder::Ect0First, 3, &[172, 11, 2, 3, 4, 0, 0, 6, 0, 0, 5, 1][..]),
        (AccEcnOrder::Ect1First, 3, &[174, 11, 0, 0, 5, 0, 0, 6, 2, 3, 4, 1]),
        (AccEcnOrder::Ect1First, 2, &[174, 8, 0, 0, 5, 0, 0, 6]),
        (AccEcnOrder::Ect0First, 1, &[172, 5, 2, 3, 4, 1, 1, 1]),
        (AccEcnOrder::Ect1First, 0, &[174, 2, 1, 1]),
    ] {
        let segment = Segment { rare: Some(Box::new(accecn(order, fields))), ..Segment::EMPTY };
        assert_eq!(emit(&segment), options);
        assert_eq!(parse(options), Ok(segment));
    }
}

/// As Linux does: what an option leaves of a word takes the place of NOPs.
#[test]
fn accurate_ecn_stands_behind_timestamps_and_saves_nops() {
    let rare = |fields| Some(Box::new(accecn(AccEcnOrder::Ect1First, fields)));
    let one = [174, 5, 0, 0, 5];
    let with = Segment { rare: rare(1), sack: sack(&[(1, 2)]), timestamps: STAMPS, ..Segment::EMPTY };
    let block = [5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(emit(&with), [&[1, 1], &TIMESTAMPS[..], &one, &[1], &block].concat());
    let syn_ack = Segment { rare: rare(1), window_scale: Some(8), ..Segment::EMPTY };
    assert_eq!(emit(&syn_ack), [&one[..], &[3, 3, 8]].concat());
    let permits = Segment { rare: rare(0), sack_permitted: true, ..Segment::EMPTY };
    assert_eq!(emit(&permits), [174, 2, 4, 2]);
    // All of it and two blocks beside timestamps: 40 bytes.
    let full = Segment { rare: rare(2), sack: sack(&[(1, 2), (3, 4)]), timestamps: STAMPS, ..Segment::EMPTY };
    assert_eq!((emit(&full).len(), full.sack_room()), (40, 2));
}

/// §3.2.3: "use those whole 3-octet fields that fit within the length and ignore the remainder".
#[test]
fn accurate_ecn_of_another_length_is_read_and_kept() {
    for (options, counters) in [
        (&[172, 3, 9, 1][..], &[][..]),
        (&[174, 7, 0, 0, 1, 2, 3, 0], &[(Ecn::Capable1, 1)]),
        (
            &[172, 13, 0, 0, 1, 0, 0, 2, 0, 1, 0, 4, 5, 0, 0, 0],
            &[(Ecn::Capable0, 1), (Ecn::Congested, 2), (Ecn::Capable1, 256)],
        ),
    ] {
        let segment = parse(options).unwrap();
        let found: Vec<_> = segment.accecn().unwrap().counters().collect();
        assert_eq!(found, counters);
        assert_eq!(parse(&emit(&segment)), Ok(segment), "lossless");
    }
    assert_eq!(parse(&[1, 1, 1, 1]).unwrap().accecn(), None);
    assert!(parse(&[172, 99, 1, 1]).is_err());
}
