//! Round-trip times and what follows from them: the retransmission timeout (RFC 6298), the variance as Linux keeps it, and when
//! a timer of the kernel's wheel expires.

mod estimator;
mod linux;
pub(crate) mod timer_wheel;

pub(crate) use estimator::{Position, RttEstimator};
