//! What a hostile or broken sender can do to a node.

use handfast_assist::sdtp::{Arrival, Output};
use handfast_core::SeqNum;
use handfast_wire::sdtp::{Outcome, Trigger};

use crate::world::{LEN, Node, later, never, packets, request, seq, us};

#[test]
fn there_are_never_more_windows_than_configured_and_the_lowest_hole_goes() {
    let mut node = Node::without_time(|config| config.most_windows = 8);
    for packet in 0..7 {
        node.data(0, packet * 2);
    }
    assert_eq!(node.data(0, 14).len(), 2);
    assert_eq!(node.machine.windows().count(), 8);
    let sent = node.data(0, 16);
    assert_eq!(sent.first(), Some(&Output::Information(never(Trigger::Count, packets(1, 2)))));
    assert_eq!((node.machine.windows().count(), node.holes().len()), (8, 7));
    assert_eq!(node.machine.next_expected(), seq(3));
    assert_eq!((node.machine.counters().given_up, node.arrive(0, 1, None)), (1, Arrival::New));
}

#[test]
fn ris_and_packets_out_of_order_take_no_more_than_the_bound() {
    let mut node = Node::without_time(|config| config.most_windows = 8);
    node.data(0, 0);
    for packet in 0..2_000 {
        let at = packet * 7 % 2_000;
        node.machine.on_information(&later(Trigger::Count, packets(at, at + 3), 3));
        node.data(0, (packet * 13 + 5) % 2_000);
        assert!(node.machine.windows().count() <= 8);
        assert!(node.holes().len() <= 3 * 8);
    }
}

#[test]
fn more_announced_packets_than_are_remembered_push_out_the_oldest() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    for packet in 1..=65 {
        node.machine.on_information(&later(Trigger::Count, packets(packet, packet + 1), 9));
    }
    node.data(0, 66);
    let thresholds: Vec<_> = node.holes().iter().map(|hole| hole.cnt_thres).collect();
    assert_eq!((thresholds.len(), thresholds[0], thresholds[1], thresholds[64]), (65, 1, 10, 10));
}

#[test]
fn a_number_far_from_what_is_known_begins_anew() {
    for (distance, is_far) in [(1 << 30, false), ((1 << 30) + 1, true)] {
        for ahead in [true, false] {
            let mut node = Node::without_time(|_| {});
            let mut out = Vec::new();
            node.data(0, 0);
            node.data(0, 2);
            let far = if ahead { seq(3) + distance } else { seq(1) - distance };
            node.machine.on_data(us(0), far, LEN, None, &mut out);
            assert_eq!(node.machine.counters().resets, u64::from(is_far), "{distance} {ahead}");
            assert_eq!(node.machine.next_expected() == far + LEN, is_far || ahead);
            assert_eq!(node.holes().is_empty(), is_far || ahead, "too wide a hole is given up");
        }
    }
}

#[test]
fn after_a_reset_nothing_of_before_is_asked_for() {
    let mut node = Node::new(|_| {});
    node.steady(2);
    node.machine.on_information(&later(Trigger::Count, packets(2, 3), 9));
    node.data(30_000, 4);
    let far = seq(0) + (1 << 31);
    let mut out = Vec::new();
    node.machine.on_data(us(31_000), far, LEN, None, &mut out);
    node.machine.on_data(us(32_000), far + LEN, LEN, None, &mut out);
    assert_eq!(out, []);
    let sent = node.until(10_000_000);
    assert!(
        sent.iter()
            .all(|(_, output)| matches!(output, Output::Request(rr) if rr.expected.start == far + 2 * LEN))
    );
}

#[test]
fn after_a_reset_an_answer_to_a_request_of_before_is_no_sample() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(0, 2);
    node.machine.on_data(us(0), seq(0) + (1 << 31), LEN, None, &mut Vec::new());
    node.data(1_000, 0);
    node.answer(1_000, 1, &request(Trigger::Count, 0, packets(1, 2)));
    assert_eq!((node.machine.counters().resets, node.machine.counters().useful), (2, 0));
}

#[test]
fn a_gap_of_several_entries_is_given_up_as_one() {
    let mut node = Node::without_time(|config| config.most_windows = 3);
    node.data(0, 0);
    node.machine.on_information(&later(Trigger::Count, packets(2, 5), 9));
    node.data(0, 5);
    assert_eq!(node.holes().len(), 2);
    node.machine.give_up(seq(1) + 1..seq(5) - 1);
    let left: Vec<_> = node.holes().iter().map(|hole| (hole.start_seq, hole.end_seq)).collect();
    assert_eq!(left, [(seq(1), Some(seq(1) + 1)), (seq(5) - 1, Some(seq(5)))]);
}

#[test]
fn after_a_reset_nothing_that_was_announced_before_counts() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Trigger::Count, packets(2, 3), 9));
    node.machine.on_data(us(0), seq(0) - (1 << 30) - 1_000, LEN, None, &mut Vec::new());
    node.data(0, 0);
    node.data(0, 1);
    assert_eq!(node.data(0, 3).len(), 2);
    assert_eq!((node.machine.counters().resets, node.machine.counters().count), (2, 1));
}

#[test]
fn windows_far_apart_are_joined() {
    let mut node = Node::without_time(|_| {});
    let mut out = Vec::new();
    node.data(0, 0);
    let step = 1 << 29;
    node.machine.on_data(us(0), seq(1) + 1, step - 1, None, &mut out);
    assert_eq!(node.machine.next_expected(), seq(1));
    node.machine.on_data(us(0), seq(1) + step, 1, None, &mut out);
    assert_eq!(node.machine.next_expected(), seq(1) + step + 1);
    let is_never =
        |output: &Output| matches!(output, Output::Information(ri) if ri.outcome == Outcome::Never);
    assert_eq!(out.iter().filter(|output| is_never(output)).count(), 1);
}

#[test]
fn a_connection_may_go_around_the_sequence_space_many_times() {
    let mut node = Node::without_time(|_| {});
    let (mut next, mut out) = (seq(0), Vec::new());
    let mut send =
        |node: &mut Node, from: SeqNum, len| node.machine.on_data(us(0), from, len, None, &mut out);
    for round in 0..200 {
        assert_eq!(send(&mut node, next, 1 << 26), Arrival::New);
        next += 1 << 26;
        if round % 50 == 7 {
            assert_eq!(send(&mut node, next + 1, 1), Arrival::New);
            node.machine.give_up(next..next + 1);
            next += 2;
        }
        assert_eq!(send(&mut node, next - (1 << 29), 1 << 26), Arrival::Duplicate);
    }
    assert_eq!((node.machine.counters().resets, node.machine.next_expected()), (0, next));
}
