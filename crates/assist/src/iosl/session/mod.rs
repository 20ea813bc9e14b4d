//! One end of a session: a connection of a program that goes on, whatever paths come and go below it.
//!
//! A path is a connection of TCP to the peer, between two addresses. What a program writes is kept until the peer has acknowledged it,
//! with offsets of the session: a new path begins with what each end has got (as SCTP's and QUIC's streams do; TCP's sequence
//! numbers end with their connection). So each octet comes once and in order, or the program is told why not.
//!
//! The machine knows frames and epochs; `end/` has what seals them, the IDs by which peers name sessions, and the paths of all
//! sessions. Its bounds are in [`Config`].

mod beside;
mod blocks;
mod config;
mod datagrams;
mod dials;
mod events;
mod frames;
mod incoming;
mod liveness;
mod migration;
mod outgoing;
mod paths;
mod pool;
mod program;
mod record;
mod timers;
mod transmit;
mod window;

use handfast_core::{Duration, Instant};

use super::frame::{Capabilities, Frame, Reason, Windows};
pub use config::Config;
use datagrams::Datagrams;
pub use events::Event;
use events::Events;
use incoming::Incoming;
use outgoing::Outgoing;
use paths::Paths;
pub use pool::Pool;
pub use program::{Read, Unsent};
pub use record::{Kept, Record};

/// The peer has broken the rules of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation;

/// What the two ends of a path tell each other first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Of the sender.
    pub capabilities: Capabilities,
    /// Of the sender.
    pub expiry: Duration,
    /// What the sender has got, as [`Frame::Ack`].
    pub received: u64,
    /// Up to where it takes octets, if it says.
    pub credit: u64,
}

/// One end of a session.
#[derive(Debug)]
pub struct Session {
    config: Config,
    is_opener: bool,
    outgoing: Outgoing,
    incoming: Incoming,
    datagrams_out: Datagrams,
    datagrams_in: Datagrams,
    paths: Paths,
    events: Events,
    /// When an acknowledgment goes out that waits for others.
    acknowledge_at: Option<Instant>,
    /// It has waited for long enough.
    is_acknowledging: bool,
    /// By command of this end.
    is_suspended: bool,
    /// Its peer has said by which name it is dialled.
    is_reachable: bool,
    /// Since when the path in use is to be replaced: its address is going.
    migrating_since: Option<Instant>,
    /// Since when nothing can travel.
    away_since: Option<Instant>,
    /// What the peer has said of itself.
    peer: Option<(Capabilities, Duration)>,
    /// Both ends have used a path.
    is_opened: bool,
    /// This end's.
    windows: Option<Windows>,
    /// Since when all has come, in both directions.
    done_since: Option<Instant>,
    /// The program has been told that there is no more to read.
    is_end_read: bool,
    /// Why it has not read what there was.
    unread: Option<Reason>,
    /// The peer will not resume it.
    is_left: bool,
    failed: Option<(Reason, Instant)>,
    /// What the peer is told last.
    farewell: Option<Frame>,
}

impl Session {
    /// Of the end that opens it, or of the other one.
    pub fn new(now: Instant, is_opener: bool, config: Config) -> Self {
        let floor = config.floor;
        Self {
            config,
            is_opener,
            outgoing: Outgoing::new(floor),
            incoming: Incoming::new(now, floor),
            datagrams_out: Datagrams::new(config.datagrams),
            datagrams_in: Datagrams::new(config.datagrams),
            paths: Paths::new(now, is_opener, config.redial),
            events: Events::default(),
            acknowledge_at: None,
            is_acknowledging: false,
            is_suspended: false,
            is_reachable: true,
            migrating_since: None,
            away_since: Some(now),
            peer: None,
            is_opened: false,
            windows: None,
            done_since: None,
            is_end_read: false,
            unread: None,
            is_left: false,
            failed: None,
            farewell: None,
        }
    }

    /// What is said first on each path.
    pub fn greeting(&self) -> Greeting {
        let Config { capabilities, expiry, .. } = self.config;
        let (received, credit) = (self.received(), self.incoming.credit());
        Greeting { capabilities, expiry, received, credit }
    }

