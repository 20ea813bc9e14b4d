//! What RACK-TLP answers where all recoveries are asked.

use super::{Prr, Rack};
use crate::cc::Request;
use crate::phase::Phase;
use crate::recovery::{Algorithm, Retransmission};
use crate::send::sender::Sender;

impl Algorithm for Rack {
    fn is_loss(&self, s: &Sender) -> bool {
        // What is lost counts even where it is under way again (Linux's `lost_out`): it left after the last reduction, and RFC 5681
        // §4.3 takes losses in two successive windows for two indications of congestion.
        self.log.waiting(s.una, &s.board) + self.log.under_way() > 0
    }

    fn enter(&mut self, s: &mut Sender) {
        self.undo.begin(s.una, s.cc.save(&s.window), self.log.under_way());
        s.timed = None;
        if s.progress.phase == Phase::Cwr {
            // The reduction for the mark goes on, and is not taken back (`tcp_enter_recovery`: `tcp_in_cwnd_reduction`).
            self.undo.keep_reduction();
            s.progress.begin(Phase::Recovery, s.una, s.progress.recover);
            return;
        }
        self.prr = Prr::begin(s.window.cwnd());
        self.probe.forget();
        // RFC 6937 §3: ssthresh = CongCtrlAlg(); as in Linux, of cwnd. cwnd follows from the acknowledgements.
        s.reduce_from(s.window.cwnd());
        s.progress.begin(Phase::Recovery, s.una, s.max);
    }

    fn on_new_ack(&self, s: &mut Sender, _octets: u64) {
        if s.una >= s.progress.recover {
            // RFC 6937 §3: "At the end of recovery, cwnd is set to ssthresh".
            s.request(Request::ToSsthresh);
            s.progress.leave();
        }
    }

    fn in_flight(&self, s: &Sender) -> u64 {
        self.log.in_flight(s.una, s.max, &s.board)
    }

    fn retransmission(&self, s: &Sender, _new_data: bool) -> Option<Retransmission> {
        // RFC 8985 §6.2: what is marked lost is what may go again, the lowest first.
        let range = self.log.next_lost(s.una, &s.board)?;
        Some(Retransmission { range, rescue: false })
    }
}
