//! How sessions end.

use handfast_assist::iosl::end::{Action, Config, End};
use handfast_assist::iosl::frame::{Frame, Reason};
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::session::{Event, Read};

use crate::basics::{assert_whole, programs, world};
use crate::insider::Insider;
use crate::memory::{NOW, Pair};
use crate::world::{CLIENT, SERVER, identity, ms};

/// Whatever was under way when the path was cut: the last octet, its acknowledgment, or that the other end knows.
#[test]
fn who_comes_back_after_minutes_learns_that_all_had_come() {
    for at in 0..150 {
        let mut world = world();
        world.open(programs([100, 100]), true);
        world.run_for(ms(at));
        world.is_up = false;
        world.cut([ms(0), ms(0)]);
        // Before it has opened a session is given up sooner.
        world.run_for(if world.ends[SERVER].counters().resumed == 0 { ms(5_000) } else { ms(500_000) });
        world.is_up = true;
        world.run_for(ms(20_000));
        assert_whole(&world);
        assert_eq!(world.ends.each_ref().map(|end| end.sessions().count()), [0, 0], "cut after {at} ms");
    }
}

/// One end has all, and the other one never comes back.
#[test]
fn what_is_over_is_remembered_for_as_long_as_the_peer_may_come_back() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut insider = Insider::open(&mut server, NOW);
    server.finish(NOW, Socket(0));
    insider.hear(&mut server, NOW);
    insider.say(&mut server, NOW, &[Frame::Fin { offset: 0 }, Frame::Ack { offset: 1, credit: 1_000_000 }]);
    while server.poll_event(NOW).is_some() {}
    assert_eq!(server.read(NOW, Socket(0), 1), Ok(Read::End));
    server.on_closed(NOW, insider.path);
    // The insider expires after 60 s, and this end remembers for as long again.
    while let Some(at) = server.deadline().filter(|&at| at < NOW + ms(119_999)) {
        server.on_timer(at);
        while let Some(Action::Dial { path, .. }) = server.poll_action() {
            server.on_closed(at, path);
        }
        assert_eq!(server.sessions().count(), 1);
    }
    server.on_timer(NOW + ms(120_000));
    assert_eq!(server.sessions().count(), 0);
}

#[test]
fn octets_that_came_before_a_reset_are_read_before_it_is_told() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut insider = Insider::open(&mut server, NOW);
    let data = Frame::Data { offset: 0, bytes: "the last words".into() };
    insider.say(&mut server, NOW, &[data, Frame::Reset(Reason::Aborted)]);
    let socket = Socket(0);
    assert_eq!(server.poll_event(NOW), Some((socket, Event::Readable)));
    assert_eq!(server.write(NOW, socket, b"too late"), Err(Reason::Aborted));
    assert_eq!(server.poll_event(NOW), None);
    assert_eq!(server.read(NOW, socket, 8), Ok(Read::Octets(b"the last".to_vec())));
    assert_eq!(server.poll_event(NOW), None);
    assert_eq!(server.read(NOW, socket, 100), Ok(Read::Octets(b" words".to_vec())));
    assert_eq!(server.read(NOW, socket, 100), Err(Reason::Aborted));
    assert_eq!(server.poll_event(NOW), Some((socket, Event::Failed(Reason::Aborted))));
    assert_eq!((server.poll_event(NOW), server.sessions().count()), (None, 0));
    assert_eq!(server.free(), Config::default().pool);
}

#[test]
fn who_aborts_reads_nothing_more_and_keeps_nothing() {
    for is_reset_first in [false, true] {
        let mut server = End::new(identity(SERVER, 0), Config::default());
        let mut insider = Insider::open(&mut server, NOW);
        insider.say(&mut server, NOW, &[Frame::Data { offset: 0, bytes: "words".into() }]);
        if is_reset_first {
            insider.say(&mut server, NOW, &[Frame::Reset(Reason::Expired)]);
        }
        server.reset(NOW, Socket(0), Reason::Aborted);
        insider.hear(&mut server, NOW);
        let reason = if is_reset_first { Reason::Expired } else { Reason::Aborted };
        assert_eq!(server.read(NOW, Socket(0), 9), Err(reason));
        let events: Vec<_> = std::iter::from_fn(|| server.poll_event(NOW)).collect();
        assert_eq!(events.last(), Some(&(Socket(0), Event::Failed(reason))));
        assert_eq!((server.sessions().count(), server.memory()), (0, 0));
    }
}

