//! What does not happen to a suspended path, and what does once it is resumed. `[iosl]`.

use handfast_core::Duration;
use handfast_sctp::{Config, Event, State};
use handfast_wire::sctp::Chunk;

use crate::support::*;

fn shutdowns(world: &World) -> Vec<(handfast_core::Instant, u8)> {
    world.ends[0].times(|chunk| matches!(chunk, Chunk::Shutdown { .. }))
}

/// T2-shutdown neither repeats SHUTDOWN by it nor counts errors.
#[test]
fn a_shutdown_waits_for_a_path() {
    let mut world = World::connected(Config::default());
    world.links[0].down = true;
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(300));
    world.client().suspend(0);
    world.run_to(at(100_000));
    assert_eq!(shutdowns(&world), [(at(200), 0)]);
    assert_eq!((world.client().state(), world.client().path(0).unwrap().errors), (State::ShutdownSent, 0));
    world.links[0].down = false;
    world.client().resume(at(100_000), 0);
    world.run_to(at(100_200));
    assert_eq!(shutdowns(&world), [(at(200), 0), (at(100_000), 0)]);
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
}

#[test]
fn a_shutdown_takes_a_path_that_is_not_suspended() {
    let mut world = World::with_two_paths(Config::default());
    world.links[0].down = true;
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(300));
    world.client().suspend(0);
    world.run_to(at(1_500));
    assert_eq!(shutdowns(&world), [(at(200), 0), (at(1_200), 1)]);
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
}

#[test]
fn no_round_trip_includes_the_time_away() {
    let mut world = World::connected(Config::default());
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(201));
    // The message arrives, its SACK does not.
    world.links[0].down = true;
    world.client().suspend(0);
    world.run_to(at(10_000));
    world.links[0].down = false;
    world.client().resume(at(10_000), 0);
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(10_900));
    let (srtt, _) = world.client().path(0).unwrap().state.srtt.unwrap();
    assert!(srtt <= ms(300), "{srtt:?}: the second message took 40 ms, and 200 ms more for its SACK");
    assert_eq!(world.client().counters().timeouts, 0);
}

/// §8.2: a path that is down is asked before anything else tells that it is back.
#[test]
fn a_path_that_is_down_is_asked_when_it_is_resumed() {
    let mut world = World::with_its_first_path_down();
    world.client().suspend(0);
    world.run_to(at(60_000));
    world.links[0].down = false;
    world.client().resume(at(60_000), 0);
    world.run_to(at(60_100));
    let asked = world.ends[0].times(|chunk| matches!(chunk, Chunk::Heartbeat(_)));
    assert!(asked.contains(&(at(60_000), 0)), "{asked:?}");
    assert!(world.client().path(0).unwrap().active);
}

/// What SACKs report missing leaves by another path, and halves no window.
#[test]
fn losses_of_a_suspended_path_are_no_congestion() {
    let mut world = World::with_two_paths(Config { max_burst: None, ..Config::default() });
    let state = world.client().path(0).unwrap().state;
    let wide = handfast_sctp::PathState { cwnd: 20 * 1468, ..state };
    world.client().restore(at(200), 0, wide);
    world.links[0].loses = Some(lose_data(&[2]));
    world.ends[0].to_write = (0..20).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(201));
    world.client().suspend(0);
    world.run_to(at(900));
    assert_eq!(world.ends[1].read.len(), 20);
    let after = world.client().path(0).unwrap().state;
    assert_eq!(after.ssthresh, u64::MAX);
    assert!(after.cwnd >= wide.cwnd);
    assert_eq!(world.client().counters().fast_recoveries, 0);
    assert_eq!(world.client().path(1).unwrap().rto, Duration::from_secs(1));
}
