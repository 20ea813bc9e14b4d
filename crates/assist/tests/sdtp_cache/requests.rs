//! How a caching node answers requests (`[sdtp]` §III-C 4), and what it sends of what its own queue has dropped.

use handfast_assist::sdtp::caching::{Config, Congestion, Output, Passing, Repeated, Served};
use handfast_core::Bytes;
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Content, Data, InnerIp, Repeat, Request, Trigger};
use handfast_wire::tcp::Segment;

use crate::node::{Node, START, Sample, at, config, never, request, stream};

#[test]
fn what_is_asked_for_is_sent_again_with_what_the_request_says() {
    let mut node = Node::new(config());
    node.data(0..4);
    assert_eq!(node.ask(Trigger::Count, 1, 3), Served::All);
    let repeated = |place| {
        let packet = Sample { place, ecn: Ecn::NotCapable };
        let (seq, start) = (START + place * 100, START + 100);
        let (stream, trigger) = (stream(1, 1), Trigger::Count);
        Output::Repeat(Repeated { stream, seq, trigger, start, start_num: 0, timestamp: 77, packet })
    };
    assert_eq!(node.out, [repeated(1), repeated(2)]);
    assert_eq!((node.machine.counters().repeated, node.machine.counters().requests), (2, 1));
}

#[test]
fn an_rd_is_made_of_what_was_kept() {
    let content = Content::Segment(Segment::EMPTY);
    let data = Data { ip: InnerIp::default(), since_start: 7, host: 0, content };
    let (start, packet) = (START, data.clone());
    let (trigger, start_num, timestamp) = (Trigger::Time, 5, 9);
    let repeated =
        Repeated { stream: stream(1, 1), seq: START + 9, trigger, start, start_num, timestamp, packet };
    assert_eq!(Repeat::from(repeated), Repeat { trigger, start, start_num, timestamp, data });
}

/// §III-C 4: "are not triggered by the same condition".
#[test]
fn a_trigger_is_answered_once_and_a_timeout_always() {
    let mut node = Node::new(config());
    node.data(0..4);
    let mut ask = |trigger, from, to| (node.ask(trigger, from, to), node.repeats());
    assert_eq!(ask(Trigger::Count, 0, 2), (Served::All, vec![0, 1]));
    assert_eq!(ask(Trigger::Count, 1, 3), (Served::All, vec![2]), "suppressed is found");
    assert_eq!(ask(Trigger::Time, 1, 2), (Served::All, vec![1]));
    assert_eq!(ask(Trigger::Time, 1, 2), (Served::All, vec![]));
    assert_eq!(ask(Trigger::Timeout, 2, 3), (Served::All, vec![2]));
    assert_eq!(ask(Trigger::Timeout, 2, 3), (Served::All, vec![2]));
    assert_eq!(node.machine.counters().suppressed, 2);
}

/// §III-C 3: "where `EndSeq` fields are unknown, we use `StartSeq` and `StartNum`".
#[test]
fn without_an_end_the_packets_are_counted_from_the_start() {
    let mut node = Node::new(config());
    node.data([0, 1, 2, 4]);
    let mut ask = |from, number| (node.request(&request(Trigger::Time, from, None, number)), node.repeats());
    assert_eq!(ask(0, 2), (Served::All, vec![2]));
    assert_eq!(ask(1, 0), (Served::All, vec![1]));
    assert_eq!(ask(2, 1), (Served::None, vec![]), "3 is missing, and nobody knows how many packets that are");
    assert_eq!(ask(5, 0), (Served::None, vec![]));
    assert_eq!(node.machine.counters().missed, 2);
}

#[test]
fn what_is_missing_climbs_on() {
    let mut node = Node::new(config());
    node.data([1, 2, 4, 5]);
    assert_eq!(node.ask(Trigger::Count, 0, 4), Served::Some(request(Trigger::Count, 0, Some(4), 0)));
    assert_eq!(node.repeats(), [1, 2]);
    assert_eq!(node.ask(Trigger::Timeout, 3, 6), Served::Some(request(Trigger::Timeout, 3, Some(4), 0)));
    assert_eq!(node.repeats(), [4, 5]);
    assert_eq!(node.ask(Trigger::Count, 3, 4), Served::None);
    assert_eq!(node.ask(Trigger::Count, 6, 9), Served::None);
    node.stream = stream(1, 2);
    assert_eq!(node.ask(Trigger::Count, 1, 2), Served::None, "another connection");
    assert_eq!((node.repeats(), node.machine.counters().missed), (vec![], 3));
}

#[test]
fn a_packet_with_a_part_of_the_range_is_sent_whole() {
    let mut node = Node::new(config());
    node.data(0..3);
    let whole = request(Trigger::Count, 0, Some(2), 0);
    let mut ask = |from: u32, to: u32| {
        let mut request = whole;
        (request.expected.start, request.expected.end) = (START + from, Some(START + to));
        (node.request(&request), node.repeats())
    };
    assert_eq!(ask(150, 201), (Served::All, vec![1, 2]));
    assert_eq!(ask(99, 100), (Served::All, vec![0]));
}

#[test]
fn a_request_that_makes_no_sense_ends_here() {
    let mut node = Node::new(config());
    node.data(0..3);
    for to in [1, 2] {
        assert_eq!(node.ask(Trigger::Count, 2, to), Served::All);
    }
    let far = Request {
        expected: request(Trigger::Count, 0, None, u16::MAX).expected,
        ..request(Trigger::Count, 0, None, 0)
    };
    assert_eq!(node.request(&far), Served::None);
    assert_eq!((node.repeats(), node.machine.counters().invalid), (vec![], 2));
}

