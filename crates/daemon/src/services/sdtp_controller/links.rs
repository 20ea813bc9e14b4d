//! The nodes' connections: who has connected, and what was said.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::sdtp::{Instruction, Report};
use handfast_core::{Bytes as Count, Duration, Instant};
use handfast_io::tls::Stream;
use handfast_io::{Clock, ReadOutcome, SourceId};
use handfast_wire::openflow::{Body, Message};
use tracing::{info, warn};

use crate::process::log::limiter::LogLimiter;
use crate::services::openflow_link::{CHUNK, LinkError, OpenFlowLink, gives_way};
use crate::services::sdtp::channel::{hello, speaks};

/// After so long a silence a node is asked whether it is there, and after so long it is gone; who has not said who it is by
/// then is closed too.
const ASK_AFTER: Duration = Duration::from_secs(1);
const GONE_AFTER: Duration = Duration::from_secs(3);
/// What may wait for a node that does not read.
const MOST_WAITING: Count = Count(4_000_000);

/// What a node says.
pub(super) enum Said {
    /// The node with this address is there.
    Ready(IpAddr),
    /// It is not there any more.
    Gone(IpAddr),
    /// It reports something.
    Report(IpAddr, Report),
}

/// A connection.
struct Connected {
    link: OpenFlowLink,
    /// Which node it is, once it has said so.
    node: Option<IpAddr>,
    heard: Instant,
    has_asked: bool,
}

/// All of them.
pub(super) struct Links {
    /// Nodes by their datapath ids.
    nodes: BTreeMap<u64, IpAddr>,
    connected: BTreeMap<SourceId, Connected>,
    ready: BTreeMap<IpAddr, SourceId>,
    to_flush: BTreeSet<SourceId>,
    chunk: Box<[u8; CHUNK]>,
    /// Instructions for nodes that were not there.
    pub(super) undelivered: u64,
    /// Of lines that a peer can bring about as often as it likes.
    pub(super) limiter: LogLimiter,
}

