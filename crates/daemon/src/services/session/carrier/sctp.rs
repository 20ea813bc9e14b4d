//! Associations of SCTP between the machine that makes their packets and the kernel's sockets of UDP (RFC 6951).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::iosl::sctp::{AssociationId, Associations, Config, DATAGRAM, Leaving, Stands};
use handfast_core::Instant;
use handfast_io::{
    Clock, DatagramInbox, DatagramSocket, EventLoop, Interest, ReadOutcome, SourceId, addresses_beside,
    has_address,
};
use handfast_sctp::{Failure, PathState};

use super::batch::{Batch, Way};

/// Addresses of this machine that an association has at most: those beside the first are asked every few seconds.
const MOST_ADDRESSES: usize = 4;

struct Bound {
    socket: DatagramSocket,
    /// [`Some`]: it is at this address of an association that this end has opened, and hears the peer alone.
    own: Option<(AssociationId, IpAddr)>,
    /// What the kernel did not take.
    waiting: Option<Batch<AssociationId>>,
}

/// All of them.
pub(super) struct Sctp {
    associations: Associations,
    sockets: BTreeMap<SourceId, Bound>,
    /// Where others connect.
    listening: Option<SourceId>,
    /// The sockets of an association that this end has opened, by their addresses.
    own: BTreeMap<AssociationId, Vec<(IpAddr, SourceId)>>,
    refused: BTreeSet<AssociationId>,
    released: Vec<AssociationId>,
    inbox: Option<DatagramInbox>,
    scratch: Vec<u8>,
}

impl Sctp {
    /// Without sockets. `seed`: 32 bytes of the system's generator.
    pub(super) fn new(listens: bool, seed: [u8; 32]) -> Self {
        Self {
            associations: Associations::new(Config::default(), listens, seed),
            sockets: BTreeMap::new(),
            listening: None,
            own: BTreeMap::new(),
            refused: BTreeSet::new(),
            released: Vec::new(),
            inbox: None,
            scratch: Vec::new(),
        }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.sockets.contains_key(&id)
    }

    fn add(&mut self, io: &mut EventLoop, mut socket: DatagramSocket) -> io::Result<SourceId> {
        let id = io.add(&mut socket, Interest::READABLE | Interest::WRITABLE)?;
        self.sockets.insert(id, Bound { socket, own: None, waiting: None });
        Ok(id)
    }

    /// Takes associations at an address.
    pub(super) fn listen(&mut self, io: &mut EventLoop, address: SocketAddr) -> io::Result<()> {
        self.listening = Some(self.add(io, DatagramSocket::bind(address)?)?);
        Ok(())
    }

    /// Opens an association by all addresses of this machine that lead to a peer, the one of its route first.
    pub(super) fn connect(&mut self, io: &mut EventLoop, peer: SocketAddr) -> io::Result<AssociationId> {
        let first = DatagramSocket::connect(peer)?;
        let at = first.local_addr()?;
        let mut sockets = vec![(at.ip(), first)];
        for (address, interface) in addresses_beside(at.ip()).unwrap_or_default() {
            // One that does not lead there, or where the port is taken, is none of it: the port is the same at all (RFC 6951 §5.1).
            let from = SocketAddr::new(address, at.port());
            if sockets.len() < MOST_ADDRESSES
                && let Ok(socket) = DatagramSocket::connect_by(from, &interface, peer)
            {
                sockets.push((address, socket));
            }
        }
        let local: Vec<_> = sockets.iter().map(|(address, _)| *address).collect();
        let opened = self.associations.connect(Clock::SYSTEM.now(), peer, &local);
        let association = opened.ok_or(ErrorKind::QuotaExceeded)?;
        self.own.insert(association, Vec::new());
        for (address, socket) in sockets {
            let id = self.add(io, socket)?;
            if let Some(bound) = self.sockets.get_mut(&id) {
                bound.own = Some((association, address));
            }
            self.own.entry(association).or_default().push((address, id));
        }
        Ok(association)
    }

    /// The next one that somebody has opened.
    pub(super) fn accept(&mut self) -> Option<(AssociationId, SocketAddr)> {
        self.associations.accept()
    }

    /// One to which something has happened.
    pub(super) fn next_touched(&mut self) -> Option<AssociationId> {
        self.refused.first().copied().or_else(|| self.associations.poll_touched())
    }

