//! One end of all its sessions: what `handfastd` is on a laptop, or before a server.
//!
//! The driver opens connections where [`Action::Dial`] says so, passes octets in and out, and asks for what has happened to
//! sessions. It owns clock, sockets and randomness.

mod crowd;
mod datagrams;
mod greeting;
mod guests;
mod handshake;
mod keeping;
mod link;
mod programs;
mod settle;
mod suspects;
mod turns;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use handfast_core::{Duration, Instant};

use self::crowd::Crowd;
use self::guests::Guests;
pub use self::keeping::{MOST_SAVED, Saved};
use self::link::{Link, Phase};
use super::frame::{Reason, Target};
use super::ids::{Id, IdManager, Most, Socket};
use super::secure::{Allowed, Entropy, Keys, PublicKey};
use super::session::{self, Event, Pool, Session};

/// A connection below, as the end numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u64);

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection to the peer of a session. Then [`End::on_connected`] or [`End::on_closed`] follows.
    Dial {
        /// Which connection it is.
        path: PathId,
        /// For which session.
        session: Socket,
    },
    /// Close a connection, after what was transmitted on it.
    Close(PathId),
}

/// The bounds of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Of each session.
    pub session: session::Config,
    /// Sessions.
    pub sessions: usize,
    /// Sessions that one peer has opened.
    pub sessions_of_one: usize,
    /// Applications, and peers with sessions.
    pub applications: usize,
    /// Octets that all sessions keep together, beyond the floor of each.
    pub pool: u64,
    /// Connections whose handshake goes on: those that others have opened. As many sessions may be asked for and not be used yet.
    /// One more pushes one out: of a source, or a peer, that has its share of the places or more.
    pub shaking: usize,
    /// A handshake is given up after so long.
    pub handshake: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            session: session::Config::default(),
            sessions: 10_000,
            sessions_of_one: 2_000,
            applications: 1_000,
            pool: 128 << 20,
            shaking: 256,
            handshake: Duration::from_secs(10),
        }
    }
}

/// The shortest plaintext that a record is cut to.
const LEAST_PLAIN: usize = 1_024;

/// Who an end is.
#[derive(Debug)]
pub struct Identity {
    /// Its static keys.
    pub keys: Keys,
    /// Whom it takes sessions from.
    pub allowed: Allowed,
    /// 32 bytes of the system's generator.
    pub seed: [u8; 32],
}

/// A session and whose it is.
#[derive(Debug)]
struct Entry {
    session: Session,
    /// Who is at the other end: no other key resumes it. [`None`]: on first use.
    peer: Option<PublicKey>,
    /// By what the peer knows it.
    peer_id: Option<Id>,
    /// The ID that came with a request for it, until it is used.
    asked_as: Option<Id>,
    target: Target,
    /// Its paths, by epoch.
    links: BTreeMap<u64, PathId>,
    /// Under which time it stands in the agenda.
    agenda: Option<Instant>,
    /// What of it was to be written down last.
    recorded: Option<session::Record>,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that gave way to others, since there were too many handshakes.
    pub crowded: u64,
    /// Connections that broke a rule, or whose messages somebody has made up or changed.
    pub broken: u64,
    /// Requests that were refused, with a reason.
    pub refused: u64,
    /// Paths that sessions got, their first ones included.
    pub resumed: u64,
    /// Datagrams beside a path that somebody else has made, changed or copied, or that came too late.
    pub strange: u64,
}

/// One end of all its sessions.
#[derive(Debug)]
pub struct End {
    config: Config,
    keys: Keys,
    allowed: Allowed,
    entropy: Entropy,
    ids: IdManager,
    /// Whose sessions others have opened: the ID of each of them, as if it were an application.
    served: BTreeMap<PublicKey, Id>,
    pool: Pool,
    sessions: BTreeMap<Socket, Entry>,
    /// Sessions that peers have asked for, and whose paths they have not used yet: by the ID that came with the request, so that
    /// another request for the same one, or a copy, finds it.
    unopened: BTreeMap<(PublicKey, Id), Socket>,
    /// The same, by peer.
    half_open: Crowd<PublicKey, Socket>,
    links: BTreeMap<PathId, Link>,
    next_path: u64,
    next_session: u64,
    actions: VecDeque<Action>,
    /// Paths on which there may be something to send.
    ready: BTreeSet<PathId>,
    /// Sessions to which something has happened.
    noisy: BTreeSet<Socket>,
    agenda: BTreeSet<(Instant, Socket)>,
    /// Sessions of which something is to be written down.
    changed: BTreeSet<Socket>,
    /// Handshakes, and paths that are closed after what is to go out, by when they are given up.
    shaking: BTreeSet<(Instant, PathId)>,
    guests: Guests,
    counters: Counters,
}

impl End {
    /// An end without sessions.
    pub fn new(identity: Identity, config: Config) -> Self {
        let Identity { keys, allowed, seed } = identity;
        let mut entropy = Entropy::new(seed);
        let most = Most { applications: config.applications, connections: config.sessions };
        let ids = IdManager::new(&entropy.bytes(), most);
        Self {
            config,
            keys,
            allowed,
            entropy,
            ids,
            served: BTreeMap::new(),
            pool: Pool::new(config.pool),
            sessions: BTreeMap::new(),
            unopened: BTreeMap::new(),
            half_open: Crowd::new(config.shaking),
            links: BTreeMap::new(),
            next_path: 0,
            next_session: 0,
            actions: VecDeque::new(),
            ready: BTreeSet::new(),
            noisy: BTreeSet::new(),
            agenda: BTreeSet::new(),
            changed: BTreeSet::new(),
            shaking: BTreeSet::new(),
            guests: Guests::new(config.shaking),
            counters: Counters::default(),
        }
    }

