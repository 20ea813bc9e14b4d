//! What a caching node keeps, for how long, and what it tells the node upstream.

use handfast_assist::sdtp::caching::{Config, Quotas, Served};
use handfast_core::{Duration, SeqNum};
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Information, Notification, Outcome, Trigger};

use crate::node::{Node, START, Sample, at, config, passing, request, room, stream};

/// §II-B: "periodically transmitting a caching notification (CN) packet upstream".
#[test]
fn the_node_upstream_learns_what_has_come_every_50_ms_and_twice_more() {
    let mut node = Node::new(config());
    node.now = 3;
    node.data(0..2);
    assert_eq!(node.machine.deadline(), Some(at(53)));
    assert_eq!(node.run_to(40), []);
    node.data([2]);
    assert_eq!(node.run_to(60), [(53, 3)]);
    node.data([3]);
    assert_eq!(node.run_to(110), [(103, 4)]);
    assert_eq!(node.run_to(1_000), [(153, 4), (203, 4)]);
    node.data([4]);
    assert_eq!(node.run_to(2_000), [(1_050, 5), (1_100, 5), (1_150, 5)]);
    assert_eq!(node.machine.counters().notifications, 7);
}

#[test]
fn it_says_nothing_of_what_is_behind_a_hole() {
    let mut node = Node::new(config());
    node.data([0, 2]);
    assert_eq!(node.run_to(160), [(50, 1), (100, 1), (150, 1)]);
    node.data([1]);
    assert_eq!(node.run_to(240), [(200, 3)]);
}

#[test]
fn a_hole_is_given_up_after_the_patience() {
    let mut node = Node::new(config());
    node.data([0, 2]);
    assert_eq!(node.run_to(999).last(), Some(&(150, 1)));
    assert_eq!(node.run_to(1_200), [(1_000, 3), (1_050, 3), (1_100, 3)]);
}

#[test]
fn a_hole_ends_when_it_is_known_that_nothing_comes() {
    let mut node = Node::new(config());
    node.data([0, 3]);
    node.run_to(200);
    let say = |node: &mut Node, from, to, outcome| {
        let expected = request(Trigger::Count, from, Some(to), 0).expected;
        let information = Information { trigger: Trigger::Count, expected, outcome };
        node.machine.on_information(at(node.now), &node.stream, &information);
    };
    say(&mut node, 1, 3, Outcome::Later { add_l: 3 });
    say(&mut node, 3, 1, Outcome::Never);
    say(&mut node, 1, 2, Outcome::Never);
    assert_eq!(node.run_to(260), [(250, 2)]);
    say(&mut node, 2, 3, Outcome::Never);
    assert_eq!(node.run_to(310), [(300, 4)]);
}

/// Where the connection began, a node learns from a packet that comes first.
#[test]
fn what_was_lost_before_the_first_packet_is_a_hole() {
    for (place, since_start, said) in [(2, 200, 0), (2, u16::MAX, 3)] {
        let mut node = Node::new(config());
        let first = handfast_assist::sdtp::caching::Passing { since_start, ..passing(place) };
        node.machine.on_data(at(0), &node.stream, &first, None);
        assert_eq!(node.run_to(60), [(50, said)]);
    }
}

#[test]
fn the_node_downstream_releases_what_it_has() {
    let mut node = Node::new(config());
    node.data(0..6);
    node.notification(4);
    assert_eq!((node.machine.packets(&node.stream), node.machine.counters().released), (2, 4));
    node.notification(2);
    node.data([3]);
    assert_eq!(node.machine.packets(&node.stream), 2, "it is there already");
    node.notification(9);
    assert_eq!((node.machine.packets(&node.stream), node.machine.cost()), (0, 0));
    node.data(6..8);
    assert_eq!(node.machine.packets(&node.stream), 2, "more than has come cannot be there");
}

#[test]
fn what_the_node_downstream_has_is_no_hole_here() {
    let mut node = Node::new(config());
    node.data([0, 2]);
    node.notification(2);
    assert_eq!(node.run_to(60), [(50, 3)]);
}

#[test]
fn a_full_connection_lets_its_oldest_packet_go() {
    let mut node = Node::new(config());
    node.data(0..10);
    assert_eq!((node.machine.packets(&node.stream), node.machine.counters().overflowed), (8, 2));
    assert_eq!(node.ask(Trigger::Timeout, 1, 3), Served::Some(request(Trigger::Timeout, 1, Some(2), 0)));
    node.out.clear();
    assert_eq!(node.run_to(60), [(50, 10)], "they have come all the same");
}

#[test]
fn a_full_slice_takes_from_those_who_keep_most() {
    let mut node = Node::new(config());
    node.data(0..8);
    node.stream = stream(1, 2);
    node.data(0..6);
    let kept = [1, 2].map(|connection| node.machine.packets(&stream(1, connection)));
    assert_eq!((kept, node.machine.cost()), ([6, 6], room(12).0));
    node.notification(8);
    assert_eq!((node.machine.cost(), node.machine.most()), (room(6).0, room(12).0));
}

