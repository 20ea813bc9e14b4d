//! What is inside UDP: between the machine that makes datagrams of connections and the kernel's sockets.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::iosl::inside::{
    Config, Connections, DATAGRAM, Failure, InsideId, Kind, Leaving, Stands, Window,
};
use handfast_core::Instant;
use handfast_io::{Clock, DatagramInbox, DatagramSocket, EventLoop, ReadOutcome, SourceId, has_address};

use super::batch::Batch;
use super::sockets::{Sockets, sockets_to};

/// All connections, with their sockets.
pub(super) struct Inside {
    connections: Connections,
    sockets: Sockets,
    refused: BTreeSet<InsideId>,
    released: Vec<InsideId>,
    inbox: Option<DatagramInbox>,
    scratch: Vec<u8>,
}

impl Inside {
    /// Without sockets. `seed`: 32 bytes of the system's generator.
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            connections: Connections::new(Config::default(), seed),
            sockets: Sockets::default(),
            refused: BTreeSet::new(),
            released: Vec::new(),
            inbox: None,
            scratch: Vec::new(),
        }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.sockets.has(id)
    }

    /// Takes what others open at an address, of these kinds.
    pub(super) fn listen(
        &mut self,
        io: &mut EventLoop,
        address: SocketAddr,
        kinds: &[Kind],
    ) -> io::Result<()> {
        self.sockets.listen(io, DatagramSocket::bind(address)?)?;
        for kind in kinds {
            self.connections.listen(*kind);
        }
        Ok(())
    }

    /// Opens a connection. Its first datagram leaves with [`Inside::flush`], and what is written before goes with its handshake.
    pub(super) fn connect(
        &mut self,
        io: &mut EventLoop,
        kind: Kind,
        peer: SocketAddr,
    ) -> io::Result<InsideId> {
        let sockets = sockets_to(peer, kind)?;
        let local: Vec<_> = sockets.iter().map(|(address, _)| *address).collect();
        let opened = self.connections.connect(Clock::SYSTEM.now(), kind, peer, &local);
        let id = opened.ok_or(ErrorKind::QuotaExceeded)?;
        for (address, socket) in sockets {
            if let Err(error) = self.sockets.add(io, socket, Some((id, address))) {
                self.release(id);
                return Err(error);
            }
        }
        Ok(id)
    }

    /// The next one that somebody has opened.
    pub(super) fn accept(&mut self) -> Option<(InsideId, SocketAddr)> {
        self.connections.accept()
    }

    /// One to which something has happened.
    pub(super) fn next_touched(&mut self) -> Option<InsideId> {
        self.refused.first().copied().or_else(|| self.connections.poll_touched())
    }

    /// Reads once.
    pub(super) fn receive(&mut self, id: SourceId) -> ReadOutcome {
        let Self { connections, sockets, inbox, refused, .. } = self;
        let Some(bound) = sockets.get(id) else { return ReadOutcome::Nothing };
        match bound.socket.receive(inbox.get_or_insert_default()) {
            Ok(all) => {
                let now = Clock::SYSTEM.now();
                for came in all {
                    // Each by itself: a piece that is kept of one keeps none of the others.
                    for datagram in came.octets.chunks(came.each) {
                        let datagram = Bytes::copy_from_slice(datagram);
                        match bound.own {
                            Some((own, address)) => connections.on_answer(now, own, address, &datagram),
                            None => drop(connections.on_datagram(now, came.from, came.to, &datagram)),
                        }
                    }
                }
                ReadOutcome::Some
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                // Nobody is at the peer's port. Anybody may say so: a connection that is there goes on.
                let own = bound.own.map(|(own, _)| own);
                refused.extend(own.filter(|own| connections.stands(*own) == Stands::Connecting));
                ReadOutcome::Some
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadOutcome::Nothing,
            // What ICMP says of a datagram before says nothing of those that come.
            Err(_) => ReadOutcome::Some,
        }
    }

    /// There is room in the kernel.
    pub(super) fn on_writable(&mut self, id: SourceId) {
        self.sockets.on_writable(id);
        self.flush();
    }

    /// Sends what there is to send.
    pub(super) fn flush(&mut self) {
        let mut batch: Option<Batch> = None;
        while let Some(way) = self.next_datagram() {
            let most = self.sockets.of(&way).map_or(1, |bound| bound.socket.most_at_once());
            if batch.as_mut().is_none_or(|batch| !batch.add(&way, &self.scratch, most)) {
                let before = batch.replace(Batch::new(way, &self.scratch, most, DATAGRAM));
                if let Some(before) = before {
                    self.sockets.send(before);
                }
            }
        }
        if let Some(batch) = batch {
            self.sockets.send(batch);
        }
        self.forget();
    }

    /// The next datagram, in `scratch`.
    fn next_datagram(&mut self) -> Option<Leaving> {
        let Self { connections, scratch, sockets, .. } = self;
        scratch.clear();
        connections.poll_transmit(Clock::SYSTEM.now(), scratch, |id| sockets.have_room(id))
    }

    /// Sockets of connections that are no more.
    fn forget(&mut self) {
        let Self { connections, sockets, released, .. } = self;
        released.retain(|connection| {
            let is_there = connections.has(*connection);
            if !is_there {
                sockets.forget(*connection);
            }
            is_there
        });
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.connections.deadline()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.connections.on_timer(now);
    }

    /// As read(2).
    pub(super) fn read(&mut self, id: InsideId, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        // It gives them as they came, a packet each: many make a read that is worth its while.
        while filled < into.len()
            && let Some(read) = self.connections.read(Clock::SYSTEM.now(), id, into.len() - filled)
        {
            into[filled..filled + read.len()].copy_from_slice(&read);
            filled += read.len();
        }
        if filled > 0 {
            return Ok(filled);
        }
        self.is_there(id)?;
        if self.connections.is_at_end(id) { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    /// As write(2).
    pub(super) fn write(&mut self, id: InsideId, octets: &[u8]) -> io::Result<usize> {
        self.is_there(id)?;
        match self.connections.write(id, octets) {
            0 => Err(ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    /// Whether it is there; [`Err`]: why it is not, or no more.
    pub(super) fn is_there(&self, id: InsideId) -> io::Result<bool> {
        if self.refused.contains(&id) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        match self.connections.stands(id) {
            Stands::Connecting => Ok(false),
            Stands::Open | Stands::Over(None) => Ok(true),
            Stands::Over(Some(Failure::Reset)) => Err(ErrorKind::ConnectionReset.into()),
            Stands::Over(Some(Failure::GivenUp)) => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// What its place is taken with.
    pub(super) fn window(&self, id: InsideId) -> Option<Window> {
        self.connections.window(Clock::SYSTEM.now(), id)
    }

    /// It takes the place of one that had this window; whether that is one of its kind.
    pub(super) fn take_over(&mut self, id: InsideId, window: Window) -> bool {
        self.connections.take_over(Clock::SYSTEM.now(), id, window)
    }

    /// Whether a datagram may go beside it now: its window has room, and its sockets.
    pub(super) fn may_send_beside(&mut self, id: InsideId) -> bool {
        self.sockets.have_room(id) && self.connections.may_send_beside(Clock::SYSTEM.now(), id)
    }

    /// Sends one. It leaves with [`Inside::flush`].
    pub(super) fn send_beside(&mut self, id: InsideId, sealed: &[u8]) {
        self.connections.send_beside(id, sealed);
    }

    /// What has come beside one.
    pub(super) fn receive_beside(&mut self) -> Option<(InsideId, Bytes)> {
        self.connections.receive_beside()
    }

    /// It carries datagrams, which would be old if many waited.
    pub(super) fn keep_short(&mut self, id: InsideId) {
        self.connections.keep_short(id);
    }

    /// Addresses or routes of this machine have changed: a new connection to the peer would come from `source`. One that has another
    /// address that is there goes on by it.
    pub(super) fn on_routes_changed(&mut self, id: InsideId, source: IpAddr) {
        let now = Clock::SYSTEM.now();
        if self.connections.on_addresses(now, id, has_address) {
            self.connections.prefer(now, id, source);
        }
    }

    /// Nothing more is written.
    pub(super) fn finish(&mut self, id: InsideId) {
        self.connections.finish(Clock::SYSTEM.now(), id);
    }

    /// A path is done with it.
    pub(super) fn release(&mut self, id: InsideId) {
        self.connections.release(Clock::SYSTEM.now(), id);
        self.refused.remove(&id);
        self.released.push(id);
    }

    /// By which address of this machine data leaves.
    pub(super) fn local(&self, id: InsideId) -> Option<IpAddr> {
        self.connections.local(id)
    }
}
