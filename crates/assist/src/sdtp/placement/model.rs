//! How long a packet takes on the way between the edges, on average.
//!
//! The model. Link i loses a packet with probability p(i), each time anew. The next node downstream that retransmits, r,
//! notices it when the next packet comes: one sending interval after the lost one was due there. Its request climbs to the
//! nearest cache c before link i (those behind it lack the packet) and the packet comes back: twice the delay between c and r.
//! Request or packet is lost on that way with probability q(c, r); then r asks again after a round trip, and so on: the round
//! trip counts 1 / (1 - q) times. So the mean delay is
//!
//! ```text
//! D(0, n) + sum over i of p(i) * (interval + 2 D(c, r) / (1 - q(c, r)))
//! ```
//!
//! It leaves out queues, what waits for order at the receiving edge, and caches on the way of a packet that is sent again.

use handfast_core::Duration;

use super::Placement;
use crate::sdtp::line::Line;

/// What the model must know besides the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayModel {
    /// A packet follows another after so long.
    pub interval: Duration,
}

impl DelayModel {
    /// The mean delay from the sending edge to the receiving edge, in nanoseconds.
    pub fn mean_delay(self, line: &Line, placement: &Placement) -> f64 {
        let nodes = placement.nodes();
        let mut delay = line.delay(0, line.last()).as_nanos() as f64;
        for (at, hop) in line.hops().iter().enumerate() {
            let cache = (0..=at).rev().find(|&node| nodes[node].caches).unwrap_or(0);
            let end = (at + 1..=line.last()).find(|&node| nodes[node].retransmits).unwrap_or(line.last());
            delay += hop.loss * self.repair(line, cache, end);
        }
        delay
    }

    /// How much later a packet comes that the cache sends again, in nanoseconds.
    pub(super) fn repair(self, line: &Line, cache: usize, end: usize) -> f64 {
        let succeeds = (1.0 - line.loss(cache, end)) * (1.0 - line.loss_back(cache, end));
        let round_trip = 2.0 * line.delay(cache, end).as_nanos() as f64;
        self.interval.as_nanos() as f64 + round_trip / succeeds
    }
}
