//! Which Ethernet address an IP address has.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses learnt at most; a link of a lab has a handful.
const MOST: usize = 1024;

/// Entries given at the start, and what was learnt from those who spoke to us.
pub(super) struct Neighbours {
    given: BTreeMap<IpAddr, [u8; 6]>,
    learnt: BTreeMap<IpAddr, [u8; 6]>,
}

impl Neighbours {
    pub(super) fn new(given: impl IntoIterator<Item = (IpAddr, [u8; 6])>) -> Self {
        Self { given: given.into_iter().collect(), learnt: BTreeMap::new() }
    }

    pub(super) fn of(&self, ip: IpAddr) -> Option<[u8; 6]> {
        self.given.get(&ip).or_else(|| self.learnt.get(&ip)).copied()
    }

    /// A host has spoken. What was given stands.
    pub(super) fn learn(&mut self, ip: IpAddr, mac: [u8; 6]) {
        let is_unicast = mac[0] & 1 == 0;
        let has_room = self.learnt.len() < MOST || self.learnt.contains_key(&ip);
        if is_unicast && has_room && self.learnt.get(&ip) != Some(&mac) {
            self.learnt.insert(ip, mac);
        }
    }
}
