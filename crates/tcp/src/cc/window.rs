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

    /// Segments have another size: both are as many as they were (Linux counts segments).
    #[cold]
    pub(crate) fn resize(&mut self, smss: u64) {
        let scaled =
            |octets: u64| if octets == u64::MAX { octets } else { (octets / self.smss).saturating_mul(smss) };
        let (cwnd, ssthresh, clamp) = (scaled(self.cwnd), scaled(self.ssthresh), scaled(self.clamp));
        *self = Self { cwnd, ssthresh, clamp, smss };
        self.set_cwnd(cwnd);
    }

    /// A probe of so many octets has shown that larger segments get through: cwnd holds as many octets as before in segments of its
    /// size, with `headers` octets each (`tcp_mtup_probe_success`).
    #[cold]
    pub(crate) fn enlarge(&mut self, smss: u64, probe: u64, headers: u64) {
        let segments = (self.cwnd / self.smss).saturating_mul(self.smss + headers) / (probe + headers);
        self.resize(smss);
        self.set_cwnd(segments.saturating_mul(smss));
    }

    /// A probe of the path's MTU leaves. "Decrement cwnd here because we are sending effectively two packets" (`tcp_mtu_probe`).
    #[cold]
    pub(crate) fn narrow(&mut self, probe: u64) {
        self.set_cwnd(self.cwnd.saturating_sub(self.price(probe)));
    }

    /// It is lost: cwnd is as before.
    #[cold]
    pub(crate) fn widen(&mut self, probe: u64) {
        self.set_cwnd(self.cwnd.saturating_add(self.price(probe)));
    }

    /// A segment, less what the octets of the probe take beyond those of one: Linux counts it as one.
    fn price(&self, probe: u64) -> u64 {
        self.smss.saturating_sub(probe.saturating_sub(self.smss))
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
            Self::Segments(segments) => u64::from(segments.max(1)) * smss,
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
            assert_eq!(InitialWindow::Segments(12).bytes(smss), 12 * smss);
        }
    }

    #[test]
    fn segments_of_another_size_are_as_many() {
        let mut w = Window::of(1000, 20, 10);
        w.resize(600);
        assert_eq!((w.cwnd, w.ssthresh, w.smss), (12_000, 6000, 600));
        let mut w = Window { ssthresh: u64::MAX, ..Window::of(1460, 17, 0) };
        // 17 * 1500 / 1282 = 19.9
        w.enlarge(1242, 1242, 40);
        assert_eq!((w.cwnd, w.ssthresh), (19 * 1242, u64::MAX));
    }

    #[test]
    fn a_probe_costs_a_segment_more_than_it_fills() {
        for (probe, price) in [(800, 1000), (1000, 1000), (1200, 800), (2500, 0)] {
            let mut w = Window::of(1000, 20, 10);
            w.narrow(probe);
            assert_eq!(w.cwnd, 20_000 - price);
            w.widen(probe);
            assert_eq!(w.cwnd, 20_000);
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
