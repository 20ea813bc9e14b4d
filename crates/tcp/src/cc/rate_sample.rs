//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02, cited as `[rate]`; section 4.1 of the BBR draft has the
//! same): how fast the network delivered what an acknowledgement says has arrived.

use std::collections::VecDeque;
use std::ops::Range;

use handfast_core::{Bytes, Duration, Instant};

use crate::trim::trim;

/// What an acknowledgement says of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Octets delivered within `interval`.
    pub(crate) delivered: Bytes,
    pub(crate) interval: Duration,
    /// The application did not keep the connection busy meanwhile: the path may carry more.
    pub(crate) app_limited: bool,
    /// Octets that had been delivered when the segment left that the sample is of (`P.delivered`): they tell rounds apart.
    pub(crate) prior_delivered: u64,
}

/// What the newest segment that an acknowledgement has delivered tells of the round trip since it left, whether or not that is long
/// enough for a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Newest {
    /// Octets that had been delivered when it left (`P.delivered`), and those delivered since (`RS.delivered`).
    pub(crate) prior_delivered: u64,
    pub(crate) delivered: u64,
    pub(crate) app_limited: bool,
    /// Octets in flight when it had left, itself included (`RS.tx_in_flight`); zero where losses are not watched, as what follows.
    pub(crate) in_flight: u64,
    /// Octets found lost since (`RS.lost`).
    pub(crate) lost: u64,
    /// Since then something that left has filled cwnd (`C.is_cwnd_limited`).
    pub(crate) cwnd_limited: bool,
}

/// A segment that is found lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostSegment {
    /// One past its last octet, and its octets as far as they are still outstanding.
    pub(crate) end: u64,
    pub(crate) size: u64,
    /// As in [`Newest`], itself included.
    pub(crate) in_flight: u64,
    pub(crate) lost: u64,
    pub(crate) app_limited: bool,
}

/// What an acknowledgement has delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Octets that had not arrived before.
    pub(crate) octets: u64,
    /// All that have, with them (`C.delivered`).
    pub(crate) total: u64,
    /// How long ago the newest segment of them left that was sent once.
    pub(crate) rtt: Option<Duration>,
    /// The shortest round trip of all.
    pub(crate) min_rtt: Option<Duration>,
    /// The delivery rate; [`None`]: it delivered nothing, or the clock is too coarse.
    pub(crate) rate: Option<RateSample>,
    /// [`None`]: it delivered no segment to its end.
    pub(crate) newest: Option<Newest>,
}

/// `[rate]` §3.1.2: what is kept of a segment that has left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// One past its last octet.
    end: u64,
    /// `P.sent_time`.
    at: Instant,
    /// `P.first_sent_time`.
    first_left: Instant,
    /// `P.delivered` and `P.delivered_time`.
    delivered: u64,
    delivered_at: Instant,
    app_limited: bool,
    /// `P.tx_in_flight` and `P.lost` of the BBR draft (§4.1.2.1.2), where losses are watched.
    in_flight: u64,
    lost_before: u64,
    /// It is taken for lost.
    lost: bool,
    /// It had left before.
    again: bool,
    /// It has arrived.
    arrived: bool,
}

/// `[rate]` §3.1.1: the state of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// By `end`, all above SND.UNA as it was when the last acknowledgement was judged.
    sent: VecDeque<Sent>,
    una: u64,
    /// `C.delivered` and `C.delivered_time`.
    delivered: u64,
    delivered_at: Instant,
    /// `C.first_sent_time`.
    first_left: Instant,
    /// `C.app_limited`: until so much is delivered, samples are limited by the application.
    app_limited: u64,
    /// `C.lost` of the BBR draft (§2.2).
    lost: u64,
    /// How much had been delivered when something that left filled cwnd last.
    full_at: Option<u64>,
    /// Octets that the acknowledgement at hand says have arrived.
    fresh: u64,
    /// The newest segment that the acknowledgement at hand says has arrived, and how long ago the newest left that was sent once.
    newest: Option<Sent>,
    rtt: Option<Duration>,
    /// The shortest round trip.
    min_rtt: Option<Duration>,
}

