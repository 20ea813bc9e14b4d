//! The kernel's sockets of UDP, and whose they are: one for all that others open, and one for each address of what this end opens.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use handfast_assist::iosl::inside::{InsideId, Kind, Leaving};
use handfast_io::{DatagramSocket, EventLoop, Interest, SourceId, addresses_beside};

use super::batch::Batch;

/// Addresses of this machine that an association has at most: those beside the first are asked every few seconds.
const MOST_ADDRESSES: usize = 4;

pub(super) struct Bound {
    pub(super) socket: DatagramSocket,
    /// [`Some`]: it is at this address of a connection that this end has opened, and hears the peer alone. So it stays with its
    /// address.
    pub(super) own: Option<(InsideId, IpAddr)>,
    /// What the kernel did not take.
    waiting: Option<Batch>,
}

/// The sockets, and whose they are.
#[derive(Default)]
pub(super) struct Sockets {
    all: BTreeMap<SourceId, Bound>,
    /// Where others connect.
    listening: Option<SourceId>,
    /// Those of a connection that this end has opened, by their addresses.
    own: BTreeMap<InsideId, Vec<(IpAddr, SourceId)>>,
}

impl Sockets {
    pub(super) fn has(&self, id: SourceId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn get(&self, id: SourceId) -> Option<&Bound> {
        self.all.get(&id)
    }

    /// Others connect here.
    pub(super) fn listen(&mut self, io: &mut EventLoop, socket: DatagramSocket) -> io::Result<()> {
        self.listening = Some(self.add(io, socket, None)?);
        Ok(())
    }

    /// There is room in the kernel.
    pub(super) fn on_writable(&mut self, id: SourceId) {
        let waiting = self.all.get_mut(&id).and_then(|bound| bound.waiting.take());
        if let Some(batch) = waiting {
            self.send(batch);
        }
    }

    pub(super) fn add(
        &mut self,
        io: &mut EventLoop,
        mut socket: DatagramSocket,
        own: Option<(InsideId, IpAddr)>,
    ) -> io::Result<SourceId> {
        let id = io.add(&mut socket, Interest::READABLE | Interest::WRITABLE)?;
        self.all.insert(id, Bound { socket, own, waiting: None });
        if let Some((connection, address)) = own {
            self.own.entry(connection).or_default().push((address, id));
        }
        Ok(id)
    }

    /// Whether nothing of a connection waits.
    pub(super) fn have_room(&self, connection: InsideId) -> bool {
        let is_free = |id: &SourceId| self.all.get(id).is_none_or(|bound| bound.waiting.is_none());
        match self.own.get(&connection) {
            Some(own) => own.iter().all(|(_, id)| is_free(id)),
            None => self.listening.as_ref().is_none_or(is_free),
        }
    }

    /// By which one something leaves.
    pub(super) fn of(&mut self, way: &Leaving) -> Option<&mut Bound> {
        let id = match way.of.and_then(|of| self.own.get(&of)) {
            Some(own) => own.iter().find(|(address, _)| Some(*address) == way.from).map(|(_, id)| *id)?,
            None => self.listening?,
        };
        self.all.get_mut(&id)
    }

    /// Sends what the kernel takes. What it does not take now waits, or is lost, as on the wire: it is sent again.
    pub(super) fn send(&mut self, batch: Batch) {
        // With one of several addresses stuck an association is to notice, and to take another one: what has no room there is lost.
        let has_others = batch.way.of.and_then(|of| self.own.get(&of)).is_some_and(|own| own.len() > 1);
        // An answer to a stranger takes nobody's place.
        let Some(bound) = self.of(&batch.way).filter(|bound| bound.waiting.is_none()) else { return };
        let from = batch.way.from.filter(|_| bound.own.is_none());
        match bound.socket.send(batch.way.to, from, &batch.octets, batch.each) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && !has_others => bound.waiting = Some(batch),
            Ok(()) | Err(_) => {}
        }
    }

    pub(super) fn forget(&mut self, connection: InsideId) {
        for (_, id) in self.own.remove(&connection).unwrap_or_default() {
            self.all.remove(&id);
        }
    }
}

/// The sockets of a connection that this machine opens, by their addresses: that of the route, and for an association others that
/// lead to the peer too. TCP has one address.
pub(super) fn sockets_to(peer: SocketAddr, kind: Kind) -> io::Result<Vec<(IpAddr, DatagramSocket)>> {
    let first = DatagramSocket::connect(peer)?;
    let at = first.local_addr()?;
    let mut sockets = vec![(at.ip(), first)];
    let others = match kind {
        Kind::Tcp => Vec::new(),
        Kind::Sctp => addresses_beside(at.ip()).unwrap_or_default(),
    };
    for (address, interface) in others {
        // One that does not lead there, or where the port is taken, is none of it: the port is the same at all (RFC 6951 §5.1).
        let from = SocketAddr::new(address, at.port());
        if sockets.len() < MOST_ADDRESSES
            && let Ok(socket) = DatagramSocket::connect_by(from, &interface, peer)
        {
            sockets.push((address, socket));
        }
    }
    Ok(sockets)
}
