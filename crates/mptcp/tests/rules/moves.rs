//! Sub-flows that fail, stay silent, or are suspended by a session layer (§3.3.6, §3.3.8).

use handfast_core::Duration;
use handfast_mptcp::{Event, Failure, State};
use handfast_tcp::{IoslRules, Resumption};

use crate::support::*;

fn upload() -> World {
    let mut world = World::two(config());
    world.write(0, 12_000_000);
    world.run_for(ms(800));
    assert!(world.ends[0].has(Event::SubflowUp(SECOND)));
    world.joins = false;
    world
}

#[test]
fn what_a_silent_sub_flow_has_leaves_by_the_other() {
    let mut world = upload();
    let before = world.ends[1].read.len();
    world.links[0].down = true;
    world.run_for(Duration::from_secs(2));
    assert!(world.ends[0].has(Event::SubflowSilent(FIRST)));
    assert!(world.client().counters().reinjected_bytes > 0);
    assert!(world.ends[1].read.len() > before + 500_000, "{}", world.ends[1].read.len() - before);
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn a_silent_sub_flow_that_answers_serves_again() {
    let mut world = upload();
    world.links[0].down = true;
    world.run_for(ms(700));
    assert!(world.ends[0].has(Event::SubflowSilent(FIRST)));
    world.links[0].down = false;
    world.run_for(Duration::from_secs(2));
    let now = world.now;
    assert!(world.client().subflows(now).all(|status| !status.silent));
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn a_sub_flow_that_is_reset_hands_over_what_it_had() {
    let mut world = upload();
    let now = world.now;
    world.client().end_subflow(now, FIRST);
    world.run_for(ms(100));
    for end in &world.ends {
        assert!(
            end.has(Event::SubflowDown { id: FIRST, reason: None })
                || end.has(Event::SubflowDown { id: FIRST, reason: Some(0) })
        );
    }
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
    assert!(world.client().counters().reinjected_bytes > 0);
}

#[test]
fn a_suspended_sub_flow_hands_over_at_once_and_comes_back_with_its_window() {
    let mut world = upload();
    world.client().attach_iosl(FIRST, IoslRules::default());
    world.run_for(ms(200));
    let (now, stored) = (world.now, world.client().stored_path(FIRST).expect("it is there"));
    world.links[0].down = true;
    world.client().suspend(now, FIRST);
    world.pump();
    let moved = world.client().counters().reinjected_bytes;
    world.run_for(ms(30));
    assert!(moved > 0 || world.client().counters().reinjected_bytes > 0, "without a timeout");
    world.run_for(Duration::from_secs(3));
    assert_eq!(world.client().stored_path(FIRST), Some(stored), "no timeout has taken from it");
    assert!(!world.ends[0].has(Event::SubflowSilent(FIRST)));
    world.links[0].down = false;
    let now = world.now;
    world.client().resume(now, FIRST, Resumption::Back);
    let status = world.client().subflows(now).find(|status| status.id == FIRST).expect("it is there");
    assert_eq!((status.tcp.cwnd, status.tcp.ssthresh), (stored.cwnd, stored.ssthresh));
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn the_other_sub_flow_takes_over_the_window_paced() {
    let mut world = upload();
    world.client().attach_iosl(SECOND, IoslRules::default());
    world.client().attach_iosl(FIRST, IoslRules::default());
    let now = world.now;
    world.client().suspend(now, FIRST);
    let stored = handfast_tcp::StoredPath { cwnd: 400_000, ssthresh: 300_000 };
    world.client().restore_path(now, SECOND, stored);
    let status = world.client().subflows(now).find(|status| status.id == SECOND).expect("it is there");
    assert_eq!((status.tcp.cwnd, status.tcp.ssthresh), (400_000, 300_000));
    let from = world.ends[0].sent.len();
    world.pump();
    let burst = world.ends[0].sent.len() - from;
    assert!(burst < 10, "{burst} segments leave at once");
    world.run_for(ms(60));
    let sent = world.ends[0].sent.len() - from;
    assert!(sent > 60, "{sent} segments in three round trips or so");
}

#[test]
fn a_backup_carries_only_while_nobody_else_serves() {
    let mut world = upload();
    world.client().set_backup(SECOND, true);
    world.run_for(ms(300));
    let octets = |world: &World| {
        let on_second = world.ends[0].sent.iter().filter(|(_, t)| t.flow == flow(1));
        on_second.map(|(_, t)| t.tcp.segment.payload.len()).sum::<usize>()
    };
    let before = octets(&world);
    world.run_for(ms(500));
    assert_eq!(octets(&world), before);
    // The peer has heard of it.
    let now = world.now;
    assert!(world.server().subflows(now).any(|status| status.id == SECOND && status.backup));
    world.links[0].down = true;
    world.run_for(Duration::from_secs(1));
    assert!(octets(&world) > before + 100_000, "{}", octets(&world) - before);
}

#[test]
fn without_any_sub_flow_it_waits_for_one_and_gives_up_at_last() {
    let mut world = upload();
    let now = world.now;
    world.client().end_subflow(now, FIRST);
    world.client().end_subflow(now, SECOND);
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.client().state(), State::Multipath);
    let stuck = world.ends[1].read.len();
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.ends[1].read.len(), stuck);
    // A new one takes all of it.
    world.joins = true;
    world.run_for(Duration::from_secs(1));
    assert!(world.ends[1].read.len() > stuck + 100_000);
    world.joins = false;
    let now = world.now;
    let all: Vec<_> = world.client().subflows(now).map(|status| status.id).collect();
    for id in all {
        world.client().end_subflow(now, id);
    }
    world.run_for(Duration::from_secs(70));
    for end in &world.ends {
        assert!(end.has(Event::Failed(Failure::NoPath)), "{:?}", end.events);
    }
}
