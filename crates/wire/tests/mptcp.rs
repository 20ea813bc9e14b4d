//! The options of Multipath TCP: their layout byte by byte, what is refused, and that any bytes are survived.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::tcp::mptcp::{
    AddAddress, Capable, DataSeq, Dss, Join, MAX_REMOVED, Mapping, Mptcp, reason,
};
use handfast_wire::tcp::{RareOptions, SackBlock, SackBlocks, Segment, Timestamps};
use handfast_wire::{Body, Checksums, LinkType, Packet};
use proptest::collection::vec;
use proptest::prelude::*;

const KEY: u64 = 0x0102_0304_0506_0708;
const PEER_KEY: u64 = 0x1112_1314_1516_1718;

/// The bytes of an option, as a segment keeps them.
fn emit(option: &Mptcp) -> Vec<u8> {
    let mut segment = Segment::EMPTY;
    assert!(segment.push_mptcp(option));
    segment.rare.unwrap().unknown.to_vec()
}

fn parse(option: &[u8]) -> Vec<Mptcp> {
    let rare = RareOptions { unknown: option.into(), ..RareOptions::default() };
    Segment { rare: Some(Box::new(rare)), ..Segment::EMPTY }.mptcp().collect()
}

fn through_wire(segment: Segment) -> Segment {
    let mut frame = Vec::new();
    Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), segment).emit(&mut frame).unwrap();
    match Packet::parse(LinkType::RawIp, &Bytes::from(frame), Checksums::Verify).unwrap().body {
        Body::Tcp(segment) => segment,
        _ => panic!("it was TCP"),
    }
}

fn capable() -> Capable {
    Capable { version: 1, algorithms: Capable::HMAC_SHA256, ..Capable::default() }
}

fn mapping(data_seq: DataSeq, checksum: Option<u16>) -> Mapping {
    Mapping { data_seq, subflow_seq: 0x2122_2324, len: 0x3132, checksum }
}