impl Links {
    pub(super) fn new(nodes: BTreeMap<u64, IpAddr>) -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("its size"));
        Self {
            nodes,
            connected: BTreeMap::new(),
            ready: BTreeMap::new(),
            to_flush: BTreeSet::new(),
            chunk,
            undelivered: 0,
            limiter: LogLimiter::default(),
        }
    }

    /// Makes room for one more from an address; whether there is. Each node may be connected twice, for it may have been started
    /// again, and a few others may try.
    pub(super) fn make_room(&mut self, from: IpAddr) -> bool {
        let is_full = self.connected.len() >= 2 * self.nodes.len() + 8;
        let unknown = self.connected.iter().filter(|(_, one)| one.node.is_none());
        let unknown = unknown.map(|(id, one)| (*id, one.link.peer().ip())).collect::<Vec<_>>();
        let Some(first) = gives_way(&unknown, from, is_full) else { return !is_full };
        // Nobody is told of one that is no node.
        self.lose(first, &LinkError::Displaced, &mut Vec::new());
        true
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.connected.contains_key(&id)
    }

    /// The nodes that are there.
    pub(super) fn ready(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.ready.keys().copied()
    }

    /// Somebody has connected.
    pub(super) fn add(&mut self, now: Instant, id: SourceId, stream: Stream, peer: SocketAddr) {
        let mut link = OpenFlowLink::new(stream, peer);
        for body in [hello(), Body::FeaturesRequest] {
            // These have a form on the wire.
            let _ = link.push(&Message { xid: 0, body });
        }
        self.connected.insert(id, Connected { link, node: None, heard: now, has_asked: false });
        self.to_flush.insert(id);
    }

    /// Reads once; what was said, in order.
    pub(super) fn read(&mut self, now: Instant, id: SourceId, said: &mut Vec<Said>) -> ReadOutcome {
        let Some(connected) = self.connected.get_mut(&id) else { return ReadOutcome::Nothing };
        match connected.link.read(&mut self.chunk) {
            Ok(ReadOutcome::Some) => (connected.heard, connected.has_asked) = (now, false),
            Ok(outcome) => return outcome,
            Err(error) => {
                self.lose(id, &error, said);
                return ReadOutcome::Nothing;
            }
        }
        while let Some(connected) = self.connected.get_mut(&id) {
            match connected.link.next() {
                Ok(Some((bytes, message))) => self.hear(id, &bytes, message, said),
                Ok(None) => return ReadOutcome::Some,
                Err(error) => self.lose(id, &error, said),
            }
        }
        ReadOutcome::Nothing
    }

    fn hear(&mut self, id: SourceId, bytes: &Bytes, message: Message, said: &mut Vec<Said>) {
        let Some(connected) = self.connected.get_mut(&id) else { return };
        match message.body {
            Body::Hello(hello) if !speaks(&hello) => self.lose(id, &"it does not speak OpenFlow 1.3", said),
            Body::FeaturesReply(features) if connected.node.is_none() => {
                self.introduce(id, features.datapath_id, said);
            }
            Body::EchoRequest(data) => {
                let _ = connected.link.push(&Message { xid: message.xid, body: Body::EchoReply(data) });
                self.to_flush.insert(id);
            }
            Body::Error(error) => {
                let peer = connected.link.peer();
                if self.limiter.allows(Clock::SYSTEM.now(), "error", peer.ip()) {
                    warn!(%peer, kind = error.kind, code = error.code, "a node reports an error");
                }
            }
            Body::PacketIn(_) | Body::Unknown { .. } => {
                if let (Some(node), Ok(report)) = (connected.node, Report::parse(bytes)) {
                    said.push(Said::Report(node, report));
                }
            }
            _ => {}
        }
    }

    /// A connection says which node it is. The newest holds: the older one is of a node that was started again, or whose
    /// network has lost the connection without a word.
    fn introduce(&mut self, id: SourceId, datapath_id: u64, said: &mut Vec<Said>) {
        let Some(&node) = self.nodes.get(&datapath_id) else {
            return self.lose(id, &format!("no node has the datapath id {datapath_id:016x}"), said);
        };
        if let Some(&older) = self.ready.get(&node) {
            self.lose(older, &"it has connected anew", said);
        }
        if let Some(connected) = self.connected.get_mut(&id) {
            connected.node = Some(node);
            self.ready.insert(node, id);
            let peer = connected.link.peer();
            if self.limiter.allows(Clock::SYSTEM.now(), "node ready", peer.ip()) {
                info!(%node, %peer, "node ready");
            }
            said.push(Said::Ready(node));
        }
    }

    fn lose(&mut self, id: SourceId, why: &dyn std::fmt::Display, said: &mut Vec<Said>) {
        let Some(Connected { link, node, .. }) = self.connected.remove(&id) else { return };
        let peer = link.peer();
        let Some(node) = node.filter(|node| self.ready.get(node) == Some(&id)) else {
            if self.limiter.allows(Clock::SYSTEM.now(), "connection closed", peer.ip()) {
                info!(%peer, %why, "connection closed");
            }
            return;
        };
        self.ready.remove(&node);
        if self.limiter.allows(Clock::SYSTEM.now(), "node gone", peer.ip()) {
            warn!(%node, %peer, %why, "node gone");
        }
        said.push(Said::Gone(node));
    }

    /// Sends an instruction to a node.
    pub(super) fn instruct(&mut self, node: IpAddr, instruction: &Instruction) {
        let connected = self.ready.get(&node).and_then(|id| Some((*id, self.connected.get_mut(id)?)));
        match connected.zip(instruction.emit()) {
            Some(((id, connected), bytes)) => {
                connected.link.push_bytes(&bytes);
                self.to_flush.insert(id);
            }
            None => self.undelivered += 1,
        }
    }

    /// When [`Links::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let due = |connected: &Connected| {
            connected.heard + if connected.has_asked { GONE_AFTER } else { ASK_AFTER }
        };
        self.connected.values().map(due).min()
    }

    /// Asks who is silent, and closes who stays so.
    pub(super) fn on_timer(&mut self, now: Instant, said: &mut Vec<Said>) {
        let ids: Vec<SourceId> = self.connected.keys().copied().collect();
        for id in ids {
            let Some(connected) = self.connected.get_mut(&id) else { continue };
            if now >= connected.heard + GONE_AFTER {
                self.lose(id, &"it is silent", said);
            } else if now >= connected.heard + ASK_AFTER && !std::mem::replace(&mut connected.has_asked, true)
            {
                let _ = connected.link.push(&Message { xid: 0, body: Body::EchoRequest(Bytes::new()) });
                self.to_flush.insert(id);
            }
        }
    }

    /// There is room for more to a node.
    pub(super) fn is_writable(&mut self, id: SourceId) {
        self.to_flush.insert(id);
    }

    /// Gives the kernel what it takes.
    pub(super) fn flush(&mut self, said: &mut Vec<Said>) {
        while let Some(id) = self.to_flush.pop_first() {
            let flushed = self.connected.get_mut(&id).map(|connected| connected.link.flush(MOST_WAITING));
            if let Some(Err(error)) = flushed {
                self.lose(id, &error, said);
            }
        }
    }
}
