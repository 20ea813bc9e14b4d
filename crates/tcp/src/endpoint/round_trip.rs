//! Samples of the round-trip time.

use handfast_core::{Duration, Instant};
use handfast_wire::tcp::Segment;

use super::Endpoint;
use crate::rtt::Position;

impl Endpoint {
    /// RFC 7323 §4.1 with timestamps, Karn's algorithm without (RFC 6298 §3).
    pub(super) fn sample_rtt(&mut self, now: Instant, segment: &Segment, flight: u64) -> Option<Duration> {
        let sample = match segment.timestamps.filter(|_| self.timestamps) {
            Some(ts) => self.echoed_rtt(now, ts.ecr),
            None => self.timed_rtt(now),
        };
        let sample = sample?;
        self.take_sample(sample, flight).then_some(sample)
    }

    /// `flight`: octets that were outstanding. Whether the sample counts.
    pub(super) fn take_sample(&mut self, sample: Duration, flight: u64) -> bool {
        if self.help.is_some() && !self.help_counts(sample) {
            return false;
        }
        if let Some(before) = self.spurious.rto_before(self.tx.una) {
            self.tx.rtt.after_spurious(&self.config, before, sample);
            return true;
        }
        // RFC 7323 appendix G: ExpectedSamples = ceiling (FlightSize / (SMSS * 2))
        let expected = if self.timestamps { flight.div_ceil(2 * self.tx.window.smss) } else { 1 };
        let at = Position { una: self.tx.una, nxt: self.tx.nxt };
        self.tx.rtt.sample(&self.config, sample, expected, at);
        true
    }

    pub(super) fn echoed_rtt(&self, now: Instant, ecr: u32) -> Option<Duration> {
        let ticks = self.tsval(now).wrapping_sub(ecr);
        // An echo from the future, or of more than 2^31 ticks ago, is not ours. One from this tick is half a tick old.
        let tick = self.config.clock_granularity;
        (ticks < 1 << 31).then(|| if ticks == 0 { tick / 2 } else { tick * u64::from(ticks) })
    }

    fn timed_rtt(&mut self, now: Instant) -> Option<Duration> {
        let (upto, sent) = self.tx.timed?;
        if self.tx.una < upto {
            return None;
        }
        self.tx.timed = None;
        Some(now.since(sent))
    }
}
