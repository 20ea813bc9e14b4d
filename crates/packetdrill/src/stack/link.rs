//! What scripts set on the way: the queueing discipline of the tool's link, and what the kernel asks of `sysctl` with each segment.

use handfast_core::{BitRate, Bytes, Instant};

use super::Stack;
use super::connection::Connection;
use super::discipline::Queue;

impl Connection {
    /// Before something may leave: what the queue says to it. Whether it takes anything.
    pub(super) fn heed_queue(&mut self, now: Instant) -> bool {
        let pace = (self.queue_kind == Queue::Pacing).then(|| self.pace());
        self.tcp_mut().set_queue_pace(pace);
        if self.queue_kind != Queue::Dropping {
            return true;
        }
        if self.is_open {
            self.tcp_mut().on_refused(now);
        } else {
            // A SYN that is dropped goes again by its timer.
            while self.tcp_mut().poll_transmit(now, Bytes(u64::MAX)).is_some() {}
        }
        false
    }

    /// `sk_pacing_rate`, and how many segments leave together.
    fn pace(&self) -> (BitRate, u32) {
        let (report, smss) = (self.tcp().report(), self.tcp().smss());
        let rate = self.offload.rate(&report, smss);
        let together = u32::try_from(self.offload.segments_at_once(&report, smss)).unwrap_or(u32::MAX);
        (BitRate::from_bps(rate.saturating_mul(8).max(1)), together)
    }
}

impl Stack {
    /// A command has set when the option of accurate ECN is sent: the kernel asks with each segment.
    pub fn heed_ecn_option(&mut self) {
        let (option, beacon) = self.settings().ecn_option();
        for connection in self.connections.values_mut() {
            connection.tcp_mut().set_accurate_ecn_option(option, beacon);
        }
    }

    /// The link has another queueing discipline.
    pub fn set_queue(&mut self, queue: Queue) {
        self.queue = queue;
        for connection in self.connections.values_mut() {
            connection.queue_kind = queue;
        }
    }
}
