//! §9.

use handfast_core::{Bytes as Size, Duration};
use handfast_sctp::{Config, Event, Failure, State, WriteError};
use handfast_wire::sctp::{Chunk, code};

use crate::support::*;

fn is_shutdown(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Shutdown { .. })
}

#[test]
fn a_shutdown_waits_for_all_that_was_written() {
    let mut world = World::connected(Config::default());
    world.links[0].loses = Some(lose_data(&[1, 4]));
    for n in 0..20 {
        world.client().write(message(0, 1452, n)).unwrap();
        world.server().write(message(0, 1452, n)).unwrap();
    }
    let now = world.now;
    world.client().shutdown(now);
    assert_eq!(world.client().state(), State::ShutdownPending);
    assert_eq!(world.client().write(message(0, 1, 0)), Err(WriteError::Closed));
    world.run_to(at(5_000));
    assert_eq!((world.ends[0].read.len(), world.ends[1].read.len()), (20, 20));
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
    assert!(world.ends[1].has(Event::PeerClosed));
    assert!(!world.ends[0].has(Event::PeerClosed));
    assert_eq!(world.ends[0].association().deadline(), None);
}

#[test]
fn the_peer_may_still_send_what_it_has() {
    let mut world = World::connected(Config::default());
    for n in 0..100 {
        world.server().write(message(0, 1452, n)).unwrap();
    }
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(5_000));
    assert_eq!(world.ends[0].read.len(), 100);
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
    assert_eq!(world.server().write(message(0, 1, 0)), Err(WriteError::Closed));
}

#[test]
fn both_may_shut_down_at_once() {
    let mut world = World::connected(Config::default());
    let now = world.now;
    world.client().shutdown(now);
    world.server().shutdown(now);
    world.run_to(at(5_000));
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
}

#[test]
fn what_is_lost_of_a_shutdown_is_sent_again() {
    for lost in 0..3 {
        let kinds: [fn(&Chunk) -> bool; 3] = [
            is_shutdown,
            |chunk| *chunk == Chunk::ShutdownAck,
            |chunk| matches!(chunk, Chunk::ShutdownComplete { .. }),
        ];
        let mut world = World::connected(Config::default());
        let mut count = 0;
        world.links[0].loses = Some(Box::new(move |packet, _| {
            let is = packet.chunks.iter().any(kinds[lost]);
            count += usize::from(is);
            is && count <= 2
        }));
        let now = world.now;
        world.client().shutdown(now);
        world.run_to(at(60_000));
        assert!(world.ends[0].has(Event::Closed), "lost {lost}");
        if lost < 2 {
            assert!(world.ends[1].has(Event::Closed), "lost {lost}");
        }
    }
}

/// The client is through; its listener, if it had one, answers what the server repeats (§8.4).
#[test]
fn a_lost_shutdown_complete_is_made_up_for_out_of_the_blue() {
    let mut world = World::connected(Config::default());
    let random = handfast_core::Stream::new(3, "listener");
    let key = handfast_sctp::CookieKey::new([3; 32]);
    world.ends[0].listener =
        Some(handfast_sctp::Listener::new(Config::default(), 5000, &[client(0)], key, random));
    let mut count = 0;
    world.links[0].loses = Some(Box::new(move |packet, _| {
        let is = matches!(packet.chunks[0], Chunk::ShutdownComplete { .. });
        count += usize::from(is);
        is && count == 1
    }));
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(10_000));
    assert!(world.ends[1].has(Event::Closed));
}

#[test]
fn a_peer_that_is_gone_ends_a_shutdown() {
    let mut world = World::connected(Config::default());
    world.links[0].down = true;
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(2_000_000));
    // T5-shutdown-guard is 5 * RTO.Max = 300 s; Association.Max.Retrans would take 303.
    assert!(world.ends[0].has(Event::Failed(Failure::ShutdownGuard)));
    assert_eq!(world.ends[0].times(is_shutdown).len(), 10);
}

#[test]
fn a_shutdown_is_repeated_by_the_other_path() {
    let links = vec![Link::default(), Link::default()];
    let mut world = World::connected_over(Config::default(), links, &[server(0), server(1)]);
    world.links[0].down = true;
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(5_000));
    assert_eq!(world.ends[0].times(is_shutdown), [(at(200), 0), (at(1_200), 1)]);
    assert!(world.ends[0].has(Event::Closed));
}

#[test]
fn data_after_a_shutdown_is_acknowledged_with_another() {
    let mut world = World::connected(Config { sack_delay: ms(400), ..Config::default() });
    let now = world.now;
    world.client().shutdown(now);
    world.server().write(message(0, 100, 0)).unwrap();
    world.run_to(at(225));
    let together = world.ends[0].sent.iter().filter(|(when, _)| *when == at(220)).collect::<Vec<_>>();
    assert_eq!(together.len(), 2, "SHUTDOWN and SACK: {together:?}");
    world.run_to(at(2_000));
    assert!(world.ends.iter().all(|end| end.has(Event::Closed)));
}

#[test]
fn an_abort_ends_both() {
    let mut world = World::connected(Config::default());
    world.ends[0].to_write = (0..20).map(|n| message(0, 1452, n)).collect();
    world.run_to(at(230));
    world.client().abort();
    world.run_to(at(1_000));
    assert!(world.ends[0].has(Event::Failed(Failure::LocalAbort)));
    assert!(world.ends[1].has(Event::Failed(Failure::Aborted { cause: code::USER_INITIATED_ABORT })));
    assert_eq!((world.client().deadline(), world.server().deadline()), (None, None));
}

#[test]
fn before_the_handshake_is_done_a_shutdown_is_an_abort() {
    let mut world = World::new(1, Config::default(), vec![Link::default()], &[server(0)]);
    let now = world.now;
    world.client().shutdown(now);
    world.run_to(at(1_000));
    assert!(world.ends[0].has(Event::Failed(Failure::LocalAbort)));
    assert!(world.ends[1].association.is_none());
    assert_eq!(world.ends[0].sent.len(), 0);
    let _ = (Size(0), Duration::ZERO);
}
