//! Who listens, cuts and sends what it likes, and who has keys and lies.

use handfast_assist::iosl::end::{Action, Config, End, PathId};
use handfast_assist::iosl::frame::{Frame, Reason, Windows, varint};
use handfast_assist::iosl::ids::{Id, Socket};
use handfast_assist::iosl::secure::Keys;
use handfast_assist::iosl::session::{Event, Read};
use handfast_core::{Duration, Instant, Stream};

use crate::basics::{assert_whole, programs, world};
use crate::insider::{Insider, hello, said, target};
use crate::world::{CLIENT, SERVER, World, address, identity, keys, ms};

/// The records that an end has sent on a connection.
fn heard(world: &World, wire: usize, end: usize) -> Vec<Vec<u8>> {
    let all = world.heard.iter().flatten();
    all.filter(|(number, from, _)| (*number, *from) == (wire, end))
        .map(|(_, _, octets)| octets.clone())
        .collect()
}

/// A world whose first session has gone on for a while, to be listened to.
fn listened(lengths: [u64; 2]) -> World {
    let mut world = world();
    world.heard = Some(Vec::new());
    world.open(programs(lengths), true);
    world.run_for(ms(200));
    world
}

/// Somebody connects to the server and says what was heard.
fn replay(world: &mut World, records: &[Vec<u8>]) -> PathId {
    let path = world.ends[SERVER].on_accepted(world.now, address(CLIENT));
    for record in records {
        world.ends[SERVER].on_octets(world.now, path, record);
    }
    path
}

#[test]
fn a_replayed_open_opens_nothing_and_disturbs_nobody() {
    let mut world = listened([2_000_000, 2_000_000]);
    let all = heard(&world, 0, CLIENT);
    for _ in 0..20 {
        replay(&mut world, &all[..1]);
        replay(&mut world, &all);
        world.run_for(ms(10));
    }
    assert_eq!(world.programs.len(), 1);
    world.run_for(ms(60_000));
    assert_whole(&world);
    assert_eq!(world.ends[SERVER].sessions().count(), 0, "what nobody has used is gone");
}

#[test]
fn a_replayed_resume_is_refused_and_the_path_in_use_stays() {
    let mut world = listened([20_000_000, 20_000_000]);
    world.cut([ms(0), ms(0)]);
    world.run_for(ms(200));
    let resume = heard(&world, 1, CLIENT);
    let before = world.ends[SERVER].counters();
    for _ in 0..10 {
        let path = replay(&mut world, &resume[..1]);
        let answer = said(&mut world.ends[SERVER], world.now, path);
        // A sealed refusal, and not an octet of the program.
        assert!(answer.len() < 200, "{}", answer.len());
        world.run_for(ms(5));
    }
    let after = world.ends[SERVER].counters();
    assert_eq!((after.refused - before.refused, after.resumed - before.resumed), (10, 0));
    world.run_for(ms(60_000));
    assert_whole(&world);
    assert_eq!(world.wires.len(), 2, "nobody had to dial again");
}

/// The attacker keeps the first message from the server, and sends it later: its epoch is fresh. Whoever answers nothing that needs
/// the keys does not get the session, and the path in use comes back.
#[test]
fn a_resume_that_was_held_back_takes_nothing_away() {
    let mut world = listened([20_000_000, 20_000_000]);
    // The client dials, and the attacker cuts the connection with what flies.
    world.each(CLIENT, End::migrate);
    world.run_for(ms(21));
    let held = heard(&world, 1, CLIENT);
    assert_eq!(held.len(), 1, "preamble and first message, in one piece");
    let newest = world.wires.len() - 1;
    world.wires[newest].is_cut = true;
    world.run_for(ms(100));
    replay(&mut world, &held);
    for _ in 0..10 {
        let before = world.programs[0].each_ref().map(|program| program.read);
        world.run_for(ms(50));
        let [client, server] = world.programs[0].each_ref().map(|program| program.read);
        assert!(client > before[CLIENT] && server > before[SERVER], "the old path goes on");
    }
    world.run_for(ms(120_000));
    assert_whole(&world);
}

