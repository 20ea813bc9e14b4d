//! Selective repeat between two nodes, for the link or few links between them (RFC 3366): the far end says which frames have come,
//! the near end sends the others again, at most so often and for so long, and the far end passes all on in order.
//!
//! As links with loss do that are built for it: IEEE 802.11 §10.25 (block acknowledgment) and 3GPP TS 38.322 §5.3 (RLC in its
//! acknowledged mode).

mod far;
mod near;
mod spec;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_wire::Ecn;
use handfast_wire::shim::{Message, Shim};

use crate::shim::{Made, Protection};

use far::Far;
use near::Near;

pub use spec::LinkArqSpec;

/// How persistent it is (RFC 3366 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often a frame is sent again at most.
    pub retries: u8,
    /// How long, and how long the far end waits for it.
    pub persistence: Duration,
    /// The timer is never shorter: longer than the status may wait.
    pub timer_min: Duration,
    /// How long a status waits for further frames.
    pub status_delay: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // IEEE 802.11 Annex C, dot11ShortRetryLimit.
            retries: 7,
            // SDTP's.
            persistence: Duration::from_millis(200),
            timer_min: Duration::from_millis(10),
            status_delay: Duration::from_millis(5),
        }
    }
}

/// What is done for one peer.
#[derive(Debug)]
pub(crate) struct LinkArq {
    near: Near,
    far: Far,
}

impl LinkArq {
    pub(crate) fn new(config: Config) -> Self {
        Self { near: Near::new(config), far: Far::new(config) }
    }
}

impl Protection for LinkArq {
    fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        self.near.send(now, packet, class, made);
    }

    fn receive(&mut self, now: Instant, shim: &Shim, marks: Ecn, made: &mut Made) -> bool {
        match &shim.message {
            frame @ Message::Frame { .. } => self.far.on_frame(now, shim.sequence, frame, marks, made),
            Message::Status(bits) => self.near.on_status(now, shim.sequence, bits, made),
            _ => return false,
        }
        true
    }

    fn on_drop(&mut self, shim: &Shim) {
        if let Message::Frame { .. } = shim.message {
            self.near.on_drop(shim.sequence);
        }
    }

    fn on_timer(&mut self, now: Instant, made: &mut Made) {
        self.near.on_timer(now, made);
        self.far.on_timer(now, made);
    }

    fn deadline(&self) -> Option<Instant> {
        self.near.deadline().into_iter().chain(self.far.deadline()).min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let near::Counters { frames, repeated, timeouts, abandoned, congested, overflows } =
            self.near.counters;
        let own = [
            ("frames", frames),
            ("frames_repeated", repeated),
            ("frame_timeouts", timeouts),
            ("frames_abandoned", abandoned),
            ("frames_congested", congested),
            ("frames_overflowed", overflows),
            ("statuses", self.far.statuses),
            ("malformed", self.far.malformed),
        ];
        own.into_iter().chain(self.far.order.counters.totals()).collect()
    }
}

#[cfg(test)]
mod tests;