/// The program here, or the one there, aborts when all has come.
#[test]
fn an_abort_after_the_end_fails_nobody() {
    for is_peers in [false, true] {
        let mut server = End::new(identity(SERVER, 0), Config::default());
        let mut insider = Insider::open(&mut server, NOW);
        server.finish(NOW, Socket(0));
        insider.hear(&mut server, NOW);
        let data = Frame::Data { offset: 0, bytes: vec![7; 808].into() };
        let all = [data, Frame::Fin { offset: 808 }, Frame::Ack { offset: 1, credit: 1_000_000 }];
        insider.say(&mut server, NOW, &all);
        if is_peers {
            insider.say(&mut server, NOW, &[Frame::Reset(Reason::Aborted)]);
            assert!(matches!(server.read(NOW, Socket(0), 10_000), Ok(Read::Octets(_))));
            assert_eq!(server.read(NOW, Socket(0), 1), Ok(Read::End));
        } else {
            server.reset(NOW, Socket(0), Reason::Aborted);
            let told = insider.hear(&mut server, NOW);
            assert_eq!(told.last(), Some(&Frame::Expire), "that it is done: {told:?}");
            assert_eq!(server.read(NOW, Socket(0), 1), Err(Reason::Aborted));
            insider.say(&mut server, NOW, &[Frame::Expire]);
        }
        let events: Vec<_> = std::iter::from_fn(|| server.poll_event(NOW)).collect();
        assert!(events.contains(&(Socket(0), Event::Done)), "{events:?}");
        let failed = (Socket(0), Event::Failed(Reason::Aborted));
        assert_eq!(events.contains(&failed), !is_peers, "who aborts knows: {events:?}");
        assert_eq!((server.sessions().count(), server.memory()), (0, 0));
    }
}

/// The peer's last acknowledgment and its word that it is done come in one record. A driver may take events before it sends.
#[test]
fn who_hears_that_the_peer_is_done_says_so_too_before_it_forgets() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut insider = Insider::open(&mut server, NOW);
    server.finish(NOW, Socket(0));
    insider.hear(&mut server, NOW);
    insider.say(&mut server, NOW, &[Frame::Fin { offset: 0 }]);
    assert_eq!(server.read(NOW, Socket(0), 1), Ok(Read::End));
    insider.hear(&mut server, NOW);
    insider.say(&mut server, NOW, &[Frame::Ack { offset: 1, credit: 1_000_000 }, Frame::Expire]);
    while server.poll_event(NOW).is_some() {}
    assert_eq!(insider.hear(&mut server, NOW), [Frame::Expire]);
    assert_eq!((server.sessions().count(), server.memory()), (0, 0));
}

/// Nothing can be said on a path that is gone.
#[test]
fn who_hears_that_the_peer_is_done_forgets_where_the_path_is_gone() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut insider = Insider::open(&mut server, NOW);
    server.finish(NOW, Socket(0));
    insider.hear(&mut server, NOW);
    let last = [Frame::Fin { offset: 0 }, Frame::Ack { offset: 1, credit: 1_000_000 }, Frame::Expire];
    insider.say(&mut server, NOW, &last);
    assert_eq!(server.read(NOW, Socket(0), 1), Ok(Read::End));
    while server.poll_event(NOW).is_some() {}
    assert_eq!(server.sessions().count(), 1);
    server.on_closed(NOW, insider.path);
    assert_eq!((server.sessions().count(), server.memory()), (0, 0));
}

/// The program's socket is closed, and its port is free again, before the peer has got all.
#[test]
fn a_program_that_uses_its_port_again_has_a_session_of_its_own() {
    let mut pair = Pair::new(Config::default());
    let [before, other] = pair.open(7);
    pair.ends[CLIENT].write(NOW, before, b"the rest").unwrap();
    pair.ends[CLIENT].finish(NOW, before);
    pair.settle();
    while pair.ends[SERVER].poll_event(NOW).is_some() {}
    let [after, _] = pair.open(7);
    assert_ne!(before, after);
    assert_eq!(pair.ends[SERVER].read(NOW, other, 100), Ok(Read::Octets(b"the rest".to_vec())));
    assert_eq!(pair.ends.each_ref().map(|end| end.sessions().count()), [2, 2]);
}

/// A second dial may ask for a session that the first has opened meanwhile: what the server takes for a new one is not used.
#[test]
fn a_session_that_is_dialled_twice_is_one_session() {
    for at in 0..100 {
        let mut world = world();
        world.open(programs([0, 0]), true);
        world.run_for(ms(at));
        for end in [CLIENT, SERVER] {
            world.each(end, End::resume);
        }
        world.run_for(ms(60_000));
        assert_whole(&world);
    }
}

/// Whatever is under way when a program aborts: nothing is left, at either end.
#[test]
fn a_session_that_is_aborted_early_leaves_nothing() {
    for at in 0..100 {
        let mut world = world();
        world.open(programs([1, 0]), true);
        world.run_for(ms(at));
        world.abort(CLIENT);
        for end in [CLIENT, SERVER] {
            world.each(end, End::resume);
        }
        world.run_for(ms(200_000));
        assert_eq!(world.ends.each_ref().map(|end| end.sessions().count()), [0, 0], "aborted after {at} ms");
    }
}
