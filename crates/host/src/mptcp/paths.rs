//! The ways between two hosts, and which sub-flow has which: the end that opens the connection joins by every way that it knows.

use std::net::SocketAddr;

use handfast_core::Instant;
use handfast_mptcp::{Connection, Event, Flow, SubflowId};

use crate::sctp::Host;
use crate::transport::Way;

/// A way, as this end sees it.
#[derive(Clone, Copy, Debug)]
struct Path {
    flow: Flow,
    /// The ID of our address on it.
    address_id: u8,
    /// Which of our addresses, and which of the peer's, each counted from 0.
    ends: (usize, usize),
    /// The ID of the peer's address, once it has told of that: its first one, 0, it need not tell of.
    peer_id: Option<u8>,
    subflow: Option<SubflowId>,
}

/// All ways: those of this host's first address come first, in the order of the peer's.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    all: Vec<Path>,
    /// Our addresses, and their IDs now; the first one needs no telling.
    own: Vec<(SocketAddr, u8)>,
    next_id: u8,
    told: bool,
}

impl Paths {
    pub(super) fn new(local: &Host, remote: &Host) -> Self {
        let sockets = |host: &Host| -> Vec<_> {
            host.addresses.iter().map(|&address| SocketAddr::new(address, host.port)).collect()
        };
        let (own, peers) = (sockets(local), sockets(remote));
        let mut all = Vec::new();
        for (own_at, &local) in own.iter().enumerate() {
            for (at, &remote) in peers.iter().enumerate() {
                let (flow, ends) = (Flow { local, remote }, (own_at, at));
                let peer_id = (at == 0).then_some(0);
                all.push(Path { flow, address_id: own_at as u8, ends, peer_id, subflow: None });
            }
        }
        // A host has few addresses, and an ID is an octet.
        let own: Vec<_> = own.into_iter().zip(0..).collect();
        Self { all, next_id: own.len() as u8, own, told: false }
    }

    pub(super) fn flow(&self, Way(way): Way) -> Option<Flow> {
        Some(self.all.get(way)?.flow)
    }

    pub(super) fn way(&self, flow: Flow) -> Option<Way> {
        self.all.iter().position(|path| path.flow == flow).map(Way)
    }

    /// The first sub-flow goes by the first way.
    pub(super) fn open(&mut self) -> Option<Flow> {
        let first = self.all.first_mut()?;
        first.subflow = Some(SubflowId(0));
        Some(first.flow)
    }

    /// What a connection reports of its sub-flows and the peer's addresses.
    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::AddressAdded { id, address, .. } => {
                let of_it = self.all.iter_mut().filter(|path| path.flow.remote.ip() == address);
                of_it.for_each(|path| path.peer_id = Some(id));
            }
            Event::AddressRemoved(id) => {
                let of_it = self.all.iter_mut().filter(|path| path.peer_id == Some(id));
                of_it.for_each(|path| path.peer_id = None);
            }
            Event::SubflowDown { id, .. } => {
                let had = self.all.iter_mut().filter(|path| path.subflow == Some(id));
                had.for_each(|path| path.subflow = None);
            }
            _ => {}
        }
    }

    /// Opens what may be opened.
    pub(super) fn join(&mut self, now: Instant, connection: &mut Connection) {
        if !connection.is_confirmed() {
            return;
        }
        for path in self.all.iter_mut().filter(|path| path.peer_id.is_some() && path.subflow.is_none()) {
            path.subflow = connection.join(now, path.flow, path.address_id, false);
        }
    }

    /// Tells the end that opens of our other addresses.
    pub(super) fn tell(&mut self, connection: &mut Connection) {
        if !self.told && connection.is_confirmed() {
            self.told = true;
            for &(socket, id) in self.own.iter().skip(1) {
                self.told &= connection.advertise(id, socket.ip(), None);
            }
        }
    }

    /// An address of ours is gone: the peer is told, and sub-flows from there end.
    pub(super) fn withdraw(&mut self, now: Instant, address: usize, connection: &mut Connection) {
        if let Some(&(_, id)) = self.own.get(address) {
            connection.withdraw(now, &[id]);
        }
    }

    /// It is there again, with another ID.
    pub(super) fn advertise(&mut self, address: usize, connection: &mut Connection) {
        if let Some((socket, id)) = self.own.get_mut(address) {
            *id = self.next_id;
            self.next_id = self.next_id.wrapping_add(1);
            connection.advertise(*id, socket.ip(), None);
        }
    }

    /// The sub-flows from an address of ours.
    pub(super) fn subflows_from(&self, address: usize) -> Vec<SubflowId> {
        let from = self.all.iter().filter(|path| path.ends.0 == address);
        from.filter_map(|path| path.subflow).collect()
    }

    /// From which address of ours a sub-flow is.
    pub(super) fn address_of(&self, id: SubflowId) -> Option<usize> {
        self.all.iter().find(|path| path.subflow == Some(id)).map(|path| path.ends.0)
    }
}
