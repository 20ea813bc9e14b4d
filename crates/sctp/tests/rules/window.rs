//! §6.1 and §6.2: the peer's window; §7.2: ours.

use handfast_core::Bytes as Size;
use handfast_sctp::{Config, Event, Failure, Message, PathState, Received, WriteError};
use handfast_wire::sctp::{Chunk, Packet, Sack, code};

use crate::support::*;

fn data_at(world: &World, when: u64) -> usize {
    world.ends[0].times(is_data).iter().filter(|(at_, _)| *at_ == at(when)).count()
}

#[test]
fn slow_start_doubles_and_bursts_are_of_four_packets() {
    let mut world = World::connected(Config::default());
    world.ends[0].to_write = (0..200).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(199));
    // The first window is 4,404 bytes: three packets.
    world.run_to(at(239));
    assert_eq!(data_at(&world, 200), 3);
    let cwnd = |world: &mut World| world.client().path(0).unwrap().state.cwnd;
    let first = cwnd(&mut world);
    world.run_to(at(700));
    assert!(cwnd(&mut world) >= 4 * first, "{}", cwnd(&mut world));
    // §6.1 D: one SACK releases four packets at most.
    let sacks = world.ends[1].times(|chunk| matches!(chunk, Chunk::Sack(_)));
    for burst in world.ends[0].times(is_data).chunk_by(|a, b| a.0 == b.0).skip(1) {
        let arrived = sacks.iter().filter(|(when, _)| *when + ms(20) == burst[0].0).count();
        assert!(burst.len() <= 4 * arrived, "{} packets after {arrived} SACKs", burst.len());
    }
}

/// A driver that hands in several SACKs before it asks what may leave grows no smaller window.
#[test]
fn sacks_in_a_batch_open_the_window_as_far() {
    let grown = |batches| {
        let mut world = World::connected(Config { sack_frequency: 1, ..Config::default() });
        world.batches = batches;
        world.ends[0].to_write = (0..200).map(|n| message(0, 1452, n as u8)).collect();
        world.run_to(at(290));
        world.client().path(0).unwrap().state.cwnd
    };
    assert_eq!(grown(true), grown(false));
}

#[test]
fn without_max_burst_a_restored_window_is_used_at_once() {
    for (max_burst, expected) in [(Some(4), 4), (None, 20)] {
        let mut world = World::connected(Config { max_burst, ..Config::default() });
        let state = world.client().path(0).unwrap().state;
        world.client().restore(at(200), 0, PathState { cwnd: 20 * 1468, ..state });
        for n in 0..40 {
            world.client().write(message(0, 1452, n)).unwrap();
        }
        world.pump();
        assert_eq!(data_at(&world, 200), expected);
    }
}

#[test]
fn an_idle_path_begins_with_a_smaller_window() {
    let mut world = World::connected(Config::default());
    world.ends[0].to_write = (0..300).map(|n| message(0, 1452, n as u8)).collect();
    world.run_to(at(3_000));
    let before = world.client().path(0).unwrap().state;
    assert!(before.cwnd > 20 * 1468);
    world.run_to(at(20_000));
    world.ends[0].to_write.push_back(message(0, 10, 0));
    world.run_to(at(20_010));
    let after = world.client().path(0).unwrap().state;
    assert_eq!(after.cwnd, 4 * 1468);
}

#[test]
fn a_long_path_is_filled() {
    // 10 Mbit/s and 50 ms each way: 1,480 bytes take 1.2 ms with the headers of IP.
    let mut world = World::connected(Config::default());
    world.links[0].delay = ms(50);
    world.links[0].serialisation = handfast_core::Duration::from_micros(1200);
    world.links[0].queue = 100;
    world.ends[0].to_write = (0..8_000).map(|n| message(0, 1452, n as u8)).collect();
    let done = world.run_while(at(60_000), |world| world.ends[1].read.len() < 8_000);
    assert!(done);
    let seconds = world.now.as_secs_f64() - 0.2;
    let goodput = 8_000.0 * 1452.0 * 8.0 / seconds / 1e6;
    assert!((8.5..=9.7).contains(&goodput), "{goodput} Mbit/s");
}

