//! A peer with keys, which says what it likes.

use bytes::Bytes;
use handfast_assist::iosl::end::{End, PathId};
use handfast_assist::iosl::frame::{Capabilities, Frame, Target, VERSION, emitted, parse};
use handfast_assist::iosl::ids::{Id, Socket};
use handfast_assist::iosl::secure::{Channel, Entropy, Keys, MOST_RECORD, Reader};
use handfast_assist::iosl::session::Event;
use handfast_core::{Duration, Instant};

use crate::world::{CLIENT, SERVER, address, keys};

/// What the server says to somebody, without those who listen.
pub(crate) fn said(end: &mut End, now: Instant, path: PathId) -> Vec<u8> {
    std::iter::from_fn(|| end.poll_transmit(now, path, 60_000)).flatten().collect()
}

/// A peer with keys, which says what it likes.
pub(crate) struct Insider {
    channel: Channel,
    pub(crate) path: PathId,
    reader: Reader,
}

pub(crate) fn hello() -> Frame {
    let capabilities = Capabilities { datagrams: true, windows: true };
    Frame::Hello { version: VERSION, capabilities, expiry: Duration::from_secs(60) }
}

pub(crate) fn target() -> Target {
    Target::new("server.example", 80).unwrap()
}

impl Insider {
    /// Connects, and says this first.
    pub(crate) fn dial(server: &mut End, now: Instant, own: &Keys, seed: u8, offer: &[Frame]) -> Self {
        let path = server.on_accepted(now, address(CLIENT));
        let peer = keys(SERVER).public();
        let mut channel = Channel::initiator(own, Some(&peer), Entropy::new([seed; 32])).unwrap();
        let first = channel.write_prefixed(&emitted(offer)).unwrap();
        server.on_octets(now, path, &channel.pattern().preamble());
        server.on_octets(now, path, &first);
        Self { channel, path, reader: Reader::default() }
    }

    pub(crate) fn open(server: &mut End, now: Instant) -> Self {
        let offer = [hello(), Frame::Open { target: target(), epoch: 1 }, Frame::Migrated(Id([1; 16]))];
        let mut insider = Self::dial(server, now, &keys(CLIENT), 50, &offer);
        assert_eq!(insider.hear(server, now).len(), 3, "hello, what it has got, and its ID");
        insider.say(server, now, &[Frame::Ack { offset: 0, credit: 1_000_000 }]);
        assert_eq!(server.poll_event(now), Some((Socket(0), Event::Opened)));
        insider
    }

    pub(crate) fn say(&mut self, server: &mut End, now: Instant, frames: &[Frame]) {
        let record = self.channel.write_prefixed(&emitted(frames)).unwrap();
        server.on_octets(now, self.path, &record);
    }

    /// What the server says.
    pub(crate) fn hear(&mut self, server: &mut End, now: Instant) -> Vec<Frame> {
        let octets = said(server, now, self.path);
        let (mut stream, mut frames) = (&octets[..], Vec::new());
        while let Some(record) = self.reader.next(&mut stream, MOST_RECORD).unwrap() {
            frames.extend(parse(Bytes::from(self.channel.read(&record).unwrap())).unwrap());
        }
        frames
    }
}
