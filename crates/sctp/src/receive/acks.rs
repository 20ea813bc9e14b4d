//! When to acknowledge (§6.2).

use handfast_core::{Duration, Instant, SeqNum};

/// Duplicate TSNs that a SACK names at most.
const MAX_DUPLICATES: usize = 32;

/// What is to be acknowledged, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    /// Packets with DATA since the last SACK.
    packets: u8,
    due: bool,
    timer: Option<Instant>,
    /// The path by which the last DATA came: §6.4, the SACK goes back there.
    pub(crate) path: usize,
    duplicates: Vec<SeqNum>,
}

impl Acks {
    /// A packet with DATA has come. `at_once`: a gap, a duplicate, no room, or the sender's wish.
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        path: usize,
        at_once: bool,
        frequency: u8,
        delay: Duration,
    ) {
        self.path = path;
        self.packets = self.packets.saturating_add(1);
        if at_once || self.packets >= frequency {
            self.due = true;
        } else {
            self.timer.get_or_insert(now + delay);
        }
    }

    pub(crate) fn on_duplicate(&mut self, tsn: SeqNum) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    /// A SACK leaves as soon as it can.
    pub(crate) fn demand(&mut self) {
        self.due = true;
    }

    pub(crate) fn on_timer(&mut self, now: Instant) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.due = true;
        }
    }

    pub(crate) const fn is_due(&self) -> bool {
        self.due
    }

    /// Whether a SACK would tell something.
    pub(crate) const fn is_pending(&self) -> bool {
        self.due || self.packets > 0
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        if self.due { None } else { self.timer }
    }

    pub(crate) fn duplicates(&self) -> &[SeqNum] {
        &self.duplicates
    }

    /// A SACK leaves: its duplicates.
    pub(crate) fn take(&mut self) -> Vec<SeqNum> {
        (self.packets, self.due, self.timer) = (0, false, None);
        std::mem::take(&mut self.duplicates)
    }
}
