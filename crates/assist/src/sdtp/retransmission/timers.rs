//! What a retransmission node does when the time has come: requests by time, requests anew, and the end of its persistence.

use handfast_core::Instant;
use handfast_wire::sdtp::Trigger;

use super::{Output, Retransmission};
use crate::sdtp::expected::Choice;

impl Retransmission {
    /// What is due at this time.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.due.at <= now {
            self.expire(now, out);
            self.repeat(now, out);
        }
        if self.may_ask_by_time() && self.interarrival.is_due(now) {
            self.ask_by_time(now, out);
        }
        self.look();
    }

    /// RFC 3366 §4.1: what has been missing for too long is given up.
    fn expire(&mut self, now: Instant, out: &mut Vec<Output>) {
        let mut num = 0;
        while let Some(hole) = self.expected.hole(num) {
            if hole.until(self.config.persistence) <= now {
                self.abandon(hole.start, hole.end, Trigger::Timeout, out);
            } else {
                num += 1;
            }
        }
    }

    /// §III-C 2, retransmission timeout: "resend the retransmission request".
    fn repeat(&mut self, now: Instant, out: &mut Vec<Output>) {
        for num in 0..self.expected.len() {
            if self.expected.hole(num).is_some_and(|hole| hole.repeat_at(&self.round_trip) <= now) {
                self.ask(now, num, Trigger::Timeout, out);
            }
        }
    }

    fn may_ask_by_time(&self) -> bool {
        self.due.is_one_unasked || self.expected.can_ask_ahead(self.config.most_ahead)
    }

    /// §III-C 2, interarrival timeout.
    fn ask_by_time(&mut self, now: Instant, out: &mut Vec<Output>) {
        match self.expected.choose(self.disorder.threshold(), self.config.most_ahead) {
            Some(Choice::Hole(num)) => self.ask(now, num, Trigger::Time, out),
            Some(Choice::Tail) => self.ask_ahead(now, out),
            None => {}
        }
    }

    /// When [`Retransmission::on_timer`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let by_time = self.interarrival.deadline().filter(|_| self.may_ask_by_time());
        let by_hole = Some(self.due.at).filter(|&at| at != Instant::MAX);
        by_time.into_iter().chain(by_hole).min()
    }
}
