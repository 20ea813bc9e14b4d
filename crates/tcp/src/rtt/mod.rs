//! Round-trip times and what follows from them: the retransmission timeout (RFC 6298), the variance as Linux keeps it, and when
//! a timer of the kernel's wheel expires.

mod estimator;
mod linux;
pub(crate) mod timer_wheel;

use handfast_core::{Instant, SeqNum};

use crate::Config;
pub(crate) use estimator::{Position, RttEstimator};

/// The timestamp clock (RFC 7323 §5.4) of a connection that began with `iss`: from a per-connection offset (RFC 7323 §7.1).
pub(crate) fn timestamp(config: &Config, iss: SeqNum, now: Instant) -> u32 {
    let ticks = now.as_nanos() / config.clock_granularity.as_nanos().max(1);
    (ticks as u32).wrapping_add(iss.0)
}