impl RateSampler {
    /// Of a connection that has sent before: all before `una` is acknowledged.
    pub(crate) fn begin(now: Instant, una: u64) -> Self {
        Self { una, first_left: now, delivered_at: now, ..Self::default() }
    }

    /// `[rate]` §3.2: the octets `segment` leave. `idle`: nothing is in flight.
    pub(crate) fn on_sent(&mut self, now: Instant, segment: Range<u64>, idle: bool) {
        if idle {
            self.first_left = now;
            self.delivered_at = now;
        }
        let Range { start, end } = segment;
        self.forget_within(start, end);
        // Nearly all is new, and ends beyond all others.
        let index = match self.sent.back() {
            Some(last) if end <= last.end => self.sent.partition_point(|sent| sent.end < end),
            _ => self.sent.len(),
        };
        let sent = Sent {
            end,
            at: now,
            first_left: self.first_left,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.app_limited > 0,
            in_flight: 0,
            lost_before: self.lost,
            lost: false,
            again: index < self.sent.len(),
            arrived: false,
        };
        match self.sent.get_mut(index) {
            Some(same) if same.end == end => *same = sent,
            _ => self.sent.insert(index, sent),
        }
    }

    /// A segment counts by when it left last. So a segment that leaves replaces the records of the shorter ones that lie in it, and the
    /// records stay about as many as the segments outstanding, however often these are cut anew. One that began before it keeps its
    /// record: the rest of it has left once only.
    fn forget_within(&mut self, start: u64, end: u64) {
        if self.sent.back().is_none_or(|last| last.end <= start) {
            return;
        }
        let holding = self.sent.partition_point(|sent| sent.end <= start);
        let begin = holding.checked_sub(1).map_or(self.una, |before| self.sent[before].end);
        let first = if begin < start { holding + 1 } else { holding };
        let last = self.sent.partition_point(|sent| sent.end < end);
        if first < last {
            self.sent.drain(first..last);
        }
    }

    /// The segment that ends at `end` has left, and with it `in_flight` octets are in the network. `fills`: cwnd takes no more.
    pub(crate) fn note_flight(&mut self, end: u64, in_flight: u64, fills: bool) {
        let index = self.sent.partition_point(|sent| sent.end < end);
        if let Some(sent) = self.sent.get_mut(index) {
            sent.in_flight = in_flight;
        }
        if fills {
            self.full_at = Some(self.delivered);
        }
    }

