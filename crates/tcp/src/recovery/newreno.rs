//! NewReno (RFC 6582): fast recovery that lasts until everything outstanding at its start is acknowledged.

use super::{Algorithm, reno};
use crate::cc::Request;
use crate::send::sender::Sender;

#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno;

impl Algorithm for NewReno {
    fn enter(&mut self, s: &mut Sender) {
        reno::enter(s);
    }

    fn is_impatient(&self) -> bool {
        true
    }

    fn on_duplicate(&self, s: &mut Sender) {
        reno::inflate(s);
    }

    fn on_new_ack(&self, s: &mut Sender, octets: u64) {
        if s.una >= s.progress.recover {
            // RFC 6582 §3.2 step 3, full acknowledgement, option (1): no burst beyond one segment more than is in flight.
            s.request(Request::FullAck { flight: s.flight_size() });
            s.progress.leave();
            return;
        }
        // RFC 6582 §3.2 step 3, partial acknowledgement: the next hole goes out; deflate by what was acknowledged, and add
        // back one SMSS if that was at least one.
        s.retransmit_head();
        s.request(Request::PartialAck { acked: octets });
    }
}
