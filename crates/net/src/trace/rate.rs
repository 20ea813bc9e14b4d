//! Serialisation at a rate that changes in steps.

use handfast_core::{Duration, Instant};

use super::Steps;
use crate::line::NANOBITS_PER_BYTE;

/// The transmitter: as [`crate::line::Line`], exact to the nanosecond however often the rate changes.
#[derive(Debug)]
pub(super) struct Server {
    /// When the last packet will have left, rounded up to the nanosecond.
    free_at: Instant,
    /// By how much it was rounded up, in nanobits.
    early: u64,
}

impl Server {
    pub(super) fn new() -> Self {
        Self { free_at: Instant::ZERO, early: 0 }
    }

    /// When a packet that is there since `since` may begin to leave.
    pub(super) fn ready(&self, steps: &Steps, since: Instant) -> Instant {
        let mut at = since.max(self.free_at);
        loop {
            let (rate, end) = steps.spell(at);
            if rate.as_bps() > 0 || end == Instant::MAX {
                return if rate.as_bps() > 0 { at } else { Instant::MAX };
            }
            at = end;
        }
    }

    /// When a packet of `size` bytes has left that begins at `begin`; `waited`: it was there before.
    pub(super) fn serve(&mut self, steps: &Steps, begin: Instant, waited: bool, size: u32) -> Instant {
        let carried = if waited && begin == self.free_at { self.early } else { 0 };
        let work = u64::from(size) * NANOBITS_PER_BYTE;
        let Some(mut work) = work.checked_sub(carried).filter(|&left| left > 0) else {
            // All of it fits into what was rounded up before.
            (self.free_at, self.early) = (begin, carried - work);
            return begin;
        };
        let mut at = begin + steps.skip_rounds(&mut work);
        while at < Instant::MAX {
            let (rate, end) = steps.spell(at);
            let room = u128::from(end.since(at).as_nanos()) * u128::from(rate.as_bps());
            if room >= u128::from(work) && rate.as_bps() > 0 {
                let (took, early) = rate.time_for(work).unwrap_or((Duration::MAX, 0));
                (self.free_at, self.early) = (at + took, early);
                return self.free_at;
            }
            work = work.saturating_sub(u64::try_from(room).unwrap_or(u64::MAX));
            at = end;
        }
        (self.free_at, self.early) = (Instant::MAX, 0);
        Instant::MAX
    }

    /// Nothing is being served at `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self { free_at: now, early: 0 };
    }

    pub(super) fn free_at(&self) -> Instant {
        self.free_at
    }
}
