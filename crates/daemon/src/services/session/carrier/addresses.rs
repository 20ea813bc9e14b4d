//! Where peers are.

use std::net::SocketAddr;

/// Where a peer is: its name may stand for several addresses, which are tried in turn.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    pub(super) list: Vec<SocketAddr>,
    pub(super) next: usize,
}

impl Addresses {
    pub(super) fn current(&self) -> Option<SocketAddr> {
        let len = self.list.len().max(1);
        self.list.get(self.next % len).copied()
    }
}
