//! §6.2 acknowledgements, §6.3 timers, §7.2.4 fast retransmit.

use handfast_core::{Bytes as Size, Duration, SeqNum};
use handfast_sctp::{Config, Event, Failure, Received, State};
use handfast_wire::sctp::{Cause, Chunk, Data, Gap, Packet, Sack, code};

use crate::support::*;

fn sacks(world: &World, end: usize) -> Vec<(handfast_core::Instant, Sack)> {
    let of = |chunk: &Chunk| match chunk {
        Chunk::Sack(sack) => Some(sack.clone()),
        _ => None,
    };
    let sent = world.ends[end].sent.iter();
    sent.flat_map(|(when, t)| t.packet.chunks.iter().filter_map(of).map(|sack| (*when, sack))).collect()
}

/// A world in which the client has `packets` full messages to send.
fn sending(packets: usize, loses: Option<Loses>) -> World {
    let mut world = World::connected(Config::default());
    world.links[0].loses = loses;
    world.ends[0].to_write = (0..packets).map(|n| message(0, 1452, n as u8)).collect();
    world
}

#[test]
fn every_second_packet_is_acknowledged_and_a_single_one_after_200_ms() {
    let mut world = sending(3, None);
    world.run_to(at(1_000));
    let sacks = sacks(&world, 1);
    assert_eq!(sacks.len(), 2);
    assert_eq!(sacks[0].0, at(220), "the second packet's");
    assert_eq!(sacks[1].0, at(420), "the third's, after SACK.Delay");
    assert_eq!(sacks[1].1.cumulative, world.client().last_tsn());
}

#[test]
fn a_gap_and_a_duplicate_are_acknowledged_at_once() {
    let mut world = sending(2, Some(lose_data(&[0])));
    world.run_to(at(221));
    let gap = sacks(&world, 1);
    assert_eq!((gap.len(), gap[0].0), (1, at(220)));
    assert_eq!(gap[0].1.gaps, [Gap { start: 2, end: 2 }]);
    let again = world.ends[0].sent.last().unwrap().1.clone();
    world.hand_in(1, &Received { packet: &again.packet, from: again.from, to: again.to });
    world.pump();
    let duplicate = sacks(&world, 1).pop().unwrap().1;
    assert_eq!(duplicate.duplicates, [world.client().last_tsn()]);
}

#[test]
fn the_i_bit_asks_for_a_sack_at_once() {
    let mut world = sending(1, None);
    world.links[0].down = true;
    world.run_to(at(201));
    let mut packet = world.ends[0].sent.last().unwrap().1.packet.clone();
    let Chunk::Data(data) = &mut packet.chunks[0] else { panic!("DATA") };
    data.immediate = true;
    world.hand_in(1, &Received { packet: &packet, from: client(0), to: server(0) });
    world.pump();
    assert_eq!(sacks(&world, 1).len(), 1);
}

#[test]
fn three_misses_send_a_chunk_again_before_its_timeout() {
    let mut world = sending(12, Some(lose_data(&[3])));
    world.links[0].serialisation = ms(1);
    world.run_to(at(900));
    assert_eq!(world.ends[1].read.len(), 12);
    let counters = world.client().counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries, counters.retransmitted_chunks), (0, 1, 1));
    // The third SACK that reports it missing sends it again.
    let reports: Vec<_> = sacks(&world, 1).into_iter().filter(|(_, sack)| !sack.gaps.is_empty()).collect();
    let lost = reports[0].1.cumulative + 1;
    let is_lost = |chunk: &Chunk| matches!(chunk, Chunk::Data(data) if data.tsn == lost);
    let times = world.ends[0].times(is_lost);
    assert_eq!(times.len(), 2);
    assert!(reports[1].0 < reports[2].0 && reports[2].0 < reports[3].0);
    assert_eq!(times[1].0, reports[2].0 + ms(21));
}

#[test]
fn two_misses_do_not() {
    // Three packets fit into the first window; the first is lost, so there are two misses at most.
    let mut world = sending(3, Some(lose_data(&[0])));
    world.run_to(at(1_199));
    assert_eq!(world.client().counters().retransmitted_chunks, 0);
    world.run_to(at(1_300));
    let counters = world.client().counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries, counters.retransmitted_chunks), (1, 0, 1));
}

