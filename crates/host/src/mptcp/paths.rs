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
    /// Whether the peer has told of its address there: its first one it need not tell of.
    known: bool,
    subflow: Option<SubflowId>,
}

/// All ways: those of this host's first address come first, in the order of the peer's.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    all: Vec<Path>,
    /// Our addresses; the first one needs no telling.
    own: Vec<SocketAddr>,
    told: bool,
}

impl Paths {
    pub(super) fn new(local: &Host, remote: &Host) -> Self {
        let sockets = |host: &Host| -> Vec<_> {
            host.addresses.iter().map(|&address| SocketAddr::new(address, host.port)).collect()
        };
        let (own, peers) = (sockets(local), sockets(remote));
        let mut all = Vec::new();
        for (address_id, &local) in (0..).zip(&own) {
            for (at, &remote) in peers.iter().enumerate() {
                let flow = Flow { local, remote };
                all.push(Path { flow, address_id, known: at == 0, subflow: None });
            }
        }
        Self { all, own, told: false }
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
            Event::AddressAdded { address, .. } => {
                let of_it = self.all.iter_mut().filter(|path| path.flow.remote.ip() == address);
                of_it.for_each(|path| path.known = true);
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
        for path in self.all.iter_mut().filter(|path| path.known && path.subflow.is_none()) {
            path.subflow = connection.join(now, path.flow, path.address_id, false);
        }
    }

    /// Tells the end that opens of our other addresses.
    pub(super) fn tell(&mut self, connection: &mut Connection) {
        if !self.told && connection.is_confirmed() {
            self.told = true;
            for (id, socket) in (0..).zip(&self.own).skip(1) {
                self.told &= connection.advertise(id, socket.ip(), None);
            }
        }
    }
}
