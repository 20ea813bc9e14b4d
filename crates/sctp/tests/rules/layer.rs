//! What a session layer does: reads and restores a path's state, suspends and resumes paths. `[iosl]`.

use handfast_core::Duration;
use handfast_sctp::{Config, Event, PathState};

use crate::support::*;

#[test]
fn a_state_that_was_read_is_restored() {
    let mut world = World::with_two_paths(Config::default());
    world.ends[0].to_write = (0..300).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(3_000));
    let kept = world.client().path(0).unwrap().state;
    assert!(kept.cwnd > 20 * 1468);
    world.client().restore(at(3_000), 1, kept);
    assert_eq!(world.client().path(1).unwrap().state, kept);
    // The RTO keeps its bounds, a window at least one chunk.
    let (srtt, rttvar) = (Duration::from_secs(3), Duration::from_secs(1));
    world.client().restore(at(3_000), 1, PathState { cwnd: 0, ssthresh: 0, srtt: Some((srtt, rttvar)) });
    let status = world.client().path(1).unwrap();
    assert_eq!((status.state.cwnd, status.state.ssthresh, status.rto), (1468, 1468, Duration::from_secs(7)));
    world.client().restore(at(3_000), 7, kept);
}

/// §7.2.1's rule for idle paths is not for one whose window was restored just now.
#[test]
fn a_restored_window_was_not_idle() {
    let mut world = World::connected_over(
        Config { max_burst: None, ..Config::default() },
        vec![Link::default(), Link::default()],
        &[server(0), server(1)],
    );
    world.run_to(at(20_000));
    let state = world.client().path(1).unwrap().state;
    world.client().restore(at(20_000), 1, PathState { cwnd: 30 * 1468, ..state });
    world.client().set_primary(1);
    for n in 0..40 {
        world.client().write(message(0, 1452, n)).unwrap();
    }
    world.pump();
    assert_eq!(world.client().path(1).unwrap().flight_size, 30 * 1468);
}

/// A path that is away for ten seconds: without a layer its RTO backs off; suspended, it has no timeout and goes on at once.
#[test]
fn a_suspended_path_has_no_timeout_and_keeps_its_window() {
    let run = |layer: bool| {
        let mut world = World::connected(Config::default());
        world.links[0].serialisation = ms(1);
        world.ends[0].to_write = (0..30_000).map(|n| message(0, 1452, n as u8)).collect();
        world.run_to(at(1_000));
        world.links[0].down = true;
        if layer {
            world.client().suspend(0);
        }
        // SACKs that are under way still arrive.
        world.run_to(at(1_100));
        let before = world.client().path(0).unwrap();
        world.run_to(at(11_500));
        world.links[0].down = false;
        if layer {
            let now = world.now;
            assert_eq!(world.client().path(0).unwrap().state, before.state);
            world.client().resume(now, 0);
            assert!(world.client().reroute(0) > 0);
        }
        let back = world.ends[1].read.len();
        world.run_to(at(12_000));
        let after = world.ends[1].read.len() - back;
        (world.client().counters().timeouts, world.client().path(0).unwrap().errors, after)
    };
    let (timeouts, errors, after) = run(true);
    assert_eq!((timeouts, errors), (0, 0));
    assert!(after > 100, "{after} messages in half a second");
    let (timeouts, _, after) = run(false);
    assert!(timeouts >= 3 && after == 0, "{timeouts} timeouts, {after} messages");
}

#[test]
fn a_suspended_path_sends_nothing_and_data_takes_the_other() {
    let mut world = World::with_two_paths(Config::default());
    world.client().suspend(0);
    world.ends[0].to_write = (0..5).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(100_000));
    assert_eq!(world.ends[1].read.len(), 5);
    let by_first =
        world.ends[0].times(|_| true).iter().filter(|&&(when, link)| link == 0 && when > at(200)).count();
    // Heartbeats of the server are answered where they come from.
    let answers = world.ends[1].times(|chunk| matches!(chunk, handfast_wire::sctp::Chunk::Heartbeat(_)));
    assert!(by_first <= answers.iter().filter(|(_, link)| *link == 0).count());
}

#[test]
fn while_all_paths_are_suspended_nothing_leaves_and_nothing_is_lost() {
    let mut world = World::with_two_paths(Config::default());
    for path in 0..2 {
        world.client().suspend(path);
    }
    world.ends[0].to_write = (0..50).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(50_000));
    assert_eq!(world.ends[0].times(is_data).len(), 0);
    assert!(!world.ends[0].events.iter().any(|(_, e)| matches!(e, Event::Timeout { .. })));
    let now = world.now;
    world.client().resume(now, 1);
    world.run_to(at(55_000));
    assert_eq!(world.ends[1].read.len(), 50);
    assert!(world.ends[0].times(is_data).iter().all(|(_, link)| *link == 1));
}

/// Figure 11's handover: 5G is the primary path, Wi-Fi the second; 5G goes. With the layer the window moves to the second path.
#[test]
fn what_is_outstanding_moves_to_another_path_with_the_window() {
    let run = |layer: bool| {
        let mut world = World::with_two_paths(Config::default());
        for link in &mut world.links {
            link.serialisation = ms(1);
        }
        world.ends[0].to_write = (0..30_000).map(|n| message(0, 1452, n as u8)).collect();
        world.run_to(at(2_000));
        world.links[0].down = true;
        if layer {
            let kept = world.client().path(0).unwrap().state;
            world.client().suspend(0);
            world.client().restore(at(2_000), 1, kept);
            world.client().set_primary(1);
            world.client().reroute(0);
        }
        let before = world.ends[1].read.len();
        world.run_to(at(3_000));
        (world.client().counters().timeouts, world.ends[1].read.len() - before)
    };
    let (timeouts, moved) = run(true);
    assert_eq!(timeouts, 0);
    let (_, plain) = run(false);
    assert!(moved > 10 * plain.max(10), "{moved} messages in a second, {plain} without");
}

