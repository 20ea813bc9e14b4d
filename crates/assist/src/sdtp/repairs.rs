//! What became of the losses of a caching-retransmission segment, as the node at its end has seen it.

use std::ops::AddAssign;

use handfast_core::Duration;

/// Losses of one direction, in packets; where several are missing in a row, as many as fit of the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// That the node has asked for. Those that came by themselves afterwards are none of the following.
    pub noticed: u64,
    /// That an RD has brought for which the node had asked.
    pub repaired: u64,
    /// That came too late or not at all.
    pub given_up: u64,
    /// From the first sign of a loss to its repair, added up.
    pub repair_time: Duration,
}

impl Repairs {
    /// Between the first sign of a loss and its repair; [`None`]: nothing was repaired.
    pub fn mean(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.repair_time.as_nanos().checked_div(self.repaired)?))
    }

    pub(super) fn repair(&mut self, took: Duration) {
        self.repaired += 1;
        self.repair_time += took;
    }
}

impl AddAssign for Repairs {
    fn add_assign(&mut self, other: Self) {
        self.noticed += other.noticed;
        self.repaired += other.repaired;
        self.given_up += other.given_up;
        self.repair_time += other.repair_time;
    }
}
