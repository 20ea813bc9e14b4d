//! The congestion window (RFC 5681 §2). Everybody reads it; only [`crate::cc`] changes it.

use crate::{Config, InitialWindow};

/// cwnd and ssthresh, in bytes.
// In the order of the fields: see [`crate::Endpoint`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// Congestion window.
    pub(super) cwnd: u64,
    /// Slow-start threshold.
    pub(super) ssthresh: u64,
    /// Upper bound of cwnd.
    clamp: u64,
    /// Sender maximum segment size: the payload of a full segment.
    pub(crate) smss: u64,
}

impl Window {
    /// Congestion window.
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Slow-start threshold.
    #[inline]
    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(crate) fn new(config: &Config, smss: u64) -> Self {
        let clamp = config.cwnd_clamp.map_or(u64::MAX, |segments| u64::from(segments.max(1)) * smss);
        Self {
            cwnd: config.initial_window.bytes(smss).min(clamp),
            // RFC 5681 §3.1: as high as can be.
            ssthresh: config.initial_ssthresh.map_or(u64::MAX, handfast_core::Bytes::get),
            smss,
            clamp,
        }
    }

    /// So many segments, and as many at ssthresh.
    #[cfg(test)]
    pub(crate) fn of(smss: u64, segments: u64, ssthresh: u64) -> Self {
        Self { cwnd: segments * smss, ssthresh: ssthresh * smss, ..Self::new(&Config::default(), smss) }
    }

    /// RFC 5681 §3.1: slow start below ssthresh; at it, either is allowed, and we avoid congestion.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// cwnd, but at least one segment and at most the clamp.
    pub(super) fn set_cwnd(&mut self, cwnd: u64) {
        self.cwnd = cwnd.clamp(self.smss, self.clamp);
    }
}

impl InitialWindow {
    /// Bytes, for a sender maximum segment size.
    pub(crate) fn bytes(self, smss: u64) -> u64 {
        match self {
            Self::One => smss,
            // RFC 3390 §1: min (4*MSS, max (2*MSS, 4380 bytes))
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            // RFC 6928 §2: min (10*MSS, max (2*MSS, 14600))
            Self::Ten => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_follow_their_formulas() {
        for (smss, rfc3390, ten) in
            [(536, 2144, 5360), (1000, 4000, 10_000), (1460, 4380, 14_600), (9000, 18_000, 18_000)]
        {
            assert_eq!(InitialWindow::One.bytes(smss), smss);
            assert_eq!(InitialWindow::Rfc3390.bytes(smss), rfc3390, "{smss}");
            assert_eq!(InitialWindow::Ten.bytes(smss), ten, "{smss}");
        }
    }

    #[test]
    fn cwnd_stays_between_one_segment_and_the_clamp() {
        let config = Config { cwnd_clamp: Some(20), ..Config::default() };
        let mut w = Window::new(&config, 1000);
        w.set_cwnd(0);
        assert_eq!(w.cwnd, 1000);
        w.set_cwnd(u64::MAX);
        assert_eq!(w.cwnd, 20_000);
    }
}
