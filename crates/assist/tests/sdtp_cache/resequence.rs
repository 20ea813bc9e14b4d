//! The resequencing edge, rule by rule.

use handfast_assist::sdtp::resequence::{Bounds, Incoming, Resequencer};
use handfast_core::{Bytes, Duration, Instant, SeqNum};

const NONE: [u32; 0] = [];

const START: SeqNum = SeqNum(u32::MAX - 250);

const BOUNDS: Bounds = Bounds { persistence: Duration::from_millis(200), packets: 8, bytes: Bytes(10_000) };

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A packet of 100 bytes; its name is its place in the stream.
fn facts(place: u32, timestamp: Option<u32>) -> Incoming {
    Incoming { seq: START + place * 100, len: 100, bytes: 100, timestamp, only: false }
}

struct Edge {
    machine: Resequencer<u32>,
    out: Vec<u32>,
}

impl Edge {
    fn new(bounds: Bounds) -> Self {
        Self { machine: Resequencer::new(START, bounds), out: Vec::new() }
    }

    /// What leaves when a packet comes.
    fn data(&mut self, ms: u64, place: u32, timestamp: Option<u32>) -> Vec<u32> {
        self.machine.on_data(at(ms), facts(place, timestamp), place, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn plain(&mut self, ms: u64, place: u32) -> Vec<u32> {
        self.data(ms, place, None)
    }

    /// A repair.
    fn repeat(&mut self, ms: u64, place: u32) -> Vec<u32> {
        let facts = Incoming { only: true, ..facts(place, None) };
        self.machine.on_data(at(ms), facts, place, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn never(&mut self, from: u32, to: u32) -> Vec<u32> {
        self.machine.on_never(START + from * 100, START + to * 100, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn timer(&mut self, ms: u64) -> Vec<u32> {
        self.machine.on_timer(at(ms), &mut self.out);
        std::mem::take(&mut self.out)
    }
}

#[test]
fn what_is_behind_a_hole_waits_until_it_fills_also_across_the_wrap() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 0), [0]);
    assert_eq!(edge.plain(1, 3), NONE);
    assert_eq!(edge.plain(2, 2), NONE);
    assert_eq!((edge.machine.held(), edge.machine.bytes()), (2, 200));
    assert_eq!(edge.plain(3, 1), [1, 2, 3]);
    assert_eq!((edge.machine.held(), edge.machine.bytes()), (0, 0));
    assert_eq!(edge.machine.next(), START + 400);
    assert_eq!((edge.machine.counters().held, edge.machine.counters().repeated), (2, 0));
}

#[test]
fn a_packet_without_data_passes_at_once_wherever_it_stands() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 1), NONE);
    let ack = Incoming { len: 0, ..facts(5, Some(9)) };
    let far = Incoming { seq: START + (1 << 31), ..ack };
    edge.machine.on_data(at(1), ack, 50, &mut edge.out);
    edge.machine.on_data(at(1), far, 51, &mut edge.out);
    assert_eq!((std::mem::take(&mut edge.out), edge.machine.held()), (vec![50, 51], 1));
    assert_eq!(edge.machine.next(), START);
}

#[test]
fn what_came_before_passes_at_once_and_what_waits_stays() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 0), [0]);
    assert_eq!(edge.plain(1, 2), NONE);
    assert_eq!(edge.plain(2, 0), [0], "it has left already");
    assert_eq!(edge.plain(3, 2), [2], "it waits");
    let half = Incoming { len: 50, bytes: 50, ..facts(2, None) };
    edge.machine.on_data(at(3), half, 25, &mut edge.out);
    assert_eq!(std::mem::take(&mut edge.out), [25], "half of one that waits");
    assert_eq!((edge.machine.held(), edge.machine.counters().repeated), (1, 3));
    assert_eq!(edge.plain(4, 1), [1, 2]);
}

#[test]
fn a_packet_that_reaches_beyond_what_has_left_goes_on_with_it() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 0), [0]);
    assert_eq!(edge.plain(0, 2), NONE);
    let both = Incoming { len: 200, bytes: 200, ..facts(0, None) };
    edge.machine.on_data(at(1), both, 9, &mut edge.out);
    assert_eq!(edge.out, [9, 2]);
    assert_eq!(edge.machine.next(), START + 300);
}

/// RFC 3366 §3.3: persistence is bounded.
#[test]
fn a_packet_waits_no_longer_than_the_persistence() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.machine.deadline(), None);
    assert_eq!(edge.plain(5, 4), NONE);
    assert_eq!(edge.plain(100, 2), NONE);
    assert_eq!(edge.plain(101, 5), NONE);
    assert_eq!(edge.machine.deadline(), Some(at(205)), "the first that came, though others stand before it");
    assert_eq!(edge.timer(204), NONE);
    assert_eq!(edge.timer(205), [2, 4, 5], "5 needs nothing any more");
    assert_eq!((edge.machine.deadline(), edge.machine.counters().expired), (None, 2));
    assert_eq!(edge.plain(206, 3), [3], "it comes too late to wait for");
    assert_eq!(edge.plain(206, 6), [6]);
}

#[test]
fn those_behind_the_next_hole_go_on_waiting() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 1), NONE);
    assert_eq!(edge.plain(50, 3), NONE);
    assert_eq!(edge.timer(200), [1]);
    assert_eq!(edge.machine.deadline(), Some(at(250)));
    assert_eq!(edge.plain(201, 2), [2, 3]);
}