#[test]
fn a_fast_retransmit_that_is_lost_waits_for_the_timer() {
    // §7.2.4: a chunk is sent again for misses only once.
    let mut lost_tsn = None;
    let mut copies = 0;
    let loses: Loses = Box::new(move |packet, to_server| {
        let tsns = packet.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Data(data) if to_server => Some(data.tsn),
            _ => None,
        });
        tsns.into_iter().any(|tsn| {
            let first = *lost_tsn.get_or_insert(tsn);
            copies += usize::from(first == tsn);
            first == tsn && copies <= 2
        })
    });
    let mut world = sending(30, Some(loses));
    world.run_to(at(10_000));
    assert_eq!(world.ends[1].read.len(), 30);
    let counters = world.client().counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries), (1, 1));
    let first = world.client().last_tsn() - 29;
    let times = world.ends[0].times(|chunk| matches!(chunk, Chunk::Data(data) if data.tsn == first));
    assert_eq!(times.len(), 3);
    // §7.2.4 step 4: it is the earliest outstanding, so T3-rtx has started anew with it.
    assert_eq!(times[2].0.since(times[1].0), Duration::from_secs(1));
}

#[test]
fn losses_of_one_window_reduce_it_once() {
    let mut world = sending(60, None);
    world.run_to(at(420));
    let before = world.client().path(0).unwrap().state;
    world.links[0].loses = Some(lose_data(&[0, 2, 5]));
    world.run_to(at(3_000));
    let counters = world.client().counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries, counters.retransmitted_chunks), (0, 1, 3));
    let after = world.client().path(0).unwrap().state;
    assert!(before.ssthresh == u64::MAX && after.ssthresh < u64::MAX && after.ssthresh >= 4 * 1468);
}

#[test]
fn losses_of_two_windows_reduce_it_twice() {
    let mut world = sending(120, None);
    world.links[0].serialisation = ms(1);
    world.run_to(at(420));
    world.links[0].loses = Some(lose_data(&[0]));
    world.run_to(at(500));
    assert_eq!(world.client().counters().fast_recoveries, 1);
    world.links[0].loses = Some(lose_data(&[8]));
    world.run_to(at(2_000));
    // Fast recovery has ended with its exit point.
    assert_eq!(world.client().counters().fast_recoveries, 2);
}

#[test]
fn the_window_does_not_grow_in_fast_recovery() {
    let mut world = sending(120, Some(lose_data(&[30, 34])));
    world.links[0].serialisation = ms(1);
    world.run_while(at(2_000), |world| {
        world.ends[0].association.as_ref().unwrap().counters().fast_recoveries == 0
    });
    let (entered, last) = (world.now, world.client().last_tsn());
    let before = world.client().path(0).unwrap().state;
    assert_eq!(before.cwnd, before.ssthresh);
    // The first of the two is acknowledged now, the second is not: the point moves, and recovery goes on.
    let unacknowledged = world.client().buffered();
    world.run_while(entered + ms(500), |world| {
        world.ends[0].association.as_ref().unwrap().buffered() >= unacknowledged
    });
    let arrived = world.now - ms(20);
    let moved = sacks(&world, 1).into_iter().rfind(|(when, _)| *when <= arrived).unwrap().1;
    assert!(!moved.gaps.is_empty() && moved.cumulative.before(last));
    assert_eq!(world.client().counters().fast_recoveries, 1);
    assert_eq!(world.client().path(0).unwrap().state.cwnd, before.cwnd);
}

#[test]
fn timeouts_double_the_rto_and_end_the_association_after_ten() {
    // A heartbeat without an answer would count too.
    let mut world = World::connected(Config { heartbeat_interval: None, ..Config::default() });
    world.ends[0].to_write.push_back(message(0, 1452, 0));
    world.links[0].down = true;
    world.run_to(at(2_000_000));
    let times: Vec<_> =
        world.ends[0].times(is_data).iter().map(|(when, _)| when.as_nanos() / 1_000_000_000).collect();
    // From 0.2 s on: 1, 2, 4, 8, 16, 32, then RTO.Max 60 s.
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303]);
    assert!(world.ends[0].has(Event::Failed(Failure::Unreachable)));
    assert!(world.ends[0].has(Event::PathDown { path: 0 }), "Path.Max.Retrans is 5");
    let (down, _) = world.ends[0].events.iter().find(|(_, e)| matches!(e, Event::PathDown { .. })).unwrap();
    assert_eq!(down.as_nanos() / 1_000_000_000, 63);
    assert_eq!(world.client().deadline(), None);
}

