//! §6.4, §8: several paths.

use handfast_core::{Duration, Instant};
use handfast_sctp::{Config, Event, Failure, State};
use handfast_wire::sctp::Chunk;

use crate::support::*;

fn is_heartbeat(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Heartbeat(_))
}

#[test]
fn data_goes_by_the_primary_path_and_a_timeout_by_the_other() {
    let mut world = World::with_two_paths(Config::default());
    world.links[0].down = true;
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.run_to(at(5_000));
    let data = world.ends[0].times(is_data);
    assert_eq!(data, [(at(200), 0), (at(1_200), 1)]);
    assert_eq!(world.ends[1].read.len(), 1);
    // §6.4: what came by the second path is acknowledged there.
    let sacks = world.ends[1].times(|chunk| matches!(chunk, Chunk::Sack(_)));
    assert_eq!(sacks, [(at(1_420), 1)]);
    // One timeout is no failure: new data still goes by the primary path.
    assert!(world.client().path(0).unwrap().active);
    world.ends[0].to_write.push_back(message(0, 100, 2));
    world.run_to(at(5_001));
    assert_eq!(world.ends[0].times(is_data).last().unwrap().1, 0);
}

/// §5.4: no data to an address that has never answered.
#[test]
fn a_path_that_is_not_confirmed_takes_nothing_over() {
    let links = vec![Link::default(), Link { down: true, ..Link::default() }];
    let mut world = World::connected_over(Config::default(), links, &[server(0), server(1)]);
    world.links[0].down = true;
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.run_to(at(4_000));
    assert_eq!(world.ends[0].times(is_data), [(at(200), 0), (at(1_200), 0), (at(3_200), 0)]);
}

#[test]
fn what_has_timed_out_leaves_by_a_path_whose_window_is_full() {
    let mut world = World::with_two_paths(Config::default());
    world.links[0].down = true;
    world.links[1].down = true;
    world.ends[0].to_write = (0..8).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(2_201));
    let at_time =
        |when, link| world.ends[0].times(is_data).iter().filter(|&&sent| sent == (at(when), link)).count();
    // At 1.2 s the first window moves to the second path, and one new packet leaves by the first, whose cwnd is one chunk.
    assert_eq!((at_time(200, 0), at_time(1_200, 1), at_time(1_200, 0)), (3, 3, 1));
    // At 2.2 s the second path times out. §6.3.3 E3: one packet goes to the first, whatever is outstanding there.
    assert_eq!((at_time(2_200, 0), at_time(2_200, 1)), (1, 0));
}

#[test]
fn what_sacks_report_missing_is_sent_again_by_the_same_path() {
    let mut world = World::with_two_paths(Config::default());
    world.links[0].loses = Some(lose_data(&[2]));
    world.ends[0].to_write = (0..20).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(900));
    assert_eq!(world.ends[1].read.len(), 20);
    assert_eq!(world.client().counters().fast_recoveries, 1);
    assert!(world.ends[0].times(is_data).iter().all(|(_, link)| *link == 0));
}

#[test]
fn a_path_fails_after_five_retransmissions_and_the_other_takes_over() {
    let mut world = World::with_two_paths(Config { heartbeat_interval: None, ..Config::default() });
    world.links[0].down = true;
    world.ends[0].to_write = (0..400).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(200_000));
    assert_eq!(world.ends[1].read.len(), 400);
    let (down, _) = *world.ends[0].events.iter().find(|(_, e)| *e == Event::PathDown { path: 0 }).unwrap();
    // 1 + 2 + 4 + 8 + 16 + 32 s: §8.2, the sixth error in a row.
    assert_eq!(down.since(at(200)), Duration::from_secs(63));
    let by_first_after =
        world.ends[0].times(is_data).iter().filter(|&&(when, link)| link == 0 && when > down).count();
    assert_eq!(by_first_after, 0);
    assert_eq!(world.client().state(), State::Established);
}

#[test]
fn a_path_that_is_back_is_found_by_heartbeats_and_used_again() {
    let mut world = World::with_its_first_path_down();
    world.links[0].down = false;
    world.run_to(at(120_000));
    assert!(world.ends[0].has(Event::PathUp { path: 0 }));
    assert!(world.client().path(0).unwrap().active);
    world.ends[0].to_write.push_back(message(0, 100, 2));
    world.run_to(at(120_100));
    assert_eq!(world.ends[0].times(is_data).last().unwrap().1, 0, "it is the primary path still");
}

#[test]
fn an_idle_path_is_asked_every_thirty_seconds() {
    let mut world = World::with_two_paths(Config::default());
    world.run_to(at(400_000));
    let by_second: Vec<Instant> = world.ends[0]
        .times(is_heartbeat)
        .iter()
        .filter(|(_, link)| *link == 1)
        .map(|&(when, _)| when)
        .collect();
    // The first confirms the path (§5.4); then RTO 1 s + 30 s, and half a second to either side.
    assert!((12..=14).contains(&by_second.len()), "{by_second:?}");
    for pair in by_second[1..].windows(2) {
        let seconds = pair[1].since(pair[0]).as_secs_f64();
        assert!((30.4..=31.7).contains(&seconds), "{seconds}");
    }
    let srtt = world.client().path(1).unwrap().state.srtt;
    assert_eq!(srtt.map(|(srtt, _)| srtt), Some(ms(40)), "a heartbeat measures the round trip");
}

