//! How much reordering RACK tolerates (RFC 8985 §6.2 steps 1, 3 and 4).

use handfast_core::{Duration, Instant};

use super::Facts;

/// RFC 8985 §6.2 step 4: recoveries without DSACK after which the window is small again.
const PERSIST: u8 = 16;

/// For how long a smallest round trip counts (Linux: `tcp_min_rtt_wlen`, 300 s).
const MIN_RTT_LIFETIME: Duration = Duration::from_secs(300);

/// `RACK.min_RTT`, `RACK.reordering_seen`, `RACK.reo_wnd_mult`, `RACK.reo_wnd_persist`, `RACK.dsack_round`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingWindow {
    min_rtt: Option<(Duration, Instant)>,
    seen: bool,
    mult: u8,
    persist: u8,
    /// SND.NXT when a DSACK last widened the window.
    dsack_round: Option<u64>,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        Self { min_rtt: None, seen: false, mult: 1, persist: 0, dsack_round: None }
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

    /// Step 3: a segment sent once has arrived behind one sent after it.
    pub(crate) fn reordered(&mut self) {
        self.seen = true;
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
