//! Real time: `CLOCK_MONOTONIC`, from the system's start or from a run's.
#![forbid(unsafe_code)]

use handfast_core::Instant;
use nix::time::{ClockId, clock_gettime};

/// The monotonic clock of the kernel, counted from a moment that all threads of a run agree on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// `CLOCK_MONOTONIC` at the run's start, in nanoseconds.
    epoch: u64,
}

impl Clock {
    /// `CLOCK_MONOTONIC` as it is, so that its readings compare with those of other programs.
    pub const SYSTEM: Self = Self { epoch: 0 };

    /// Begins now.
    pub fn start() -> Self {
        Self { epoch: nanos(ClockId::CLOCK_MONOTONIC) }
    }

    /// Begins when `CLOCK_MONOTONIC` shows `epoch` nanoseconds: the same moment in another process, or one to come, so that
    /// every thread is ready by then. Before it all is [`Instant::ZERO`].
    pub const fn from_monotonic(epoch: u64) -> Self {
        Self { epoch }
    }

    /// The present.
    #[inline]
    pub fn now(self) -> Instant {
        self.at_monotonic(nanos(ClockId::CLOCK_MONOTONIC))
    }

    /// The moment at which `CLOCK_MONOTONIC` shows so many nanoseconds.
    pub const fn at_monotonic(self, nanos: u64) -> Instant {
        Instant::from_nanos(nanos.saturating_sub(self.epoch))
    }

    /// What `CLOCK_MONOTONIC` shows at `instant`, in nanoseconds.
    pub const fn to_monotonic(self, instant: Instant) -> u64 {
        self.epoch.saturating_add(instant.as_nanos())
    }

    /// The present, and what is to be added (wrapping) to a `CLOCK_REALTIME` reading to get `CLOCK_MONOTONIC`: the kernel
    /// stamps frames with the former ([`crate::Arrival::at`]), which may be set at any time.
    pub fn now_and_offset(self) -> (Instant, u64) {
        let monotonic = nanos(ClockId::CLOCK_MONOTONIC);
        let offset = monotonic.wrapping_sub(nanos(ClockId::CLOCK_REALTIME));
        (self.at_monotonic(monotonic), offset)
    }
}

/// Milliseconds of `CLOCK_REALTIME`, which processes on several machines have in common.
pub fn wall_ms() -> u64 {
    nanos(ClockId::CLOCK_REALTIME) / 1_000_000
}

/// What a clock shows; both clocks used here exist on every Linux, and show no negative time.
fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).unwrap_or_else(|_| unreachable!("the clock exists"));
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_map_both_ways() {
        let clock = Clock::from_monotonic(5_000);
        assert_eq!(clock.at_monotonic(5_700), Instant::from_nanos(700));
        assert_eq!(clock.to_monotonic(Instant::from_nanos(700)), 5_700);
        assert_eq!(clock.at_monotonic(4_999), Instant::ZERO);
    }

    #[test]
    fn real_time_readings_can_be_converted() {
        let clock = Clock::start();
        let before = clock.now();
        let (now, offset) = clock.now_and_offset();
        let real = clock.at_monotonic(nanos(ClockId::CLOCK_REALTIME).wrapping_add(offset));
        // Milliseconds, in case this thread was interrupted between two readings.
        assert!(before <= now && real >= now && real.since(now).as_millis() < 500, "{before} {now} {real}");
    }
}
