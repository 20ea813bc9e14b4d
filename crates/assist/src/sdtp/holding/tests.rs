use std::net::{IpAddr, Ipv4Addr};

use handfast_core::Bytes;
use handfast_wire::Payload;
use handfast_wire::tcp::Segment;

use super::*;

const START: SeqNum = SeqNum(u32::MAX - 150);
const LEN: u32 = 100;
/// A packet of the tests: 40 bytes of headers.
const COST: u64 = 140 + HELD_COST;

fn stream(connection: u16) -> Stream {
    let [from, to] = [8, 9].map(|edge| IpAddr::from(Ipv4Addr::new(192, 0, 2, edge)));
    Stream { from, to, slice: 1, connection }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// The packet at a place of its stream.
fn held(place: u32) -> Held {
    let seq = START + place * LEN;
    let payload = Payload::Synthetic { stream: 0, offset: 0, len: LEN };
    let packet = Packet::tcp(stream(0).from, stream(0).to, Segment { seq, payload, ..Segment::EMPTY });
    Held { seq, len: LEN, packet, host: 1, refused: true }
}

fn behind(place: u32) -> Held {
    Held { refused: false, ..held(place) }
}

fn holding(packets: u64, in_all: u64) -> Holding {
    let quotas = Quotas {
        per_connection: Bytes(packets * COST),
        per_host: Bytes(u64::MAX),
        per_slice: Bytes(u64::MAX),
        total: Bytes(in_all * COST),
    };
    Holding::new(quotas, Duration::from_millis(200))
}

/// Who is told, the places that leave, and how many come too late.
fn tried(holding: &mut Holding, now: Instant) -> (Vec<u16>, Vec<u32>, usize) {
    let (mut told, mut out, mut late) = (Vec::new(), Vec::new(), Vec::new());
    holding.on_timer(now, &mut told, &mut out, &mut late);
    assert!(holding.deadline().is_none_or(|due| due > now));
    let place = |packet: &Packet| match &packet.body {
        handfast_wire::Body::Tcp(segment) => segment.seq.distance(START) as u32 / LEN,
        _ => panic!(),
    };
    (told.iter().map(|(stream, _)| stream.connection).collect(), out.iter().map(place).collect(), late.len())
}

#[test]
fn what_was_refused_leaves_in_order_one_a_try_and_then_twice_as_many() {
    let mut holding = holding(100, 100);
    holding.push(at(0), &stream(1), held(0), true).unwrap();
    for place in [3, 1, 2, 4, 5, 6, 7] {
        holding.push(at(0), &stream(1), behind(place), true).unwrap();
    }
    assert_eq!(holding.deadline(), Some(at(1)));
    assert_eq!(tried(&mut holding, at(1)), (vec![1], vec![0], 0));
    assert_eq!(tried(&mut holding, at(2)).1, [1, 2]);
    // The queue refuses one of these: it comes first again, and one packet tries.
    assert_eq!(holding.push(at(2), &stream(1), held(2), true).ok(), Some(false), "it has waited before");
    assert_eq!(tried(&mut holding, at(3)).1, [2]);
    assert_eq!(tried(&mut holding, at(4)).1, [3, 4]);
    assert_eq!(tried(&mut holding, at(5)).1, [5, 6, 7]);
    assert!(!holding.holds(&stream(1)));
    assert_eq!((holding.cost(), holding.most()), (0, 8 * COST));
    assert_eq!((tried(&mut holding, at(6)).1, holding.deadline()), (vec![], Some(at(20))));
    assert_eq!((tried(&mut holding, at(20)).1, holding.deadline()), (vec![], None));
}

#[test]
fn streams_take_turns() {
    let mut holding = holding(100, 100);
    for place in 0..3 {
        for connection in [1, 2, 3] {
            holding.push(at(0), &stream(connection), held(10 * u32::from(connection) + place), true).unwrap();
        }
    }
    assert_eq!(tried(&mut holding, at(1)).1, [10]);
    assert_eq!(tried(&mut holding, at(2)).1, [20, 30]);
    assert_eq!(tried(&mut holding, at(3)).1, [11, 21, 31, 12]);
}

#[test]
fn a_connection_and_a_node_hold_no_more_than_they_may() {
    let mut holding = holding(2, 3);
    for place in [0, 1] {
        holding.push(at(0), &stream(1), held(place), true).unwrap();
    }
    assert!(holding.push(at(0), &stream(1), held(2), true).is_err(), "the connection");
    holding.push(at(0), &stream(2), held(0), true).unwrap();
    assert!(holding.push(at(0), &stream(3), held(0), true).is_err(), "the node");
    let far = Held { seq: START + (1 << 31), ..held(0) };
    assert!(self::holding(9, 9).push(at(0), &stream(1), far.clone(), true).is_ok());
    tried(&mut holding, at(1));
    assert!(holding.push(at(1), &stream(2), far, true).is_err(), "of another stream");
    assert_eq!(holding.cost(), 2 * COST);
}

#[test]
fn a_host_and_a_slice_hold_no_more_than_they_may() {
    let mut holding = holding(9, 9);
    (holding.quotas.per_host, holding.quotas.per_slice) = (Bytes(2 * COST), Bytes(3 * COST));
    let of = |host, place| Held { host, ..held(place) };
    for connection in [1, 2] {
        holding.push(at(0), &stream(connection), of(1, 0), true).unwrap();
    }
    assert!(holding.push(at(0), &stream(3), of(1, 0), true).is_err(), "the host");
    holding.push(at(0), &stream(3), of(2, 0), true).unwrap();
    assert!(holding.push(at(0), &stream(4), of(3, 0), true).is_err(), "the slice");
    holding.push(at(0), &Stream { slice: 2, ..stream(4) }, of(1, 0), true).unwrap();
    tried(&mut holding, at(1));
    holding.push(at(1), &stream(3), of(1, 1), true).unwrap();
    for ms in 2..6 {
        tried(&mut holding, at(ms));
    }
    assert_eq!(holding.cost(), 0);
    // Nobody is charged for what has left.
    holding.push(at(6), &stream(1), of(1, 0), true).unwrap();
    holding.push(at(6), &stream(2), of(1, 0), true).unwrap();
}

#[test]
fn nothing_waits_longer_than_hosts_do() {
    let mut holding = holding(100, 100);
    holding.push(at(0), &stream(1), held(0), true).unwrap();
    holding.push(at(100), &stream(1), behind(1), true).unwrap();
    // The driver was late: the first one has waited too long.
    assert_eq!(tried(&mut holding, at(200)), (vec![1], vec![1], 1));
    assert_eq!(holding.cost(), 0);
    // One that is refused again and again waits since the first time.
    let mut holding = self::holding(100, 100);
    for ms in 0..200 {
        holding.push(at(ms), &stream(1), held(0), true).unwrap();
        assert_eq!(tried(&mut holding, at(ms + 1)).2, usize::from(ms == 199), "{ms}");
    }
}

#[test]
fn what_comes_in_before_others_lets_them_wait_no_longer() {
    let mut holding = holding(100, 100);
    // The queue refuses all that is tried.
    let mut refused = vec![1];
    let mut late = 0;
    for ms in 0..200 {
        if ms == 100 {
            holding.push(at(ms), &stream(1), behind(0), true).unwrap();
        }
        for place in refused {
            holding.push(at(ms), &stream(1), held(place), true).unwrap();
        }
        (_, refused, late) = tried(&mut holding, at(ms + 1));
        assert_eq!(late > 0, ms == 199, "{ms}");
    }
    assert_eq!((late, holding.cost()), (2, 0));
}

#[test]
fn what_comes_in_before_one_that_is_tried_lets_it_wait_no_longer() {
    let mut holding = holding(100, 100);
    holding.push(at(0), &stream(1), held(1), true).unwrap();
    assert_eq!(tried(&mut holding, at(1)).1, [1]);
    holding.push(at(50), &stream(1), behind(0), true).unwrap();
    holding.push(at(50), &stream(1), held(1), true).unwrap();
    assert_eq!(tried(&mut holding, at(200)).2, 2);
}

#[test]
fn a_sender_is_told_at_once_and_then_every_20_ms() {
    let mut holding = holding(100, 100);
    let mut told = Vec::new();
    for ms in 0..50 {
        holding.push(at(ms), &stream(1), held(0), true).unwrap();
        let (now, ..) = tried(&mut holding, at(ms + 1));
        told.extend(now.iter().map(|_| ms));
    }
    assert_eq!(told, [0, 20, 40]);
    // One that does ECN learns by its marks.
    holding.push(at(60), &stream(2), held(0), false).unwrap();
    assert!(tried(&mut holding, at(61)).0.is_empty());
}

#[test]
fn one_whose_data_does_not_wait_is_told_every_20_ms_as_well() {
    let mut holding = holding(100, 100);
    let mut told = Vec::new();
    // As a discipline drops them: nothing waits here.
    for ms in 0..50 {
        holding.tell(at(ms), &stream(1), START);
        let (now, ..) = tried(&mut holding, at(ms + 1));
        told.extend(now.iter().map(|_| ms));
        assert!(holding.is_idle());
    }
    assert_eq!(told, [0, 20, 40]);
    // What is to wait does not wait until somebody may be told again.
    holding.push(at(51), &stream(1), held(0), true).unwrap();
    assert!(!holding.is_idle());
    assert_eq!(tried(&mut holding, at(52)).1, [0]);
    tried(&mut holding, at(53));
    assert_eq!(holding.deadline(), Some(at(60)));
    tried(&mut holding, at(60));
    assert_eq!((holding.deadline(), holding.waiting.len()), (None, 0));
}

#[test]
fn what_waits_is_not_asked_for() {
    let mut holding = holding(100, 100);
    let ask = |holding: &Holding, from: u32, to: Option<u32>| {
        let place = |place: u32| START + place * LEN;
        let expected = Expected { start: place(from), end: to.map(place), start_num: 0 };
        holding
            .left_of(&stream(1), &expected)
            .map(|left| left.end.map(|end| end.distance(START) as u32 / LEN))
    };
    assert_eq!(ask(&holding, 0, Some(9)), Some(Some(9)), "nothing waits");
    holding.push(at(0), &stream(1), held(4), true).unwrap();
    holding.push(at(0), &stream(1), behind(5), true).unwrap();
    assert_eq!(ask(&holding, 4, Some(6)), None);
    assert_eq!(ask(&holding, 4, None), None);
    assert_eq!(ask(&holding, 2, Some(4)), Some(Some(4)));
    assert_eq!(ask(&holding, 2, Some(6)), Some(Some(4)));
    assert_eq!(ask(&holding, 2, None), Some(None));
}