#[test]
fn a_closed_window_is_probed_and_opens_again() {
    let config = Config { receive_buffer: Size(20_000), ..Config::default() };
    let mut world = World::connected(config);
    world.ends[1].deaf = true;
    world.ends[0].to_write = (0..40).map(|n| message(0, 1000, n as u8)).collect();
    // Long enough for more probes than Association.Max.Retrans: §6.1 A, they are answered, so they are no errors.
    world.run_to(at(2_000_000));
    assert!(
        world.ends[0].events.iter().all(|(_, e)| !matches!(e, Event::Failed(_) | Event::PathDown { .. }))
    );
    let timeouts = world.client().counters().timeouts;
    assert!(timeouts > 20, "{timeouts} probes");
    assert!(world.server().counters().chunks_without_room > 20);
    world.ends[1].deaf = false;
    let start = world.now;
    world.run_while(at(3_000_000), |world| world.ends[1].read.len() < 40);
    assert_eq!(world.ends[1].read.len(), 40);
    assert!(
        world.now.since(start) < ms(2_000),
        "the window's opening is told at once: {}",
        world.now.since(start)
    );
}

#[test]
fn a_sender_stays_within_the_peer_s_window() {
    let config = Config { receive_buffer: Size(10_000), ..Config::default() };
    let mut world = World::connected(config);
    world.ends[1].deaf = true;
    world.ends[0].to_write = (0..40).map(|n| message(0, 1000, n as u8)).collect();
    world.run_to(at(1_000));
    assert_eq!(world.server().counters().data_chunks_received, 10);
    // The SACK that closes the window leaves the server after at most three round trips; a probe follows it after an RTO.
    world.run_to(at(1_500));
    let counters = world.server().counters();
    assert_eq!(counters.chunks_without_room, 1, "one chunk may probe");
    assert_eq!(counters.data_chunks_received, 11);
    let closed =
        *world.ends[1].times(|chunk| matches!(chunk, Chunk::Sack(sack) if sack.a_rwnd == 0)).first().unwrap();
    let probed = *world.ends[0].times(is_data).last().unwrap();
    assert_eq!(probed.0.since(closed.0 + ms(20)), ms(1_000), "§6.1 A: the first one after an RTO");
}

/// §6.1 A: "Zero window probing does not affect the calculation of cwnd."
#[test]
fn probes_leave_the_congestion_window_as_it_is() {
    let config = Config { receive_buffer: Size(30_000), ..Config::default() };
    let mut world = World::connected(config);
    world.ends[1].deaf = true;
    world.ends[0].to_write = (0..60).map(|n| message(0, 1000, n as u8)).collect();
    world.run_to(at(1_000));
    let before = world.client().path(0).unwrap();
    world.run_to(at(100_000));
    let after = world.client().path(0).unwrap();
    assert!(world.client().counters().timeouts > 4, "{} probes", world.client().counters().timeouts);
    // The first probe leaves by a path that was idle for one RTO (§7.2.1); the others change nothing.
    let (cwnd, ssthresh) = (before.state.cwnd / 2, before.state.cwnd);
    assert_eq!(after.state, PathState { cwnd, ssthresh, ..before.state });
    assert_eq!(after.errors, 0);
    assert_eq!(after.rto.as_millis(), 60_000, "only the timer backs off");
}

/// A small window says nothing of paths that answer nothing.
#[test]
fn a_small_window_forgives_no_path_that_is_not_probed() {
    let mut world = World::connected_over(
        Config::default(),
        vec![Link::default(), Link::default()],
        &[server(0), server(1)],
    );
    world.links[0].down = true;
    world.links[1].down = true;
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(1_300));
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(1_400));
    let errors = |world: &mut World| [0, 1].map(|path| world.client().path(path).unwrap().errors);
    assert_eq!(errors(&mut world), [1, 0]);
    assert!(world.client().path(0).unwrap().flight_size > 0);
    let cumulative = world.client().last_tsn() - 2;
    let chunk = Chunk::Sack(Sack { cumulative, a_rwnd: 10, gaps: vec![], duplicates: vec![] });
    let tag = world.client().tags().0;
    let packet = Packet { src_port: 6000, dst_port: 5000, tag, chunks: vec![chunk] };
    world.hand_in(0, &Received { packet: &packet, from: server(1), to: client(1) });
    assert_eq!(errors(&mut world), [1, 0]);
}