    /// Tells each segment that is newly taken for lost, in the order of the octets: `is_lost` says whether an octet is that is above
    /// `una`; what it says of others than those in `changed` is what it said before.
    pub(crate) fn take_lost(
        &mut self,
        una: u64,
        changed: Range<u64>,
        is_lost: impl Fn(u64) -> bool,
        mut each: impl FnMut(&LostSegment),
    ) {
        let first = self.sent.partition_point(|sent| sent.end <= changed.start.max(una));
        let mut start = first.checked_sub(1).map_or(una, |before| self.sent[before].end.max(una));
        // A segment is lost with its last octet.
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.end <= changed.end) {
            let size = sent.end - std::mem::replace(&mut start, sent.end);
            let before = std::mem::replace(&mut sent.lost, !sent.arrived && is_lost(sent.end - 1));
            if before || !sent.lost {
                continue;
            }
            self.lost += size;
            each(&LostSegment {
                end: sent.end,
                size,
                in_flight: sent.in_flight,
                lost: self.lost - sent.lost_before,
                app_limited: sent.app_limited,
            });
        }
    }

    /// All octets found lost so far.
    #[cfg(test)]
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// All octets delivered so far.
    pub(crate) fn total(&self) -> u64 {
        self.delivered
    }

    /// `[rate]` §3.3 `UpdateRateSample` for the octets `start .. end`, which had not arrived before.
    pub(crate) fn on_delivered(&mut self, now: Instant, start: u64, end: u64) {
        self.delivered += end - start;
        self.fresh += end - start;
        self.delivered_at = now;
        let first = self.sent.partition_point(|sent| sent.end <= start);
        // A segment has arrived with its last octet.
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.end <= end) {
            // `IsNewestPacket`.
            let is_newer = self.newest.is_none_or(|newest| (sent.at, sent.end) > (newest.at, newest.end));
            if is_newer && !sent.arrived {
                self.newest = Some(*sent);
            }
            if !sent.again && !sent.arrived {
                // `tcp_clean_rtx_queue`: `last_ackt`, `last_sackt`.
                self.rtt = Some(now.since(sent.at));
            }
            sent.arrived = true;
        }
    }

    /// A round-trip time was measured.
    pub(crate) fn on_rtt(&mut self, delay: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(delay, |least| least.min(delay)));
    }

    /// What an acknowledgement has delivered, once all that it brought is told.
    pub(crate) fn take_delivery(&mut self, una: u64) -> Delivery {
        let newest = self.newest.map(|sent| self.since(&sent));
        let rtt = self.rtt.take();
        // `C.min_rtt` is the least that was observed, whatever the estimator leaves out. So only a segment that went again can give
        // too short an interval: "whose RS.interval is lower than the minimum RTT seen" (the BBR draft, §4.1.3.5).
        if let Some(delay) = rtt {
            self.on_rtt(delay);
        }
        let rate = self.take(una);
        let octets = std::mem::take(&mut self.fresh);
        Delivery { octets, total: self.delivered, rtt, min_rtt: self.min_rtt, rate, newest }
    }

    fn since(&self, sent: &Sent) -> Newest {
        Newest {
            prior_delivered: sent.delivered,
            delivered: self.delivered - sent.delivered,
            app_limited: sent.app_limited,
            in_flight: sent.in_flight,
            lost: self.lost - sent.lost_before,
            cwnd_limited: self.full_at.is_some_and(|at| at >= sent.delivered),
        }
    }

    /// Whether what leaves now is limited by the application.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// `[rate]` §3.3 `GenerateRateSample`.
    fn take(&mut self, una: u64) -> Option<RateSample> {
        self.una = una;
        while self.sent.front().is_some_and(|sent| sent.end <= una) {
            self.sent.pop_front();
        }
        trim(&mut self.sent);
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newest = self.newest.take()?;
        self.first_left = newest.at;
        let send_elapsed = newest.at.since(newest.first_left);
        let ack_elapsed = self.delivered_at.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        // "rs.interval < MinRTT": the clock is too coarse for it.
        let is_valid = interval > Duration::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
        is_valid.then_some(RateSample {
            delivered: Bytes(self.delivered - newest.delivered),
            interval,
            app_limited: newest.app_limited,
            prior_delivered: newest.delivered,
        })
    }

    /// `[rate]` §3.4: nothing more is there to send, and cwnd has room; `in_flight` octets are in the network.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trim::KEPT;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// Segments of 1000 octets that left every 10 ms, the first at 10 ms.
    fn sent(count: u64) -> RateSampler {
        let mut sampler = RateSampler::default();
        for n in 1..=count {
            sampler.on_sent(MS(10 * n), 1000 * (n - 1)..1000 * n, n == 1);
        }
        sampler
    }

    fn sample(prior_delivered: u64, delivered: u64, ms: u64) -> RateSample {
        let (delivered, interval) = (Bytes(delivered), Duration::from_millis(ms));
        RateSample { delivered, interval, app_limited: false, prior_delivered }
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_acknowledging() {
        let mut sampler = sent(4);
        // 1000 octets since the first left, 100 ms ago.
        sampler.on_delivered(MS(110), 0, 1000);
        assert_eq!(sampler.take(1000), Some(sample(0, 1000, 100)));
        // The next three left within 30 ms of the first, and took from 10 ms to 140 ms to be delivered, with the first.
        sampler.on_delivered(MS(140), 1000, 4000);
        assert_eq!(sampler.take(4000), Some(sample(0, 4000, 130)));
        assert!(sampler.sent.is_empty());
        // What leaves now counts from this delivery on.
        sampler.on_sent(MS(150), 4000..5000, false);
        sampler.on_delivered(MS(240), 4000, 5000);
        assert_eq!(
            sampler.take(5000),
            Some(sample(4000, 1000, 110)),
            "sent 110 ms after the last one delivered"
        );
    }

    #[test]
    fn an_acknowledgement_of_nothing_new_gives_none() {
        let mut sampler = sent(2);
        assert_eq!(sampler.take(0), None);
        sampler.on_delivered(MS(110), 1000, 2000);
        assert!(sampler.take(0).is_some());
        sampler.on_delivered(MS(120), 0, 1000);
        assert!(sampler.take(2000).is_some(), "the hole is filled");
        assert_eq!(sampler.take(2000), None);
    }

    #[test]
    fn a_segment_counts_by_when_it_was_last_sent() {
        let mut sampler = sent(2);
        sampler.on_delivered(MS(110), 1000, 2000);
        sampler.take(0);
        sampler.on_sent(MS(120), 0..1000, false);
        sampler.on_delivered(MS(220), 0, 1000);
        // It left 100 ms after the segment delivered last, and the delivery took 110 ms.
        assert_eq!(sampler.take(2000), Some(sample(1000, 1000, 110)));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_has_arrived() {
        let mut sampler = sent(1);
        sampler.on_app_limited(1000);
        sampler.on_sent(MS(20), 1000..2000, false);
        sampler.on_delivered(MS(110), 0, 1000);
        assert!(!sampler.take(1000).unwrap().app_limited, "it left before");
        sampler.on_delivered(MS(120), 1000, 2000);
        assert!(sampler.take(2000).unwrap().app_limited);
        sampler.on_sent(MS(130), 2000..3000, true);
        sampler.on_delivered(MS(230), 2000, 3000);
        assert!(!sampler.take(3000).unwrap().app_limited);
    }

    #[test]
    fn the_memory_of_a_burst_goes_when_it_has_arrived() {
        let mut sampler = sent(10_000);
        assert!(sampler.sent.capacity() >= 10_000);
        sampler.on_delivered(MS(110_000), 0, 10_000_000);
        sampler.take(10_000_000);
        assert!(sampler.sent.capacity() <= KEPT);
    }

    #[test]
    fn a_segment_sent_again_has_one_record_and_leaves_the_others() {
        let mut sampler = sent(3);
        sampler.on_sent(MS(50), 1000..2000, false);
        assert_eq!(sampler.sent.iter().map(|sent| sent.end).collect::<Vec<_>>(), [1000, 2000, 3000]);
        // It goes again in two parts.
        sampler.on_sent(MS(60), 1000..1500, false);
        assert_eq!(
            sampler.sent.iter().map(|sent| (sent.end, sent.at)).collect::<Vec<_>>(),
            [(1000, MS(10)), (1500, MS(60)), (2000, MS(50)), (3000, MS(30))]
        );
    }

    #[test]
    fn segments_that_leave_again_as_one_have_one_record() {
        let mut sampler = sent(4);
        sampler.on_sent(MS(50), 0..2500, false);
        let records = |sampler: &RateSampler| sampler.sent.iter().map(|sent| sent.end).collect::<Vec<_>>();
        assert_eq!(records(&sampler), [2500, 3000, 4000]);
        // However often a path's MTU changes, and wherever segments are cut.
        for round in 0..100 {
            let (mut start, step) = (0, 400 + 37 * (round % 17));
            while start < 4000 {
                let end = 4000.min(start + step);
                sampler.on_sent(MS(60 + round), start..end, false);
                start = end;
            }
            assert!(sampler.sent.len() as u64 <= 4000 / step + 1, "{}", sampler.sent.len());
        }
    }

    #[test]
    fn a_segment_of_which_the_front_left_once_only_is_still_timed() {
        let records = |sampler: &RateSampler| sampler.sent.iter().map(|sent| sent.end).collect::<Vec<_>>();
        // A probe of the tail begins within the segment before the last.
        let mut sampler = sent(2);
        sampler.on_sent(MS(30), 2000..2500, false);
        sampler.on_sent(MS(200), 1500..2500, false);
        assert_eq!(records(&sampler), [1000, 2000, 2500]);
        sampler.on_delivered(MS(210), 0, 2000);
        assert_eq!(sampler.take(2000), Some(sample(0, 2000, 200)));
        // And so where it is the first that is outstanding.
        sampler.on_sent(MS(220), 2200..2500, false);
        sampler.on_sent(MS(230), 2200..2600, false);
        assert_eq!(records(&sampler), [2500, 2600]);
    }

    #[test]
    fn each_acknowledgement_tells_what_it_delivered() {
        let mut sampler = sent(4);
        sampler.on_delivered(MS(110), 0, 1000);
        sampler.on_delivered(MS(110), 2000, 3000);
        let taken = |sampler: &mut RateSampler| {
            let delivery = sampler.take_delivery(1000);
            (delivery.octets, delivery.total)
        };
        assert_eq!(taken(&mut sampler), (2000, 2000));
        assert_eq!(taken(&mut sampler), (0, 2000));
        sampler.on_delivered(MS(120), 1000, 1500);
        assert_eq!(taken(&mut sampler), (500, 2500));
        assert_eq!(sampler.total(), 2500);
    }

    #[test]
    fn of_all_that_an_acknowledgement_delivers_the_newest_counts() {
        let mut sampler = flown(3);
        // What was SACKed is told before the hole that is filled.
        sampler.on_delivered(MS(110), 2000, 3000);
        sampler.on_delivered(MS(110), 0, 1000);
        assert_eq!(sampler.take_delivery(1000).newest.unwrap().in_flight, 3000);
    }

    /// As [`sent`], with a segment more in flight each time.
    fn flown(count: u64) -> RateSampler {
        let mut sampler = RateSampler::default();
        for n in 1..=count {
            sampler.on_sent(MS(10 * n), 1000 * (n - 1)..1000 * n, n == 1);
            sampler.note_flight(1000 * n, 1000 * n, n == 3);
        }
        sampler
    }

    /// The ends of what is newly lost below `upto`, their sizes, and the octets lost since they left.
    fn lost(sampler: &mut RateSampler, una: u64, upto: u64) -> Vec<(u64, u64, u64, u64)> {
        let mut told = Vec::new();
        sampler.take_lost(
            una,
            0..u64::MAX,
            |octet| octet < upto,
            |l| told.push((l.end, l.size, l.in_flight, l.lost)),
        );
        told
    }

    #[test]
    fn what_is_lost_is_told_once_with_what_was_in_flight_and_what_was_lost_since() {
        let mut sampler = flown(4);
        sampler.on_delivered(MS(110), 1000, 2000);
        sampler.take(0);
        assert_eq!(lost(&mut sampler, 0, 3000), [(1000, 1000, 1000, 1000), (3000, 1000, 3000, 2000)]);
        assert_eq!(lost(&mut sampler, 0, 3000), []);
        // Sent again it may be lost again, and what was lost before it left counts no more.
        sampler.on_sent(MS(120), 0..1000, false);
        sampler.note_flight(1000, 3000, false);
        assert_eq!(lost(&mut sampler, 0, 1000), [(1000, 1000, 3000, 1000)]);
        // As much as is outstanding of it.
        assert_eq!(lost(&mut sampler, 3400, 4000), [(4000, 600, 4000, 3600)]);
    }

    #[test]
    fn only_what_ends_where_something_has_changed_is_looked_at() {
        let mut sampler = flown(5);
        let mut told = |una, changed| {
            let mut ends = Vec::new();
            sampler.take_lost(una, changed, |_| true, |lost| ends.push((lost.end, lost.size)));
            ends
        };
        assert_eq!(told(0, 1000..3500), [(2000, 1000), (3000, 1000)]);
        assert_eq!(told(300, 0..3500), [(1000, 700)]);
        assert_eq!(told(0, 3999..u64::MAX), [(4000, 1000), (5000, 1000)]);
    }

    #[test]
    fn what_ends_where_the_outstanding_begins_is_not_lost() {
        assert_eq!(lost(&mut flown(2), 1000, 2000), [(2000, 1000, 2000, 1000)]);
    }

    #[test]
    fn what_was_not_lost_after_all_may_be_lost_yet() {
        let mut sampler = flown(1);
        assert_eq!(lost(&mut sampler, 0, 1000).len(), 1);
        assert_eq!(lost(&mut sampler, 0, 0).len(), 0);
        assert_eq!(lost(&mut sampler, 0, 1000).len(), 1);
    }

    #[test]
    fn the_newest_segment_tells_of_its_round_trip() {
        let mut sampler = flown(4);
        lost(&mut sampler, 0, 1000);
        sampler.on_delivered(MS(110), 1000, 2000);
        let newest = |sampler: &mut RateSampler| sampler.take_delivery(0).newest.unwrap();
        let first = Newest {
            prior_delivered: 0,
            delivered: 1000,
            app_limited: false,
            in_flight: 2000,
            lost: 1000,
            cwnd_limited: true,
        };
        assert_eq!(newest(&mut sampler), first);
        // What left since then, twice, did not fill the window; a rate is not needed.
        sampler.min_rtt = Some(Duration::from_millis(500));
        sampler.on_sent(MS(115), 4000..5000, false);
        sampler.on_sent(MS(120), 4000..5000, false);
        sampler.note_flight(5000, 3000, false);
        sampler.on_delivered(MS(220), 4000, 5000);
        let second = Newest { prior_delivered: 1000, in_flight: 3000, lost: 0, cwnd_limited: false, ..first };
        let delivery = sampler.take_delivery(0);
        assert_eq!((delivery.newest, delivery.rate), (Some(second), None));
        assert_eq!(sampler.take_delivery(0).newest, None);
    }

    #[test]
    fn the_newest_segment_that_was_sent_once_is_timed() {
        let mut sampler = sent(3);
        sampler.on_sent(MS(50), 2000..3000, false);
        sampler.on_delivered(MS(110), 0, 3000);
        assert_eq!(sampler.take_delivery(3000).rtt, Some(Duration::from_millis(90)), "that of 20 ms");
        sampler.on_sent(MS(120), 3000..4000, false);
        sampler.on_sent(MS(130), 3000..4000, false);
        sampler.on_delivered(MS(230), 3000, 4000);
        assert_eq!(sampler.take_delivery(4000).rtt, None);
    }

    #[test]
    fn a_round_trip_that_the_estimator_left_out_is_the_shortest_all_the_same() {
        let mut sampler = sent(1);
        sampler.on_rtt(Duration::from_millis(500));
        sampler.on_delivered(MS(110), 0, 1000);
        let delivery = sampler.take_delivery(1000);
        assert_eq!((delivery.rtt, delivery.rate), (sampler.min_rtt, Some(sample(0, 1000, 100))));
    }

    #[test]
    fn an_interval_of_the_shortest_round_trip_is_one() {
        let mut sampler = sent(1);
        for ms in [120, 100, 140] {
            sampler.on_rtt(Duration::from_millis(ms));
        }
        sampler.on_delivered(MS(110), 0, 1000);
        assert_eq!(sampler.take(1000), Some(sample(0, 1000, 100)));
    }

    #[test]
    fn an_interval_below_the_shortest_round_trip_is_none() {
        let mut sampler = sent(1);
        sampler.on_rtt(Duration::from_millis(101));
        sampler.on_delivered(MS(110), 0, 1000);
        assert_eq!(sampler.take(1000), None);
    }
}
