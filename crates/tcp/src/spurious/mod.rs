//! Was a timeout spurious? Detection by Eifel (RFC 3522) and F-RTO (RFC 5682), the response of RFC 4015.

mod eifel;
mod frto;
mod response;

use handfast_core::Duration;

use crate::cc::Saved;
use crate::config::{Config, Frto};
use crate::event::Detector;
use crate::rtt::RttEstimator;
use crate::send::sender::Sender;

pub(crate) use frto::AckView;
pub(crate) use response::{Restored, respond};

/// What a sender should do after an acknowledgement, as far as a recent timeout is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing special.
    Undecided,
    /// F-RTO step 2b: send up to two new segments instead of retransmitting.
    SendNew,
    /// F-RTO step 3a: the timeout was genuine; retransmit from SND.UNA, with cwnd of at most three segments.
    Genuine,
    /// The timeout was spurious.
    Spurious(Detector),
}

/// The state before a timeout.
#[derive(Clone)]
pub(crate) struct Before {
    pub(crate) cc: Saved,
    pub(crate) flight_size: u64,
    pub(crate) rtt: RttEstimator,
    pub(crate) max: u64,
    pub(crate) in_recovery: bool,
}

impl Before {
    pub(crate) fn of(s: &Sender) -> Self {
        Self {
            cc: s.cc.save(&s.window),
            flight_size: s.flight_size(),
            rtt: s.rtt,
            max: s.max,
            in_recovery: s.progress.phase.repairs(),
        }
    }
}

/// Detection state of one sender.
// In the order of the fields: see [`crate::Endpoint`].
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Spurious {
    /// State from before the first timeout, while it may have to be restored.
    saved: Option<Box<Restored>>,
    /// A mark has told of congestion since: the window is not restored.
    congested: bool,
    /// The peer has reported a duplicate once: it speaks RFC 2883.
    dsack_seen: bool,
    eifel: eifel::Eifel,
    frto: frto::FrtoState,
    /// After the response: the RTO state before the timeout, and the position above which data is new (RFC 4015 step 9).
    pending_rto: Option<Box<(u64, (Duration, Duration))>>,
}

impl Spurious {
    pub(crate) fn new(eifel: bool, frto: Frto) -> Self {
        Self {
            eifel: eifel::Eifel::new(eifel),
            frto: frto::FrtoState::new(frto),
            saved: None,
            congested: false,
            dsack_seen: false,
            pending_rto: None,
        }
    }

    /// The timer has expired, and nothing has been changed yet. `first`: not the repetition of a timeout.
    pub(crate) fn before_timeout(&mut self, config: &Config, now: &Before, first: bool) {
        if first {
            // RFC 4015 §3 step 0 and RFC 3522 §3.2 step 1: at the start of loss recovery only. A timeout in the middle of
            // another recovery says nothing about the path.
            self.saved = (!now.in_recovery).then(|| Box::new(Restored::of(config, now)));
            self.congested = false;
            self.eifel.arm(!now.in_recovery);
        }
        self.frto.on_timeout(now.max, first && !now.in_recovery);
    }

    /// The segment at SND.UNA was retransmitted with this `TSval` and ends at `end`.
    pub(crate) fn on_retransmission(&mut self, tsval: Option<u32>, end: u64) {
        self.eifel.on_retransmission(tsval);
        self.frto.on_retransmission(end);
    }

    /// A mark tells of congestion: the window stays as it is, even if the timeout was spurious.
    pub(crate) fn keep_reduction(&mut self) {
        self.congested = true;
    }

    /// A timeout is to be judged: [`Spurious::judge`] must see each acknowledgement.
    #[inline]
    pub(crate) fn is_judging(&self) -> bool {
        self.saved.is_some()
    }

    /// An acknowledgement has arrived, and `dsack`: it reports a duplicate. Whether one before it did.
    #[inline]
    pub(crate) fn note_dsack(&mut self, dsack: bool) -> bool {
        let before = self.dsack_seen;
        self.dsack_seen |= dsack;
        before
    }

    /// What an acknowledgement tells of the timeout. `dsack_seen`: the peer has reported a duplicate before.
    #[cold]
    pub(crate) fn judge(&mut self, ack: &AckView, dsack_seen: bool) -> Verdict {
        let verdict = if ack.advanced && self.eifel.is_spurious(ack, dsack_seen) {
            Verdict::Spurious(Detector::Eifel)
        } else {
            self.frto.on_ack(ack)
        };
        if !matches!(verdict, Verdict::Spurious(_)) && self.eifel.is_done() && self.frto.is_done() {
            self.saved = None;
        }
        verdict
    }

    /// The state to restore after [`Verdict::Spurious`]; detection ends.
    pub(crate) fn take_saved(&mut self, max: u64) -> Option<Restored> {
        self.eifel.arm(false);
        self.frto.stop();
        let saved = self.saved.take()?;
        self.pending_rto = Some(Box::new((max, saved.rtt())));
        Some(*saved)
    }

    /// F-RTO has two new segments to send: no octet at or beyond this position may go.
    pub(crate) fn new_data_limit(&self) -> Option<u64> {
        self.frto.limit()
    }

    /// F-RTO step 2b has begun: `max` is SND.MAX, `room` what may be sent beyond.
    pub(crate) fn sending_new(&mut self, limit: u64) {
        self.frto.sending_new(limit);
    }

    /// F-RTO cannot send new data: conventional recovery goes on.
    pub(crate) fn give_up_frto(&mut self) {
        self.frto.stop();
    }

    /// RFC 4015 step 9: the RTO state before the spurious timeout, once data first sent after it is acknowledged.
    pub(crate) fn rto_before(&mut self, una: u64) -> Option<(Duration, Duration)> {
        let &(above, rtt) = self.pending_rto.as_deref()?;
        if una <= above {
            return None;
        }
        self.pending_rto = None;
        Some(rtt)
    }
}
