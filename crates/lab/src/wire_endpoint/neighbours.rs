//! Which Ethernet address an IP address has.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses learnt at most; a link of a lab has a handful.
const MOST: usize = 1024;

/// Frames kept while their destination is asked for.
const MOST_WAITING: usize = 16;

/// Entries given at the start, and what was learnt from those who spoke to us.
pub(super) struct Neighbours {
    given: BTreeMap<IpAddr, [u8; 6]>,
    learnt: BTreeMap<IpAddr, [u8; 6]>,
    /// The last frame to somebody unknown (RFC 1122 §2.3.2.2 asks for one at least).
    waiting: BTreeMap<IpAddr, Vec<u8>>,
}

impl Neighbours {
    pub(super) fn new(given: impl IntoIterator<Item = (IpAddr, [u8; 6])>) -> Self {
        Self { given: given.into_iter().collect(), learnt: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    pub(super) fn of(&self, ip: IpAddr) -> Option<[u8; 6]> {
        self.given.get(&ip).or_else(|| self.learnt.get(&ip)).copied()
    }

    /// A frame, all but its first six bytes right, waits until its destination is known.
    pub(super) fn await_answer(&mut self, ip: IpAddr, frame: Vec<u8>) {
        if self.waiting.len() < MOST_WAITING || self.waiting.contains_key(&ip) {
            self.waiting.insert(ip, frame);
        }
    }

    /// A host has spoken; the frame that waited for that can now be sent. What was given stands.
    pub(super) fn learn(&mut self, ip: IpAddr, mac: [u8; 6]) -> Option<Vec<u8>> {
        let is_unicast = mac[0] & 1 == 0;
        let has_room = self.learnt.len() < MOST || self.learnt.contains_key(&ip);
        if is_unicast && has_room && self.learnt.get(&ip) != Some(&mac) {
            self.learnt.insert(ip, mac);
        }
        let mac = self.of(ip)?;
        let mut frame = self.waiting.remove(&ip)?;
        frame.first_chunk_mut::<6>().map(|dst| *dst = mac)?;
        Some(frame)
    }
}
