//! 4.3BSD-Tahoe: fast retransmit without fast recovery (Jacobson 1988; Fall and Floyd 1996, section 2).

use super::Algorithm;
use crate::cc::Request;
use crate::phase::Phase;
use crate::send::sender::Sender;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tahoe;

impl Algorithm for Tahoe {
    fn enter(&mut self, s: &mut Sender) {
        s.reduce();
        s.request(Request::OneSegment);
        // What follows the hole is sent again in slow start; acknowledgements of it must not begin another fast
        // retransmit before everything sent so far is acknowledged.
        s.progress.begin(Phase::Loss, s.una, s.max);
        s.nxt = s.una;
        s.timed = None;
    }

    fn on_new_ack(&self, s: &mut Sender, _octets: u64) {
        // Never in `Phase::Recovery`: a phase that cannot be entered is left at once.
        s.progress.leave();
    }
}
