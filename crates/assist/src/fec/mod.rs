//! Forward error correction between two nodes (RFC 6363): packets go as they are, and behind each block of them repair symbols,
//! from which the far end recovers what it lacks without asking.
//!
//! A block ends after so many packets or so much time. Several may be interleaved, so that a burst of losses is shared among them
//! (as RFC 6015's interleaved parity). How many repair symbols it gets follows from the loss that the far end
//! reports, as RTP's senders adapt (RFC 3550 §6.4.1 has the report, RFC 8085 §3.1.1 asks for care: a code adds load, and hides
//! losses of a full queue as it hides others).

mod code;
mod far;
mod near;
mod rate;
mod spec;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_wire::Ecn;
use handfast_wire::shim::{Message, Shim};

use crate::shim::order::Bounds;
use crate::shim::{Made, Protection};

use far::Far;
use near::Near;

pub use spec::FecSpec;

/// Blocks, symbols and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets of a block at most.
    pub packets: u8,
    /// Blocks that are open at the same time: packets belong to them in turn, so that a burst takes few of each.
    pub interleave: u8,
    /// Blocks end so long after the first packet of the first of them at the latest.
    pub wait: Duration,
    /// Repair symbols of a block at most.
    pub most_repairs: u8,
    /// How many blocks in a million may lose more than their symbols make up for.
    pub residual_ppm: u32,
    /// How long a packet waits at the far end for those before it: longer than `wait`.
    pub hold: Duration,
}

impl Config {
    fn residual(&self) -> f64 {
        f64::from(self.residual_ppm) / 1e6
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packets: 10,
            interleave: 1,
            wait: Duration::from_millis(50),
            most_repairs: 4,
            residual_ppm: 1_000,
            hold: Duration::from_millis(100),
        }
    }
}

/// Packets of all blocks that are interleaved at most: the far end keeps twice as many.
pub(crate) const MOST_INTERLEAVED_PACKETS: usize = 128;

/// Packets that wait at the far end at most.
const MOST_HELD: usize = 4_096;

/// What is done for one peer.
#[derive(Debug)]
pub(crate) struct Fec {
    near: Near,
    far: Far,
}

impl Fec {
    pub(crate) fn new(config: Config) -> Self {
        let bounds = Bounds { hold: config.hold, packets: MOST_HELD };
        Self { near: Near::new(config), far: Far::new(bounds) }
    }
}

impl Protection for Fec {
    fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        self.near.send(now, packet, class, made);
    }

    fn receive(&mut self, now: Instant, shim: &Shim, marks: Ecn, made: &mut Made) -> bool {
        match &shim.message {
            Message::Source(bytes) => self.far.on_source(now, shim.sequence, bytes, marks, made),
            repair @ Message::Repair { .. } => self.far.on_repair(now, shim.sequence, repair, made),
            &Message::Report { received, lost } => self.near.on_report(shim.sequence, received, lost),
            _ => return false,
        }
        true
    }

    fn on_timer(&mut self, now: Instant, made: &mut Made) {
        self.near.on_timer(now, made);
        self.far.order.on_timer(now, &mut made.delivered);
    }

    fn deadline(&self) -> Option<Instant> {
        self.near.deadline().into_iter().chain(self.far.order.deadline()).min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (near::Counters { blocks, repairs }, far::Counters { recovered, reports, malformed }) =
            (self.near.counters, self.far.counters);
        let own = [
            ("blocks", blocks),
            ("repair_symbols", repairs),
            ("recovered", recovered),
            ("loss_reports", reports),
            ("malformed", malformed),
        ];
        own.into_iter().chain(self.far.order.counters.totals()).collect()
    }
}

#[cfg(test)]
mod tests;