#[test]
fn a_timeout_sends_one_packet_and_then_as_slow_start_allows() {
    let mut world = sending(3, None);
    world.links[0].down = true;
    world.run_to(at(1_199));
    world.links[0].down = false;
    world.run_to(at(1_201));
    let state = world.client().path(0).unwrap().state;
    assert_eq!((state.cwnd, state.ssthresh), (1468, 4 * 1468));
    assert_eq!(world.client().counters().retransmitted_chunks, 1, "E3: one packet");
    world.run_to(at(2_000));
    assert_eq!(world.ends[1].read.len(), 3);
    assert_eq!(world.client().counters().timeouts, 1);
}

#[test]
fn a_sample_is_not_taken_from_a_chunk_that_was_sent_twice() {
    let mut world = sending(1, None);
    world.links[0].down = true;
    world.run_to(at(1_100));
    world.links[0].down = false;
    world.run_to(at(2_000));
    assert_eq!(world.ends[1].read.len(), 1);
    let status = world.client().path(0).unwrap();
    // §6.3.1 C5: no SRTT, and the RTO stays backed off (§6.3.3).
    assert_eq!((status.state.srtt, status.rto), (None, Duration::from_secs(2)));
    world.ends[0].to_write.push_back(message(0, 100, 0));
    world.run_to(at(3_000));
    let status = world.client().path(0).unwrap();
    assert_eq!(status.state.srtt.map(|(srtt, _)| srtt), Some(ms(240)), "two delays and SACK.Delay");
}

fn sack(world: &mut World, sack: Sack) {
    let tag = world.ends[1].sent.last().unwrap().1.packet.tag;
    let packet = Packet { src_port: 6000, dst_port: 5000, tag, chunks: vec![Chunk::Sack(sack)] };
    world.hand_in(0, &Received { packet: &packet, from: server(0), to: client(0) });
}

#[test]
fn sacks_for_what_was_never_sent_and_old_ones_change_nothing() {
    let mut world = sending(2, None);
    world.links[0].down = true;
    world.run_to(at(210));
    let last = world.client().last_tsn();
    let buffered = world.client().buffered();
    let bogus = |cumulative, gaps: &[(u16, u16)]| Sack {
        cumulative,
        a_rwnd: 1 << 20,
        gaps: gaps.iter().map(|&(start, end)| Gap { start, end }).collect(),
        duplicates: vec![],
    };
    sack(&mut world, bogus(last + 1, &[]));
    sack(&mut world, bogus(last - 2, &[(1, 3)]));
    sack(&mut world, bogus(last + (1 << 31), &[]));
    sack(&mut world, bogus(last - 3, &[]));
    assert_eq!(world.client().buffered(), buffered);
    sack(&mut world, bogus(last - 1, &[]));
    assert_eq!(world.client().buffered(), buffered - 1452);
}

#[test]
fn what_a_peer_drops_again_is_sent_again() {
    let mut world = sending(3, None);
    world.links[0].down = true;
    world.run_to(at(210));
    let last = world.client().last_tsn();
    let gap = |gaps: &[(u16, u16)]| Sack {
        cumulative: last - 3,
        a_rwnd: 1 << 20,
        // In no order, and one twice: §3.3.4 promises nothing.
        gaps: gaps.iter().map(|&(start, end)| Gap { start, end }).collect(),
        duplicates: vec![],
    };
    sack(&mut world, gap(&[(3, 3), (2, 3), (2, 2)]));
    assert_eq!(world.client().path(0).unwrap().flight_size, 1468);
    sack(&mut world, gap(&[]));
    assert_eq!(world.client().path(0).unwrap().flight_size, 3 * 1468);
    world.links[0].down = false;
    world.run_to(at(5_000));
    assert_eq!(world.ends[1].read.len(), 3);
}

