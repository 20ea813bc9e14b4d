//! What a session does where nothing is wrong, and where one thing is.

use handfast_assist::iosl::end::{Action, Config, End};
use handfast_assist::iosl::frame::{Reason, Windows};
use handfast_assist::iosl::ids::Connection;
use handfast_assist::iosl::session::Unsent;
use handfast_core::Duration;

use crate::insider::target;
use crate::memory::NOW;
use crate::programs::Program;
use crate::world::{CLIENT, DELAY, SERVER, World, identity, keys, ms};

const HUNGRY: (usize, Duration) = (usize::MAX, Duration::ZERO);

fn config(end: usize) -> Config {
    let mut config = Config::default();
    config.session.dials = end == CLIENT;
    config
}

pub(crate) fn world() -> World {
    World::new(&[config(CLIENT), config(SERVER)])
}

pub(crate) fn programs(lengths: [u64; 2]) -> [Program; 2] {
    [Program::new(1, lengths[0], HUNGRY), Program::new(2, lengths[1], HUNGRY)]
}

/// Both have got all.
pub(crate) fn assert_whole(world: &World) {
    for [client, server] in &world.programs {
        assert!(client.is_done && client.has_end && client.failed.is_none(), "{client:?}");
        assert!(server.is_done && server.has_end && server.failed.is_none(), "{server:?}");
        assert_eq!((client.read, server.read), (server.length, client.length));
    }
}

/// How long the server's program waits for the next octet, from now.
pub(crate) fn waits(world: &mut World) -> Duration {
    waits_at(world, SERVER)
}

fn waits_at(world: &mut World, end: usize) -> Duration {
    let (start, read) = (world.now, world.programs[0][end].read);
    while world.programs[0][end].read == read {
        world.run_for(ms(1));
        assert!(world.now.since(start) < ms(10_000));
    }
    world.now.since(start)
}

#[test]
fn octets_travel_both_ways_and_nothing_is_left() {
    for knows in [true, false] {
        let mut world = world();
        world.open(programs([300_000, 200_000]), knows);
        world.run_for(ms(5_000));
        assert_whole(&world);
        for end in &world.ends {
            assert_eq!((end.sessions().count(), end.memory(), end.deadline()), (0, 0, None));
        }
    }
}

/// With the key known it takes one round trip more than a connection does; on first use two.
#[test]
fn set_up_takes_one_round_trip_more() {
    for (knows, trips) in [(true, 5), (false, 7)] {
        let mut world = world();
        world.open(programs([10, 10]), knows);
        let took = waits(&mut world);
        assert_eq!(took, DELAY.saturating_mul(trips), "of which a connection takes two, and the octets one");
    }
}

/// A connection, the handshake, and the octets: nothing is waited for besides.
#[test]
fn a_session_goes_on_one_round_trip_after_its_new_connection() {
    let mut world = world();
    world.open(programs([50_000_000, 0]), true);
    world.run_for(ms(500));
    world.cut([Duration::ZERO, ms(60_000)]);
    let took = waits(&mut world);
    assert_eq!(took, DELAY.saturating_mul(5));
    assert_eq!(world.ends[SERVER].counters().resumed, 2);
}

/// A connection, the request, and the octets: the server has heard nothing for a round trip, and waits for nobody to show its keys.
#[test]
fn a_download_goes_on_with_the_answer() {
    let mut world = world();
    world.open(programs([0, 50_000_000]), true);
    world.run_for(ms(500));
    world.cut([Duration::ZERO, ms(60_000)]);
    let took = waits_at(&mut world, CLIENT);
    assert_eq!(took, DELAY.saturating_mul(4));
    world.run_for(ms(60_000));
    assert_whole(&world);
}

/// A whole record takes 8 s here: a path on which nobody acknowledges one for 7 s is given up.
#[test]
fn an_upload_advances_however_slow_its_path_is() {
    let mut world = world();
    world.rate = Some(2_000);
    world.open(programs([100_000, 0]), true);
    world.run_for(ms(240_000));
    assert_whole(&world);
}

