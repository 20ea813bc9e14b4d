//! A slice at the controller: numbers of its connections, and the orders that set up its path.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::sdtp::control::{Activation, Order, Steering};
use crate::sdtp::lanes;
use crate::sdtp::planned::{Placed, Plan};

/// A pair of edges, the smaller address first: both directions of a slice have it.
pub(super) type Pair = (IpAddr, IpAddr);

pub(super) fn pair(a: IpAddr, b: IpAddr) -> Pair {
    (a.min(b), a.max(b))
}

/// What the controller knows of a slice.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) number: u16,
    /// After the number that was given last.
    next: u16,
    used: BTreeSet<u16>,
    /// Its path as it was set up: from the smaller address of its pair, and back.
    pub(super) plans: [Plan; 2],
}

impl Slice {
    /// Connections of a slice: all numbers but 0, which is nobody's, and those of lanes.
    const MOST: usize = lanes::FIRST as usize - 1;

    pub(super) fn new(number: u16, plans: [Plan; 2]) -> Self {
        Self { number, next: 1, used: BTreeSet::new(), plans }
    }

    /// A number that no connection has; [`None`]: all are taken.
    pub(super) fn allot(&mut self) -> Option<u16> {
        if self.used.len() >= Self::MOST {
            return None;
        }
        while !self.used.insert(self.next) {
            self.advance();
        }
        let allotted = self.next;
        self.advance();
        Some(allotted)
    }

    fn advance(&mut self) {
        self.next = if self.next + 1 < lanes::FIRST { self.next + 1 } else { 1 };
    }

    /// The number is free again, after all others.
    pub(super) fn free(&mut self, connection: u16) {
        self.used.remove(&connection);
    }

    /// What sets up its path in both directions, each with its node.
    pub(super) fn orders(&self, pair: Pair) -> Vec<(IpAddr, Order)> {
        let mut orders = Vec::new();
        for ((from, to), plan) in directions(pair).zip(&self.plans) {
            // Who is nearer to the destination is told first: it should know before packets come.
            let steered = plan.placed.iter().rev().filter_map(|node| {
                let &port = plan.steered.get(&node.address)?;
                Some((node.address, Order::Steer(Steering { from, to, port: Some(port) })))
            });
            orders.extend(steered);
            for node in &plan.placed {
                let &Placed { address, caching, retransmission, round_trip } = node;
                let slice = self.number;
                let activation = Activation { from, to, slice, caching, retransmission, round_trip };
                orders.push((address, Order::Activate(activation)));
            }
        }
        orders
    }

    /// Its path is another one from now on; what tells the nodes of both.
    pub(super) fn redirect(&mut self, pair: Pair, plans: [Plan; 2]) -> Vec<(IpAddr, Order)> {
        let before = std::mem::replace(&mut self.plans, plans);
        let mut orders = self.orders(pair);
        for ((from, to), (old, new)) in directions(pair).zip(before.iter().zip(&self.plans)) {
            for &address in old.steered.keys().filter(|node| !new.steered.contains_key(node)) {
                orders.push((address, Order::Steer(Steering { from, to, port: None })));
            }
            let is_left = |node: &&Placed| new.placed.iter().all(|stays| stays.address != node.address);
            for &Placed { address, round_trip, .. } in old.placed.iter().filter(is_left) {
                let (slice, caching, retransmission) = (self.number, false, false);
                let activation = Activation { from, to, slice, caching, retransmission, round_trip };
                orders.push((address, Order::Activate(activation)));
            }
        }
        orders
    }
}

fn directions(pair: Pair) -> impl Iterator<Item = Pair> {
    [pair, (pair.1, pair.0)].into_iter()
}
