//! Connections in UDP between the machine that makes their datagrams and the kernel's sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::iosl::udp::{Config, DATAGRAM, Stands, StreamId, Streams};
use handfast_core::Instant;
use handfast_io::{Clock, DatagramInbox, DatagramSocket, EventLoop, Interest, ReadOutcome, SourceId};
use handfast_tcp::{Death, StoredPath};

use super::batch::{Batch, Way};

/// Addresses of connections that are no more, at most, beside as many as there are connections.
const SPARE: usize = 64;

struct Bound {
    socket: DatagramSocket,
    /// [`Some`]: it hears one peer only.
    peer: Option<SocketAddr>,
    /// What the kernel did not take.
    waiting: Option<Batch<StreamId>>,
}

/// All of them.
pub(super) struct Udp {
    streams: Streams,
    sockets: BTreeMap<SourceId, Bound>,
    /// Where others connect.
    listening: Option<SourceId>,
    /// Connections that this end has opened have a socket each: it stays with its address.
    own: BTreeMap<StreamId, SourceId>,
    /// By which address of this machine the others have come.
    came_to: BTreeMap<StreamId, IpAddr>,
    last_to: Option<IpAddr>,
    refused: BTreeSet<StreamId>,
    released: Vec<StreamId>,
    inbox: Option<DatagramInbox>,
    scratch: Vec<u8>,
}

impl Udp {
    /// Without sockets. `seed`: 32 bytes of the system's generator.
    pub(super) fn new(listens: bool, seed: [u8; 32]) -> Self {
        Self {
            streams: Streams::new(Config::default(), listens, seed),
            sockets: BTreeMap::new(),
            listening: None,
            own: BTreeMap::new(),
            came_to: BTreeMap::new(),
            last_to: None,
            refused: BTreeSet::new(),
            released: Vec::new(),
            inbox: None,
            scratch: Vec::new(),
        }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.sockets.contains_key(&id)
    }

    fn add(
        &mut self,
        io: &mut EventLoop,
        mut socket: DatagramSocket,
        peer: Option<SocketAddr>,
    ) -> io::Result<SourceId> {
        let id = io.add(&mut socket, Interest::READABLE | Interest::WRITABLE)?;
        self.sockets.insert(id, Bound { socket, peer, waiting: None });
        Ok(id)
    }

    /// Takes connections at an address.
    pub(super) fn listen(&mut self, io: &mut EventLoop, address: SocketAddr) -> io::Result<()> {
        let socket = DatagramSocket::bind(address)?;
        self.listening = Some(self.add(io, socket, None)?);
        Ok(())
    }

    /// Opens a connection; its SYN leaves with [`Udp::flush`], and takes along what is written before.
    pub(super) fn connect(&mut self, io: &mut EventLoop, peer: SocketAddr) -> io::Result<StreamId> {
        let socket = DatagramSocket::connect(peer)?;
        let id = self.add(io, socket, Some(peer))?;
        let Some(stream) = self.streams.connect(Clock::SYSTEM.now(), peer) else {
            self.sockets.remove(&id);
            return Err(ErrorKind::QuotaExceeded.into());
        };
        self.own.insert(stream, id);
        Ok(stream)
    }

    /// The next one that somebody has opened.
    pub(super) fn accept(&mut self) -> Option<(StreamId, SocketAddr)> {
        self.streams.accept()
    }

    /// One to which something has happened.
    pub(super) fn next_touched(&mut self) -> Option<StreamId> {
        self.refused.first().copied().or_else(|| self.streams.poll_touched())
    }

    /// Whether a datagram may go beside a connection now: its window has room, and its socket.
    pub(super) fn may_send_beside(&mut self, id: StreamId) -> bool {
        let has_room = self.socket_of(Some(id)).is_some_and(|bound| bound.waiting.is_none());
        has_room && self.streams.may_send_beside(Clock::SYSTEM.now(), id)
    }

    /// Sends one. It leaves with [`Udp::flush`].
    pub(super) fn send_beside(&mut self, id: StreamId, sealed: &[u8]) {
        self.streams.send_beside(id, sealed);
    }

    /// What has come beside a connection.
    pub(super) fn receive_beside(&mut self) -> Option<(StreamId, Bytes)> {
        self.streams.receive_beside()
    }

    /// A connection carries datagrams.
    pub(super) fn keep_short(&mut self, id: StreamId) {
        self.streams.keep_short(id);
    }

