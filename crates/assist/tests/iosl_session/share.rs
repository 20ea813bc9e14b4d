//! What of the memory that all share a session gets.

use handfast_assist::iosl::end::{Config, End};
use handfast_assist::iosl::frame::{Frame, Reason, Target};
use handfast_assist::iosl::ids::{Id, Socket};
use handfast_assist::iosl::session::Read;
use handfast_core::Duration;

use crate::basics::programs;
use crate::insider::{Insider, hello};
use crate::memory::{NOW, Pair};
use crate::world::{CLIENT, SERVER, World, identity, keys, ms};

#[test]
fn idle_sessions_take_nothing_of_it() {
    let mut pair = Pair::new(Config::default());
    for number in 0..200 {
        pair.open(number);
    }
    assert_eq!(pair.ends.each_ref().map(End::free), [Config::default().pool; 2]);
}

/// How long so many octets take, where this is granted from the start.
fn transfer(octets: u64, floor: u64) -> Duration {
    let mut config = Config::default();
    config.session.floor = floor;
    let mut world = World::new(&[config; 2]);
    world.open(programs([octets, 0]), true);
    let start = world.now;
    while world.programs[0][SERVER].read < octets {
        world.run_for(ms(1));
    }
    world.now.since(start)
}

/// A connection here takes 40,000 octets in 10 ms.
#[test]
fn a_window_that_grows_costs_a_round_trip_or_two() {
    let small = Config::default().session.floor;
    for octets in [1_000, 100_000, 5_000_000] {
        let (grown, whole) = (transfer(octets, small), transfer(octets, 4 << 20));
        assert!(grown <= whole + ms(40), "{octets}: {grown:?} instead of {whole:?}");
    }
}

/// A peer whose program here reads all that comes.
struct Busy {
    insider: Insider,
    socket: Socket,
    sent: u64,
    credit: u64,
}

impl Busy {
    fn open(server: &mut End, number: u16) -> Self {
        let mut id = [0; 16];
        id[..2].copy_from_slice(&number.to_be_bytes());
        let target = Target::new("server.example", 80).unwrap();
        let offer = [hello(), Frame::Open { target, epoch: 1 }, Frame::Migrated(Id(id))];
        let mut insider = Insider::dial(server, NOW, &keys(CLIENT), number as u8, &offer);
        let credit = credit(&insider.hear(server, NOW)).unwrap();
        Self { insider, socket: Socket(number.into()), sent: 0, credit }
    }

    /// How much it may have under way in the end.
    fn send(&mut self, server: &mut End, octets: u64) -> u64 {
        while self.sent < octets {
            let len = (self.credit - self.sent).min(16_000);
            assert!(len > 0);
            let data = Frame::Data { offset: self.sent, bytes: vec![7; len as usize].into() };
            self.insider.say(server, NOW, &[data]);
            self.sent += len;
            while matches!(server.read(NOW, self.socket, 100_000), Ok(Read::Octets(_))) {}
            self.credit = credit(&self.insider.hear(server, NOW)).unwrap_or(self.credit);
        }
        self.credit - self.sent
    }
}

fn credit(frames: &[Frame]) -> Option<u64> {
    let credits = frames.iter().filter_map(|frame| match frame {
        Frame::Ack { credit, .. } => Some(*credit),
        _ => None,
    });
    credits.max()
}

/// Each has got as much as it could use, and says nothing more.
#[test]
fn sessions_that_were_busy_leave_room_for_one_that_is() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut busy = Vec::new();
    for number in 0..100u16 {
        let mut one = Busy::open(&mut server, number);
        let window = one.send(&mut server, 6 << 20);
        let least = match number {
            0 => 3 << 20,
            33 => 512 << 10,
            99 => 96 << 10,
            _ => 0,
        };
        assert!(window >= least, "{number}: {window}");
        busy.push(one);
    }
    assert!(server.free() >= Config::default().pool / 9, "{}", server.free());
    for one in busy {
        server.on_closed(NOW, one.insider.path);
        server.reset(NOW, one.socket, Reason::Aborted);
        while server.poll_event(NOW).is_some() {}
    }
    assert_eq!((server.sessions().count(), server.free()), (0, Config::default().pool));
}