/// The same while the path in use has died silently: the attacker gets what is sealed, and takes nothing away from who comes back.
#[test]
fn a_resume_that_was_held_back_and_is_tried_takes_nothing_away() {
    let mut world = listened([20_000_000, 20_000_000]);
    world.each(CLIENT, End::migrate);
    world.run_for(ms(21));
    let held = heard(&world, 1, CLIENT);
    world.cut_silently();
    world.run_for(ms(100));
    let path = replay(&mut world, &held);
    let answer = said(&mut world.ends[SERVER], world.now, path);
    assert!(answer.len() > 1_000, "the server waits for nobody: {}", answer.len());
    world.run_for(ms(120_000));
    assert_whole(&world);
}

#[test]
fn what_is_changed_or_made_up_breaks_its_path_and_no_session() {
    let mut world = listened([20_000_000, 20_000_000]);
    world.cut([ms(0), ms(0)]);
    world.run_for(ms(200));
    let resume = heard(&world, 1, CLIENT).concat();
    let mut stream = Stream::new(7, "forgeries");
    for _ in 0..300 {
        let len = 8 + stream.below(resume.len() as u64 - 8) as usize;
        let mut forged = resume[..len].to_vec();
        for _ in 0..stream.below(4) {
            let at = stream.below(len as u64) as usize;
            forged[at] ^= 1 << stream.below(8);
        }
        if stream.chance(0.3) {
            forged.iter_mut().skip(10).for_each(|octet| *octet = stream.bits() as u8);
        }
        replay(&mut world, &[forged]);
        world.run_for(ms(1));
    }
    assert_eq!(world.ends[SERVER].counters().resumed, 2);
    world.run_for(ms(60_000));
    assert_whole(&world);
    assert_eq!(world.wires.len(), 2);
}

/// Records of a path that is over come late, or in another order: they are nobody's.
#[test]
fn records_of_a_path_that_is_over_change_nothing() {
    let mut world = listened([20_000_000, 20_000_000]);
    let old = world.wires[0].paths[SERVER].unwrap();
    let records = heard(&world, 0, CLIENT);
    world.each(CLIENT, End::migrate);
    world.run_for(ms(200));
    for record in records.iter().rev() {
        world.ends[SERVER].on_octets(world.now, old, record);
    }
    world.run_for(ms(60_000));
    assert_whole(&world);
}

fn server() -> End {
    End::new(identity(SERVER, 0), Config::default())
}

const NOW: Instant = Instant::from_millis(5_000);

#[test]
fn a_stranger_gets_no_session() {
    let mut server = server();
    let offer = [hello(), Frame::Open { target: target(), epoch: 1 }, Frame::Migrated(Id([1; 16]))];
    let mut stranger = Insider::dial(&mut server, NOW, &Keys::new([77; 32]), 50, &offer);
    assert_eq!(stranger.hear(&mut server, NOW), [Frame::Reset(Reason::Forbidden)]);
    assert_eq!(server.sessions().count(), 0);
    assert!(matches!(server.poll_action(), Some(Action::Close(_))));
}