#[test]
fn a_path_with_data_is_not_asked() {
    let mut world =
        World::with_two_paths(Config { heartbeat_interval: Some(ms(2_000)), ..Config::default() });
    for n in 0..200u64 {
        world.ends[0].to_write.push_back(message(0, 100, 1));
        world.run_to(at(300 + n * 500));
    }
    let asked = world.ends[0].times(is_heartbeat);
    assert!(asked.iter().all(|(_, link)| *link == 1), "{asked:?}");
    assert!(asked.len() > 20);
}

#[test]
fn an_idle_association_whose_peer_is_gone_ends() {
    let mut world = World::with_two_paths(Config::default());
    world.links[0].down = true;
    world.links[1].down = true;
    world.run_to(at(5_000_000));
    // §8.1: heartbeats without an answer count, on both paths together.
    assert!(world.ends[0].has(Event::Failed(Failure::Unreachable)));
    assert!(world.ends[0].has(Event::PathDown { path: 0 }));
}

/// §5.4: HB.Max.Burst limits how many paths are probed in an RTO.
#[test]
fn paths_are_probed_one_an_rto() {
    let run = |hb_max_burst| {
        let servers: Vec<_> = (0..4).map(server).collect();
        let links = (0..4).map(|_| Link::default()).collect();
        let mut world = World::connected_over(Config { hb_max_burst, ..Config::default() }, links, &servers);
        world.run_to(at(10_000));
        assert!((0..4).all(|path| world.client().path(path).unwrap().confirmed));
        world.ends[0].times(is_heartbeat)
    };
    let first = run(8)[0].0;
    let after = |sent: Vec<(Instant, u8)>| -> Vec<_> {
        sent.iter().map(|&(when, link)| (when.since(first).as_millis(), link)).collect()
    };
    assert_eq!(after(run(8)), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(after(run(2)), [(0, 1), (0, 2), (1_000, 3)]);
    assert_eq!(after(run(1)), [(0, 1), (1_000, 2), (2_000, 3)]);
}

/// A path that does not answer waits until all others were probed.
#[test]
fn a_path_that_is_silent_keeps_no_other_from_being_probed() {
    let servers: Vec<_> = (0..4).map(server).collect();
    let mut links: Vec<_> = (0..4).map(|_| Link::default()).collect();
    links[1].down = true;
    let mut world = World::connected_over(Config::default(), links, &servers);
    world.run_to(at(4_000));
    let confirmed = [0, 1, 2, 3].map(|path| world.client().path(path).unwrap().confirmed);
    assert_eq!(confirmed, [true, false, true, true]);
}

/// §8.1: addresses that were never there say nothing of a peer that has others.
#[test]
fn addresses_that_never_answer_do_not_end_an_association() {
    let mut links: Vec<_> = (0..4).map(|_| Link::default()).collect();
    for link in &mut links[1..] {
        link.down = true;
    }
    let servers: Vec<_> = (0..4).map(server).collect();
    let mut world = World::connected_over(Config::default(), links, &servers);
    world.run_to(at(60_000));
    let unanswered: u32 = (1..4).map(|path| world.client().path(path).unwrap().errors).sum();
    assert!(unanswered > 10, "Association.Max.Retrans is 10");
    assert_eq!(world.client().state(), State::Established);
}

#[test]
fn an_unanswered_path_does_not_end_an_association_that_works() {
    let config = Config { heartbeat_interval: Some(ms(1_000)), ..Config::default() };
    let mut world = World::with_two_paths(config);
    world.links[1].down = true;
    for n in 0..600u64 {
        world.ends[0].to_write.push_back(message(0, 100, 1));
        world.run_to(at(1_000 + n * 1_000));
    }
    assert!(world.ends[0].has(Event::PathDown { path: 1 }));
    assert_eq!(world.client().state(), State::Established);
    assert_eq!(world.ends[1].read.len(), 600);
}

#[test]
fn a_server_with_one_address_has_a_path_to_each_of_the_client_s() {
    let mut world =
        World::connected_over(Config::default(), vec![Link::default(), Link::default()], &[server(9)]);
    assert_eq!((world.client().path_count(), world.server().path_count()), (2, 2));
    let paths = [0, 1].map(|path| world.server().path(path).unwrap());
    assert_eq!(paths.map(|path| (path.local, path.remote)), [(server(9), client(0)), (server(9), client(1))]);
    // Both directions fail over.
    world.links[0].down = true;
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.ends[1].to_write.push_back(message(0, 100, 1));
    world.run_to(at(3_000));
    assert_eq!((world.ends[0].read.len(), world.ends[1].read.len()), (1, 1));
}

#[test]
fn the_primary_path_can_be_changed() {
    let mut world = World::with_two_paths(Config::default());
    assert!(world.client().set_primary(1));
    assert!(!world.client().set_primary(2));
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.run_to(at(300));
    assert_eq!(world.ends[0].times(is_data), [(at(200), 1)]);
    assert!(world.client().path(1).unwrap().primary);
}
