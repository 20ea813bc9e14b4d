//! SACK-based loss recovery (RFC 6675).

use super::{Algorithm, Retransmission};
use crate::cc::Request;
use crate::phase::Phase;
use crate::send::scoreboard::Range;
use crate::send::sender::Sender;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sack;

impl Algorithm for Sack {
    fn is_loss(&self, s: &Sender) -> bool {
        // RFC 6675 §5 steps 1 and 2: DupThresh duplicates, or IsLost (HighACK + 1).
        let dup_thresh = s.dup_thresh();
        s.progress.dup_acks >= dup_thresh || s.board.lost_below(s.window.smss, dup_thresh) > s.una
    }

    fn enter(&mut self, s: &mut Sender) {
        // Step 4.2: ssthresh = cwnd = FlightSize / 2, without what limited transmit sent.
        s.reduce();
        s.request(Request::ToSsthresh);
        // Step 4.1: RecoveryPoint = HighData.
        s.progress.begin(Phase::Recovery, s.una, s.max);
        // Step 4.3: the first segment goes out, whatever cwnd says; HighRxt follows when it does.
        s.retransmit_head();
    }

    fn on_new_ack(&self, s: &mut Sender, _octets: u64) {
        // Step A: the cumulative acknowledgement covers RecoveryPoint. Step B otherwise: nothing but the new pipe.
        if s.una >= s.progress.recover {
            s.progress.leave();
        }
    }

    fn in_flight(&self, s: &Sender) -> u64 {
        s.board.pipe(s.una, s.max, s.progress.high_rxt, s.window.smss, s.dup_thresh())
    }

    /// `NextSeg` (RFC 6675 §4), new data (rule 2) aside: that is the caller's.
    fn retransmission(&self, s: &Sender, new_data: bool) -> Option<Retransmission> {
        let smss = s.window.smss;
        let from = s.progress.high_rxt.max(s.una);
        let hole = s.board.hole(from);
        // Rule (1): above HighRxt, below the highest SACKed octet, lost.
        if let Some(range) = hole.filter(|h| h.start < s.board.lost_below(smss, s.dup_thresh())) {
            return Some(Retransmission { range, rescue: false });
        }
        // Rule (2): new data goes first.
        if new_data {
            return None;
        }
        // Rule (3): as (1), but not known to be lost.
        if let Some(range) = hole {
            return Some(Retransmission { range, rescue: false });
        }
        // Rule (4): once a recovery, the last octets outstanding, so that its end does not wait for a timeout.
        if s.progress.rescue_rxt.is_some_and(|rescue| s.una <= rescue) {
            return None;
        }
        let last = s.board.last_unsacked(s.una, s.max)?;
        let start = last.start.max(last.end.saturating_sub(smss));
        Some(Retransmission { range: Range { start, end: last.end }, rescue: true })
    }
}