/// The new connection is made while the one in use goes on.
#[test]
fn a_migration_that_is_announced_loses_no_time() {
    let mut world = world();
    world.open(programs([30_000_000, 30_000_000]), true);
    world.run_for(ms(500));
    for _ in 0..5 {
        let socket = world.programs[0][CLIENT].socket.unwrap();
        let id = world.ends[SERVER].id(world.programs[0][SERVER].socket.unwrap()).unwrap();
        world.ends[CLIENT].migrate(world.now, socket);
        for _ in 0..20 {
            let took = waits(&mut world);
            assert!(took <= DELAY.saturating_mul(2), "it goes on: {took:?}");
        }
        let open = world.wires.iter().filter(|wire| wire.paths.iter().any(Option::is_some));
        assert_eq!(open.count(), 1, "the path before is closed");
        let socket = world.programs[0][SERVER].socket.unwrap();
        assert_ne!(world.ends[SERVER].id(socket), Some(id), "the ID changes (RFC 9000 §9.5)");
    }
    world.run_for(ms(60_000));
    assert_whole(&world);
    assert_eq!(world.programs[0].each_ref().map(|program| program.resumed), [5, 5]);
}

#[test]
fn a_frozen_session_sends_nothing_and_goes_on_where_it_was() {
    for end in [CLIENT, SERVER] {
        let mut world = world();
        world.open(programs([5_000_000, 5_000_000]), true);
        world.run_for(ms(200));
        world.each(end, End::suspend);
        // What flies arrives still.
        world.run_for(ms(100));
        let read = |world: &World| world.programs[0].each_ref().map(|program| program.read);
        let before = read(&world);
        world.run_for(ms(300_000));
        assert_eq!(read(&world), before, "for five minutes");
        world.each(end, End::resume);
        world.run_for(ms(30_000));
        assert_whole(&world);
        assert_eq!(world.wires.len(), 1, "on the same connection");
    }
}

#[test]
fn a_session_is_resumed_after_minutes_without_a_path() {
    let mut world = world();
    world.open(programs([5_000_000, 5_000_000]), true);
    world.run_for(ms(200));
    world.is_up = false;
    world.cut([ms(10), ms(10)]);
    world.run_for(ms(9 * 60_000));
    world.is_up = true;
    world.run_for(ms(60_000));
    assert_whole(&world);
}

#[test]
fn a_session_without_a_path_expires_when_it_was_said() {
    let mut world = world();
    world.open(programs([5_000_000, 5_000_000]), true);
    world.run_for(ms(200));
    world.is_up = false;
    world.cut([ms(10), ms(20)]);
    let cut = world.now;
    world.run_for(ms(11 * 60_000));
    for (program, learnt) in world.programs[0].iter().zip([10, 20]) {
        let (reason, at) = program.failed.unwrap();
        assert_eq!((reason, at.since(cut)), (Reason::Expired, ms(600_000 + learnt)));
    }
    assert_eq!(world.ends[CLIENT].memory() + world.ends[SERVER].memory(), 0);
}

#[test]
fn a_peer_that_has_begun_anew_knows_no_session_and_the_program_is_told() {
    let mut world = world();
    world.open(programs([5_000_000, 5_000_000]), true);
    world.run_for(ms(200));
    world.restart(SERVER);
    world.run_for(ms(2_000));
    assert_eq!(world.programs[0][CLIENT].failed.map(|(reason, _)| reason), Some(Reason::NoSuchSession));
    assert_eq!(world.ends[CLIENT].sessions().count(), 0);
}

#[test]
fn a_half_that_is_closed_leaves_the_other_open() {
    let mut world = world();
    world.open(programs([0, 3_000_000]), true);
    world.run_for(ms(200));
    assert!(world.programs[0][SERVER].has_end, "the client has closed its half");
    assert!(!world.programs[0][CLIENT].has_end);
    world.cut([ms(0), ms(500)]);
    world.run_for(ms(20_000));
    assert_whole(&world);
}