#[test]
fn a_host_with_many_connections_takes_nothing_of_another_one() {
    let quotas = Quotas { per_host: room(9), ..config().quotas };
    let mut node = Node::new(Config { quotas, connections: 20, ..config() });
    node.data(0..4);
    node.host = 2;
    for connection in 2..=7 {
        node.stream = stream(1, connection);
        node.data(0..3);
    }
    let kept = (1..=7).map(|connection| node.machine.packets(&stream(1, connection)));
    let kept: Vec<_> = kept.collect();
    assert_eq!((kept[0], kept[1..].iter().sum::<usize>()), (4, 8), "a slice has room for 12: {kept:?}");
    // What has come last is what is left where each keeps as much.
    assert_eq!(node.machine.counters().overflowed, 10);
}

#[test]
fn a_full_host_lets_go_though_the_slice_has_room() {
    let quotas = Quotas { per_host: room(5), ..config().quotas };
    let mut node = Node::new(Config { quotas, ..config() });
    node.data(0..4);
    node.stream = stream(1, 2);
    node.data(0..4);
    assert_eq!(node.machine.cost(), room(5).0);
    node.host = 2;
    node.stream = stream(1, 3);
    node.data(0..4);
    assert_eq!((node.machine.packets(&stream(1, 3)), node.machine.cost()), (4, room(9).0));
}

#[test]
fn a_full_node_takes_from_the_slice_that_keeps_most() {
    let mut node = Node::new(config());
    for (slice, connection, packets) in [(1, 1, 5), (1, 2, 5), (2, 1, 5), (3, 1, 6)] {
        node.stream = stream(slice, connection);
        node.data(0..packets);
    }
    let kept = [(1, 1), (1, 2), (2, 1), (3, 1)]
        .map(|(slice, connection)| node.machine.packets(&stream(slice, connection)));
    assert_eq!((kept, node.machine.cost()), ([4, 5, 5, 6], room(20).0));
}

#[test]
fn beyond_the_bound_the_connection_that_was_silent_longest_is_forgotten() {
    let mut node = Node::new(config());
    for connection in 0..6 {
        (node.now, node.stream) = (u64::from(connection), stream(1, connection));
        node.data([0]);
    }
    (node.now, node.stream) = (10, stream(1, 0));
    node.data([1]);
    node.stream = stream(1, 9);
    node.data([0]);
    let kept = [0, 1, 2, 9].map(|connection| node.machine.packets(&stream(1, connection)));
    assert_eq!((kept, node.machine.counters().evicted), ([2, 0, 1, 1], 1));
    assert_eq!(node.machine.cost(), room(7).0);
}

#[test]
fn a_connection_of_which_nothing_is_heard_is_forgotten() {
    let mut node = Node::new(config());
    node.data([0]);
    node.run_to(5_000);
    assert_eq!(node.machine.deadline(), Some(at(10_000)));
    node.ask(Trigger::Count, 0, 1);
    node.out.clear();
    assert_eq!(node.run_to(14_999), []);
    assert_eq!((node.machine.packets(&node.stream), node.machine.counters().expired), (1, 0));
    node.run_to(15_000);
    assert_eq!((node.machine.packets(&node.stream), node.machine.counters().expired), (0, 1));
    assert_eq!((node.machine.cost(), node.machine.deadline()), (0, None));
}

#[test]
fn a_connection_that_ends_is_forgotten() {
    let mut node = Node::new(config());
    node.data(0..3);
    node.machine.forget(&node.stream);
    node.machine.forget(&node.stream);
    assert_eq!((node.machine.cost(), node.ask(Trigger::Count, 0, 1)), (0, Served::None));
    assert_eq!(node.run_to(1_000), [], "nothing is said of it");
}

#[test]
fn far_away_another_connection_begins() {
    let mut node = Node::new(config());
    node.data(0..3);
    let far = handfast_assist::sdtp::caching::Passing { seq: START - (1 << 30), ..passing(999_999) };
    let sample = Sample { place: 0, ecn: Ecn::NotCapable };
    node.machine.on_data(at(1), &node.stream, &far, Some(&sample));
    assert_eq!((node.machine.packets(&node.stream), node.machine.cost()), (1, room(1).0));
}

/// §II-C has the receiving edge cache; nobody is downstream who would ask.
#[test]
fn where_nobody_asks_nothing_is_kept_and_upstream_learns_all_the_same() {
    let mut node = Node::new(config());
    for place in 0..3 {
        node.machine.on_data(at(0), &node.stream, &passing(place), None);
    }
    assert_eq!((node.machine.cost(), node.machine.counters().kept), (0, 0));
    assert_eq!(node.run_to(60), [(50, 3)]);
}

#[test]
fn what_is_noted_of_connections_that_come_and_go_is_bounded() {
    let mut node = Node::new(Config { notify: Duration::from_secs(1), ..config() });
    for round in 0..1_000 {
        node.stream = stream(1, round);
        node.data([0]);
        node.machine.forget(&node.stream);
    }
    node.stream = stream(1, 5_000);
    node.data([0]);
    assert_eq!(node.run_to(1_500), [(1_000, 1)]);
    node.machine.on_notification(at(0), &stream(9, 9), Notification { until: SeqNum(0) });
    assert_eq!(node.machine.packets(&stream(9, 9)), 0);
}
