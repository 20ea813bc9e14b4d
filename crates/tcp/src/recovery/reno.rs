//! Fast recovery as in 4.3BSD-Reno and RFC 5681 §3.2: left on the first acknowledgement of new data.

use super::Algorithm;
use crate::cc::Request;
use crate::phase::Phase;
use crate::send::scoreboard::DUP_THRESH;
use crate::send::sender::Sender;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reno;

/// RFC 5681 §3.2 steps 2 and 3, shared with NewReno.
pub(super) fn enter(s: &mut Sender) {
    // Step 2: ssthresh = max (FlightSize / 2, 2*SMSS)
    s.reduce();
    s.progress.begin(Phase::Recovery, s.una, s.max);
    // Step 3: the lost segment goes out; cwnd = ssthresh + 3*SMSS for the segments that have left the network.
    s.retransmit_head();
    s.request(Request::EnterFastRecovery { left: u64::from(DUP_THRESH) * s.window.smss });
}

/// RFC 5681 §3.2 step 4: each further duplicate says that another segment has left the network.
pub(super) fn inflate(s: &mut Sender) {
    s.request(Request::Inflate);
}

impl Algorithm for Reno {
    fn is_loss(&self, s: &Sender) -> bool {
        // A second loss in the window begins recovery again, so `recover` guards after timeouts only.
        s.progress.dup_acks == DUP_THRESH && (s.una > s.progress.recover || !s.progress.after_loss())
    }

    fn enter(&mut self, s: &mut Sender) {
        enter(s);
    }

    fn on_duplicate(&self, s: &mut Sender) {
        inflate(s);
    }

    fn on_new_ack(&self, s: &mut Sender, _octets: u64) {
        // RFC 5681 §3.2 step 6: deflate.
        s.request(Request::ToSsthresh);
        s.progress.leave();
    }
}