/// More messages than the receiver keeps wait behind one that is lost: it drops the last of them, and not the association.
#[test]
fn small_messages_behind_a_hole_are_no_reason_to_abort() {
    let config = Config { receive_buffer: Size(20_000), max_burst: None, ..Config::default() };
    let mut world = World::connected(config);
    let state = world.client().path(0).unwrap().state;
    world.client().restore(at(200), 0, PathState { cwnd: 40 * 1468, ..state });
    world.links[0].loses = Some(lose_data(&[0]));
    for n in 0..2_900u32 {
        world.client().write(message(0, 1, n as u8)).unwrap();
    }
    world.run_to(at(60_000));
    assert!(world.server().counters().chunks_without_room > 0);
    let read = world.ends[1].read.iter().map(|message| message.data[0]);
    assert!(read.eq((0..2_900u32).map(|n| n as u8)), "{} messages", world.ends[1].read.len());
    assert!(!world.ends.iter().any(|end| end.events.iter().any(|(_, e)| matches!(e, Event::Failed(_)))));
}

#[test]
fn a_message_longer_than_the_receive_buffer_ends_the_association() {
    let config = Config { receive_buffer: Size(5_000), ..Config::default() };
    let mut world = World::connected(config);
    world.ends[0].to_write.push_back(message(0, 9_000, 0));
    world.run_to(at(60_000));
    assert!(world.ends[1].has(Event::Failed(Failure::Refused { cause: code::OUT_OF_RESOURCE })));
    assert!(world.ends[0].has(Event::Failed(Failure::Aborted { cause: code::OUT_OF_RESOURCE })));
}

#[test]
fn small_messages_share_packets() {
    let mut world = World::connected(Config::default());
    for n in 0..50 {
        world.client().write(message(0, 20, n)).unwrap();
    }
    world.run_to(at(500));
    assert_eq!(world.ends[1].read.len(), 50);
    let packets = world.ends[0].times(is_data).len();
    assert_eq!(packets, 2, "40 chunks of 36 bytes fit into one");
}

#[test]
fn a_sack_goes_with_data_where_it_can() {
    let mut world = World::connected(Config::default());
    world.ends[0].to_write = (0..2).map(|n| message(0, 1000, n)).collect();
    world.links[0].loses = None;
    world.run_to(at(219));
    world.ends[1].to_write.push_back(message(0, 100, 0));
    world.ends[1].to_write.push_back(message(0, 100, 0));
    world.run_to(at(221));
    let both = |transmit: &handfast_sctp::Transmit| {
        matches!(transmit.packet.chunks.as_slice(), [Chunk::Sack(_), Chunk::Data(_), ..])
    };
    // The server's data left before the client's came; the client's answer has both.
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(300));
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(301));
    assert!(world.ends.iter().any(|end| end.sent.iter().any(|(_, transmit)| both(transmit))));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut world = World::connected(Config { send_buffer: Size(3_000), ..Config::default() });
    let client = world.client();
    assert_eq!(client.write(message(0, 0, 0)), Err(WriteError::Empty));
    assert_eq!(client.write(message(16, 1, 0)), Err(WriteError::Stream));
    assert_eq!(client.write(message(0, 3_001, 0)), Err(WriteError::TooLong));
    assert_eq!(client.write(message(0, 2_000, 0)), Ok(()));
    assert_eq!(client.write(message(0, 1_001, 0)), Err(WriteError::Full));
    assert_eq!(client.writable(), 1_000);
    // Small messages are bounded by their number.
    let small = |_| client.write(message(0, 1, 0));
    assert_eq!((0..3_000).flat_map(small).count(), 3_000 / 16 - 1);
    world.client().abort();
    assert_eq!(world.client().write(message(0, 1, 0)), Err(WriteError::Closed));
}

#[test]
fn unordered_messages_do_not_wait() {
    let mut world = World::connected(Config::default());
    world.links[0].loses = Some(lose_data(&[0]));
    world.ends[0].to_write.push_back(message(0, 1452, 1));
    world.ends[0].to_write.push_back(message(0, 1452, 2));
    world.ends[0].to_write.push_back(Message { unordered: true, ..message(0, 100, 3) });
    world.ends[0].to_write.push_back(message(1, 100, 4));
    world.run_to(at(300));
    let read: Vec<_> = world.ends[1].read.iter().map(|message| message.data[0]).collect();
    assert_eq!(read, [3, 4], "another stream and what is unordered; the second waits for the first");
    world.run_to(at(3_000));
    let read: Vec<_> = world.ends[1].read.iter().map(|message| message.data[0]).collect();
    assert_eq!(read, [3, 4, 1, 2]);
}
