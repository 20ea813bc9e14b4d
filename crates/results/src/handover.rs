//! What a flow makes of an outage: when it moves again, and when it is as fast as before.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant};
use handfast_scenario::FlowId;

use crate::meter::DeliveryMeter;

/// A flow is at the full rate again when it delivers at 90 % of the rate before for this long: long enough that a
/// burst out of the reassembly queue does not count.
pub const FULL_RATE_FOR: Duration = Duration::from_secs(1);
/// How finely the beginning of that time is found.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS: usize = (FULL_RATE_FOR.as_nanos() / LOOK_EVERY.as_nanos()) as usize;

/// One flow through one outage.
#[derive(Debug)]
pub struct Tracker {
    /// Which flow.
    pub flow: FlowId,
    /// When the window of the rate before began, and the bytes delivered by then.
    probed: Option<(Instant, u64)>,
    /// Bytes per second before.
    rate_before: Option<f64>,
    up: Option<Instant>,
    /// Bytes delivered at the last [`LOOKS`] looks and one more.
    looks: VecDeque<u64>,
    resumed: Option<Instant>,
    full: Option<Instant>,
    watching: bool,
}

impl Tracker {
    /// Nothing is known yet.
    pub fn new(flow: FlowId) -> Self {
        Self {
            flow,
            probed: None,
            rate_before: None,
            up: None,
            looks: VecDeque::new(),
            resumed: None,
            full: None,
            watching: false,
        }
    }

    /// The window of the rate before begins.
    pub fn on_probe(&mut self, now: Instant, meter: &DeliveryMeter) {
        self.probed = Some((now, meter.bytes));
    }

    /// The link goes down.
    pub fn on_down(&mut self, now: Instant, meter: &DeliveryMeter) {
        let (Some((probed, bytes)), Some((first, _))) = (self.probed, meter.span) else { return };
        let seconds = now.since(probed.max(first)).as_secs_f64();
        let delivered = meter.bytes - bytes;
        self.rate_before = (seconds > 0.0 && delivered > 0).then(|| delivered as f64 / seconds);
    }

    /// The link is back. The flow has begun and not ended, and its meter notes the next delivery.
    pub fn on_up(&mut self, now: Instant, meter: &DeliveryMeter) {
        self.up = Some(now);
        self.watching = true;
        self.looks.push_back(meter.bytes);
    }

    /// [`LOOK_EVERY`] has passed since the last look.
    pub fn on_look(&mut self, now: Instant, meter: &DeliveryMeter) {
        self.resumed = meter.resumed();
        self.looks.push_back(meter.bytes);
        if self.looks.len() > LOOKS {
            let delivered = meter.bytes - self.looks.pop_front().unwrap_or(0);
            let wanted = self.rate_before.map(|rate| 0.9 * rate * FULL_RATE_FOR.as_secs_f64());
            if wanted.is_some_and(|wanted| delivered as f64 >= wanted) {
                self.full = Some(now - FULL_RATE_FOR);
            }
        }
        let all_known = self.resumed.is_some() && (self.full.is_some() || self.rate_before.is_none());
        if all_known {
            self.give_up();
        }
    }

    /// Nothing more will be learnt: the flow has ended, the run has, or the next outage has begun.
    pub fn give_up(&mut self) {
        self.watching = false;
        self.looks = VecDeque::new();
    }

    /// The end of what can be learnt, with a last look at the meter.
    pub fn close(&mut self, meter: &DeliveryMeter) {
        if self.watching {
            self.resumed = meter.resumed();
            self.give_up();
        }
    }

    /// Whether it wants looks.
    pub fn is_watching(&self) -> bool {
        self.watching
    }

    /// Whether the flow was there when the link came back.
    pub fn concerned(&self) -> bool {
        self.up.is_some()
    }

    /// From link back to the first new data at the receiving application.
    pub fn stall(&self) -> Option<Duration> {
        Some(self.resumed?.since(self.up?))
    }

    /// From link back to 90 % of the rate before.
    pub fn time_to_full_rate(&self) -> Option<Duration> {
        Some(self.full?.since(self.up?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Delivers 1000 B a millisecond from `from` to `to`, and looks on the way.
    fn deliver(meter: &mut DeliveryMeter, tracker: &mut Tracker, from: u64, to: u64, step: usize) {
        for ms in from..to {
            if (ms as usize).is_multiple_of(step) {
                meter.add(at(ms), 1000 * step as u64);
            }
            if ms % 10 == 0 && tracker.is_watching() {
                tracker.on_look(at(ms), meter);
            }
        }
    }

    /// A flow that starts at 1 s, and an outage from 10 s to 13 s.
    fn through_outage() -> (DeliveryMeter, Tracker) {
        let (mut meter, mut tracker) = (DeliveryMeter::default(), Tracker::new(0));
        deliver(&mut meter, &mut tracker, 1000, 5000, 1);
        tracker.on_probe(at(5000), &meter);
        deliver(&mut meter, &mut tracker, 5000, 10_000, 1);
        tracker.on_down(at(10_000), &meter);
        meter.watch();
        tracker.on_up(at(13_000), &meter);
        (meter, tracker)
    }

    #[test]
    fn stall_and_time_to_full_rate() {
        let (mut meter, mut tracker) = through_outage();
        assert!((tracker.rate_before.unwrap() - 1e6).abs() < 1e3);
        for ms in (13_010..14_250).step_by(10) {
            tracker.on_look(at(ms), &meter);
        }
        deliver(&mut meter, &mut tracker, 14_250, 20_000, 1);
        assert_eq!(tracker.stall(), Some(Duration::from_millis(1250)));
        let full = tracker.time_to_full_rate().unwrap();
        // 90 % within a second: the window may begin 100 ms before the flow does.
        assert!((1140..=1160).contains(&full.as_millis()), "{full}");
        assert!(!tracker.is_watching());
    }

    #[test]
    fn a_slower_flow_never_gets_there() {
        let (mut meter, mut tracker) = through_outage();
        for ms in 13_001..20_000 {
            if ms % 10 < 8 {
                meter.add(at(ms), 1000);
            }
            if ms % 10 == 0 {
                tracker.on_look(at(ms), &meter);
            }
        }
        tracker.close(&meter);
        assert_eq!(tracker.time_to_full_rate(), None);
        assert_eq!(tracker.stall(), Some(Duration::from_millis(1)));
    }

    #[test]
    fn without_delivery_there_is_no_stall_but_an_open_end() {
        let (meter, mut tracker) = through_outage();
        tracker.on_look(at(13_010), &meter);
        tracker.close(&meter);
        assert!(tracker.concerned());
        assert_eq!(tracker.stall(), None);
    }

    #[test]
    fn a_flow_that_began_late_is_measured_from_its_first_byte() {
        let (mut meter, mut tracker) = (DeliveryMeter::default(), Tracker::new(0));
        tracker.on_probe(at(5000), &meter);
        deliver(&mut meter, &mut tracker, 9000, 10_000, 1);
        tracker.on_down(at(10_000), &meter);
        assert!((tracker.rate_before.unwrap() - 1e6).abs() < 1e3);
    }
}
