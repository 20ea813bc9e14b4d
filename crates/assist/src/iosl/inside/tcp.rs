//! TCP in UDP: which datagram is whose, and who is no connection's: a new one, one whose address is not known, or nobody.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::{Instant, SeqNum};
use handfast_tcp::{Endpoint, Received};
use handfast_wire::tcp::in_udp::{InUdp, Number, Token, emit_segment};
use handfast_wire::tcp::{Flags, Segment};

use super::beside::Queues;
use super::one::{Body, One};
use super::stream::Stream;
use super::{Config, Connections, InsideId, Kind, Leaving, MOST_ANSWERS, NO_LIMIT};
use crate::iosl::secure::Entropy;
use crate::iosl::validation::{self, Validation};

/// From where a datagram has come, and to which address of this machine.
type Ends = (SocketAddr, Option<IpAddr>);

/// What a connection is found by.
type Key = (SocketAddr, Number);

/// What all connections of TCP share.
pub(super) struct Tcp {
    config: Arc<handfast_tcp::Config>,
    /// Others may open connections.
    pub(super) listens: bool,
    by_peer: BTreeMap<Key, InsideId>,
    pub(super) validation: Validation,
    /// Handshakes of others that go on.
    pub(super) shaking: usize,
    /// What goes out and has come beside connections.
    pub(super) beside: Queues,
}

impl Tcp {
    pub(super) fn new(config: &Config, entropy: &mut Entropy) -> Self {
        Self {
            config: Arc::new(config.tcp.clone()),
            listens: false,
            by_peer: BTreeMap::new(),
            validation: Validation::new(&entropy.bytes(), validation::Config::default()),
            shaking: 0,
            beside: Queues::default(),
        }
    }

    pub(super) fn find(&self, key: Key) -> Option<InsideId> {
        self.by_peer.get(&key).copied()
    }

    pub(super) fn forget(&mut self, key: Key) {
        self.by_peer.remove(&key);
    }
}

impl Connections {
    pub(super) fn connect_tcp(&mut self, now: Instant, peer: SocketAddr, local: IpAddr) -> Option<InsideId> {
        let [b0, b1, b2, b3, b4, b5, b6, ..] = self.entropy.bytes();
        let number = Number::of([b0, b1, b2, b3, b4, b5, b6]);
        let iss = self.sequence_number();
        let mut endpoint = Endpoint::connect(Arc::clone(&self.tcp.config), 0, 0, iss, now);
        endpoint.open_fast();
        self.add_stream(peer, false, Stream::new(endpoint, number, Some(local), true))
    }

    /// Random, as RFC 6528 has it for those who have not seen it.
    fn sequence_number(&mut self) -> SeqNum {
        let [b0, b1, b2, b3, ..] = self.entropy.bytes();
        SeqNum(u32::from_be_bytes([b0, b1, b2, b3]))
    }

    fn add_stream(&mut self, peer: SocketAddr, is_guest: bool, stream: Stream) -> Option<InsideId> {
        let key = (peer, stream.number);
        if !self.has_room() || self.tcp.find(key).is_some() {
            return None;
        }
        let id = self.add(Kind::Tcp, One::new(peer, is_guest, Body::Tcp(Box::new(stream))));
        self.tcp.by_peer.insert(key, id);
        Some(id)
    }

    pub(super) fn stream(&self, id: InsideId) -> Option<&Stream> {
        self.all.get(&id)?.stream()
    }

    /// A datagram of TCP in UDP: for which connection.
    pub(super) fn on_segment(&mut self, now: Instant, ends: Ends, datagram: &Bytes) -> Option<InsideId> {
        let (from, to) = ends;
        let id = match InUdp::parse(datagram)? {
            InUdp::Segment { number, token, segment, .. } => {
                self.count(now, (from, number), token, datagram.len());
                self.take(now, (from, number), to, &segment)
            }
            InUdp::Retry { number, token } => {
                self.on_retry((from, number), token);
                None
            }
            InUdp::Beside { number, sealed } => self.on_beside(now, (from, number), sealed),
        }?;
        if let Some(stream) = self.all.get_mut(&id).and_then(One::stream_mut) {
            stream.local = to.or(stream.local);
        }
        Some(id)
    }

    /// A segment from an address that may not be its sender's lets this end send more there (RFC 9000 §8.1).
    fn count(&mut self, now: Instant, key: Key, token: Option<Token>, len: usize) {
        let stream = self.tcp.find(key).and_then(|id| self.stream(id));
        if self.tcp.listens && stream.is_none_or(|stream| !stream.is_valid) {
            self.tcp.validation.on_received(now, key.0, len as u64);
            if let Some(token) = token {
                self.tcp.validation.on_answer(now, key.0, token);
            }
        }
    }

