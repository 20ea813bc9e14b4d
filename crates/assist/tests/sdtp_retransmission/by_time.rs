//! §III-C 2 and 3: requests of trigger T.

use handfast_core::Duration;
use handfast_wire::sdtp::Trigger::{Count, Time};

use crate::world::{Node, ahead, later, never, packets, request, requests, rr, seq, us};

#[test]
fn at_each_multiple_of_the_expected_interarrival_time_the_next_packet_is_asked_for_up_to_three() {
    let mut node = Node::new(|_| {});
    let end = node.steady(4);
    // Equation (1): 0.875 * 15 + 0.375 * 15 = 18.75 ms.
    let asked = |n: u16| {
        (end + 18_750 * (u64::from(n) + 1), rr(Time, end + 18_750 * (u64::from(n) + 1), ahead(4, n)))
    };
    assert_eq!(node.until(10_000_000), [0, 1, 2].map(asked));
    assert_eq!((node.tail().start_num, node.tail().rt_cnt, node.tail().rt_type), (3, 3, Some(Time)));
    assert_eq!(node.tail().rt_timer, Some(us(end + 3 * 18_750)));
    assert_eq!(node.machine.deadline(), None);
    assert_eq!(node.machine.counters().time, 3);
}

#[test]
fn a_late_timer_asks_once() {
    let mut node = Node::new(|_| {});
    node.steady(2);
    let mut out = Vec::new();
    node.machine.on_timer(us(15_000 + 40_000), &mut out);
    assert_eq!(out, [rr(Time, 55_000, ahead(2, 0))]);
    assert_eq!(node.until(72_000), [(71_250, rr(Time, 71_250, ahead(2, 1)))]);
}

#[test]
fn nothing_is_asked_for_before_the_interval_is_known() {
    let mut node = Node::new(|_| {});
    node.data(0, 0);
    assert_eq!(node.machine.deadline(), None);
    let mut node = Node::new(|config| config.sending_interval = Some(Duration::from_millis(20)));
    assert_eq!(node.machine.deadline(), None);
    node.data(0, 0);
    assert_eq!(node.until(30_000), [(25_000, rr(Time, 25_000, ahead(1, 0)))]);
}

#[test]
fn the_interval_is_measured_between_packets_in_sequence_that_were_sent_once() {
    let mut node = Node::new(|_| {});
    node.steady(3);
    let expected = node.machine.deadline();
    node.data(60_000, 4);
    node.data(61_000, 3);
    let next = node.machine.deadline();
    assert_eq!(
        next.map(|at| at - Duration::from_millis(31)),
        expected,
        "neither the gap over a loss nor a late packet"
    );
    // ΔT = 15 - 1.5/8..., ΔT_S = 7: ΔT_E = max (14, 0.875 * 7 + 0.375 * 14) = 14.
    node.data(67_000, 5);
    assert_eq!(requests(&node.until(90_000)), [(81_000, request(Time, 81_000, ahead(6, 0)))]);
}

#[test]
fn a_pause_as_long_as_the_persistence_is_no_interval() {
    let mut node = Node::new(|config| config.most_ahead = 0);
    node.steady(2);
    node.data(15_000 + 200_000, 2);
    let mut other = Node::new(|config| config.most_ahead = 1);
    other.steady(2);
    other.data(15_000 + 200_000, 2);
    assert_eq!(node.machine.deadline(), None, "nothing is missing, and nothing may be asked for");
    // The pause was none of the three requests' worth: the first step is two expected times now.
    assert!(other.until(1_000_000).len() == 1);
}

#[test]
fn the_packet_with_the_smallest_wait_len_is_asked_for_first() {
    let mut node = Node::new(|_| {});
    node.steady(2);
    node.machine.on_information(&later(Count, packets(2, 3), 1));
    node.machine.on_information(&later(Count, packets(4, 5), 9));
    node.data(45_000, 3);
    node.data(75_000, 5);
    // The hole at 2 has WaitLen 2 - 2 and was asked for by C; the one at 4 has 10 - 1, the tail 1.
    let sent = requests(&node.until(75_000 + 4 * 18_750));
    let asked: Vec<_> =
        sent.iter().filter(|(_, request)| request.trigger == Time).map(|(_, r)| r.expected).collect();
    assert_eq!(asked, [ahead(6, 0), ahead(6, 1), ahead(6, 2), packets(4, 5)]);
}