#[test]
fn at_a_bound_the_first_leave_and_none_is_dropped() {
    for bounds in [Bounds { packets: 2, ..BOUNDS }, Bounds { bytes: Bytes(299), ..BOUNDS }] {
        let mut edge = Edge::new(bounds);
        assert_eq!(edge.plain(0, 1), NONE);
        assert_eq!(edge.plain(0, 3), NONE);
        assert_eq!(edge.plain(0, 5), [1]);
        assert_eq!((edge.machine.held(), edge.machine.counters().full), (2, 1));
        assert_eq!(edge.plain(0, 0), [0], "its hole was given up");
        assert_eq!(edge.plain(0, 2), [2, 3]);
    }
}

#[test]
fn nothing_waits_for_what_will_not_come() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 2), NONE);
    assert_eq!(edge.plain(0, 5), NONE);
    assert_eq!(edge.never(3, 4), NONE, "not the first hole");
    assert_eq!(edge.never(0, 1), NONE);
    assert_eq!(edge.never(1, 2), [2]);
    assert_eq!(edge.machine.next(), START + 400);
    assert_eq!(edge.plain(1, 4), [4, 5]);
    assert_eq!(edge.never(6, 8), NONE);
    assert_eq!(edge.plain(1, 8), [8]);
    assert_eq!(edge.plain(1, 7), [7], "the host sends it again");
}

#[test]
fn a_range_that_makes_no_sense_changes_nothing() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 0), [0]);
    assert_eq!(edge.plain(0, 3), NONE);
    let next = START + 100;
    for (start, end) in [
        (next, next),
        (next + 50, next),
        (next - 50, next),
        (next, next + (1 << 30) + 1),
        (next - (1 << 30) - 1, next + 200),
    ] {
        edge.machine.on_never(start, end, &mut edge.out);
        assert_eq!((edge.machine.next(), edge.machine.held()), (next, 1));
    }
    edge.machine.on_never(next, next + (1 << 30), &mut edge.out);
    assert_eq!(edge.out, [3], "as far as order means something");
}

/// RFC 7323 §5.3, R1: after a later timestamp in order, the receiver drops an earlier one.
#[test]
fn what_waits_leaves_before_a_retransmission_of_the_host() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.data(0, 0, Some(10)), [0]);
    assert_eq!(edge.data(1, 3, Some(11)), NONE);
    assert_eq!(edge.data(1, 5, Some(11)), NONE);
    assert_eq!(edge.data(2, 1, Some(10)), [1], "a repaired packet has the timestamp that it had");
    assert_eq!(edge.data(300, 2, Some(12)), [3, 5, 2]);
    assert_eq!(edge.machine.counters().taken_over, 1);
    assert_eq!(edge.machine.next(), START + 600);
    // Also one that would wait itself.
    assert_eq!(edge.data(400, 9, Some(20)), NONE);
    assert_eq!(edge.data(500, 8, Some(21)), [9, 8]);
    // And one of a packet that waits.
    assert_eq!(edge.data(600, 12, Some(30)), NONE);
    assert_eq!(edge.data(601, 12, Some(31)), [12, 12]);
    // New data has later timestamps, and waits.
    assert_eq!(edge.data(700, 15, Some(40)), NONE);
    assert_eq!(edge.data(701, 16, Some(41)), NONE);
    assert_eq!(edge.data(702, 13, Some(40)), [13]);
    assert_eq!(edge.machine.counters().taken_over, 3);
}

#[test]
fn all_that_wait_with_one_number_leave_before_a_retransmission_of_the_host() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.data(1, 1, Some(10)), NONE);
    let longer = Incoming { len: 150, ..facts(1, None) };
    edge.machine.on_data(at(2), longer, 2, &mut edge.out);
    assert_eq!(edge.out, NONE);
    assert_eq!(edge.data(3, 1, Some(11)), [1, 2, 1]);
}

#[test]
fn far_away_another_connection_begins() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 1), NONE);
    assert_eq!(edge.never(5, 6), NONE);
    let near = Incoming { seq: START + (1 << 30), ..facts(0, None) };
    edge.machine.on_data(at(1), near, 70, &mut edge.out);
    assert_eq!((edge.out.len(), edge.machine.held()), (0, 2));
    let far = Incoming { seq: START + (1 << 30) + 1, ..near };
    edge.machine.on_data(at(1), far, 71, &mut edge.out);
    assert_eq!(edge.out, [1, 70, 71], "70 has left: it was near");
}

#[test]
fn flushed_packets_leave_in_order() {
    let mut edge = Edge::new(BOUNDS);
    for place in [7, 2, 4] {
        assert_eq!(edge.plain(0, place), NONE);
    }
    edge.machine.flush(&mut edge.out);
    assert_eq!(edge.out, [2, 4, 7]);
    assert_eq!((edge.machine.held(), edge.machine.deadline()), (0, None));
}

#[test]
fn a_repair_of_what_has_come_is_dropped_and_one_of_what_was_given_up_is_not() {
    let mut edge = Edge::new(BOUNDS);
    assert_eq!(edge.plain(0, 0), [0]);
    assert_eq!(edge.repeat(1, 0), NONE, "it has left");
    assert_eq!(edge.plain(2, 2), NONE);
    assert_eq!(edge.repeat(3, 2), NONE, "it waits");
    assert_eq!((edge.machine.counters().needless, edge.machine.held()), (2, 1));
    assert_eq!(edge.timer(202), [2]);
    assert_eq!(edge.repeat(300, 1), [1], "its hole was given up");
    assert_eq!(edge.repeat(301, 1), NONE, "now it has left");
    assert_eq!(edge.never(3, 5), NONE);
    assert_eq!(edge.repeat(302, 4), [4], "a node was wrong");
    assert_eq!(edge.repeat(303, 5), [5]);
    assert_eq!(edge.plain(304, 5), [5], "data may be a retransmission of the host, for which its peer waits");
    assert_eq!(edge.machine.counters().needless, 3);
}
