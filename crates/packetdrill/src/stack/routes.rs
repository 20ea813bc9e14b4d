//! The ways to peers: what the link carries, what the namespace's routes say, and what ICMP has told.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::MOST;
use crate::{Route, Settings};

/// Octets that a link carries, by default.
pub(super) const MTU: u16 = 1500;

/// The link, what the namespace says of the ways over it, and those that carry less.
pub(super) struct Routes {
    /// As the tool says.
    told: u16,
    less: BTreeMap<IpAddr, u16>,
    namespace: Box<dyn Fn(IpAddr) -> Route + Send>,
}

impl Routes {
    /// `namespace` is asked where a connection begins, and when it has sent something.
    pub(super) fn new(namespace: impl Fn(IpAddr) -> Route + Send + 'static) -> Self {
        Self { told: MTU, less: BTreeMap::new(), namespace: Box::new(namespace) }
    }

    /// What the namespace says of the way to `remote` now.
    pub(super) fn ask(&self, remote: IpAddr) -> Route {
        (self.namespace)(remote.to_canonical())
    }

    pub(super) fn tell(&mut self, mtu: u16) {
        self.told = mtu;
    }

    /// Octets that the link carries: what a script has set by `ip link`, where the interface has another MTU than it is made with, or what
    /// the tool says.
    pub(super) fn link(&self, settings: &Settings) -> u16 {
        settings.link_mtu.filter(|&mtu| mtu != MTU).unwrap_or(self.told)
    }

    /// Octets that the way to `remote` carries (`ip_dst_mtu_maybe_forward`).
    pub(super) fn of(&self, settings: &Settings, remote: IpAddr, route: &Route) -> u16 {
        let whole = route.mtu.unwrap_or_else(|| self.link(settings));
        let learnt = self.less.get(&remote.to_canonical()).filter(|_| !route.mtu_locked);
        learnt.map_or(whole, |&less| less.min(whole))
    }

    pub(super) fn learn(&mut self, remote: IpAddr, mtu: u16) {
        let remote = remote.to_canonical();
        if self.less.len() < MOST || self.less.contains_key(&remote) {
            self.less.insert(remote, mtu);
        }
    }
}

/// A way to a peer.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) route: Route,
    /// Octets of a packet, and of the largest on the link.
    pub(super) mtu: u16,
    pub(super) most: u16,
    /// Octets of a segment that we say we take.
    pub(super) advertised: u16,
}
