//! §III-C 2 and 3: requests of trigger C, RI packets, and `CntThres`.

use handfast_assist::sdtp::{Inform, Level, Output};
use handfast_wire::sdtp::Trigger::{Count, Time};

use crate::world::{Node, ahead, later, never, packets, request, rr, seq};

#[test]
fn the_first_packet_out_of_order_shows_a_loss_and_those_downstream_are_told() {
    let mut node =
        Node::without_time(|config| config.least_interval = handfast_core::Duration::from_millis(4));
    node.steady(2);
    // Equation (2): R = 10 ms, I = 15 ms: 0.67 + 1, rounded up.
    let information = later(Count, packets(2, 4), 2);
    assert_eq!(node.data(45_000, 4), [rr(Count, 45_000, packets(2, 4)), Output::Information(information)]);
    assert_eq!(node.data(46_000, 5), [], "it is asked for once");
    assert_eq!(node.machine.counters().count, 1);
}

#[test]
fn at_segment_level_nobody_is_told() {
    let mut node = Node::without_time(|config| config.level = Level::Segment);
    node.data(0, 0);
    assert_eq!(node.data(1_000, 2), [rr(Count, 1_000, packets(1, 2))]);
}

#[test]
fn nobody_is_told_if_so_configured() {
    let mut node = Node::without_time(|config| config.inform = Inform::Never);
    node.data(0, 0);
    assert_eq!(node.data(1_000, 2), [rr(Count, 1_000, packets(1, 2))]);
}

#[test]
fn an_ri_of_a_packet_that_is_not_missed_yet_raises_its_threshold() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(1, 2), 2));
    assert_eq!(node.data(1_000, 2), []);
    assert_eq!((node.holes()[0].cnt_thres, node.holes()[0].wait_len), (3, 2));
    assert_eq!(node.data(2_000, 3), []);
    let sent = node.data(3_000, 4);
    assert_eq!(sent[0], rr(Count, 3_000, packets(1, 2)), "it has not come after AddL packets");
}

#[test]
fn an_ri_holds_for_the_packets_that_it_names_only() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(2, 3), 5));
    node.machine.on_information(&later(Count, packets(2, 3), 4));
    let sent = node.data(1_000, 4);
    let asked: Vec<_> = sent.iter().filter(|output| matches!(output, Output::Request(_))).collect();
    assert_eq!(asked, [&rr(Count, 1_000, packets(1, 2)), &rr(Count, 1_000, packets(3, 4))]);
    let thresholds: Vec<_> = node.holes().iter().map(|hole| hole.cnt_thres).collect();
    assert_eq!(thresholds, [1, 10, 1]);
    assert_eq!(node.data(2_000, 7)[0], rr(Count, 2_000, packets(5, 7)), "the next hole is not concerned");
}

#[test]
fn an_ri_of_a_hole_raises_its_threshold() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(1, 2), 1));
    node.data(1_000, 2);
    node.machine.on_information(&later(Count, packets(1, 2), 1));
    assert_eq!(node.data(2_000, 3), []);
    assert_eq!(node.data(3_000, 4).len(), 2);
}

#[test]
fn an_ri_is_not_heeded_at_segment_level() {
    let mut node = Node::without_time(|config| config.level = Level::Segment);
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(1, 2), 2));
    assert_eq!(node.data(1_000, 2), [rr(Count, 1_000, packets(1, 2))]);
}

#[test]
fn an_ri_of_trigger_t_goes_out_if_so_configured_with_no_packet_ahead() {
    let mut node = Node::new(|config| config.inform = Inform::CountAndTime);
    node.steady(2);
    let sent: Vec<_> = node.until(34_000).into_iter().map(|(_, output)| output).collect();
    // Equation (2) with a_k = 0: 10 / 15, rounded up.
    let information = Output::Information(later(Time, ahead(2, 0), 1));
    assert_eq!(sent, [rr(Time, 33_750, ahead(2, 0)), information]);
}

