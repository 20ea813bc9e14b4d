//! The connections that an edge converts: found by the addresses and ports of the hosts, and by their number.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::Stream;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::control::Name;
use super::enforced::Enforced;
use super::handshake::{Opening, Redundant};
use super::resequence::{Bounds, Resequencer};
use crate::ConnectionKey;

/// Beyond the largest window (RFC 7323 §2.3) a number is no sign of a loss.
const FAR: i32 = 1 << 30;

/// A connection at one of its edges.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) name: Name,
    /// The host here.
    pub(super) local: SocketAddr,
    /// The number of the host here, by which caches know it.
    pub(super) host: u16,
    /// The host behind the other edge.
    pub(super) remote: SocketAddr,
    /// The number of the other host's SYN.
    remote_syn: SeqNum,
    /// The first byte of the host here; [`None`]: it has not answered yet.
    pub(super) start: Option<SeqNum>,
    /// The number behind all that the host here has sent so far, as data of the path; [`None`]: nothing.
    sent: Option<SeqNum>,
    /// At the server's edge, until the client has sent data.
    pub(super) opening: Option<Box<Opening>>,
    /// At the client's edge, until it has come.
    pub(super) redundant: Option<Redundant>,
    /// What comes from the other edge, in order.
    pub(super) resequencer: Resequencer<Packet>,
    /// What the host here sends goes as it is: an edge ends.
    pub(super) released: bool,
    /// The window that the host here may use, where this edge says so.
    pub(super) enforced: Option<Box<Enforced>>,
    closing: Closing,
    pub(super) heard: Instant,
    entered: Instant,
}

/// Which ends have closed.
#[derive(Clone, Copy, Debug, Default)]
struct Closing {
    local: bool,
    remote: bool,
    reset: bool,
}

impl Closing {
    fn is_over(self) -> bool {
        self.reset || (self.local && self.remote)
    }
}

impl Connection {
    pub(super) fn new(
        now: Instant,
        name: Name,
        (local, remote): (SocketAddr, SocketAddr),
        syn: &Segment,
        bounds: Bounds,
    ) -> Self {
        // Behind what a SYN carries (RFC 7413 §3): a host that does not take that gets it again, out of order.
        let resequencer = Resequencer::new(syn.seq + syn.seq_len(), bounds);
        Self {
            name,
            local,
            host: 0,
            remote,
            remote_syn: syn.seq,
            start: None,
            sent: None,
            opening: None,
            redundant: None,
            resequencer,
            released: false,
            enforced: None,
            closing: Closing::default(),
            heard: now,
            entered: Instant::MAX,
        }
    }

    /// A segment of the host here, or of the other one.
    pub(super) fn heard(&mut self, now: Instant, segment: &Segment, local: bool) {
        self.heard = now;
        self.closing.reset |= segment.flags.contains(Flags::RST);
        if segment.flags.contains(Flags::FIN) {
            *(if local { &mut self.closing.local } else { &mut self.closing.remote }) = true;
        }
    }

    /// A segment of the host here leaves as data of the path. The numbers that no segment has had before it, up to it: what was lost
    /// on the way to this edge, or went past the path.
    pub(super) fn skips(&mut self, segment: &Segment) -> Option<Range<SeqNum>> {
        let len = segment.seq_len();
        // A reset takes no number, wherever it stands.
        if len == 0 || segment.flags.contains(Flags::RST) {
            return None;
        }
        let (front, end) = (self.sent.or(self.start)?, segment.seq + len);
        if self.sent.is_none() || end.after(front) {
            self.sent = Some(end);
        }
        (segment.seq.after(front) && segment.seq.distance(front) < FAR).then_some(front..segment.seq)
    }

    /// Whether a SYN of the other host, or its answer to one of the host here, is the one with which this connection began.
    pub(super) fn began_with(&self, ends: (SocketAddr, SocketAddr), segment: &Segment) -> bool {
        let answers = segment.flags.contains(Flags::ACK);
        (self.local, self.remote) == ends
            && self.remote_syn == segment.seq
            && (!answers || self.start == Some(segment.ack))
    }

    fn deadline(&self, lifetimes: Lifetimes) -> Instant {
        let lifetime = if self.closing.is_over() {
            lifetimes.closed
        } else if self.opening.as_ref().is_some_and(|opening| !opening.is_closed()) {
            lifetimes.opening
        } else {
            lifetimes.idle
        };
        let expiry = self.heard + lifetime;
        self.resequencer.deadline().map_or(expiry, |due| due.min(expiry))
    }

    fn key(&self) -> ConnectionKey {
        connection_key((self.local, self.remote))
    }
}

/// The direction from the host here to the other one.
pub(super) fn connection_key((local, remote): (SocketAddr, SocketAddr)) -> ConnectionKey {
    ConnectionKey { src: local.ip(), dst: remote.ip(), src_port: local.port(), dst_port: remote.port() }
}