    /// Reads once.
    pub(super) fn receive(&mut self, id: SourceId) -> ReadOutcome {
        let Self { associations, sockets, inbox, refused, .. } = self;
        let Some(bound) = sockets.get(&id) else { return ReadOutcome::Nothing };
        match bound.socket.receive(inbox.get_or_insert_default()) {
            Ok(all) => {
                let now = Clock::SYSTEM.now();
                for came in all {
                    // Chunks are copied out of what is kept (`crates/sctp`).
                    for datagram in came.octets.chunks(came.each) {
                        let datagram = Bytes::copy_from_slice(datagram);
                        match bound.own {
                            Some((own, address)) => associations.on_answer(now, own, address, &datagram),
                            None => drop(associations.on_datagram(now, came.from, came.to, &datagram)),
                        }
                    }
                }
                ReadOutcome::Some
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                // Nobody is at the peer's port. Anybody may say so: an association that is there goes on.
                let own = bound.own.map(|(own, _)| own);
                refused.extend(own.filter(|own| associations.stands(*own) == Stands::Connecting));
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
        let mut batch: Option<Batch<AssociationId>> = None;
        while let Some(way) = self.next_datagram() {
            let most = self.socket_of(&way).map_or(1, |bound| bound.socket.most_at_once());
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

    /// The next datagram, in `scratch`.
    fn next_datagram(&mut self) -> Option<Way<AssociationId>> {
        let Self { associations, sockets, own, listening, scratch, .. } = self;
        let is_free = |id: &SourceId| sockets.get(id).is_none_or(|bound| bound.waiting.is_none());
        let has_room = |association: AssociationId| match own.get(&association) {
            Some(own) => own.iter().all(|(_, id)| is_free(id)),
            None => listening.as_ref().is_none_or(is_free),
        };
        scratch.clear();
        let leaving = associations.poll_transmit(Clock::SYSTEM.now(), scratch, has_room);
        leaving.map(|Leaving { of, from, to }| Way { of, from, to })
    }

    fn socket_of(&mut self, way: &Way<AssociationId>) -> Option<&mut Bound> {
        let own = way.of.and_then(|of| self.own.get(&of));
        let id = match own {
            Some(own) => own.iter().find(|(address, _)| Some(*address) == way.from).map(|(_, id)| *id)?,
            None => self.listening?,
        };
        self.sockets.get_mut(&id)
    }

    fn send(&mut self, batch: Batch<AssociationId>) {
        // With one of several addresses stuck the association is to notice, and to take another one: what has no room there is lost.
        let has_others = batch.way.of.and_then(|of| self.own.get(&of)).is_some_and(|own| own.len() > 1);
        let Some(bound) = self.socket_of(&batch.way) else { return };
        // An answer to a stranger takes nobody's place.
        if bound.waiting.is_some() {
            return;
        }
        let from = batch.way.from.filter(|_| bound.own.is_none());
        match bound.socket.send(batch.way.to, from, &batch.octets, batch.each) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && !has_others => bound.waiting = Some(batch),
            // Lost, as on the wire: the association sends it again.
            Ok(()) | Err(_) => {}
        }
    }

    /// Sockets of associations that are no more.
    fn forget(&mut self) {
        let Self { associations, sockets, own, released, .. } = self;
        released.retain(|association| {
            let is_there = associations.association(*association).is_some();
            if !is_there {
                for (_, id) in own.remove(association).unwrap_or_default() {
                    sockets.remove(&id);
                }
            }
            is_there
        });
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.associations.deadline()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.associations.on_timer(now);
    }

    pub(super) fn read(&mut self, id: AssociationId, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        // A message is a packet: many make a read that is worth its while.
        while filled < into.len()
            && let Some(read) = self.associations.read(Clock::SYSTEM.now(), id, into.len() - filled)
        {
            into[filled..filled + read.len()].copy_from_slice(&read);
            filled += read.len();
        }
        if filled > 0 {
            return Ok(filled);
        }
        self.is_there(id)?;
        if self.associations.is_at_end(id) { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    /// It carries datagrams.
    pub(super) fn keep_short(&mut self, id: AssociationId) {
        self.associations.keep_short(id);
    }

    pub(super) fn write(&mut self, id: AssociationId, octets: &[u8]) -> io::Result<usize> {
        self.is_there(id)?;
        match self.associations.write(id, octets) {
            0 => Err(ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    pub(super) fn is_there(&self, id: AssociationId) -> io::Result<bool> {
        if self.refused.contains(&id) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        match self.associations.stands(id) {
            Stands::Connecting => Ok(false),
            Stands::Open | Stands::Over(None) => Ok(true),
            Stands::Over(Some(Failure::Aborted { .. })) => Err(ErrorKind::ConnectionReset.into()),
            Stands::Over(Some(_)) => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// What an association's place is taken with.
    pub(super) fn window(&self, id: AssociationId) -> Option<PathState> {
        self.associations.window(id)
    }

    pub(super) fn take_over(&mut self, id: AssociationId, window: PathState) {
        self.associations.take_over(Clock::SYSTEM.now(), id, window);
    }

    /// Addresses or routes of this machine have changed: a new connection to the peer would come from `source`. An association that
    /// has another address that is there goes on by it.
    pub(super) fn on_routes_changed(&mut self, id: AssociationId, source: IpAddr) {
        let now = Clock::SYSTEM.now();
        if self.associations.on_addresses(now, id, has_address) {
            self.associations.prefer(now, id, source);
        }
    }

    pub(super) fn finish(&mut self, id: AssociationId) {
        self.associations.finish(Clock::SYSTEM.now(), id);
    }

    /// A path is done with it.
    pub(super) fn release(&mut self, id: AssociationId) {
        self.associations.release(Clock::SYSTEM.now(), id);
        self.refused.remove(&id);
        self.released.push(id);
    }

    /// By which address of this machine data leaves.
    pub(super) fn local(&self, id: AssociationId) -> Option<IpAddr> {
        self.associations.local(id)
    }
}
