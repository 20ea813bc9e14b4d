//! What RACK goes by, and what it has found (RFC 8985 §5.2, §6.2).

use handfast_core::{Duration, Instant};

/// A transmission: when it left, and one past its last octet. Later ones are greater (RFC 8985 §6.1 `RACK_sent_after`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) at: Instant,
    pub(crate) end: u64,
}

/// What RACK looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Criterion {
    /// `RACK.xmit_ts` and `RACK.end_seq`: only what was sent before it is judged.
    pub(crate) newest: Stamp,
    /// `RACK.rtt` + `RACK.reo_wnd`.
    pub(crate) patience: Duration,
    pub(crate) now: Instant,
}

/// What it has found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// Octets newly lost.
    pub(crate) octets: u64,
    /// Some of them had been sent again.
    pub(crate) again: bool,
    /// When all that was sent before the newest delivered will have waited long enough.
    pub(crate) recheck: Option<Instant>,
}

impl Criterion {
    pub(super) fn due(&self, at: Instant) -> Instant {
        at + self.patience
    }

    pub(super) fn is_lost(&self, at: Instant) -> bool {
        self.due(at) <= self.now
    }
}