    /// Whether nothing of it is needed any more, at `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        if self.failed.is_some() {
            return self.farewell.is_none() && self.events.is_empty() && self.incoming.ready() == 0;
        }
        let is_late = self.linger_until().is_some_and(|until| until <= now);
        // While there is a path the peer is told that this end is done: it would remember the session for a minute otherwise.
        let is_told = self.is_left && self.paths.sending().is_none();
        self.done_since.is_some() && (is_told || is_late) && self.is_end_read && self.events.is_empty()
    }

    /// Epochs of paths to close, each once.
    pub fn take_over(&mut self) -> Vec<u64> {
        self.paths.take_over()
    }

    /// The epochs of its paths.
    pub fn epochs(&self) -> impl Iterator<Item = u64> + use<> {
        self.paths.epochs()
    }

    /// What it takes of memory beside what is of one size. At most [`Config::most_memory`].
    pub fn memory(&self) -> u64 {
        let datagrams = self.datagrams_out.memory() + self.datagrams_in.memory();
        (self.outgoing.memory() + self.incoming.memory() + datagrams) as u64
    }

    /// Gives back what it has of the pool, before it is dropped.
    pub fn release(&mut self, pool: &mut Pool) {
        self.outgoing.clear(pool);
        self.incoming.clear(pool);
    }

    /// Whether this end has opened it.
    pub fn is_opener(&self) -> bool {
        self.is_opener
    }

    /// Whether it is over before anybody was told of it: the peer has asked for it, and has not come back.
    pub fn is_stillborn(&self) -> bool {
        !self.is_opened && !self.is_opener && self.failed.is_some()
    }

    /// Whether neither end goes on with it.
    pub fn has_ended(&self) -> bool {
        self.failed.is_some() || self.is_left
    }

    /// Whether something has happened.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether both ends have used a path of it.
    pub fn is_opened(&self) -> bool {
        self.is_opened
    }

    /// Whether the peer can be sent something now.
    pub fn is_connected(&self) -> bool {
        let is_open = self.paths.current().is_some_and(|path| !path.is_suspended_by_peer);
        is_open && !self.is_suspended
    }

    /// After whatever may have changed the paths.
    fn changed(&mut self, now: Instant, pool: &mut Pool) {
        if self.failed.is_some() {
            return;
        }
        if self.is_connected() {
            self.away_since = None;
        } else {
            self.away_since.get_or_insert(now);
        }
        let is_done = self.outgoing.is_over() && self.has_taken_end();
        if is_done && self.done_since.is_none() {
            self.done_since = Some(now);
            self.events.push(Event::Done);
        }
        self.incoming.grant(self.config.receive_buffer, pool);
    }

    /// All before is this end's for good; the end counts as an octet. Where this end may be gone at any time and its program stays,
    /// only what the program has got is.
    fn received(&self) -> u64 {
        if self.config.keeps {
            self.incoming.given() + u64::from(self.is_end_read)
        } else {
            self.incoming.received()
        }
    }

    fn has_taken_end(&self) -> bool {
        self.incoming.has_end() && (self.is_end_read || !self.config.keeps)
    }

    /// It is done, and nobody resumes it.
    fn leave(&mut self) {
        self.is_left = true;
        self.paths.close();
    }

    /// It is over before its time. The program gets what has come, and is told why; the peer is told the farewell, if there is
    /// one and a path.
    fn fail(&mut self, now: Instant, reason: Reason, pool: &mut Pool) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some((reason, now));
        // A program that has not been told of it reads nothing of it.
        let is_unknown = !self.is_opener && self.events.has_opened();
        self.events.clear();
        self.outgoing.clear(pool);
        if is_unknown {
            self.incoming.clear(pool);
        } else {
            self.incoming.stop(pool);
        }
        self.events.push(if self.incoming.ready() == 0 { Event::Failed(reason) } else { Event::Readable });
        self.datagrams_out.clear();
        self.datagrams_in.clear();
        if self.farewell.is_none() || self.paths.sending().is_none() {
            self.farewell = None;
            self.paths.close();
        }
    }
}
