//! What of a session outlives its process: a record of what changes rarely. What its program has said and got the kernel knows,
//! whose socket outlives the process too.

use bytes::{Buf, BufMut, Bytes};
use handfast_core::{Duration, Instant};

use super::{Config, Event, Pool, Session};
use crate::iosl::frame::{Capabilities, varint};

/// What a session's next process has to know. It changes when a path is dialled or taken, the window grows, the session freezes or
/// is done; not when octets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    is_opener: bool,
    is_opened: bool,
    is_suspended: bool,
    peer: Option<(Capabilities, Duration)>,
    /// The highest that was taken, and the last that this end has dialled: neither is used again.
    epochs: [u64; 2],
    /// How far ahead of its program the peer may have been allowed to send.
    room: u64,
    /// All has come, in both directions: how much the program has written, and read.
    done: Option<[u64; 2]>,
}

/// What the kernel knows of a program's connection, as offsets of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Octets of the program that were taken from the kernel for good. The peer has acknowledged them.
    pub taken: u64,
    /// Those, and what the kernel has of the program beyond them. The peer may have got it.
    pub written: u64,
    /// The end of what the program writes has come behind that.
    pub has_finished: bool,
    /// Octets that the program has got, or the kernel has for it.
    pub given: u64,
    /// The program was told that no more comes.
    pub is_told: bool,
}

const OPENER: u8 = 1;
const OPENED: u8 = 2;
const SUSPENDED: u8 = 4;
const PEER: u8 = 8;
const DATAGRAMS: u8 = 16;
const WINDOWS: u8 = 32;
const DONE: u8 = 64;

impl Record {
    /// Writes it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (capabilities, expiry) = self.peer.unwrap_or_default();
        let flags = [
            (self.is_opener, OPENER),
            (self.is_opened, OPENED),
            (self.is_suspended, SUSPENDED),
            (self.peer.is_some(), PEER),
            (capabilities.datagrams, DATAGRAMS),
            (capabilities.windows, WINDOWS),
            (self.done.is_some(), DONE),
        ];
        out.put_u8(flags.into_iter().map(|(is_set, flag)| u8::from(is_set) * flag).sum());
        for number in self.epochs.into_iter().chain([self.room]) {
            varint::put(out, number);
        }
        if self.peer.is_some() {
            varint::put(out, expiry.as_millis());
        }
        self.done.into_iter().flatten().for_each(|number| varint::put(out, number));
    }

    /// Takes one; [`None`]: it is none, or says what no session does.
    pub fn take(from: &mut Bytes) -> Option<Self> {
        let flags = from.try_get_u8().ok().filter(|flags| *flags < 128)?;
        let is = |flag: u8| flags & flag != 0;
        if !is(PEER) && (is(OPENED) || is(DATAGRAMS) || is(WINDOWS)) {
            return None;
        }
        let epochs = [varint::take(from)?, varint::take(from)?];
        let room = varint::take(from)?;
        let capabilities = Capabilities { datagrams: is(DATAGRAMS), windows: is(WINDOWS) };
        let peer = if is(PEER) {
            Some((capabilities, Duration::from_millis(most_ms(varint::take(from)?)?)))
        } else {
            None
        };
        let done = if is(DONE) { Some([varint::take(from)?, varint::take(from)?]) } else { None };
        let (is_opener, is_opened, is_suspended) = (is(OPENER), is(OPENED), is(SUSPENDED));
        // An end dials epochs of one parity.
        if epochs[1] > 0 && epochs[1] % 2 != u64::from(is_opener) {
            return None;
        }
        Some(Self { is_opener, is_opened, is_suspended, peer, epochs, room, done })
    }
}

/// Milliseconds that there is room for in a [`Duration`].
fn most_ms(ms: u64) -> Option<u64> {
    (ms <= u64::MAX / 1_000_000).then_some(ms)
}

impl Session {
    /// What its next process has to know. [`None`]: nobody needs it any more.
    pub fn record(&self) -> Option<Record> {
        let is_over = self.failed.is_some() || self.is_left;
        (!is_over).then(|| Record {
            is_opener: self.is_opener,
            is_opened: self.is_opened,
            is_suspended: self.is_suspended,
            peer: self.peer,
            epochs: self.paths.used(),
            room: self.incoming.most_room(),
            done: self.is_done().then(|| [self.outgoing.written(), self.incoming.given()]),
        })
    }

