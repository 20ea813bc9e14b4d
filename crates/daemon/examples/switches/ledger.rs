//! Who got what: each segment once, in order, byte for byte.

use std::time::Instant;

use crate::traffic::{Traffic, name};

/// What is to come of each connection.
pub(crate) struct Ledger {
    traffic: Traffic,
    /// The index that comes next, by connection.
    next: Vec<u32>,
    pub(crate) arrived: u64,
    /// Whether stations are away: what comes then are repetitions, which pass.
    pub(crate) away: bool,
    /// Not what was sent, twice, or not in order.
    pub(crate) wrong: u64,
    /// When the last one came.
    pub(crate) last: Option<Instant>,
}

impl Ledger {
    pub(crate) fn new(traffic: Traffic) -> Self {
        let next = vec![0; traffic.all() as usize];
        Self { traffic, next, arrived: 0, away: false, wrong: 0, last: None }
    }

    /// A frame has left a switch.
    pub(crate) fn enter(&mut self, at: Instant, frame: &[u8]) {
        if self.away {
            let known = name(frame).is_some_and(|name| self.traffic.data(name) == frame);
            self.wrong += u64::from(!known);
            return;
        }
        (self.arrived, self.last) = (self.arrived + 1, Some(at));
        let expected = name(frame).and_then(|name| {
            let next = self.next.get_mut(name.connection as usize).filter(|next| **next == name.index)?;
            *next += 1;
            (self.traffic.data(name) == frame).then_some(())
        });
        self.wrong += u64::from(expected.is_none());
    }

    /// That so many have come of every connection, or what is wrong.
    pub(crate) fn check(&self, each: u32) -> Result<(), String> {
        let lost = self.next.iter().filter(|next| **next != each).count();
        if lost == 0 && self.wrong == 0 {
            return Ok(());
        }
        Err(format!(
            "{} packet-outs, {} of them wrong or out of order; {lost} connections lack some",
            self.arrived, self.wrong
        ))
    }
}