#[test]
fn data_that_breaks_a_rule_is_answered() {
    let data = |tsn, stream, payload: &'static str| Data {
        tsn,
        stream,
        ssn: 0,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: payload.into(),
    };
    let mut world = sending(1, None);
    world.run_to(at(1_000));
    let (last, tag) = (world.client().last_tsn(), world.ends[0].sent.last().unwrap().1.packet.tag);
    let give = |world: &mut World, data| {
        let packet = Packet { src_port: 5000, dst_port: 6000, tag, chunks: vec![Chunk::Data(data)] };
        world.hand_in(1, &Received { packet: &packet, from: client(0), to: server(0) });
        world.pump();
        world.ends[1].sent.iter().flat_map(|(_, t)| t.packet.chunks.clone()).collect::<Vec<_>>()
    };
    // §6.5: a stream that there is not is reported, and its TSN acknowledged.
    let sent = give(&mut world, data(last + 1, 16, "x"));
    assert!(sent.contains(&Chunk::Error(vec![Cause::InvalidStream(16)])));
    assert!(sent.iter().any(|chunk| matches!(chunk, Chunk::Sack(sack) if sack.cumulative == last + 1)));
    // §6.2: no user data ends the association.
    let sent = give(&mut world, data(last + 2, 0, ""));
    assert!(sent.contains(&Chunk::Abort { reflected: false, causes: vec![Cause::NoUserData(last + 2)] }));
    assert!(world.ends[1].has(Event::Failed(Failure::Refused { cause: code::NO_USER_DATA })));
    assert_eq!(world.server().state(), State::Closed);
}

#[test]
fn nothing_leaves_where_the_driver_has_no_room_for_a_packet() {
    let mut world = World::connected(Config::default());
    world.client().write(message(0, 10, 0)).unwrap();
    let now = world.now;
    assert_eq!(world.client().poll_transmit(now, Size(1479)), None);
    assert!(world.client().poll_transmit(now, Size(1480)).is_some());
}

#[test]
fn tsns_and_ssns_wrap() {
    // Seed after seed until both initial TSNs are within reach of the wrap would take long: SSNs wrap after 65,536 messages.
    let config = Config { rto_min: ms(100), ..Config::default() };
    let mut world = World::connected(config);
    world.links[0].delay = ms(1);
    world.ends[0].to_write = (0..66_000u32).map(|n| message(0, 4, n as u8)).collect();
    world.run_while(at(600_000), |world| world.ends[1].read.len() < 66_000);
    assert_eq!(world.ends[1].read.len(), 66_000);
    assert!(world.ends[1].read.iter().enumerate().all(|(n, message)| message.data[0] == n as u8));
    let _: SeqNum = world.client().last_tsn();
}

#[test]
fn what_waits_for_the_driver_is_bounded() {
    let mut world = sending(1, None);
    world.links[0].down = true;
    world.run_to(at(201));
    let data = world.ends[0].sent.last().unwrap().1.packet.clone();
    let heartbeat = Packet { chunks: vec![Chunk::Heartbeat("beat".into())], ..data.clone() };
    for _ in 0..100 {
        for packet in [&data, &heartbeat] {
            world.hand_in(1, &Received { packet, from: client(0), to: server(0) });
        }
    }
    let held = world.server().footprint();
    assert_eq!((held.control_chunks, held.duplicates), (32, 32));
}

#[test]
fn what_does_not_fit_into_a_packet_is_not_echoed() {
    let mut world = sending(1, None);
    world.run_to(at(500));
    let data = world.ends[0].sent.last().unwrap().1.packet.clone();
    let before = world.ends[1].sent.len();
    // 1,468 bytes of chunks fit.
    for (long, echoed) in [(1_440, true), (1_464, false)] {
        let value: bytes::Bytes = vec![0; long].into();
        for chunk in
            [Chunk::Heartbeat(value.clone()), Chunk::Unknown { kind: 0xc1, flags: 0, value: value.clone() }]
        {
            let packet = Packet { chunks: vec![chunk], ..data.clone() };
            world.hand_in(1, &Received { packet: &packet, from: client(0), to: server(0) });
        }
        world.pump();
        assert_eq!(world.ends[1].sent.len() - before, 2, "{long} bytes: {echoed}");
    }
}