    /// Reads once.
    pub(super) fn receive(&mut self, id: SourceId) -> ReadOutcome {
        let Self { streams, sockets, inbox, came_to, last_to, own, refused, .. } = self;
        let Some(bound) = sockets.get(&id) else { return ReadOutcome::Nothing };
        match bound.socket.receive(inbox.get_or_insert_default()) {
            Ok(all) => {
                let now = Clock::SYSTEM.now();
                for came in all {
                    *last_to = came.to.or(*last_to);
                    // Each by itself: a piece that is kept of one keeps none of the others.
                    for datagram in came.octets.chunks(came.each) {
                        let datagram = Bytes::copy_from_slice(datagram);
                        let stream = streams.on_datagram(now, bound.peer.unwrap_or(came.from), &datagram);
                        if let (Some(stream), None, Some(to)) = (stream, bound.peer, came.to) {
                            came_to.insert(stream, to);
                        }
                    }
                }
                ReadOutcome::Some
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                // Nobody is at the peer's port. Anybody may say so: a connection that is there goes on.
                let of_socket = own.iter().filter(|(_, own)| **own == id).map(|(stream, _)| *stream);
                refused.extend(of_socket.filter(|stream| streams.stands(*stream) == Stands::Connecting));
                ReadOutcome::Some
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadOutcome::Nothing,
            // What ICMP says of a datagram before says nothing of those that come.
            Err(_) => ReadOutcome::Some,
        }
    }

    /// There is room in the kernel.
    pub(super) fn on_writable(&mut self, id: SourceId) {
        let waiting = self.sockets.get_mut(&id).and_then(|bound| bound.waiting.take());
        if let Some(batch) = waiting {
            self.send(batch);
        }
        self.flush();
    }

    /// Sends what there is to send.
    pub(super) fn flush(&mut self) {
        let mut batch: Option<Batch<StreamId>> = None;
        loop {
            let Self { streams, sockets, own, listening, scratch, .. } = self;
            let has_room = |stream: StreamId| {
                let socket = own.get(&stream).or(listening.as_ref()).and_then(|id| sockets.get(id));
                socket.is_none_or(|bound| bound.waiting.is_none())
            };
            scratch.clear();
            let Some((of, to)) = streams.poll_transmit(Clock::SYSTEM.now(), scratch, has_room) else { break };
            let way = Way { of, from: of.map_or(self.last_to, |of| self.came_to.get(&of).copied()), to };
            let most = self.socket_of(of).map_or(1, |bound| bound.socket.most_at_once());
            if batch.as_mut().is_none_or(|batch| !batch.add(&way, &self.scratch, most)) {
                let before = batch.replace(Batch::new(way, &self.scratch, most, DATAGRAM));
                if let Some(before) = before {
                    self.send(before);
                }
            }
        }
        if let Some(batch) = batch {
            self.send(batch);
        }
        self.forget();
    }

    fn socket_of(&mut self, stream: Option<StreamId>) -> Option<&mut Bound> {
        let own = stream.and_then(|stream| self.own.get(&stream)).copied();
        self.sockets.get_mut(&own.or(self.listening)?)
    }

    fn send(&mut self, batch: Batch<StreamId>) {
        let Some(bound) = self.socket_of(batch.way.of) else { return };
        // An answer to a stranger takes nobody's place.
        if bound.waiting.is_some() {
            return;
        }
        let from = batch.way.from.filter(|_| bound.peer.is_none());
        match bound.socket.send(batch.way.to, from, &batch.octets, batch.each) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => bound.waiting = Some(batch),
            // Lost, as on the wire: TCP sends it again.
            Ok(()) | Err(_) => {}
        }
    }

    /// Sockets of connections that are no more.
    fn forget(&mut self) {
        let Self { streams, sockets, own, came_to, released, .. } = self;
        released.retain(|stream| {
            let is_there = streams.endpoint(*stream).is_some();
            if !is_there {
                came_to.remove(stream);
                own.remove(stream).map(|id| sockets.remove(&id));
            }
            is_there
        });
        // Those that fail before anybody is told of them are released by nobody. Not each time: it looks at all.
        if came_to.len() > 2 * streams.len() + SPARE {
            came_to.retain(|stream, _| streams.endpoint(*stream).is_some());
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.streams.deadline()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.streams.on_timer(now);
    }

    pub(super) fn read(&mut self, id: StreamId, into: &mut [u8]) -> io::Result<usize> {
        if let Some(read) = self.streams.read(id, into.len()) {
            into[..read.len()].copy_from_slice(&read);
            return Ok(read.len());
        }
        self.is_there(id)?;
        if self.streams.is_at_end(id) { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    pub(super) fn write(&mut self, id: StreamId, octets: &[u8]) -> io::Result<usize> {
        self.is_there(id)?;
        match self.streams.write(id, octets) {
            0 => Err(ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    pub(super) fn is_there(&self, id: StreamId) -> io::Result<bool> {
        if self.refused.contains(&id) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        match self.streams.stands(id) {
            Stands::Connecting => Ok(false),
            Stands::Open | Stands::Over(None) => Ok(true),
            Stands::Over(Some(Death::Reset)) => Err(ErrorKind::ConnectionReset.into()),
            Stands::Over(Some(_)) => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// What a connection's place is taken with.
    pub(super) fn window(&self, id: StreamId) -> Option<StoredPath> {
        self.streams.window(Clock::SYSTEM.now(), id)
    }

    pub(super) fn take_over(&mut self, id: StreamId, window: StoredPath) {
        self.streams.take_over(Clock::SYSTEM.now(), id, window);
    }

    pub(super) fn finish(&mut self, id: StreamId) {
        self.streams.finish(Clock::SYSTEM.now(), id);
    }

    /// A path is done with it.
    pub(super) fn release(&mut self, id: StreamId) {
        self.streams.release(Clock::SYSTEM.now(), id);
        self.refused.remove(&id);
        self.released.push(id);
    }

    pub(super) fn local(&self, id: StreamId) -> Option<IpAddr> {
        let own = self.own.get(&id).and_then(|id| self.sockets.get(id));
        let own = own.and_then(|bound| bound.socket.local_addr().ok()).map(|address| address.ip());
        own.or_else(|| self.came_to.get(&id).copied())
    }
}
