//! Time: `CLOCK_MONOTONIC` as it is, so that what the daemon says can be put beside other programs' readings.

use handfast_core::Instant;
use nix::time::{ClockId, clock_gettime};

/// The present.
pub(crate) fn now() -> Instant {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or_else(|_| unreachable!("the clock exists"));
    Instant::from_nanos(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Milliseconds of `CLOCK_REALTIME`: what daemons on several machines have in common.
pub(crate) fn wall_ms() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).unwrap_or_else(|_| unreachable!("the clock exists"));
    now.tv_sec() as u64 * 1_000 + now.tv_nsec() as u64 / 1_000_000
}
