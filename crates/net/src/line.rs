//! Serialisation: when does a packet leave, given all that left before it?

use handfast_core::{BitRate, Bytes, Duration, Instant};

/// Billionths of a bit in a byte: the work that a rate in bit/s does in whole nanoseconds is a whole number of them.
pub(crate) const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// The transmitter of one direction. Departures follow from the order of packets alone, so each is computed once, when
/// the packet is accepted, and no event marks it.
#[derive(Debug)]
pub(crate) struct Line {
    /// What serialises now: the configured rate, or zero while held.
    rate: BitRate,
    /// When the last accepted packet will have left, rounded up to the nanosecond.
    free_at: Instant,
    /// By how much `free_at` was rounded up, in nanobits. Carried from packet to packet, so that a backlog drains at exactly
    /// the rate however short its packets are.
    early: u64,
    /// The last size, the nanoseconds it takes, and by how much they are rounded up: one direction carries few sizes, and a
    /// division costs more than all else here. Nothing is kept that takes longer than four seconds.
    memo: (u32, u32, u64),
}

impl Line {
    pub(crate) fn new(rate: BitRate) -> Self {
        Self { rate, free_at: Instant::ZERO, early: 0, memo: Self::no_memo() }
    }

    /// Zero bytes take no time at any rate.
    const fn no_memo() -> (u32, u32, u64) {
        (0, 0, 0)
    }

    /// Whether it serialises something, or has something to do.
    #[inline]
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        now < self.free_at
    }

    /// When the last accepted packet will have left.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// What serialises now.
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.rate.as_bps() == 0
    }

    /// Serialises `size` bytes after all before: the moment the last bit leaves, [`Instant::MAX`] while stopped.
    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, size: u32) -> Instant {
        if self.is_stopped() {
            return Instant::MAX;
        }
        if size != self.memo.0 {
            return self.serve_another(now, size);
        }
        self.take(now, Duration::from_nanos(u64::from(self.memo.1)), self.memo.2)
    }

    /// [`Line::serve`] for another size than before.
    fn serve_another(&mut self, now: Instant, size: u32) -> Instant {
        let (took, early) = self.rate.serialisation(Bytes(u64::from(size))).unwrap_or_default();
        if let Ok(nanos) = u32::try_from(took.as_nanos()) {
            self.memo = (size, nanos, early);
        }
        self.take(now, took, early)
    }

    /// Serialises the rest of a packet, `work` nanobits.
    pub(crate) fn resume(&mut self, now: Instant, work: u64) -> Instant {
        match self.rate.time_for(work) {
            Some((took, early)) => self.take(now, took, early),
            None => Instant::MAX,
        }
    }

    #[inline]
    fn take(&mut self, now: Instant, took: Duration, early: u64) -> Instant {
        // Without a branch: whether a line is idle is anybody's guess.
        let carried = self.early * u64::from(now < self.free_at);
        self.free_at = self.free_at.max(now) + took;
        self.early = carried + early;
        if self.early >= self.rate.as_bps() {
            self.early -= self.rate.as_bps();
            self.free_at = self.free_at - Duration::from_nanos(1);
        }
        self.free_at
    }

    /// Nanobits of accepted packets that have not left yet. Only while not stopped.
    pub(crate) fn backlog(&self, now: Instant) -> u128 {
        let until_free = u128::from(self.free_at.since(now).as_nanos()) * u128::from(self.rate.as_bps());
        until_free.saturating_sub(u128::from(self.early))
    }

    /// Changes the rate and forgets what was accepted: the caller serves it again.
    pub(crate) fn restart(&mut self, now: Instant, rate: BitRate) {
        *self = Self { rate, free_at: now, early: 0, memo: Self::no_memo() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_drains_at_the_exact_rate() {
        // 1 byte at 3 Gbit/s is 2.666… ns: three of them are 8 ns, not 9.
        let mut line = Line::new(BitRate::from_bps(3_000_000_000));
        let leave: Vec<u64> = (0..6).map(|_| line.serve(Instant::ZERO, 1).as_nanos()).collect();
        assert_eq!(leave, [3, 6, 8, 11, 14, 16]);
    }

    #[test]
    fn an_idle_line_saves_nothing_up() {
        let mut line = Line::new(BitRate::from_bps(3_000_000_000));
        assert_eq!(line.serve(Instant::ZERO, 1).as_nanos(), 3);
        assert_eq!(line.serve(Instant::from_nanos(3), 1).as_nanos(), 6);
        assert_eq!(line.serve(Instant::from_nanos(6), 1).as_nanos(), 9);
    }

    #[test]
    fn the_backlog_is_what_is_left_to_send() {
        let mut line = Line::new(BitRate::from_bps(3_000_000_000));
        line.serve(Instant::ZERO, 1);
        line.serve(Instant::ZERO, 1);
        assert_eq!(line.backlog(Instant::ZERO), u128::from(2 * NANOBITS_PER_BYTE));
        assert_eq!(line.backlog(Instant::from_nanos(1)), u128::from(2 * NANOBITS_PER_BYTE - 3_000_000_000));
        assert_eq!(line.backlog(Instant::from_nanos(6)), 0);
    }
}