/// Somebody else whom the server knows, and who has learnt a session's ID.
#[test]
fn a_stolen_id_is_worth_nothing() {
    let thief = Keys::new([77; 32]);
    let mut identity = identity(SERVER, 0);
    identity.allowed.keys.insert(thief.public());
    let mut server = End::new(identity, Config::default());
    let mut owner = Insider::open(&mut server, NOW);
    owner.say(&mut server, NOW, &[Frame::Data { offset: 0, bytes: "secret".into() }]);
    let id = server.id(Socket(0)).unwrap();
    let resume = |id, epoch| {
        [hello(), Frame::Resume { session: id, epoch, received: 0 }, Frame::Migrated(Id([2; 16]))]
    };
    let mut other = Insider::dial(&mut server, NOW, &thief, 51, &resume(id, 3));
    assert_eq!(other.hear(&mut server, NOW), [Frame::Reset(Reason::NoSuchSession)]);
    let mut guess = Insider::dial(&mut server, NOW, &keys(CLIENT), 52, &resume(Id([9; 16]), 3));
    assert_eq!(guess.hear(&mut server, NOW), [Frame::Reset(Reason::NoSuchSession)], "the same answer");
    owner.say(&mut server, NOW, &[Frame::Data { offset: 6, bytes: "!".into() }]);
    assert_eq!(server.read(NOW, Socket(0), 100), Ok(Read::Octets(b"secret!".to_vec())));
    let mut owner = Insider::dial(&mut server, NOW, &keys(CLIENT), 53, &resume(id, 3));
    assert_eq!(owner.hear(&mut server, NOW).len(), 3, "its own is taken");
}

/// The owner's Resume of epoch 3 was held back, and comes after that of epoch 5 has been used: by the ID of now, and by that of then.
#[test]
fn an_older_resume_that_comes_late_takes_nothing_away() {
    let mut server = server();
    let mut owner = Insider::open(&mut server, NOW);
    owner.say(&mut server, NOW, &[Frame::Data { offset: 0, bytes: "one".into() }]);
    let before = server.id(Socket(0)).unwrap();
    let resume = |id, epoch, received| {
        [hello(), Frame::Resume { session: id, epoch, received }, Frame::Migrated(Id([epoch as u8; 16]))]
    };
    let mut newer = Insider::dial(&mut server, NOW, &keys(CLIENT), 60, &resume(before, 5, 0));
    assert_eq!(newer.hear(&mut server, NOW).len(), 3, "its own is taken");
    newer.say(&mut server, NOW, &[Frame::Data { offset: 3, bytes: "two".into() }]);
    let after = server.id(Socket(0)).unwrap();
    assert_ne!(before, after);
    for (id, seed) in [(after, 61), (before, 62)] {
        let mut older = Insider::dial(&mut server, NOW, &keys(CLIENT), seed, &resume(id, 3, 0));
        let heard = older.hear(&mut server, NOW);
        assert!(
            heard == [Frame::Reset(Reason::StaleEpoch)]
                || id == before && heard == [Frame::Reset(Reason::NoSuchSession)],
            "{heard:?}"
        );
        newer.say(
            &mut server,
            NOW,
            &[Frame::Data { offset: if seed == 61 { 6 } else { 7 }, bytes: "!".into() }],
        );
    }
    assert_eq!(
        server.read(NOW, Socket(0), 100),
        Ok(Read::Octets(b"onetwo!!".to_vec())),
        "the newer path is in use"
    );
    assert_eq!(server.counters().resumed, 2, "the path that opened it, and the newer one");
}

#[test]
fn a_peer_that_breaks_the_rules_loses_its_session() {
    let lies: [&[Frame]; 9] = [
        &[Frame::Ack { offset: 1, credit: 0 }],
        &[Frame::Data { offset: 1, bytes: "gap".into() }],
        &[Frame::Fin { offset: 5 }],
        &[Frame::Fin { offset: 0 }, Frame::Data { offset: 0, bytes: "after the end".into() }],
        &[Frame::Data { offset: 0, bytes: "abc".into() }, Frame::Fin { offset: 2 }],
        &[hello()],
        &[Frame::Open { target: target(), epoch: 3 }],
        &[Frame::Migrated(Id([3; 16]))],
        &[Frame::Windows(Windows { cwnd: 100_000, rwnd: 100_000, rtt: ms(20) })],
    ];
    for lie in lies {
        let mut server = server();
        let mut insider = Insider::open(&mut server, NOW);
        insider.say(&mut server, NOW, lie);
        // What came before the lie is read.
        while server.read(NOW, Socket(0), 100).is_ok() {}
        let events: Vec<_> = std::iter::from_fn(|| server.poll_event(NOW)).collect();
        assert_eq!(events.last(), Some(&(Socket(0), Event::Failed(Reason::Protocol))), "{lie:?}");
        assert_eq!(insider.hear(&mut server, NOW), [Frame::Reset(Reason::Protocol)], "{lie:?}");
        assert_eq!((server.poll_event(NOW), server.sessions().count()), (None, 0));
        assert_eq!(server.free(), Config::default().pool);
    }
}

