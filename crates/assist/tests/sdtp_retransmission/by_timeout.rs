//! §III-C 2: requests of trigger R, and when a hole is given up.

use handfast_assist::sdtp::Output;
use handfast_core::Duration;
use handfast_wire::sdtp::Trigger::{Count, Timeout};

use crate::world::{Node, never, packets, request, requests, rr, seq};

/// A node that has asked for packet 1 at 1 ms.
fn asked() -> Node {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(1_000, 2);
    node
}

#[test]
fn a_retransmission_that_does_not_come_is_asked_for_again() {
    let mut node = asked();
    // Three round trips of the segment before the first sample.
    assert_eq!(node.until(31_000), [(31_000, rr(Timeout, 31_000, packets(1, 2)))]);
    assert_eq!((node.holes()[0].rt_cnt, node.holes()[0].rt_type), (2, Some(Timeout)));
    node.answer(41_000, 1, &request(Timeout, 31_000, packets(1, 2)));
    assert_eq!(node.until(1_000_000), []);
    assert_eq!(node.machine.counters().timeout, 1);
    let counters = node.machine.counters();
    assert_eq!((counters.useful, counters.needless), (1, 0), "the first request was lost");
}

#[test]
fn the_timeout_follows_the_retransmission_rtt() {
    let mut node = asked();
    node.answer(21_000, 1, &request(Count, 1_000, packets(1, 2)));
    node.data(30_000, 4);
    // R_v = 20 ms, R_m = 0: a millisecond for the clock.
    assert_eq!(node.until(52_000), [(51_000, rr(Timeout, 51_000, packets(3, 4)))]);
}

#[test]
fn an_answer_to_another_nodes_request_is_no_sample() {
    let mut node = asked();
    node.foreign(2_000, 1);
    let mut other = asked();
    other.answer(2_000, 1, &request(Count, 1_001, packets(1, 2)));
    let mut third = asked();
    third.answer(2_000, 1, &request(Count, 1_000, packets(1, 3).shifted()));
    for mut node in [node, other, third] {
        node.data(30_000, 4);
        assert_eq!(requests(&node.until(60_000))[0].0, 60_000);
    }
}

trait Shifted {
    fn shifted(self) -> Self;
}

impl Shifted for handfast_wire::sdtp::Expected {
    /// The same with another start.
    fn shifted(mut self) -> Self {
        self.start += 1;
        self
    }
}

#[test]
fn the_persistence_ends_it_and_those_downstream_are_told() {
    let mut node = asked();
    let sent = node.until(10_000_000);
    let times: Vec<_> = requests(&sent).iter().map(|&(at, request)| (at, request.trigger)).collect();
    // The fifth request waits twice as long.
    assert_eq!(times, [31, 61, 91, 121, 181].map(|at| (at * 1_000, Timeout)));
    let last = Output::Information(never(Timeout, packets(1, 2)));
    assert_eq!(sent.last(), Some(&(201_000, last)));
    assert_eq!(node.machine.next_expected(), seq(3));
    assert_eq!(node.machine.counters().given_up, 1);
    assert_eq!(node.machine.deadline(), None);
}

#[test]
fn without_persistence_a_hole_is_given_up_at_the_next_call() {
    let mut node = Node::without_time(|config| config.persistence = Duration::ZERO);
    node.data(0, 0);
    node.data(1_000, 2);
    node.data(1_000, 4);
    let sent = node.until(1_000);
    let both = [packets(1, 2), packets(3, 4)].map(|gap| (1_000, Output::Information(never(Count, gap))));
    assert_eq!(sent, both);
    assert_eq!(node.machine.deadline(), None);
}

#[test]
fn parts_of_a_hole_that_come_are_not_asked_for_again() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(1_000, 4);
    let all = request(Count, 1_000, packets(1, 4));
    node.answer(11_000, 2, &all);
    let again = requests(&node.until(12_000));
    assert_eq!(again, [packets(1, 2), packets(3, 4)].map(|gap| (12_000, request(Timeout, 12_000, gap))));
}

#[test]
fn a_round_trip_longer_than_the_first_timeout_is_learnt_with_as_many_holes_as_there_may_be() {
    let mut node = Node::without_time(|config| config.most_windows = 16);
    node.data(0, 0);
    (1..=15).for_each(|hole| drop(node.data(1_000, hole * 2)));
    assert_eq!(requests(&node.until(62_000)).len(), 2 * 15);
    for hole in 1..=15 {
        let gap = packets(hole * 2 - 1, hole * 2);
        node.answer(81_000, hole * 2 - 1, &request(Count, 1_000, gap));
    }
    assert_eq!(node.machine.counters().useful, 15);
    node.data(100_000, 32);
    assert_eq!(requests(&node.until(200_000))[0].0, 181_000);
}

#[test]
fn a_timestamp_holds_beyond_its_wrap() {
    let wrap = 1 << 32;
    let mut node = Node::without_time(|_| {});
    node.data(wrap - 5_000, 0);
    node.data(wrap - 5_000, 2);
    node.answer(wrap + 15_000, 1, &request(Count, wrap - 5_000, packets(1, 2)));
    assert_eq!(node.machine.counters().useful, 1);
    node.data(wrap + 20_000, 4);
    assert_eq!(requests(&node.until(wrap + 50_000))[0].0, wrap + 41_000);
}