/// How long a silent connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// That has not ended. RFC 5382 §5 REQ-5: at least 2 hours and 4 minutes.
    pub idle: handfast_core::Duration,
    /// Whose handshake has not ended. REQ-5: at least 4 minutes.
    pub opening: handfast_core::Duration,
    /// That has: repeated segments still come.
    pub closed: handfast_core::Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        use handfast_core::Duration;
        Self {
            idle: Duration::from_secs(7440),
            opening: Duration::from_secs(240),
            closed: Duration::from_secs(60),
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// By the direction from the host here.
    by_hosts: BTreeMap<ConnectionKey, Name>,
    /// The one that was asked for last: it is likely to be the next.
    last: Option<(ConnectionKey, Name)>,
    by_name: BTreeMap<Name, Connection>,
    timers: BTreeSet<(Instant, Name)>,
    lifetimes: Lifetimes,
}

impl Connections {
    pub(super) fn new(lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Packets that wait for their place, and their bytes.
    pub(super) fn waiting(&self) -> (usize, u64) {
        let waiting = self.by_name.values().map(|one| (one.resequencer.held(), one.resequencer.bytes()));
        waiting.fold((0, 0), |(packets, bytes), (more, of)| (packets + more, bytes + of))
    }

    /// The one of the host here that sends this packet.
    pub(super) fn of_host(&mut self, packet: &Packet) -> Option<&mut Connection> {
        let Body::Tcp(segment) = &packet.body else { return None };
        let (src, dst) = (packet.src, packet.dst);
        let key = ConnectionKey { src, dst, src_port: segment.src_port, dst_port: segment.dst_port };
        let name = match self.last {
            Some((last, name)) if last == key => name,
            _ => *self.by_hosts.get(&key)?,
        };
        self.last = Some((key, name));
        self.by_name.get_mut(&name)
    }

    pub(super) fn has_host(&self, key: &ConnectionKey) -> bool {
        self.last.is_some_and(|(last, _)| last == *key) || self.by_hosts.contains_key(key)
    }

    /// The one whose data comes in this stream.
    pub(super) fn of_stream(&mut self, stream: &Stream) -> Option<&mut Connection> {
        self.by_name.get_mut(&Name { peer: stream.from, slice: stream.slice, connection: stream.connection })
    }

    pub(super) fn get_mut(&mut self, name: &Name) -> Option<&mut Connection> {
        self.by_name.get_mut(name)
    }

    /// A new one, in the place of those with its number or its hosts: these are of an earlier time.
    pub(super) fn insert(&mut self, connection: Connection) {
        let (key, name) = (connection.key(), connection.name);
        if let Some(&old) = self.by_hosts.get(&key) {
            self.remove(&old);
        }
        self.remove(&name);
        self.by_hosts.insert(key, name);
        self.by_name.insert(name, connection);
        self.rearm(&name);
    }

    /// The one of the host with the first address of `key` is none any more.
    pub(super) fn forget_host(&mut self, key: &ConnectionKey) {
        if let Some(&name) = self.by_hosts.get(key) {
            self.remove(&name);
        }
    }

    /// Those with another edge, or all, are converted no longer.
    pub(super) fn release(&mut self, peer: Option<IpAddr>) {
        let is_one = |name: &Name| peer.is_none_or(|peer| name.peer == peer);
        self.by_name.iter_mut().filter(|(name, _)| is_one(name)).for_each(|(_, known)| known.released = true);
    }

    /// Those with another edge.
    pub(super) fn with_peer(&self, peer: IpAddr) -> Vec<Name> {
        let first = Name { peer, slice: 0, connection: 0 };
        let last = Name { slice: u16::MAX, connection: u16::MAX, ..first };
        self.by_name.range(first..=last).map(|(&name, _)| name).collect()
    }

    pub(super) fn remove(&mut self, name: &Name) -> Option<Connection> {
        let old = self.by_name.remove(name)?;
        self.by_hosts.remove(&old.key());
        self.last = None;
        self.timers.remove(&(old.entered, *name));
        Some(old)
    }

    /// After what may have changed its deadline. One that moves later leaves its entry where it is until that comes up.
    pub(super) fn rearm(&mut self, name: &Name) {
        let Some(connection) = self.by_name.get_mut(name) else { return };
        let due = connection.deadline(self.lifetimes);
        if connection.entered <= due {
            return;
        }
        self.timers.remove(&(connection.entered, *name));
        connection.entered = due;
        self.timers.insert((due, *name));
    }

    /// Not after the first deadline of a connection.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(due, _)| due)
    }

    /// What was held too long goes on, into `out`. Those that are over and silent are returned.
    pub(super) fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) -> Vec<Connection> {
        let mut over = Vec::new();
        while let Some(&(entered, name)) = self.timers.first()
            && entered <= now
            && let Some(connection) = self.by_name.get_mut(&name)
        {
            self.timers.pop_first();
            connection.entered = Instant::MAX;
            connection.resequencer.on_timer(now, out);
            if connection.deadline(self.lifetimes) > now {
                self.rearm(&name);
            } else if let Some(mut last) = self.remove(&name) {
                last.resequencer.flush(out);
                over.push(last);
            }
        }
        over
    }
}
