//! What is measured of a flow while it runs: a few numbers each, brought up to date as things happen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use handfast_core::{Duration, Instant};
use handfast_tcp::Endpoint;

/// Delivery to the receiving application.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryMeter {
    /// New bytes delivered.
    pub bytes: u64,
    /// The first and the last delivery.
    pub span: Option<(Instant, Instant)>,
    longest_gap: Duration,
    /// The first delivery after the last [`DeliveryMeter::watch`].
    resumed: Option<Instant>,
    watching: bool,
}

impl DeliveryMeter {
    /// The application got `bytes` new bytes.
    #[inline]
    pub fn add(&mut self, now: Instant, bytes: u64) {
        self.bytes += bytes;
        let (first, last) = self.span.unwrap_or((now, now));
        self.longest_gap = self.longest_gap.max(now.since(last));
        self.span = Some((first, now));
        if self.watching {
            self.watching = false;
            self.resumed = Some(now);
        }
    }

    /// The longest time without a delivery, from the first delivery to `end`; [`None`]: nothing was delivered.
    pub fn idle(&self, end: Instant) -> Option<Duration> {
        self.span.map(|(_, last)| self.longest_gap.max(end.since(last)))
    }

    /// Bits per second from the first to the last delivery; [`None`] where there are not two.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = self.span?;
        let seconds = last.since(first).as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds)
    }

    /// Notes the next delivery.
    pub fn watch(&mut self) {
        self.watching = true;
        self.resumed = None;
    }

    /// The delivery that was noted.
    pub fn resumed(&self) -> Option<Instant> {
        self.resumed
    }
}

/// The meter of a flow with several connections at once: all their sinks feed it.
#[derive(Clone, Debug, Default)]
pub struct SharedMeter(Arc<Mutex<DeliveryMeter>>);

impl SharedMeter {
    /// What was delivered so far.
    pub fn get(&self) -> DeliveryMeter {
        *self.lock()
    }

    /// As [`DeliveryMeter::add`].
    pub fn add(&self, now: Instant, bytes: u64) {
        self.lock().add(now, bytes);
    }

    /// As [`DeliveryMeter::watch`].
    pub fn watch(&self) {
        self.lock().watch();
    }

    fn lock(&self) -> MutexGuard<'_, DeliveryMeter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The congestion window over time, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct WindowMeter {
    start: Instant,
    since: Instant,
    cwnd: u64,
    min: u64,
    /// Byte-nanoseconds up to `since`, the upper half first: a `u128` would be aligned to 16 bytes, and so would all around it.
    area: [u64; 2],
}

impl WindowMeter {
    /// It is `cwnd` from `now`.
    pub fn new(now: Instant, cwnd: u64) -> Self {
        Self { start: now, since: now, cwnd, min: cwnd, area: [0; 2] }
    }

    /// It is `cwnd` from `now`.
    #[inline]
    pub fn set(&mut self, now: Instant, cwnd: u64) {
        if cwnd != self.cwnd {
            let area = self.area_until(now);
            self.area = [(area >> 64) as u64, area as u64];
            (self.since, self.cwnd, self.min) = (now, cwnd, self.min.min(cwnd));
        }
    }

    /// Its smallest value.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// Time-weighted mean up to `end`, bytes; [`None`] where no time has passed.
    pub fn mean(&self, end: Instant) -> Option<f64> {
        let nanos = end.since(self.start).as_nanos();
        (nanos > 0).then(|| self.area_until(end) as f64 / nanos as f64)
    }

    fn area_until(&self, now: Instant) -> u128 {
        let [upper, lower] = self.area.map(u128::from);
        (upper << 64 | lower) + u128::from(self.cwnd) * u128::from(now.since(self.since).as_nanos())
    }
}

/// What is seen of a flow at one moment, for its time series and for the metrics that have a curve. Bytes of payload; [`None`]: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// The congestion window.
    pub cwnd: u64,
    /// The slow-start threshold; [`None`]: there was no reduction yet.
    pub ssthresh: Option<u64>,
    /// The smoothed round-trip time; [`None`]: there is no sample yet.
    pub srtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// New bytes at the receiving application.
    pub delivered: u64,
    /// Bytes that have been sent at least once; [`None`]: not known.
    pub sent: Option<u64>,
    /// Bytes that are acknowledged; [`None`]: not known.
    pub acknowledged: Option<u64>,
}