    fn take(&mut self, now: Instant, key: Key, to: Option<IpAddr>, segment: &Segment) -> Option<InsideId> {
        let Some(id) = self.tcp.find(key).or_else(|| self.open(now, key, segment)) else {
            self.refuse(now, key, to, segment);
            return None;
        };
        self.with(now, id, |one| {
            if let Some(stream) = one.stream_mut() {
                stream.endpoint.on_segment(now, &Received::plain(segment));
            }
        });
        Some(id)
    }

    /// A segment of no connection: a new one if it is a SYN, and there is room.
    fn open(&mut self, now: Instant, (from, number): Key, segment: &Segment) -> Option<InsideId> {
        let Tcp { listens, shaking, .. } = self.tcp;
        if !listens || !is_syn(segment) || shaking >= self.config.shaking {
            return None;
        }
        if shaking >= self.config.trusting && !self.tcp.validation.is_valid(now, from) {
            return None;
        }
        let iss = self.sequence_number();
        let mut endpoint = Endpoint::listen(Arc::clone(&self.tcp.config), 0, iss);
        endpoint.open_fast();
        self.add_stream(from, true, Stream::new(endpoint, number, None, false))
    }

    /// Of a SYN for which there is room nothing is kept until it comes again with its token. What is for no connection is answered
    /// with a reset (RFC 9293 §3.10.7.1). Neither is longer than what it answers.
    fn refuse(&mut self, now: Instant, (from, number): Key, to: Option<IpAddr>, segment: &Segment) {
        if !self.tcp.listens || self.answers.len() >= MOST_ANSWERS {
            return;
        }
        let mut answer = Vec::new();
        let made = if is_syn(segment) {
            if self.tcp.shaking >= self.config.shaking || self.tcp.validation.is_valid(now, from) {
                return;
            }
            let token = self.tcp.validation.challenge(now, from);
            InUdp::Retry { number, token }.emit(&mut answer)
        } else {
            let mut nobody = Endpoint::listen(Arc::clone(&self.tcp.config), 0, SeqNum(0));
            nobody.close(now);
            nobody.on_segment(now, &Received::plain(segment));
            let Some(reset) = nobody.poll_transmit(now, NO_LIMIT) else { return };
            emit_segment(number, None, false, &reset.segment, &mut answer)
        };
        if made.is_ok() {
            self.answer(to, from, answer.into());
        }
    }

    /// The server wants the SYN again, once: a second request for it is somebody else's, or a loop.
    fn on_retry(&mut self, key: Key, token: Token) {
        let Some(id) = self.tcp.find(key) else { return };
        let stream = self.all.get_mut(&id).and_then(One::stream_mut);
        let Some(stream) = stream.filter(|stream| stream.token.is_none()) else { return };
        let Some(first) = stream.first.take() else { return };
        stream.token = Some(token);
        let mut again = Vec::new();
        if emit_segment(stream.number, Some(&token), true, &first, &mut again).is_ok() {
            let leaving = Leaving { of: Some(id), from: stream.local, to: key.0 };
            self.answers.push_back((leaving, again.into()));
        }
    }

    /// The next datagram of a connection.
    pub(super) fn next_segment(&mut self, now: Instant, id: InsideId, out: &mut Vec<u8>) -> Option<Leaving> {
        let Self { all, tcp: Tcp { validation, .. }, .. } = self;
        let one = all.get_mut(&id)?;
        let peer = one.peer;
        let stream = one.stream_mut()?;
        // RFC 9000 §8.1: "three times as many bytes as the number of bytes they have received", until the address is known. What has
        // to wait for that is no loss: it stays with the endpoint.
        if !stream.is_valid && !validation.has_room(now, peer, stream.least()) {
            return None;
        }
        let begin = out.len();
        let transmit = stream.endpoint.poll_transmit(now, NO_LIMIT)?;
        let is_syn = is_syn(&transmit.segment);
        let token = stream.token.as_ref().filter(|_| is_syn);
        let made = emit_segment(stream.number, token, is_syn, &transmit.segment, out);
        if is_syn && stream.first.is_none() && token.is_none() {
            stream.first = Some(transmit.segment);
        }
        if !stream.is_valid {
            validation.may_send(now, peer, (out.len() - begin) as u64);
        }
        // An endpoint makes no segment that cannot be written.
        made.is_ok().then_some(Leaving { of: Some(id), from: stream.local, to: peer })
    }
}

/// The first segment of a connection.
fn is_syn(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN)
        && !segment.flags.contains(Flags::ACK)
        && !segment.flags.contains(Flags::RST)
}