/// Every option, and how RFC 8684 lays it out.
fn layout() -> Vec<(Mptcp, Vec<u8>)> {
    let keys = [[1, 2, 3, 4, 5, 6, 7, 8], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]];
    let low = DataSeq::Low(0x4142_4344);
    let whole = DataSeq::Whole(KEY);
    let (v4, v6): (IpAddr, IpAddr) = ([10, 0, 0, 9].into(), [0x20; 16].into());
    let address = |address, port, hmac| Mptcp::AddAddress(AddAddress { address_id: 5, address, port, hmac });
    let with_key = Capable { sender_key: Some(KEY), ..capable() };
    let with_keys = Capable { receiver_key: Some(PEER_KEY), ..with_key };
    vec![
        // Figure 4, by its four lengths.
        (Mptcp::Capable(capable()), vec![30, 4, 0x01, 0x01]),
        (
            Mptcp::Capable(Capable { checksum: true, closed_address: true, ..with_key }),
            [&[30, 12, 0x01, 0xa1], &keys[0][..]].concat(),
        ),
        (
            Mptcp::Capable(Capable { extended: true, algorithms: 0x1f, ..with_keys }),
            [&[30, 20, 0x01, 0x5f], &keys[0][..], &keys[1]].concat(),
        ),
        (
            Mptcp::Capable(Capable { mapped: Some((0x0102, None)), ..with_keys }),
            [&[30, 22, 0x01, 0x01], &keys[0][..], &keys[1], &[1, 2]].concat(),
        ),
        (
            Mptcp::Capable(Capable { mapped: Some((0x0102, Some(0x0304))), ..with_keys }),
            [&[30, 24, 0x01, 0x01], &keys[0][..], &keys[1], &[1, 2, 3, 4]].concat(),
        ),
        // Figures 5 to 7.
        (
            Mptcp::Join(Join::Syn { backup: true, address_id: 5, token: 0x0102_0304, nonce: 0x0506_0708 }),
            vec![30, 12, 0x11, 5, 1, 2, 3, 4, 5, 6, 7, 8],
        ),
        (
            Mptcp::Join(Join::SynAck { backup: false, address_id: 5, hmac: KEY, nonce: 0x2122_2324 }),
            [&[30, 16, 0x10, 5], &keys[0][..], &[0x21, 0x22, 0x23, 0x24]].concat(),
        ),
        (Mptcp::Join(Join::Ack { hmac: [7; 20] }), [&[30, 24, 0x10, 0], &[7; 20][..]].concat()),
        // Figure 9.
        (
            Mptcp::Dss(Dss { ack: Some(low), ..Dss::default() }),
            vec![30, 8, 0x20, 0x01, 0x41, 0x42, 0x43, 0x44],
        ),
        (
            Mptcp::Dss(Dss { ack: Some(whole), mapping: Some(mapping(low, None)), fin: true }),
            [
                &[30, 22, 0x20, 0x17],
                &keys[0][..],
                &[0x41, 0x42, 0x43, 0x44, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32],
            ]
            .concat(),
        ),
        (
            Mptcp::Dss(Dss { ack: Some(whole), mapping: Some(mapping(whole, Some(0x5152))), fin: false }),
            [
                &[30, 28, 0x20, 0x0f],
                &keys[0][..],
                &keys[0],
                &[0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x51, 0x52],
            ]
            .concat(),
        ),
        // Figure 12.
        (address(v4, None, None), vec![30, 8, 0x31, 5, 10, 0, 0, 9]),
        (address(v4, Some(0x0102), None), vec![30, 10, 0x31, 5, 10, 0, 0, 9, 1, 2]),
        (address(v4, None, Some(KEY)), [&[30, 16, 0x30, 5, 10, 0, 0, 9], &keys[0][..]].concat()),
        (
            address(v6, Some(0x0102), Some(KEY)),
            [&[30, 30, 0x30, 5], &[0x20; 16][..], &[1, 2], &keys[0]].concat(),
        ),
        // Figures 13, 11, 16, 14 and 15.
        (Mptcp::RemoveAddress([5, 6].into()), vec![30, 5, 0x40, 5, 6]),
        (Mptcp::Priority { backup: true }, vec![30, 3, 0x51]),
        (Mptcp::Fail(KEY), [&[30, 12, 0x60, 0], &keys[0][..]].concat()),
        (Mptcp::FastClose(KEY), [&[30, 12, 0x70, 0], &keys[0][..]].concat()),
        (Mptcp::Reset { transient: true, reason: reason::MIDDLEBOX_INTERFERENCE }, vec![30, 4, 0x81, 6]),
    ]
}

#[test]
fn every_option_has_the_layout_of_rfc_8684() {
    for (option, bytes) in layout() {
        assert_eq!(emit(&option), bytes, "{option:?}");
        assert_eq!(parse(&bytes), [option]);
    }
}

#[test]
fn reserved_bits_are_not_looked_at() {
    for (option, mut bytes) in layout() {
        match option {
            Mptcp::Capable(_) => continue,
            Mptcp::Dss(_) => bytes[3] |= 0xe0,
            Mptcp::Fail(_) | Mptcp::FastClose(_) => bytes[3] = 0xff,
            _ => {}
        }
        bytes[2] |= 0x0e;
        assert_eq!(parse(&bytes), [option], "{bytes:x?}");
    }
}

