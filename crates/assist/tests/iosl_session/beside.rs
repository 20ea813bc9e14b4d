//! What carries datagrams beside connections: it loses, doubles and delays them.

use std::collections::BTreeMap;

use handfast_assist::iosl::end::PathId;
use handfast_core::Instant;

use crate::world::{DELAY, World};

/// What a datagram beside a connection has room for.
pub(crate) const ROOM: usize = 1_224;

/// What of each hundred datagrams is lost, doubled, or comes late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
}

#[derive(Debug)]
pub(crate) struct Beside {
    faults: Faults,
    dice: u64,
    count: u64,
    /// By time and order: by which wire, to which end.
    under_way: BTreeMap<(Instant, u64), (usize, usize, Vec<u8>)>,
    /// All that has left.
    pub(crate) left: Vec<Vec<u8>>,
}

impl Beside {
    pub(crate) fn new(faults: Faults, seed: u64) -> Self {
        Self { faults, dice: seed | 1, count: 0, under_way: BTreeMap::new(), left: Vec::new() }
    }

    /// Of a hundred.
    fn roll(&mut self) -> u64 {
        // Knuth's MMIX generator.
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % 100
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|(&(at, _), _)| at)
    }

    fn send(&mut self, now: Instant, wire: usize, to: usize, sealed: &[u8]) {
        self.left.push(sealed.to_vec());
        let copies = 1 + u64::from(self.roll() < self.faults.doubled);
        for _ in 0..copies {
            let times = if self.roll() < self.faults.late { 4 } else { 1 };
            if self.roll() >= self.faults.lost {
                self.count += 1;
                self.under_way.insert((now + DELAY * times, self.count), (wire, to, sealed.to_vec()));
            }
        }
    }
}

impl World {
    /// What a session has for a path leaves beside it.
    pub(crate) fn transmit_beside(&mut self, end: usize, path: PathId, number: usize) {
        let Some(beside) = &mut self.beside else { return };
        while let Some(sealed) = self.ends[end].poll_datagram(self.now, path, ROOM) {
            assert!(sealed.len() <= ROOM);
            beside.send(self.now, number, 1 - end, &sealed);
        }
    }

    /// A wire that is cut carries nothing of this either.
    pub(crate) fn arrive_beside(&mut self) {
        let Some(beside) = &mut self.beside else { return };
        while let Some(first) = beside.under_way.first_entry().filter(|first| first.key().0 <= self.now) {
            let (wire, to, sealed) = first.remove();
            let wire = &self.wires[wire];
            if let Some(path) = wire.paths[to].filter(|_| !wire.is_cut) {
                self.ends[to].on_datagram(self.now, path, &sealed);
            }
        }
    }
}