/// §6.1 D holds for what moves, too: it leaves as new data does.
#[test]
fn what_moves_does_not_leave_in_one_burst() {
    let mut world = World::with_two_paths(Config::default());
    world.ends[0].to_write = (0..200).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(500));
    let kept = world.client().path(0).unwrap().state;
    assert!(kept.cwnd > 20 * 1468);
    world.links[0].down = true;
    world.run_to(at(530));
    let now = world.now;
    world.client().suspend(0);
    world.client().restore(now, 1, kept);
    assert!(world.client().reroute(0) > 20);
    world.pump();
    assert_eq!(world.client().path(1).unwrap().flight_size, 4 * 1468);
    world.run_to(at(2_000));
    assert_eq!(world.ends[1].read.len(), 200);
    assert_eq!(world.client().counters().timeouts, 0);
}

#[test]
fn a_path_that_was_suspended_was_not_idle() {
    let mut world = World::connected(Config { max_burst: None, ..Config::default() });
    let state = world.client().path(0).unwrap().state;
    world.client().restore(at(200), 0, PathState { cwnd: 30 * 1468, ..state });
    world.client().suspend(0);
    world.run_to(at(60_000));
    world.client().resume(at(60_000), 0);
    world.client().write(message(0, 100, 0)).unwrap();
    world.pump();
    assert_eq!(world.client().path(0).unwrap().state.cwnd, 30 * 1468);
}

#[test]
fn what_is_outstanding_on_a_resumed_path_has_a_whole_rto() {
    let mut world = World::connected(Config::default());
    world.links[0].down = true;
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(700));
    world.client().suspend(0);
    world.run_to(at(10_000));
    world.links[0].down = false;
    world.client().resume(at(10_000), 0);
    world.run_to(at(20_000));
    assert_eq!(world.ends[0].times(is_data), [(at(200), 0), (at(11_000), 0)]);
    assert_eq!(world.ends[1].read.len(), 1);
}

/// What has left stays unanswered: without it nothing else would let more leave, and no deadline would come.
#[test]
fn what_a_layer_opens_is_used_at_once() {
    let acts: [fn(&mut World); 3] = [
        |world| assert!(world.client().set_primary(1)),
        |world| {
            let state = world.client().path(0).unwrap().state;
            world.client().restore(at(500), 0, PathState { cwnd: 40 * 1468, ..state });
        },
        |world| world.client().suspend(0),
    ];
    for (n, act) in acts.into_iter().enumerate() {
        let mut world = World::connected_over(
            Config { max_burst: Some(1), ..Config::default() },
            vec![Link::default(), Link::default()],
            &[server(0), server(1)],
        );
        world.run_to(at(500));
        for _ in 0..3 {
            world.client().write(message(0, 1452, 0)).unwrap();
        }
        world.pump();
        assert_eq!(world.ends[0].times(is_data).len(), 1);
        act(&mut world);
        world.pump();
        assert_eq!(world.ends[0].times(is_data).len(), 2, "call {n}");
    }
}

/// Fast recovery of the path that has gone is no matter of the next one (§7.2.4): its window grows.
#[test]
fn fast_recovery_ends_where_data_moves() {
    let mut world = World::with_two_paths(Config::default());
    for link in &mut world.links {
        link.serialisation = ms(1);
    }
    world.links[0].loses = Some(lose_data(&[200]));
    world.ends[0].to_write = (0..30_000).map(|n| message(0, 1452, n as u8)).collect();
    while world.client().counters().fast_recoveries == 0 {
        let next = world.now + ms(1);
        world.run_to(next);
    }
    let now = world.now;
    let window = world.client().path(1).unwrap().state.cwnd;
    world.links[0].down = true;
    world.client().suspend(0);
    world.client().set_primary(1);
    assert!(world.client().reroute(0) > 20);
    // Two round trips: all that was outstanding before is not acknowledged yet.
    world.run_to(now + ms(90));
    let grown = world.client().path(1).unwrap().state.cwnd;
    assert!(grown >= 2 * window, "{window} {grown}");
}

/// What a layer restores leaves spread over a round trip, whatever Max.Burst says.
#[test]
fn a_restored_window_leaves_over_a_round_trip() {
    let mut world = World::with_two_paths(Config::default());
    world.ends[0].to_write = (0..400).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(1_000));
    let now = world.now;
    let state = world.client().path(1).unwrap().state;
    let (srtt, _) = state.srtt.unwrap();
    assert_eq!(srtt, ms(40));
    world.client().suspend(0);
    world.client().restore(now, 1, PathState { cwnd: 20 * 1468, ..state });
    world.client().spread(now, 1);
    world.client().set_primary(1);
    world.client().reroute(0);
    let before = world.ends[0].sent.len();
    world.ends[0].to_write.extend((0..100).map(|n| message(0, 1452, n)));
    world.pump();
    // 40 ms for 20 packets.
    world.run_to(now + ms(39));
    let sent = world.ends[0].sent[before..].iter();
    let left: Vec<_> = sent.map(|(when, _)| when.since(now).as_millis()).collect();
    assert_eq!(left, (0..20).map(|n| 2 * n).collect::<Vec<_>>());
    world.run_to(at(3_000));
    assert_eq!((world.ends[1].read.len(), world.client().counters().timeouts), (500, 0));
}