    /// Goes on with one of a process of before. `kept`: its program's connection; [`None`]: it had none yet, or needs none.
    pub fn restore(
        now: Instant,
        record: &Record,
        kept: Option<Kept>,
        config: Config,
        pool: &mut Pool,
    ) -> Self {
        let mut session = Self::new(now, record.is_opener, config);
        session.is_opened = record.is_opened;
        session.is_suspended = record.is_suspended;
        session.peer = record.peer;
        session.paths.restore(now, record.epochs);
        let room = record.room.min(config.receive_buffer).max(config.floor);
        if let Some([written, given]) = record.done {
            session.outgoing.restore_done(written);
            session.incoming.restore(given, true, room, pool);
            (session.is_end_read, session.done_since) = (true, Some(now));
            return session;
        }
        if let Some(Kept { taken, written, has_finished, given, is_told }) = kept {
            session.outgoing.restore(taken, written, has_finished);
            session.incoming.restore(given, is_told, room, pool);
            session.is_end_read = is_told;
        } else if record.is_opened {
            // Whoever is to connect a program has not done it, or the connection was not there yet.
            session.incoming.restore(0, false, room, pool);
            session.events.push(Event::Opened);
        }
        session
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..70, 0..=varint::MAX]
    }

    fn record() -> impl Strategy<Value = Record> {
        let expiry = (0u64..1 << 40).prop_map(Duration::from_millis);
        let capabilities = any::<[bool; 2]>();
        let peer = prop::option::of((capabilities, expiry));
        let peer = peer.prop_map(|peer| {
            peer.map(|([datagrams, windows], expiry)| (Capabilities { datagrams, windows }, expiry))
        });
        let done = prop::option::of([number(), number()]);
        (any::<[bool; 3]>(), peer, number(), 0u64..1 << 60, number(), done).prop_map(
            |([is_opener, is_opened, is_suspended], peer, highest, dialled, room, done)| {
                let dialled = if dialled == 0 { 0 } else { dialled * 2 + u64::from(is_opener) };
                let is_opened = is_opened && peer.is_some();
                Record { is_opener, is_opened, is_suspended, peer, epochs: [highest, dialled], room, done }
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_written_is_taken_and_nothing_cut(record in record()) {
            let mut out = Vec::new();
            record.emit(&mut out);
            let mut whole = Bytes::from(out.clone());
            prop_assert_eq!((Record::take(&mut whole), whole.len()), (Some(record), 0));
            for len in 0..out.len() {
                prop_assert_eq!(Record::take(&mut Bytes::copy_from_slice(&out[..len])), None);
            }
        }

        /// Whatever a record says, its session has a bound, and no two forms.
        #[test]
        fn any_octets_are_survived(octets in prop::collection::vec(any::<u8>(), 0..80), kept in any::<[u32; 3]>(), flags in any::<[bool; 3]>()) {
            let mut from = Bytes::from(octets.clone());
            let Some(record) = Record::take(&mut from) else { return Ok(()) };
            let mut out = Vec::new();
            record.emit(&mut out);
            prop_assert_eq!(&out[..], &octets[..octets.len() - from.len()]);
            let (now, mut pool) = (Instant::from_millis(5_000), Pool::new(1 << 20));
            let kept = flags[0].then(|| Kept {
                taken: kept[0].into(),
                written: u64::from(kept[0]) + u64::from(kept[1]),
                has_finished: flags[1],
                given: kept[2].into(),
                is_told: flags[2],
            });
            let mut session = Session::restore(now, &record, kept, Config::default(), &mut pool);
            let again = session.record().unwrap();
            prop_assert_eq!((again.epochs, again.is_opener), (record.epochs, record.is_opener));
            while let Some(at) = session.deadline() {
                session.on_timer(at, &mut pool);
                if session.wants_dial(at) && let Some(epoch) = session.dial(at, &mut pool) {
                    prop_assert!(epoch > record.epochs[0] && epoch > record.epochs[1]);
                    session.on_cut(at, epoch, &mut pool);
                }
                if session.failed().is_some() || session.has_ended() {
                    break;
                }
            }
            session.release(&mut pool);
            prop_assert_eq!(pool.free(), 1 << 20);
        }
    }
}