impl FlowSample {
    /// What our own endpoint says of itself; `delivered`: what its receiver has got.
    pub fn of(endpoint: &Endpoint, now: Instant, delivered: u64) -> Self {
        let seen = endpoint.snapshot(now);
        Self {
            cwnd: seen.cwnd,
            ssthresh: (seen.ssthresh < u64::MAX).then_some(seen.ssthresh),
            srtt: (seen.srtt > Duration::ZERO).then_some(seen.srtt),
            rto: seen.rto,
            delivered,
            sent: Some(seen.sent),
            acknowledged: Some(seen.acknowledged),
        }
    }

    /// The connections that a flow has at once, as one: each with whether it is open. What is a matter of each connection is
    /// the mean over those that are open and know it; bytes are added up over all. [`None`]: none is open.
    pub fn together(all: &[(Self, bool)], delivered: u64) -> Option<Self> {
        let open = || all.iter().filter(|(_, open)| *open).map(|(seen, _)| seen);
        let sum =
            |bytes: fn(&Self) -> Option<u64>| all.iter().map(|(seen, _)| bytes(seen)).sum::<Option<u64>>();
        let nanos = |time: Duration| time.as_nanos();
        Some(Self {
            cwnd: mean(open().map(|seen| seen.cwnd))?,
            ssthresh: mean(open().filter_map(|seen| seen.ssthresh)),
            srtt: mean(open().filter_map(|seen| seen.srtt).map(nanos)).map(Duration::from_nanos),
            rto: mean(open().map(|seen| nanos(seen.rto))).map(Duration::from_nanos)?,
            delivered,
            sent: sum(|seen| seen.sent),
            acknowledged: sum(|seen| seen.acknowledged),
        })
    }
}

/// The mean, rounded down; [`None`] of nothing.
fn mean(values: impl Iterator<Item = u64>) -> Option<u64> {
    let (sum, count) =
        values.fold((0_u128, 0_u128), |(sum, count), value| (sum + u128::from(value), count + 1));
    sum.checked_div(count).map(|mean| mean as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn gaps_count_up_to_the_end() {
        let mut meter = DeliveryMeter::default();
        assert_eq!(meter.idle(at(9)), None);
        for ms in [10, 20, 50, 60] {
            meter.add(at(ms), 1000);
        }
        assert_eq!(meter.idle(at(70)), Some(Duration::from_millis(30)));
        assert_eq!(meter.idle(at(100)), Some(Duration::from_millis(40)));
        assert_eq!(meter.rate(), Some(4000.0 * 8.0 / 0.05));
    }

    #[test]
    fn one_delivery_has_no_rate() {
        let mut meter = DeliveryMeter::default();
        meter.add(at(10), 1000);
        assert_eq!(meter.rate(), None);
    }

    #[test]
    fn only_the_first_delivery_after_watch_is_noted() {
        let mut meter = DeliveryMeter::default();
        meter.add(at(1), 1);
        meter.watch();
        assert_eq!(meter.resumed(), None);
        meter.add(at(5), 1);
        meter.add(at(6), 1);
        assert_eq!(meter.resumed(), Some(at(5)));
    }

    #[test]
    fn connections_at_once_have_the_mean_of_the_open_ones_and_all_bytes() {
        let seen = |cwnd, ssthresh, ms, sent| FlowSample {
            cwnd,
            ssthresh,
            srtt: Some(Duration::from_millis(ms)),
            rto: Duration::from_millis(10 * ms),
            delivered: 0,
            sent: Some(sent),
            acknowledged: Some(sent - 1),
        };
        let (a, b, over) =
            (seen(4000, Some(2000), 20, 5), seen(8000, None, 40, 6), seen(999, Some(1), 99, 7));
        let all = FlowSample::together(&[(a, true), (over, false), (b, true)], 9).unwrap();
        assert_eq!((all.cwnd, all.ssthresh, all.delivered), (6000, Some(2000), 9));
        assert_eq!((all.srtt, all.rto), (Some(Duration::from_millis(30)), Duration::from_millis(300)));
        assert_eq!((all.sent, all.acknowledged), (Some(18), Some(15)));
        assert!(FlowSample::together(&[(over, false)], 9).is_none());
        let unknown = FlowSample { sent: None, ..a };
        assert_eq!(FlowSample::together(&[(unknown, true), (b, true)], 9).unwrap().sent, None);
    }

    #[test]
    fn the_mean_window_is_weighted_by_time() {
        let mut meter = WindowMeter::new(at(0), 1000);
        assert_eq!(meter.mean(at(0)), None);
        meter.set(at(10), 3000);
        meter.set(at(10), 3000);
        assert_eq!(meter.mean(at(20)), Some(2000.0));
        meter.set(at(20), 500);
        assert_eq!((meter.min(), meter.mean(at(40))), (500, Some(1250.0)));
    }
}