#[test]
fn an_option_of_another_length_is_none() {
    for (option, bytes) in layout() {
        for len in 2..=40 {
            let mut other = bytes.clone();
            other.resize(len, 0);
            other[1] = len as u8;
            // Those lengths are other forms of the same option, or another number of address IDs.
            if other.len() != bytes.len() && !matches!(option, Mptcp::RemoveAddress(_)) {
                assert!(!parse(&other).contains(&option), "{other:x?}");
            }
        }
    }
    for bytes in [
        &[30, 3, 0x40][..],
        &[30, 2],
        // DATA_FIN without a mapping; a checksum that is cut off; a subtype that nobody has; another kind.
        &[30, 8, 0x20, 0x11, 0, 0, 0, 0],
        &[30, 15, 0x20, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[30, 4, 0x90, 0],
        &[31, 4, 0x81, 6],
    ] {
        assert_eq!(parse(bytes), [], "{bytes:x?}");
    }
}

#[test]
fn options_stand_behind_one_another_and_between_others() {
    let mut segment = Segment::EMPTY;
    let unknown = [253, 4, 9, 9];
    let rare = RareOptions { unknown: unknown.into(), ..RareOptions::default() };
    segment.rare = Some(Box::new(rare));
    let (prio, reset) = (Mptcp::Priority { backup: true }, Mptcp::Reset { transient: false, reason: 0 });
    assert!(segment.push_mptcp(&prio) && segment.push_mptcp(&reset));
    let back = through_wire(segment.clone());
    assert_eq!(back.mptcp().collect::<Vec<_>>(), [prio, reset]);
    assert!(back.has_unknown_option(253));
    assert_eq!(back, segment);
}

#[test]
fn an_option_that_does_not_fit_is_not_added_and_sack_blocks_give_way() {
    let dss = Mptcp::Dss(Dss {
        ack: Some(DataSeq::Whole(1)),
        mapping: Some(mapping(DataSeq::Whole(2), Some(3))),
        fin: false,
    });
    let mut segment = Segment { timestamps: Some(Timestamps::default()), ..Segment::EMPTY };
    segment.sack.push(SackBlock { start: SeqNum(1), end: SeqNum(2) });
    assert_eq!(segment.sack_room(), 3);
    assert!(segment.push_mptcp(&dss));
    assert_eq!((segment.sack_room(), segment.options_len()), (0, 40));
    let full = segment.clone();
    assert!(!segment.push_mptcp(&Mptcp::Priority { backup: true }));
    assert_eq!(segment, full);
    assert_eq!(through_wire(segment).sack, SackBlocks::NONE);
    let mut bare = Segment::EMPTY;
    assert!(!bare.push_mptcp(&Mptcp::RemoveAddress(vec![1; MAX_REMOVED + 1].into())));
    assert_eq!(bare, Segment::EMPTY);
}

#[test]
fn the_upper_half_of_a_number_is_that_of_the_nearest() {
    let near = (7 << 32) + 5;
    for (low, whole) in
        [(5, near), (6, near + 1), (4, near - 1), (u32::MAX, near - 6), (1 << 31, near + (1 << 31) - 5)]
    {
        assert_eq!(DataSeq::Low(low).whole(near), whole, "{low}");
    }
    assert_eq!(DataSeq::Whole(3).whole(near), 3);
    assert_eq!(DataSeq::Low(u32::MAX).whole(0), u64::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    /// What is parsed is written, and parses to the same.
    #[test]
    fn any_bytes_are_survived(
        subtype in 0..16_u8,
        low in 0..16_u8,
        rest in vec(prop_oneof![any::<u8>(), 0..32_u8], 0..37),
    ) {
        let bytes = [&[30, 3 + rest.len() as u8, subtype << 4 | low], &rest[..]].concat();
        for option in parse(&bytes) {
            let again = emit(&option);
            prop_assert_eq!(again.len(), bytes.len());
            prop_assert_eq!(parse(&again), [option]);
        }
    }

    #[test]
    fn damaged_options_are_survived(which in 0..20_usize, at in 0..30_usize, byte: u8, cut in 0..31_usize) {
        let mut bytes = layout().swap_remove(which).1;
        let len = bytes.len();
        bytes[at % len] = byte;
        for option in parse(&bytes[..cut.min(len)]).into_iter().chain(parse(&bytes)) {
            prop_assert_eq!(parse(&emit(&option)), [option]);
        }
    }
}