#[test]
fn of_equal_wait_lens_the_first_packet_is_asked_for() {
    let mut node = Node::new(|_| {});
    node.steady(2);
    node.machine.on_information(&later(Count, packets(2, 3), 1));
    node.data(45_000, 3);
    assert_eq!(node.holes()[0].wait_len, 1);
    assert_eq!(node.until(64_000), [(63_750, rr(Time, 63_750, packets(2, 3)))]);
}

#[test]
fn what_was_asked_for_by_time_is_not_asked_for_by_count() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    node.until(end + 19_000);
    assert_eq!(node.data(end + 30_000, 3), []);
    let hole = node.holes()[0];
    assert_eq!((hole.rt_type, hole.rt_cnt, hole.start_seq), (Some(Time), 1, seq(2)));
    assert_eq!(node.tail().rt_cnt, 0);
}

#[test]
fn what_lies_behind_the_packets_asked_for_by_time_is_asked_for_by_count() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    node.until(end + 19_000);
    assert_eq!(node.data(end + 30_000, 5)[0], rr(Count, end + 30_000, packets(3, 5)));
    assert_eq!(node.holes().len(), 2);
}

#[test]
fn an_answer_takes_one_of_the_packets_asked_for() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    node.until(end + 38_000);
    node.answer(end + 39_000, 2, &request(Time, end + 18_750, ahead(2, 0)));
    assert_eq!((node.tail().start_seq, node.tail().start_num), (seq(3), 1));
    node.answer(end + 40_000, 3, &request(Time, end + 37_500, ahead(2, 1)));
    assert_eq!((node.tail().start_num, node.tail().rt_timer), (0, None));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (2, 0));
}

/// Requests by time of each of a number of bursts of ten packets, a millisecond apart, with pauses of 50 ms.
fn bursts(node: &mut Node, bursts: u32) -> Vec<u64> {
    let asked = |burst: u32| {
        let (from, before) = (u64::from(burst) * 60_000, node.machine.counters().time);
        for packet in 0..10 {
            node.until(from + u64::from(packet) * 1_000);
            node.data(from + u64::from(packet) * 1_000, burst * 10 + packet);
        }
        node.until(from + 59_999);
        node.machine.counters().time - before
    };
    (0..bursts).map(asked).collect()
}

#[test]
fn a_sender_that_waits_for_its_window_is_soon_left_alone() {
    let mut node = Node::new(|_| {});
    let asked = bursts(&mut node, 30);
    assert_eq!(asked[0], 3);
    assert_eq!(asked[8..], [0; 22]);
    let counters = node.machine.counters();
    assert!(counters.time < 15, "{counters:?}");
    assert_eq!(counters.needless, counters.time);
}

/// A node whose request by time was needless: what was asked for came by itself at 35 ms. And how long it waits now.
fn patient() -> (Node, Duration) {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    assert_eq!(node.until(end + 20_000).len(), 1);
    node.data(35_000, 2);
    let wait = wait(&node, 35_000);
    (node, wait)
}

fn wait(node: &Node, at: u64) -> Duration {
    node.machine.deadline().expect("one may be asked for").since(us(at))
}

#[test]
fn after_a_needless_request_the_next_waits_twice_as_long() {
    let (_, twice) = patient();
    // ΔT = (7 * 15 + 20) / 8 = 15.625 ms, ΔT_S = 20 ms: ΔT_E = 0.875 * 20 + 0.375 * 15.625.
    assert_eq!(twice.as_nanos(), 2 * 23_359_375);
}

#[test]
fn a_request_that_helps_brings_patience_to_an_end() {
    let (mut node, twice) = patient();
    let (at, asked) = requests(&node.until(90_000))[0];
    node.answer(at + 1, 3, &asked);
    assert_eq!(wait(&node, at + 1) * 2, twice);
}

