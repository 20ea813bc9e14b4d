//! How much reordering RACK tolerates (RFC 8985 §6.2 steps 1, 3 and 4).

use handfast_core::{Duration, Instant};

use super::Facts;
use crate::send::scoreboard::DUP_THRESH;

/// RFC 8985 §6.2 step 4: recoveries without DSACK after which the window is small again.
const PERSIST: u8 = 16;

/// For how long a smallest round trip counts (Linux: `tcp_min_rtt_wlen`, 300 s).
const MIN_RTT_LIFETIME: Duration = Duration::from_secs(300);

/// `RACK.min_RTT`, `RACK.reordering_seen`, `RACK.reo_wnd_mult`, `RACK.reo_wnd_persist`, `RACK.dsack_round`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingWindow {
    min_rtt: Option<(Duration, Instant)>,
    seen: bool,
    /// Linux's `tp->reordering`, in octets: by how far a segment was overtaken at most.
    extent: u64,
    /// How many acknowledgements have shown that.
    times: u32,
    mult: u8,
    persist: u8,
    /// SND.NXT when a DSACK last widened the window.
    dsack_round: Option<u64>,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        Self { min_rtt: None, seen: false, extent: 0, times: 0, mult: 1, persist: 0, dsack_round: None }
    }
}

impl ReorderingWindow {
    /// Step 1: the minimum over a window of time.
    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) {
        let stands = self.min_rtt.is_some_and(|(min, at)| rtt > min && now.since(at) <= MIN_RTT_LIFETIME);
        if !stands {
            self.min_rtt = Some((rtt, now));
        }
    }

    pub(crate) fn min_rtt(&self) -> Duration {
        self.min_rtt.map_or(Duration::ZERO, |(min, _)| min)
    }

    /// Step 3: a segment sent once has arrived behind one sent after it, which ends `extent` octets beyond the beginning of the
    /// first (Linux: `tcp_check_sack_reordering`). `again`: the same acknowledgement has shown another.
    pub(crate) fn reordered(&mut self, extent: u64, again: bool) {
        self.seen = true;
        self.times = self.times.saturating_add((!again).into());
        self.extent = self.extent.max(extent);
    }

    /// By how many octets a segment was overtaken at most, and how often one was.
    pub(crate) fn reorderings(&self) -> (u64, u32) {
        (self.extent, self.times)
    }

    /// Linux's `tcp_may_raise_cwnd`: segments are overtaken by more than `tcp_reordering`, so cwnd grows by all that arrives, in
    /// order or not.
    pub(crate) fn reorders_far(&self, smss: u64) -> bool {
        self.extent > u64::from(DUP_THRESH) * smss
    }

    /// Step 4: "Grow the reordering window per round that sees DSACK." As in Linux only once reordering has been seen: other
    /// duplicates have other causes.
    pub(crate) fn on_ack(&mut self, una: u64, max: u64, dsack: bool) {
        self.dsack_round = self.dsack_round.filter(|&round| una < round);
        if dsack && self.seen && self.dsack_round.is_none() {
            self.dsack_round = Some(max);
            self.mult = self.mult.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// Step 4: "Reset the window after 16 DSACK-free recoveries."
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// A recovery that DSACKs have undone does not count (Linux: `tcp_try_undo_dsack`).
    pub(crate) fn undone(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// `RACK.reo_wnd`.
    pub(crate) fn size(&self, facts: &Facts) -> Duration {
        // Step 4: without reordering none "if in Fast or RTO recovery", or once DupThresh segments are SACKed.
        if !self.seen && (facts.recovering || facts.dup_thresh) {
            return Duration::ZERO;
        }
        (self.min_rtt() / 4).saturating_mul(u64::from(self.mult)).min(facts.srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const QUIET: Facts = Facts { recovering: false, dup_thresh: false, srtt: Duration::from_millis(200) };

    /// A path of 100 ms on which reordering was seen.
    fn reordered() -> ReorderingWindow {
        let mut w = ReorderingWindow::default();
        w.sample(Instant::ZERO, MS(100));
        w.reordered(2000, false);
        w
    }

    #[test]
    fn a_quarter_of_the_smallest_round_trip_and_a_quarter_more_a_round_with_a_duplicate() {
        let mut w = reordered();
        assert_eq!(w.size(&QUIET), MS(25));
        for (una, max, quarters) in [(10, 20, 2), (15, 30, 2), (19, 40, 2), (20, 50, 3), (50, 60, 4)] {
            w.on_ack(una, max, true);
            assert_eq!(w.size(&QUIET), MS(25 * quarters), "SND.UNA {una}: once a round");
        }
        for round in 1..100 {
            w.on_ack(100 * round, 100 * round + 50, true);
        }
        assert_eq!(w.size(&QUIET), MS(200), "SRTT is the bound");
    }

    #[test]
    fn without_reordering_there_is_none_in_recovery_or_with_three_sacked() {
        let mut w = ReorderingWindow::default();
        w.sample(Instant::ZERO, MS(100));
        // A duplicate alone is no reordering.
        w.on_ack(10, 20, true);
        assert_eq!(w.size(&QUIET), MS(25));
        for facts in [Facts { recovering: true, ..QUIET }, Facts { dup_thresh: true, ..QUIET }] {
            assert_eq!(w.size(&facts), Duration::ZERO);
            assert_eq!(reordered().size(&facts), MS(25));
        }
    }

    #[test]
    fn sixteen_recoveries_without_a_duplicate_make_it_small_again() {
        let mut w = reordered();
        w.on_ack(10, 20, true);
        for _ in 0..15 {
            w.recovered();
        }
        assert_eq!(w.size(&QUIET), MS(50));
        // One that was undone does not count.
        w.undone();
        w.recovered();
        assert_eq!(w.size(&QUIET), MS(50));
        w.recovered();
        assert_eq!(w.size(&QUIET), MS(25));
    }

    #[test]
    fn the_smallest_round_trip_is_forgotten() {
        let mut w = reordered();
        w.sample(Instant::from_millis(299_000), MS(160));
        assert_eq!(w.min_rtt(), MS(100));
        w.sample(Instant::from_millis(301_000), MS(160));
        assert_eq!(w.min_rtt(), MS(160));
        w.sample(Instant::from_millis(301_001), MS(80));
        assert_eq!(w.min_rtt(), MS(80));
    }

    #[test]
    fn measured_again_it_lasts_again() {
        // Linux: `minmax_running_min` begins anew with a sample that is no greater.
        let mut w = reordered();
        w.sample(Instant::from_millis(299_000), MS(100));
        w.sample(Instant::from_millis(599_000), MS(160));
        assert_eq!(w.min_rtt(), MS(100), "300 s old, and no more");
        w.sample(Instant::from_millis(599_001), MS(160));
        assert_eq!(w.min_rtt(), MS(160));
    }
}