/// A range must not amplify: so many packets a request, so many copies of each.
#[test]
fn copies_are_bounded() {
    let mut node = Node::new(config());
    node.data(0..6);
    assert_eq!(node.ask(Trigger::Timeout, 0, 6), Served::All);
    assert_eq!((node.repeats(), node.machine.counters().refused), (vec![0, 1, 2, 3], 2));
    for copies in [vec![0], vec![0], vec![], vec![]] {
        assert_eq!((node.ask(Trigger::Timeout, 0, 1), node.repeats()), (Served::All, copies));
    }
    assert_eq!(node.machine.counters().refused, 4);
    node.data([0]);
    assert_eq!(
        (node.ask(Trigger::Timeout, 0, 1), node.repeats()),
        (Served::All, vec![0]),
        "the host has sent it"
    );
}

#[test]
fn a_drop_of_the_own_queue_reaches_the_sender_as_a_mark() {
    let mut node = Node::new(config());
    for place in 0..3 {
        node.data_with(place, Ecn::Capable0);
    }
    node.own_drop(1);
    assert_eq!(node.ask(Trigger::Count, 0, 3), Served::All);
    let marks = node.out.iter().map(|output| match output {
        Output::Repeat(repeated) => repeated.packet.ecn,
        other => panic!("{other:?}"),
    });
    assert_eq!(marks.collect::<Vec<_>>(), [Ecn::Capable0, Ecn::Congested, Ecn::Capable0]);
    assert_eq!((node.machine.counters().marked, node.machine.counters().own_drops), (1, 1));
    node.out.clear();
    node.data_with(1, Ecn::Capable0);
    assert_eq!(node.ask(Trigger::Count, 1, 2), Served::All);
    assert_eq!(node.machine.counters().marked, 1, "what passes anew is lost elsewhere");
}

#[test]
fn without_ecn_the_hosts_learn_that_it_will_not_come() {
    let mut node = Node::new(config());
    node.data(0..6);
    node.own_drops(&[1, 2, 4]);
    assert_eq!(node.ask(Trigger::Count, 1, 5), Served::All);
    let Output::Repeat(repeated) = node.out.remove(1) else { panic!("{:?}", node.out) };
    assert_eq!(repeated.packet.place, 3);
    assert_eq!(node.out, [never(1, 3, Trigger::Count), never(4, 5, Trigger::Count)]);
    assert_eq!(node.machine.counters().never, 2);
    node.out.clear();
    assert_eq!(node.ask(Trigger::Count, 1, 5), Served::All);
    assert_eq!(node.out, [], "it was said");
    assert_eq!(node.ask(Trigger::Timeout, 4, 5), Served::All);
    assert_eq!(node.out, [never(4, 5, Trigger::Timeout)], "what was said is lost");
}

#[test]
fn also_of_what_is_no_longer_kept() {
    let small = config().quotas.per_connection.0 / 4;
    let mut node = Node::new(Config {
        quotas: handfast_assist::sdtp::caching::Quotas { per_connection: Bytes(small), ..config().quotas },
        ..config()
    });
    node.data(0..5);
    node.own_drops(&[0, 2]);
    assert_eq!(node.ask(Trigger::Count, 0, 4), Served::Some(request(Trigger::Count, 0, Some(2), 0)));
    assert_eq!(node.out.remove(0), never(0, 1, Trigger::Count));
    assert_eq!(node.out.remove(0), never(2, 3, Trigger::Count));
    assert_eq!(node.repeats(), [3]);
    assert_eq!(node.ask(Trigger::Count, 1, 2), Served::None);
    assert_eq!(node.ask(Trigger::Timeout, 2, 3), Served::All);
    // Only a part of what was dropped is asked for.
    let mut part = request(Trigger::Timeout, 2, Some(3), 0);
    (part.expected.start, part.expected.end) = (START + 220, Some(START + 260));
    node.out.clear();
    assert_eq!(node.request(&part), Served::All);
    let Output::Information(_, information) = &node.out[0] else { panic!("{:?}", node.out) };
    assert_eq!((information.expected.start, information.expected.end), (START + 220, Some(START + 260)));
}

#[test]
fn a_drop_counts_until_the_node_downstream_has_the_packet() {
    let mut node = Node::new(config());
    node.data(0..4);
    node.own_drop(1);
    node.own_drop(2);
    node.notification(2);
    assert_eq!(node.ask(Trigger::Count, 1, 2), Served::None, "it has come another way");
    assert_eq!(node.ask(Trigger::Count, 2, 3), Served::All);
    assert_eq!(node.out, [never(2, 3, Trigger::Count)]);
    node.own_drop(0);
    assert_eq!(node.ask(Trigger::Count, 0, 1), Served::None, "it was there before");
}

/// The paper's way.
#[test]
fn a_node_that_masks_sends_it_again_as_it_was() {
    let mut node = Node::new(Config { congestion: Congestion::Mask, ..config() });
    node.data(0..2);
    node.data_with(2, Ecn::Capable1);
    node.own_drops(&[1, 2]);
    assert_eq!(node.ask(Trigger::Count, 1, 3), Served::All);
    assert_eq!(node.machine.counters().own_drops, 2);
    assert_eq!((node.repeats(), node.machine.counters().marked), (vec![1, 2], 0));
}

#[test]
fn a_packet_without_numbers_is_not_data() {
    let mut node = Node::new(config());
    let nothing = Passing { len: 0, ..crate::node::passing(0) };
    let sample = Sample { place: 0, ecn: Ecn::NotCapable };
    node.machine.on_data(at(0), &node.stream, &nothing, Some(&sample));
    assert_eq!((node.machine.cost(), node.machine.deadline()), (0, None));
}
