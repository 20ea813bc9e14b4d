//! Parity brings back the one packet of several that is not there, and nothing else.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::Payload;
use handfast_wire::sdtp::{Content, Data, InnerIp, Parity, Trigger};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use proptest::prelude::*;

/// A segment at a number, with so many bytes.
fn data(number: SeqNum, len: u32, v6: bool) -> Data {
    let payload = Payload::Synthetic { stream: 1, offset: u64::from(number.0), len };
    let timestamps = len.is_multiple_of(3).then_some(Timestamps { val: len, ecr: number.0 });
    let segment =
        Segment { seq: number, flags: Flags::ACK, ack: SeqNum(len), timestamps, payload, ..Segment::EMPTY };
    let ip = InnerIp { v6, hop_limit: 60, traffic_class: 2, ..InnerIp::default() };
    Data { ip, since_start: 7, host: 0, content: Content::Segment(segment) }
}

/// Segments that follow each other from near the end of the numbers on.
fn run(lens: &[u32]) -> Vec<(SeqNum, Data)> {
    let mut at = SeqNum(u32::MAX - 30);
    let mut next = |len: u32| {
        let one = (at, data(at, len, false));
        at += len;
        one
    };
    lens.iter().map(|&len| next(len)).collect()
}

fn of(packets: &[(SeqNum, Data)]) -> Option<Parity> {
    let packets: Vec<_> = packets.iter().map(|(number, data)| (*number, data)).collect();
    Parity::of(&packets, Trigger::Count, 5)
}

fn recover(parity: &Parity, there: &[(SeqNum, Data)]) -> Option<(SeqNum, Data)> {
    let there: Vec<_> = there.iter().map(|(number, data)| (*number, data)).collect();
    parity.recover(&there)
}

/// With real bytes, as they come back.
fn real((number, mut data): (SeqNum, Data)) -> (SeqNum, Data) {
    if let Content::Segment(segment) = &mut data.content {
        segment.payload = Payload::Bytes(segment.payload.to_bytes());
    }
    (number, data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_one_that_is_missing_comes_back(
        lens in prop::collection::vec(1_u32..60, 1..=Parity::MOST), place in any::<prop::sample::Index>()
    ) {
        let mut packets = run(&lens);
        let parity = of(&packets).unwrap();
        prop_assert_eq!(recover(&parity, &packets), None, "nothing is missing");
        let missing = packets.remove(place.index(packets.len()));
        prop_assert_eq!(recover(&parity, &packets).map(real), Some(real(missing)));
        if packets.pop().is_some() {
            prop_assert_eq!(recover(&parity, &packets), None, "two are");
        }
    }

    /// What an insider or a bit error makes of it: something is recovered only if it has the place that is free.
    #[test]
    fn any_sum_is_survived(
        lens in prop::collection::vec(1_u32..60, 2..9), lengths in any::<u16>(), len in 1_u32..60,
        sum in prop::collection::vec(any::<u8>(), 0..100)
    ) {
        let mut packets = run(&lens);
        let mut parity = of(&packets).unwrap();
        let (at, _) = packets.remove(0);
        (parity.lengths, parity.sum) = (lengths, Bytes::from(sum));
        if let Some((number, data)) = recover(&parity, &packets) {
            prop_assert_eq!((number, data.seq_len()), (at, lens[0]));
        }
        packets[0] = (packets[0].0, data(packets[0].0, lens[1] + len, false));
        prop_assert_eq!(recover(&parity, &packets), None, "not the packets that it is of");
    }
}

/// A host that sends again acknowledges more: who has the one packet gets nothing of parity over the other.
#[test]
fn of_packets_that_say_something_else_nothing_comes_back() {
    let mut packets = run(&[5, 5, 5]);
    let parity = of(&packets).unwrap();
    let missing = packets.remove(0);
    assert_eq!(recover(&parity, &packets).map(real), Some(real(missing)));
    let Content::Segment(segment) = &mut packets[1].1.content else { panic!() };
    segment.ack += 1;
    assert_eq!(recover(&parity, &packets), None);
}

#[test]
fn packets_that_do_not_belong_together_have_none() {
    let packets = run(&[5, 5, 5]);
    assert!(of(&packets).is_some());
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[packets[0].clone(), packets[2].clone()]), None);
    assert_eq!(of(&run(&[1; Parity::MOST + 1])), None);
    assert_eq!(of(&run(&[5, 0, 5])), None);
    let other = (packets[1].0, data(packets[1].0, 5, true));
    assert_eq!(of(&[packets[0].clone(), other]), None);
}
