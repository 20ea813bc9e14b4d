//! The ends of sessions: the ID-oriented socket layer at both ends of a flow.
//!
//! The machines are those of `handfast-assist` (`iosl/end`), with their handshakes and records; a driver of connections is all that is
//! here. `run/network/sessions.rs` does what they ask for.

use std::collections::{BTreeMap, BTreeSet};

use handfast_assist::iosl::end::{Config, End, Identity, PathId};
use handfast_assist::iosl::frame::Windows;
use handfast_assist::iosl::ids::{Id, Socket};
use handfast_assist::iosl::secure::{Allowed, Keys, PublicKey};
use handfast_assist::iosl::session;
use handfast_core::{BitRate, Instant, Stream};
use handfast_plan::StreamId;
use handfast_scenario::NodeId;
use handfast_tcp::{IoslRules, StoredPath};

use crate::engine::ids::ConnectionId;

/// Between whom a stream's session is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    /// The end that opens it and dials: the station's.
    pub(crate) station: NodeId,
    pub(crate) peer: NodeId,
    /// What the layer asks of connections.
    pub(crate) rules: IoslRules,
    /// Whether a connection begins with the windows of the one before.
    pub(crate) restores: bool,
    /// Whether the station's first message goes with the SYN (RFC 7413).
    pub(crate) fast_open: bool,
}

/// The layer's end at one host.
pub(crate) struct HostEnd {
    pub(crate) end: End,
    /// The one whose sessions it opens.
    application: Option<Id>,
    pub(crate) connections: BTreeMap<PathId, ConnectionId>,
    pub(crate) streams: BTreeMap<Socket, StreamId>,
    /// What each connection was last told that the peer has said: the next path hears it again.
    pub(crate) told: BTreeMap<ConnectionId, Windows>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Sessions {
    pub(crate) ends: BTreeMap<NodeId, HostEnd>,
    /// Sessions that are opened later.
    starts: BTreeSet<(Instant, StreamId)>,
    pub(crate) between: BTreeMap<StreamId, Between>,
    pub(crate) path_of: BTreeMap<ConnectionId, PathId>,
    /// Of each stream's sender and receiver: what the last of their paths had that came about.
    pub(crate) stored: BTreeMap<StreamId, [Option<Stored>; 2]>,
}

/// What a path had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) path: StoredPath,
    /// What its window came to.
    pub(crate) rate: BitRate,
    pub(crate) rwnd: u64,
}

/// The static keys of a node: in a run nobody guesses them.
fn keys(seed: u64, node: NodeId) -> Keys {
    Keys::new(bytes(&mut Stream::new(seed, &format!("iosl keys {node}"))))
}

fn bytes(stream: &mut Stream) -> [u8; 32] {
    let mut bytes = [0; 32];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&stream.bits().to_be_bytes());
    }
    bytes
}

impl Sessions {
    /// A stream that starts then is carried by a session.
    pub(crate) fn add(&mut self, seed: u64, start: Instant, stream: StreamId, between: Between) {
        for node in [between.station, between.peer] {
            // A server reaches no station: it waits to be dialled.
            let dials = node == between.station;
            self.ends.entry(node).or_insert_with(|| HostEnd::new(seed, node, dials));
        }
        let key = keys(seed, between.station).public();
        if let Some(host) = self.ends.get_mut(&between.peer) {
            let mut allowed = host.end.allowed().clone();
            allowed.keys.insert(key);
            host.end.set_allowed(allowed);
        }
        self.starts.insert((start, stream));
        self.between.insert(stream, between);
    }

    /// The key of the end at a host.
    pub(crate) fn key(&self, node: NodeId) -> Option<PublicKey> {
        self.ends.get(&node).map(|host| host.end.public_key())
    }

    /// The next session that is to be opened now.
    pub(crate) fn take_start(&mut self, now: Instant) -> Option<StreamId> {
        let &first = self.starts.first().filter(|(at, _)| *at <= now)?;
        self.starts.remove(&first);
        Some(first.1)
    }

    /// The ends whose time has come.
    pub(crate) fn due(&self, now: Instant) -> Vec<NodeId> {
        let due = |host: &HostEnd| host.end.deadline().is_some_and(|at| at <= now);
        self.ends.iter().filter(|(_, host)| due(host)).map(|(&node, _)| node).collect()
    }

    /// When something is to be done next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let ends = self.ends.values().filter_map(|host| host.end.deadline());
        self.starts.first().map(|&(at, _)| at).into_iter().chain(ends).min()
    }

    /// Paths that stations got, the first ones included.
    pub(crate) fn resumed(&self) -> u64 {
        let stations: BTreeSet<_> = self.between.values().map(|between| between.station).collect();
        stations.iter().filter_map(|node| self.ends.get(node)).map(|host| host.end.counters().resumed).sum()
    }
}

impl HostEnd {
    fn new(seed: u64, node: NodeId, dials: bool) -> Self {
        let identity = Identity {
            keys: keys(seed, node),
            allowed: Allowed::default(),
            seed: bytes(&mut Stream::new(seed, &format!("iosl end {node}"))),
        };
        let mut session = session::Config { dials, ..session::Config::default() };
        // What a station says of its radio bounds the window of whoever sends to it.
        session.capabilities.windows = true;
        let end = End::new(identity, Config { session, ..Config::default() });
        Self {
            end,
            application: None,
            connections: BTreeMap::new(),
            streams: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// The application whose sessions these are.
    pub(crate) fn application(&mut self) -> Option<Id> {
        if self.application.is_none() {
            self.application = self.end.open_application().ok();
        }
        self.application
    }

    /// The session of a stream.
    pub(crate) fn socket(&self, stream: StreamId) -> Option<Socket> {
        self.streams.iter().find(|(_, other)| **other == stream).map(|(&socket, _)| socket)
    }
}
