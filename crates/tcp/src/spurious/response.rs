//! The Eifel response (RFC 4015): what a sender restores after a spurious timeout, whichever rule found it.

use handfast_core::Duration;

use super::{Before, Spurious};
use crate::cc::{Saved, Undo, UndoRule};
use crate::config::Config;
use crate::send::sender::Sender;

/// RFC 4015 §3 step 0: state from before loss recovery began.
#[derive(Clone, Debug)]
pub(crate) struct Restored {
    /// `pipe_prev`.
    pipe_prev: u64,
    cc: Saved,
    /// `SRTT_prev` and `RTTVAR_prev`.
    rtt: (Duration, Duration),
}

impl Restored {
    pub(crate) fn of(config: &Config, now: &Before) -> Self {
        Self {
            // RFC 4015 §3 step 0: pipe_prev = max (FlightSize, ssthresh)
            pipe_prev: now.flight_size.max(now.cc.ssthresh),
            cc: now.cc.clone(),
            // RFC 4015 §3 step 0: SRTT_prev = SRTT + 2 * G
            rtt: (now.rtt.srtt() + config.clock_granularity * 2, now.rtt.rttvar()),
        }
    }

    pub(crate) fn rtt(&self) -> (Duration, Duration) {
        self.rtt
    }
}

/// Restores the window. `acked`: octets that the deciding acknowledgement newly acknowledged. False where there is nothing to
/// restore.
pub(crate) fn respond(spurious: &mut Spurious, s: &mut Sender, config: &Config, acked: u64) -> bool {
    let Some(saved) = spurious.take_saved(s.max) else { return false };
    // Step 7: resume with data that was never sent.
    s.nxt = s.max;
    s.progress.head_due = false;
    s.progress.leave();
    // RFC 5682 §2.1 step 3b: `recover` falls back to SND.UNA, so that losses in what is outstanding meet fast retransmit again.
    s.progress.forget_timeout(s.una);
    // Step 8: "If the acceptable ACK has the ECN-Echo flag [RFC3168] set, then proceed to step (DONE)". As in Linux, if any has since
    // the timeout.
    if spurious.congested {
        return true;
    }
    // Step 8: cwnd = FlightSize + min (bytes_acked, IW); ssthresh = pipe_prev
    let iw = config.initial_window.bytes(s.window.smss);
    let undo =
        Undo { rule: UndoRule::Rfc4015, cwnd: s.flight_size() + acked.min(iw), ssthresh: saved.pipe_prev };
    s.cc.on_spurious(&mut s.window, &saved.cc, &undo);
    s.answers.on_undo();
    true
}
