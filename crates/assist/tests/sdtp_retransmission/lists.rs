//! §III-C 1: the content window list and the expected packet list.

use handfast_assist::sdtp::{Arrival, ExpectedPackets, Window};
use handfast_wire::sdtp::Trigger;

use crate::world::{LEN, Node, later, packets, requests, seq, us};

fn window(from: u32, to: u32) -> Window {
    Window { left: seq(from), right: seq(to) }
}

#[test]
fn packets_in_sequence_are_one_window_and_a_gap_makes_another() {
    let mut node = Node::new(|_| {});
    for packet in [0, 1, 3, 6, 7] {
        node.data(0, packet);
    }
    let windows: Vec<_> = node.machine.windows().collect();
    assert_eq!(windows, [window(0, 2), window(3, 4), window(6, 8)]);
    assert_eq!(node.machine.next_expected(), seq(2));
    node.data(0, 2);
    let windows: Vec<_> = node.machine.windows().collect();
    assert_eq!(windows, [window(0, 4), window(6, 8)]);
    assert_eq!(node.machine.next_expected(), seq(4));
}

#[test]
fn the_last_entry_has_no_end_and_the_initial_values() {
    let mut node = Node::new(|_| {});
    node.data(0, 0);
    let entry = ExpectedPackets {
        num: 0,
        start_seq: seq(1),
        end_seq: None,
        start_num: 0,
        inter_cnt: 0,
        cnt_thres: 1,
        wait_len: 1,
        rt_cnt: 0,
        rt_type: None,
        rt_timer: None,
    };
    assert_eq!(node.machine.expected().collect::<Vec<_>>(), [entry]);
}

#[test]
fn an_entry_reaches_from_the_right_edge_of_a_window_to_the_left_edge_of_the_next() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(1_000, 3);
    node.data(2_000, 5);
    let entry = |num, from, to, inter_cnt, at| ExpectedPackets {
        num,
        start_seq: seq(from),
        end_seq: Some(seq(to)),
        start_num: 0,
        inter_cnt,
        cnt_thres: 1,
        wait_len: 0,
        rt_cnt: 1,
        rt_type: Some(Trigger::Count),
        rt_timer: Some(us(at)),
    };
    assert_eq!(node.holes(), [entry(0, 1, 3, 2, 1_000), entry(1, 4, 5, 1, 2_000)]);
    assert_eq!((node.tail().num, node.tail().start_seq), (2, seq(6)));
}

#[test]
fn what_comes_late_divides_an_entry_and_both_parts_keep_its_fields() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(1_000, 6);
    node.foreign(2_000, 3);
    let holes = node.holes();
    let ranges: Vec<_> = holes.iter().map(|hole| (hole.start_seq, hole.end_seq)).collect();
    assert_eq!(ranges, [(seq(1), Some(seq(3))), (seq(4), Some(seq(6)))]);
    assert!(
        holes.iter().all(|hole| hole.rt_cnt == 1 && hole.inter_cnt == 1 && hole.rt_timer == Some(us(1_000)))
    );
}

#[test]
fn a_packet_is_counted_where_it_has_overtaken() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(0, 2);
    node.data(0, 6);
    assert_eq!(node.holes().iter().map(|hole| hole.inter_cnt).collect::<Vec<_>>(), [2, 1]);
    node.data(0, 4);
    let counts: Vec<_> = node.holes().iter().map(|hole| hole.inter_cnt).collect();
    assert_eq!(counts, [3, 2, 1], "before 2, before 4, behind 4");
    node.foreign(0, 7);
    node.data(0, 7);
    let counts: Vec<_> = node.holes().iter().map(|hole| hole.inter_cnt).collect();
    assert_eq!(counts, [3, 2, 1], "neither an RD nor a duplicate");
}

#[test]
fn a_packet_is_a_duplicate_if_nothing_of_it_is_new() {
    let mut node = Node::without_time(|_| {});
    let mut out = Vec::new();
    assert_eq!(node.arrive(0, 1, None), Arrival::New);
    assert_eq!(node.arrive(0, 1, None), Arrival::Duplicate);
    assert_eq!(node.machine.on_data(us(0), seq(1) + 50, LEN, None, &mut out), Arrival::New);
    assert_eq!(node.machine.on_data(us(0), seq(1) + 1, 149, None, &mut out), Arrival::Duplicate);
    assert_eq!(node.machine.on_data(us(0), seq(1) - 1, 2, None, &mut out), Arrival::New);
    assert_eq!(node.machine.on_data(us(0), seq(0) - 1, 1, None, &mut out), Arrival::Duplicate, "before all");
}

#[test]
fn what_is_given_up_is_not_expected_and_is_new_if_it_comes() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(0, 4);
    node.machine.give_up(seq(2)..seq(3));
    assert_eq!(node.machine.next_expected(), seq(1));
    assert_eq!(node.holes().len(), 2);
    node.machine.give_up(seq(0)..seq(9));
    assert_eq!(node.holes(), []);
    assert_eq!(node.machine.next_expected(), seq(5), "what has not been missed is expected still");
    assert_eq!(node.until(1_000_000), []);
    assert_eq!([2, 2, 1, 3, 3, 0].map(|packet| node.arrive(1_000_000, packet, None)), {
        use Arrival::{Duplicate, New};
        [New, Duplicate, New, New, Duplicate, Duplicate]
    });
}

#[test]
fn what_will_never_come_is_not_missed_when_later_packets_come() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.machine.give_up(seq(1)..seq(2));
    node.machine.give_up(seq(5)..seq(7));
    assert_eq!(node.data(1, 2), []);
    assert_eq!((node.holes().len(), node.machine.next_expected()), (0, seq(3)));
    // Of two that are missing behind it one was lost in the path.
    assert_eq!(requests(&[(2, node.data(2, 4)[0])])[0].1.expected, packets(3, 4));
    let holes = node.holes();
    assert_eq!((holes.len(), holes[0].start_seq), (1, seq(3)));
    assert_eq!(node.data(3, 7), []);
    assert_eq!(node.holes().len(), 1);
    assert_eq!(node.arrive(4, 1, None), Arrival::New, "it comes after all");
}

#[test]
fn an_empty_or_reversed_range_gives_up_nothing() {
    let mut node = Node::without_time(|_| {});
    node.data(0, 0);
    node.data(0, 4);
    for range in [seq(2)..seq(2), seq(3)..seq(2), seq(1)..seq(5) + (1 << 30) + 1] {
        node.machine.give_up(range);
    }
    assert_eq!(node.holes().len(), 1);
    node.machine.on_information(&later(Trigger::Count, packets(3, 2), 9));
    assert_eq!(node.holes()[0].cnt_thres, 1);
}