#[test]
fn a_peer_that_sends_more_than_its_credit_loses_its_session() {
    let mut config = Config::default();
    (config.session.receive_buffer, config.session.floor) = (1_000, 1_000);
    let mut server = End::new(identity(SERVER, 0), config);
    let mut insider = Insider::open(&mut server, NOW);
    let data = |offset, len: usize| [Frame::Data { offset, bytes: vec![7; len].into() }];
    insider.say(&mut server, NOW, &data(0, 1_000));
    assert_eq!(server.poll_event(NOW), Some((Socket(0), Event::Readable)));
    assert!(server.memory() <= config.session.most_memory());
    insider.say(&mut server, NOW, &data(1_000, 1));
    assert_eq!(server.write(NOW, Socket(0), b"?"), Err(Reason::Protocol));
    assert_eq!(server.read(NOW, Socket(0), 2_000), Ok(Read::Octets(vec![7; 1_000])));
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event(NOW)).collect();
    assert_eq!(events.last(), Some(&(Socket(0), Event::Failed(Reason::Protocol))));
}

/// RFC 9221 §3 has the same rule for what an end has not said to take.
#[test]
fn hints_are_for_ends_that_have_said_to_use_them() {
    let lie = Windows { cwnd: varint::MAX, rwnd: 0, rtt: Duration::from_micros(1) };
    let mut config = Config::default();
    assert!(!config.session.capabilities.windows, "a driver that uses them says so");
    config.session.capabilities.windows = true;
    let mut server = End::new(identity(SERVER, 0), config);
    let mut insider = Insider::open(&mut server, NOW);
    insider.say(&mut server, NOW, &[Frame::Windows(lie)]);
    assert_eq!(server.session(Socket(0)).unwrap().hints(), Some(lie), "it is a hint");
    assert_eq!(server.poll_event(NOW), None);
}

/// It gives credit, and takes nothing; then it says that it has all that there is.
#[test]
fn a_peer_that_acknowledges_nothing_holds_no_more_than_a_buffer() {
    let mut server = server();
    let mut insider = Insider::open(&mut server, NOW);
    insider.say(&mut server, NOW, &[Frame::Ack { offset: 0, credit: varint::MAX }]);
    let (mut taken, most) = (0, Config::default().session.send_buffer);
    for _ in 0..2_000 {
        taken += server.write(NOW, Socket(0), &[5; 10_000]).unwrap() as u64;
        said(&mut server, NOW, insider.path);
    }
    assert_eq!(taken, most);
    assert!(server.memory() <= Config::default().session.most_memory());
    insider.say(&mut server, NOW, &[Frame::Ack { offset: most + 1, credit: 0 }]);
    assert_eq!(server.poll_event(NOW), Some((Socket(0), Event::Failed(Reason::Protocol))));
}

/// A request whose answer was lost is repeated with the next epoch, and a copy has the same one.
#[test]
fn a_request_that_comes_again_opens_no_second_session() {
    let mut server = server();
    let ask = |server: &mut End, epoch, seed| {
        let offer = [hello(), Frame::Open { target: target(), epoch }, Frame::Migrated(Id([1; 16]))];
        let mut insider = Insider::dial(server, NOW, &keys(CLIENT), seed, &offer);
        let answer = insider.hear(server, NOW);
        assert_eq!(server.sessions().count(), 1);
        answer
    };
    assert_eq!(ask(&mut server, 1, 50).len(), 3);
    assert_eq!(ask(&mut server, 1, 50), [Frame::Reset(Reason::StaleEpoch)]);
    assert_eq!(ask(&mut server, 3, 51).len(), 3);
}
