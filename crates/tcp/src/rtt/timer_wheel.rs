//! When a timer of the kernel's wheel expires (Linux, `kernel/time/timer.c`).
//!
//! Linux's retransmission timers are not exact: the wheel has levels of 64 buckets, each eight times coarser than the one
//! below, and a timer is rounded up to its bucket's end. A backed-off RTO of some seconds fires up to 256 ms late.

use handfast_core::{Duration, Instant};

/// `LVL_CLK_SHIFT`: each level is 2^3 times coarser.
const LEVEL_SHIFT: u32 = 3;

/// `LVL_SIZE - 1`: ticks that the lowest level reaches.
const LEVEL_REACH: u64 = 63;

/// `LVL_DEPTH - 1` of a kernel with more than 100 ticks a second.
const HIGHEST_LEVEL: u32 = 8;

/// When a timer set at `now` for `delay` expires; `tick` is a jiffy, zero an exact clock.
#[inline]
pub(crate) fn expiry(now: Instant, delay: Duration, tick: Duration) -> Instant {
    if tick == Duration::ZERO { now + delay } else { end_of_bucket(now, delay, tick) }
}

#[inline(never)]
fn end_of_bucket(now: Instant, delay: Duration, tick: Duration) -> Instant {
    let tick = tick.as_nanos();
    let delta = delay.as_nanos().div_ceil(tick);
    // `calc_wheel_index`: the level follows from the distance; `LVL_START (n)`.
    let level = (0..HIGHEST_LEVEL).take_while(|&n| delta >= LEVEL_REACH << (LEVEL_SHIFT * n)).count() as u32;
    let shift = LEVEL_SHIFT * level;
    // `calc_index`: rounded up with the level's granularity, always, as the timer may be armed at a tick's edge.
    let bucket = ((now.as_nanos() / tick).saturating_add(delta) >> shift) + 1;
    Instant::from_nanos((bucket << shift).saturating_mul(tick))
}

/// `span` in whole ticks, rounded up (`usecs_to_jiffies`); with an exact clock, as it is.
pub(crate) fn in_ticks(span: Duration, tick: Duration) -> Duration {
    let tick = tick.as_nanos().max(1);
    Duration::from_nanos(span.as_nanos().div_ceil(tick).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn after(start_ms: u64, delay_ms: u64) -> u64 {
        let now = Instant::from_millis(start_ms);
        expiry(now, MS(delay_ms), MS(4)).since(now).as_millis()
    }

    #[test]
    fn without_a_tick_the_clock_is_exact() {
        assert_eq!(expiry(Instant::from_nanos(17), MS(3), Duration::ZERO), Instant::from_nanos(3_000_017));
    }

    #[test]
    fn near_timers_are_a_tick_late_far_ones_an_eighth_at_most() {
        // 40 ms are 10 jiffies: the next bucket of 4 ms.
        assert_eq!(after(1000, 40), 44);
        // 62 jiffies are the last of the lowest level, 63 the first of the next, whose buckets are 32 ms.
        assert_eq!(after(0, 248), 252);
        assert_eq!(after(0, 252), 256);
        assert_eq!((after(0, 256), after(31, 256), after(0, 400)), (288, 257, 416));
        // From 504 jiffies on 256 ms; from 4032 on 2048 ms.
        // How late depends on where the clock stands.
        assert_eq!((after(0, 2016), after(255, 3200), after(0, 16_128)), (2048, 3329, 16_384));
    }

    #[test]
    fn the_farthest_timer_does_not_overflow() {
        let now = Instant::from_nanos(u64::MAX / 2);
        assert!(expiry(now, Duration::from_nanos(u64::MAX), MS(4)) > now);
    }
}
