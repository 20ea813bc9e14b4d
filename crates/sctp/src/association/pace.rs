//! `[iosl]` A window that a layer has restored leaves spread over a round trip: nothing is in flight that would clock it out, and all at
//! once it would be a burst. It takes the place of Max.Burst, which would open it in as many round trips as slow start (§6.1 D).

use handfast_core::{Duration, Instant};

use super::Association;

/// What leaves by a path, spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    path: usize,
    /// Between two packets.
    gap: Duration,
    /// When the next one may leave.
    next: Instant,
    /// From then on SACKs clock what leaves.
    until: Instant,
    /// Something waits for `next`.
    waits: bool,
}

impl Association {
    /// What the window of a path holds leaves by it spread over a round trip, from now on. Nothing is done where that is not known.
    pub fn spread(&mut self, now: Instant, path: usize) {
        let Some(of) = self.paths.all().get(path) else { return };
        let Some(srtt) = of.rtt.srtt() else { return };
        let packets = (of.window.cwnd / self.pmdcs).max(1);
        self.pace = Some(Pace { path, gap: srtt / packets, next: now, until: now + srtt, waits: false });
    }

    /// Whether data may leave by a path now, as far as bursts matter.
    pub(super) fn may_burst(&self, now: Instant, path: usize) -> bool {
        match &self.pace {
            Some(pace) if pace.path == path && now < pace.until => pace.next <= now,
            _ => self.burst > 0,
        }
    }

    /// A packet with data leaves.
    pub(super) fn notice_packet(&mut self, now: Instant, path: usize) {
        match &mut self.pace {
            Some(pace) if pace.path == path && now < pace.until => pace.next = now + pace.gap,
            _ => self.burst = self.burst.saturating_sub(1),
        }
    }

    /// Nothing leaves now; some of it may for the pace alone.
    pub(super) fn notice_pace(&mut self, now: Instant) {
        self.pace.take_if(|pace| pace.until <= now);
        let Some(pace) = &mut self.pace else { return };
        pace.waits = pace.next > now && (!self.queue.is_empty() || self.sent.has_lost());
    }

    /// When the next packet may leave.
    pub(super) fn pace_deadline(&self) -> Option<Instant> {
        let pace = self.pace.as_ref().filter(|pace| pace.waits)?;
        Some(pace.next)
    }

    /// The time of the next packet may have come.
    pub(super) fn on_pace_timer(&mut self, now: Instant) {
        if let Some(pace) = self.pace.as_mut().filter(|pace| pace.next <= now) {
            pace.waits = false;
        }
    }
}