#[test]
fn an_ri_without_an_end_means_a_packet_as_large_as_the_largest() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Time, ahead(1, 1), 7));
    node.data(1_000, 4);
    let thresholds: Vec<_> = node.holes().iter().map(|hole| (hole.start_seq, hole.cnt_thres)).collect();
    assert_eq!(thresholds, [(seq(1), 1), (seq(2), 8), (seq(3), 1)]);
}

#[test]
fn what_will_never_come_is_neither_expected_nor_asked_for() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(1, 2), 2));
    node.data(1_000, 2);
    node.machine.on_information(&never(Count, packets(1, 2)));
    assert_eq!(node.machine.next_expected(), seq(3));
    assert_eq!([node.data(2_000, 3), node.data(3_000, 4), node.data(4_000, 5)], [[], [], []]);
}

#[test]
fn at_segment_level_the_threshold_follows_the_disorder() {
    let mut node = Node::without_time(|config| config.level = Level::Segment);
    node.data(0, 0);
    for packet in [2, 3] {
        node.data(1_000, packet);
    }
    node.data(2_000, 1);
    // Two packets overtook: mean 2, no deviation yet.
    assert_eq!(node.tail().cnt_thres, 3);
    assert_eq!([node.data(3_000, 5), node.data(3_000, 6)], [[], []]);
    node.data(4_000, 4);
    assert_eq!(node.machine.counters().count, 1);
    assert_eq!(node.data(5_000, 8), []);
    assert_eq!(node.data(5_000, 9), []);
    assert_eq!(node.data(5_000, 10), [rr(Count, 5_000, packets(7, 8))]);
}

#[test]
fn a_nodes_own_recovery_is_no_disorder_of_the_segment() {
    let mut node = Node::without_time(|config| config.level = Level::Segment);
    node.data(0, 0);
    for packet in 2..9 {
        node.data(1_000, packet);
    }
    node.answer(11_000, 1, &request(Count, 1_000, packets(1, 2)));
    assert_eq!(node.tail().cnt_thres, 1);
    node.data(12_000, 10);
    node.data(12_000, 11);
    node.foreign(13_000, 9);
    assert_eq!(node.tail().cnt_thres, 3, "that of a node upstream is");
}

#[test]
fn what_a_host_sends_again_is_no_disorder_of_the_segment() {
    let mut node = Node::without_time(|config| config.level = Level::Segment);
    node.data(0, 0);
    (2..30).for_each(|packet| drop(node.data(1_000, packet)));
    assert_eq!(node.until(31_000).len(), 1);
    node.data(31_000, 1);
    assert_eq!(node.tail().cnt_thres, 1);
}

#[test]
fn it_is_counted_whether_a_request_was_needed() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    for packet in [2, 4, 6] {
        node.data(1_000, packet);
    }
    let asked = |packet| request(Count, 1_000, packets(packet, packet + 1));
    node.answer(11_000, 1, &asked(1));
    node.answer(11_000, 1, &asked(1));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (1, 0));
    node.data(12_000, 3);
    node.answer(12_000, 3, &asked(3));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (1, 1));
    node.foreign(12_000, 5);
    assert_eq!(
        (node.machine.counters().useful, node.machine.counters().needless),
        (1, 2),
        "a node upstream had asked"
    );
    node.answer(12_000, 5, &asked(5));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (1, 2));
}

#[test]
fn a_packet_that_comes_by_itself_says_nothing_of_its_neighbours() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.on_information(&later(Count, packets(2, 3), 1));
    node.data(1_000, 4);
    node.data(2_000, 5);
    assert_eq!(node.machine.counters().count, 3);
    node.data(3_000, 2);
    node.answer(11_000, 1, &request(Count, 1_000, packets(1, 2)));
    node.answer(11_000, 3, &request(Count, 1_000, packets(3, 4)));
    assert_eq!((node.machine.counters().useful, node.machine.counters().needless), (2, 1));
}