    /// Somebody has connected from this address. Where there are too many handshakes one gives way; where somebody was refused who
    /// came from there, it may be this one: then [`Action::Close`] follows.
    pub fn on_accepted(&mut self, now: Instant, from: IpAddr) -> PathId {
        let path = self.add_link(now, Phase::Shaking, None);
        if let Some(other) = self.guests.insert(now, from, path) {
            self.counters.crowded += 1;
            self.drop_link(now, other);
        }
        path
    }

    /// A connection that was to be dialled is there.
    pub fn on_connected(&mut self, now: Instant, path: PathId) {
        if self.links.get(&path).is_some_and(|link| link.phase == Phase::Dialling)
            && self.begin(path).is_err()
        {
            self.drop_link(now, path);
        }
    }

    /// A connection is gone, or does not come about.
    pub fn on_closed(&mut self, now: Instant, path: PathId) {
        let Some(link) = self.remove_link(path) else { return };
        self.cut(now, link.of);
    }

    /// What the driver is to do next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// A path on which there may be something to send.
    pub fn poll_ready(&mut self) -> Option<PathId> {
        self.ready.pop_first()
    }

    /// What has happened to which session.
    pub fn poll_event(&mut self, now: Instant) -> Option<(Socket, Event)> {
        while let Some(&socket) = self.noisy.first() {
            if let Some(event) = self.sessions.get_mut(&socket).and_then(|entry| entry.session.poll_event()) {
                return Some((socket, event));
            }
            self.noisy.remove(&socket);
            self.settle(now, socket);
        }
        None
    }

    /// The next octets for a path, at most `room`, however little that is: the rest of a message or record comes the next time.
    ///
    /// [`None`] where `room` is not zero: there are none now, and the path comes by [`Self::poll_ready`] when that changes. A driver
    /// that had no more room asks again when it has.
    pub fn poll_transmit(&mut self, now: Instant, path: PathId, room: usize) -> Option<Vec<u8>> {
        if room > 0 && self.links.get(&path)?.out.is_empty() {
            self.fill(now, path, room);
        }
        let octets = self.links.get_mut(&path)?.take(room)?;
        self.ready.insert(path);
        Some(octets)
    }

    /// When [`Self::on_timer`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let (session, handshake) = (self.agenda.first(), self.shaking.first());
        [session.map(|&(at, _)| at), handshake.map(|&(at, _)| at)].into_iter().flatten().min()
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some(&(_, path)) = self.shaking.first().filter(|(by, _)| *by <= now) {
            self.drop_link(now, path);
        }
        while let Some(&(_, socket)) = self.agenda.first().filter(|(at, _)| *at <= now) {
            self.with(now, socket, |session, pool| session.on_timer(now, pool));
        }
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Of the memory that sessions share: what nobody has.
    pub fn free(&self) -> u64 {
        self.pool.free()
    }

    /// Whom it takes sessions from, those whose keys were pinned included: for the driver to remember.
    pub fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// Takes new sessions from these only. Those that there are go on.
    pub fn set_allowed(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// What others know it by.
    pub fn public_key(&self) -> PublicKey {
        self.keys.public()
    }

    /// What sessions and paths take of memory, beside what is of one size for each.
    pub fn memory(&self) -> u64 {
        let sessions: u64 = self.sessions.values().map(|entry| entry.session.memory()).sum();
        sessions + self.links.values().map(|link| link.memory() as u64).sum::<u64>()
    }

    /// Has something to go out on a path, if there is something.
    fn fill(&mut self, now: Instant, path: PathId, room: usize) {
        let Some(link) = self.links.get(&path) else { return };
        match (link.phase, link.of) {
            (Phase::Closing, _) => self.drop_link(now, path),
            (Phase::Bound, Some((socket, epoch))) => self.seal(now, path, (socket, epoch), room),
            _ => {}
        }
    }

    /// The next record of a session.
    fn seal(&mut self, now: Instant, path: PathId, (socket, epoch): (Socket, u64), room: usize) {
        let Some(entry) = self.sessions.get_mut(&socket) else { return };
        let known = self.links.get(&path).map_or(LEAST_PLAIN, |link| link.most);
        // Length and tag. With little room a record is short, so that no more than that is kept of it.
        let most = room.saturating_sub(2 + 16).clamp(LEAST_PLAIN, known);
        let Some(frames) = entry.session.poll_transmit(now, epoch, most, &mut self.pool) else { return };
        let link = self.links.get_mut(&path);
        let record =
            link.and_then(|link| Some((link.channel.as_mut()?.write_prefixed(&frames).ok()?, &mut link.out)));
        let Some((record, out)) = record else {
            // After 2^64 records: what was to go out goes out on another path.
            return self.drop_link(now, path);
        };
        out.push_back(record);
        self.settle(now, socket);
    }
}