#[test]
fn a_request_by_time_that_came_twice_or_one_by_count_leaves_patience_as_it_is() {
    let (mut node, twice) = patient();
    node.answer(35_000, 2, &request(Time, 33_750, ahead(2, 0)));
    assert_eq!(wait(&node, 35_000), twice);
    assert_eq!(node.until(35_001 + twice.as_nanos() / 1_000).len(), 1);
    node.data(82_000, 3);
    let four_times = wait(&node, 82_000);
    node.data(105_000, 5);
    node.answer(115_000, 4, &request(Count, 105_000, packets(4, 5)));
    assert_eq!(node.machine.counters().useful, 1);
    assert_eq!(wait(&node, 115_000) * 2, four_times);
}

#[test]
fn a_packet_that_was_lost_further_up_says_nothing_of_the_sender() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    let once = wait(&node, end);
    node.until(end + 20_000);
    node.machine.on_information(&never(Time, ahead(2, 0)));
    node.foreign(end + 29_000, 2);
    assert_eq!(wait(&node, end + 29_000), once);
}

#[test]
fn a_loss_that_is_counted_halves_patience() {
    let (mut node, twice) = patient();
    node.data(50_000, 4);
    assert_eq!(node.machine.counters().count, 1);
    assert_eq!(wait(&node, 50_000) * 2, twice, "the gap over a loss is no sample");
}

#[test]
fn a_packet_out_of_order_that_shows_no_loss_leaves_patience_as_it_is() {
    let (mut node, twice) = patient();
    node.machine.on_information(&later(Count, packets(3, 4), 5));
    node.data(50_000, 4);
    assert_eq!(node.holes()[0].wait_len, 5);
    assert_eq!(wait(&node, 50_000), twice);
}

#[test]
fn if_nothing_more_was_sent_nothing_more_is_asked_for() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    node.until(end + 19_000);
    node.machine.on_information(&never(Time, ahead(1, 0)));
    assert_eq!(node.tail().rt_cnt, 1, "that was about another packet");
    node.machine.on_information(&never(Time, ahead(2, 0)));
    assert_eq!(node.until(10_000_000), []);
    assert_eq!(node.machine.counters().needless, 1);
    node.data(10_000_000, 2);
    node.data(10_015_000, 4);
    assert_eq!(node.machine.counters().count, 1, "what comes later is expected as ever");
    assert!(node.machine.deadline().is_some());
}

#[test]
fn a_packet_that_was_asked_for_before_is_still_awaited_if_nothing_is_behind_it() {
    let mut node = Node::new(|_| {});
    let end = node.steady(2);
    node.until(end + 38_000);
    node.machine.on_information(&never(Time, ahead(2, 2)));
    assert_eq!((node.tail().rt_cnt, node.machine.counters().needless), (2, 0), "that was not asked for");
    node.machine.on_information(&never(Time, ahead(2, 1)));
    assert_eq!((node.tail().rt_cnt, node.machine.counters().needless), (1, 1));
    assert_eq!(node.until(end + 50_000), []);
    node.answer(end + 50_000, 2, &request(Time, end + 18_750, ahead(2, 0)));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (1, 1));
}

#[test]
fn a_packet_that_comes_late_is_not_asked_for_before() {
    let late = |expected| {
        let mut node = Node::new(|_| {});
        let end = node.steady(2);
        node.machine.on_information(&later(Time, expected, 2));
        (requests(&node.until(end + 60_000)).first().map(|first| first.0 - end), node)
    };
    let (first, mut node) = late(ahead(2, 0));
    assert_eq!(first, Some(3 * 18_750));
    node.foreign(90_000, 2);
    assert_eq!(node.machine.deadline(), Some(us(90_000 + 18_750)), "the next is");
    for expected in [ahead(2, 1), packets(1, 2)] {
        assert_eq!(late(expected).0, Some(18_750), "another packet");
    }
}
