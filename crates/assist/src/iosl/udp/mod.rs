//! What is below a session where the kernel's TCP is not: endpoints of our own TCP, whose segments travel in UDP datagrams
//! ([`handfast_wire::tcp::in_udp`]). All connections at one socket, those that others have opened too; no clock and no socket.
//!
//! After every call that may change what there is to send, the driver calls [`Streams::poll_transmit`] until it gives nothing, then
//! waits for a datagram or [`Streams::deadline`]. [`Streams::poll_touched`] says to which connections something has happened.

mod beside;
mod config;
mod strangers;
mod stream;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::{Bytes as Octets, Instant, SeqNum};
use handfast_tcp::{Endpoint, Received, State, StoredPath};
use handfast_wire::Payload;
use handfast_wire::tcp::Segment;
use handfast_wire::tcp::in_udp::{InUdp, Number, emit_segment};

pub use beside::MOST_BESIDE;
pub use config::Config;
pub use handfast_wire::tcp::in_udp::DATAGRAM;
use strangers::is_syn;
pub use stream::Stands;
use stream::Stream;

use super::agenda::{Agenda, SHORT};
use super::secure::Entropy;
use super::validation::{self, Validation};

/// A connection, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(u64);

/// A driver says by not asking that it has no room.
const NO_LIMIT: Octets = Octets(u64::MAX);

/// Connections at one socket of UDP.
pub struct Streams {
    config: Config,
    tcp: Arc<handfast_tcp::Config>,
    /// Others may open connections.
    listens: bool,
    entropy: Entropy,
    all: BTreeMap<StreamId, Stream>,
    by_peer: BTreeMap<(SocketAddr, Number), StreamId>,
    agenda: Agenda<StreamId>,
    accepted: VecDeque<StreamId>,
    answers: VecDeque<(Option<StreamId>, SocketAddr, Vec<u8>)>,
    /// What goes out and has come beside connections.
    beside: beside::Queues,
    validation: Validation,
    shaking: usize,
    next: u64,
}

impl Streams {
    /// Without connections. `listens`: others may open some. `seed`: 32 bytes of the system's generator.
    pub fn new(config: Config, listens: bool, seed: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(seed);
        let validation = Validation::new(&entropy.bytes(), validation::Config::default());
        Self {
            tcp: Arc::new(config.tcp.clone()),
            config,
            listens,
            entropy,
            all: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            agenda: Agenda::default(),
            accepted: VecDeque::new(),
            answers: VecDeque::new(),
            beside: beside::Queues::default(),
            validation,
            shaking: 0,
            next: 0,
        }
    }

    /// Opens a connection. What is written before its SYN leaves goes with it. [`None`]: there are too many.
    pub fn connect(&mut self, now: Instant, peer: SocketAddr) -> Option<StreamId> {
        let [b0, b1, b2, b3, b4, b5, b6, ..] = self.entropy.bytes();
        let number = Number::of([b0, b1, b2, b3, b4, b5, b6]);
        let iss = self.sequence_number();
        let mut endpoint = Endpoint::connect(Arc::clone(&self.tcp), 0, 0, iss, now);
        endpoint.open_fast();
        self.add(Stream::new(endpoint, (peer, number), false))
    }

    /// Random, as RFC 6528 has it for those who have not seen it.
    fn sequence_number(&mut self) -> SeqNum {
        let [b0, b1, b2, b3, ..] = self.entropy.bytes();
        SeqNum(u32::from_be_bytes([b0, b1, b2, b3]))
    }

    fn add(&mut self, stream: Stream) -> Option<StreamId> {
        let key = (stream.peer, stream.number);
        if self.all.len() >= self.config.most || self.by_peer.contains_key(&key) {
            return None;
        }
        let id = StreamId(self.next);
        self.next += 1;
        self.shaking += usize::from(stream.is_shaking());
        self.by_peer.insert(key, id);
        self.all.insert(id, stream);
        self.agenda.sends(id);
        Some(id)
    }