#[test]
fn an_abort_reaches_the_other_program_with_its_reason() {
    for end in [CLIENT, SERVER] {
        let mut world = world();
        world.open(programs([5_000_000, 5_000_000]), true);
        world.run_for(ms(200));
        world.each(end, |end, now, socket| end.reset(now, socket, Reason::TargetUnreachable));
        world.run_for(ms(100));
        for program in &world.programs[0] {
            assert_eq!(program.failed.map(|(reason, _)| reason), Some(Reason::TargetUnreachable));
        }
        assert_eq!(world.ends.each_ref().map(|end| end.sessions().count()), [0, 0]);
    }
}

/// Buffers of 20,000 octets, and a program that reads 1,000 every 20 ms.
#[test]
fn a_program_that_reads_slowly_slows_the_other_one_down() {
    let mut configs = [config(CLIENT), config(SERVER)];
    for config in &mut configs {
        (config.session.send_buffer, config.session.receive_buffer) = (20_000, 20_000);
    }
    let mut world = World::new(&configs);
    let slow = Program::new(2, 0, (1_000, ms(20)));
    let [writer, _] = programs([500_000, 0]);
    world.open([writer, slow], true);
    world.run_for(ms(4_000));
    let [writer, slow] = &world.programs[0];
    assert!(slow.read >= 150_000, "{}", slow.read);
    assert!(writer.written <= slow.read + 40_000, "{} of {}", writer.written, slow.read);
    world.run_for(ms(20_000));
    assert_whole(&world);
}

#[test]
fn datagrams_come_once_or_are_refused_with_a_reason() {
    let mut world = world();
    world.open(programs([40_000_000, 0]), true);
    let socket = world.programs[0][CLIENT].socket.unwrap();
    let send = |world: &mut World, octets: usize| {
        world.ends[CLIENT].send_datagram(world.now, socket, &vec![octets as u8; octets])
    };
    assert_eq!(send(&mut world, 10), Err(Unsent::NotSpoken), "the peer has not said yet");
    world.run_for(ms(300));
    for octets in [0, 100, 16_000] {
        assert_eq!(send(&mut world, octets), Ok(()));
    }
    assert_eq!(send(&mut world, 16_001), Err(Unsent::TooLong));
    world.run_for(ms(100));
    let lengths: Vec<_> = world.programs[0][SERVER].datagrams.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 100, 16_000]);
    world.each(CLIENT, End::suspend);
    assert_eq!(send(&mut world, 10), Err(Unsent::Away));
}

#[test]
fn windows_are_told_once_and_on_each_path() {
    let mut configs = [config(CLIENT), config(SERVER)];
    configs[SERVER].session.capabilities.windows = true;
    let mut world = World::new(&configs);
    world.open(programs([40_000_000, 0]), true);
    world.run_for(ms(300));
    let windows = Windows { cwnd: 100_000, rwnd: 5, rtt: ms(20) };
    world.each(CLIENT, |end, now, socket| end.set_windows(now, socket, windows));
    world.run_for(ms(100));
    let hints = |world: &World| {
        let socket = world.programs[0][SERVER].socket.unwrap();
        world.ends[SERVER].session(socket).unwrap().hints()
    };
    assert_eq!(hints(&world), Some(windows));
}

/// A driver takes once before its connection is there, and has that go with the SYN: the preamble alone would save no round trip.
#[test]
fn the_preamble_and_the_first_message_are_one_piece() {
    // IK's first message has two keys and two tags, XX's a key (Noise §7.5).
    for (knows, least) in [(true, 8 + 2 + 2 * (32 + 16)), (false, 8 + 2 + 32)] {
        let mut client = End::new(identity(CLIENT, 0), Config::default());
        let application = client.open_application().unwrap();
        let ends = [([127, 0, 0, 1], 7).into(), ([10, 0, 0, 2], 22).into()];
        let peer = knows.then(|| keys(SERVER).public());
        client.open(NOW, application, Connection::Tcp(ends), target(), peer).unwrap();
        let Some(Action::Dial { path, .. }) = client.poll_action() else { panic!("it dials") };
        client.on_connected(NOW, path);
        assert!(client.poll_transmit(NOW, path, usize::MAX).is_some_and(|first| first.len() >= least));
        assert_eq!(client.poll_transmit(NOW, path, usize::MAX), None);
    }
}