    /// A datagram has come: for which connection.
    pub fn on_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &Bytes) -> Option<StreamId> {
        match InUdp::parse(datagram) {
            Some(InUdp::Segment { number, token, segment, .. }) => {
                let id = self.by_peer.get(&(from, number)).copied();
                let waits = id.and_then(|id| self.all.get(&id)).is_none_or(|stream| !stream.is_valid);
                if self.listens && waits {
                    self.validation.on_received(now, from, datagram.len() as u64);
                    if let Some(token) = token {
                        self.validation.on_answer(now, from, token);
                    }
                }
                let id = id.or_else(|| self.open(now, (from, number), &segment));
                match id {
                    Some(id) => self.take(now, id, &segment),
                    None => self.refuse(now, (from, number), &segment),
                }
                id
            }
            Some(InUdp::Retry { number, token }) => {
                self.on_retry((from, number), token);
                None
            }
            Some(InUdp::Beside { number, sealed }) => self.on_beside(now, (from, number), sealed),
            None => None,
        }
    }

    fn take(&mut self, now: Instant, id: StreamId, segment: &Segment) {
        self.with(id, |stream| stream.endpoint.on_segment(now, &Received::plain(segment)));
    }

    /// Does something to a connection, and sees what has come of it.
    fn with<T>(&mut self, id: StreamId, act: impl FnOnce(&mut Stream) -> T) -> Option<T> {
        let stream = self.all.get_mut(&id)?;
        let was_shaking = stream.is_shaking();
        let done = act(stream);
        if stream.is_forsaken() {
            stream.endpoint.abort();
        }
        if stream.settle() {
            self.accepted.push_back(id);
        }
        self.shaking -= usize::from(was_shaking && !stream.is_shaking());
        self.agenda.sends(id);
        if stream.is_known && !stream.is_released {
            self.agenda.touches(id);
        }
        Some(done)
    }

    /// The next datagram, appended to `out`, of which connection, and to whom. [`None`] for the connection: an answer to a stranger.
    /// `has_room`: whether a connection's socket has room.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        has_room: impl Fn(StreamId) -> bool,
    ) -> Option<(Option<StreamId>, SocketAddr)> {
        if let Some((of, to, answer)) = self.answers.pop_front() {
            out.extend_from_slice(&answer);
            return Some((of, to));
        }
        if let Some((id, to)) = self.next_beside(out, &has_room) {
            return Some((Some(id), to));
        }
        while let Some(id) = self.agenda.next_sending(&has_room) {
            if let Some(to) = self.next_of(now, id, out) {
                return Some((Some(id), to));
            }
            self.settle(id);
        }
        None
    }

    fn next_of(&mut self, now: Instant, id: StreamId, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let stream = self.all.get_mut(&id)?;
        // RFC 9000 §8.1: "three times as many bytes as the number of bytes they have received", until the address is known. What has
        // to wait for that is no loss: it stays with the endpoint.
        let (validation, peer) = (&mut self.validation, stream.peer);
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
        made.is_ok().then_some(peer)
    }

    /// A connection has sent all it has: its deadline is entered anew, or it goes.
    fn settle(&mut self, id: StreamId) {
        let Some(stream) = self.all.get_mut(&id) else { return self.agenda.forget(id, None) };
        if stream.is_gone() {
            self.agenda.forget(id, stream.deadline);
            self.by_peer.remove(&(stream.peer, stream.number));
            self.all.remove(&id);
        } else {
            self.agenda.waits(id, &mut stream.deadline, stream.endpoint.deadline());
        }
    }

    /// When [`Streams::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.agenda.deadline()
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some(id) = self.agenda.next_due(now) {
            self.with(id, |stream| {
                stream.deadline = None;
                stream.endpoint.on_timer(now);
            });
        }
    }

    /// The next connection that somebody has opened.
    pub fn accept(&mut self) -> Option<(StreamId, SocketAddr)> {
        while let Some(id) = self.accepted.pop_front() {
            if let Some(stream) = self.all.get(&id) {
                return Some((id, stream.peer));
            }
        }
        None
    }

    /// A connection to which something has happened: there may be something to read, or room to write.
    pub fn poll_touched(&mut self) -> Option<StreamId> {
        self.agenda.next_touched()
    }

    /// How a connection stands; one that is not there is over.
    pub fn stands(&self, id: StreamId) -> Stands {
        self.all.get(&id).map_or(Stands::Over(None), Stream::stands)
    }

    /// A connection's endpoint, to look at.
    pub fn endpoint(&self, id: StreamId) -> Option<&Endpoint> {
        self.all.get(&id).map(|stream| &stream.endpoint)
    }

    /// Up to `most` octets that have come.
    pub fn read(&mut self, id: StreamId, most: usize) -> Option<Bytes> {
        let stream = self.all.get_mut(&id)?;
        let payload = stream.endpoint.read(most)?;
        // The window may have opened.
        self.agenda.sends(id);
        Some(payload.to_bytes())
    }

    /// Whether the peer has finished, and all of it was read.
    pub fn is_at_end(&self, id: StreamId) -> bool {
        self.all.get(&id).is_none_or(|stream| stream.has_ended && stream.endpoint.readable() == 0)
    }

    /// Takes what there is room for: how much.
    pub fn write(&mut self, id: StreamId, octets: &[u8]) -> usize {
        let Some(stream) = self.all.get_mut(&id) else { return 0 };
        let most = if stream.is_short { SHORT } else { self.config.unsent };
        let room = most.saturating_sub(stream.endpoint.unsent());
        let taken = octets.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.agenda.sends(id);
        if taken == 0 {
            0
        } else {
            stream.endpoint.write(Payload::Bytes(Bytes::copy_from_slice(&octets[..taken])))
        }
    }

    /// The window that a connection has, or had before timeouts: for one that takes its place. [`None`]: nothing was measured.
    pub fn window(&self, now: Instant, id: StreamId) -> Option<StoredPath> {
        let endpoint = self.endpoint(id)?;
        (endpoint.snapshot(now).acknowledged > 0).then(|| endpoint.stored_path())
    }

    /// A connection takes the place of one that had this window, as soon as it is established. What the window lets go is spread over a
    /// round trip ([iosl] §IV.B).
    pub fn take_over(&mut self, now: Instant, id: StreamId, window: StoredPath) {
        self.with(id, |stream| stream.endpoint.take_over(now, window));
    }

    /// Nothing more is written.
    pub fn finish(&mut self, now: Instant, id: StreamId) {
        // No news for whoever says it: it would be told without end.
        if let Some(stream) = self.all.get_mut(&id) {
            stream.endpoint.close(now);
            self.agenda.sends(id);
        }
    }

    /// Nobody wants a connection any more. One that has not ended in both directions is reset.
    pub fn release(&mut self, now: Instant, id: StreamId) {
        self.with(id, |stream| {
            stream.is_released = true;
            let is_ending =
                matches!(stream.endpoint.state(), State::LastAck | State::Closing | State::TimeWait);
            if is_ending {
                stream.endpoint.close(now);
            } else {
                stream.endpoint.abort();
            }
        });
        self.agenda.untouched(id);
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
