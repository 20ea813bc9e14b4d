//! The receiving side of RLC: what is missing, since when, and when it says so.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant};

use super::Status;
use crate::cell::profile::RlcProfile;

/// The state variables of TS 36.322 §7.1, by their names there.
#[derive(Debug)]
pub(in crate::cell) struct Receiver {
    /// Which blocks have been received, from `vr_r` on.
    received: VecDeque<bool>,
    /// VR(R): the first that is missing.
    vr_r: u64,
    /// VR(H): the one after the last that was received.
    vr_h: u64,
    /// VR(X): the one after that which started t-Reordering.
    vr_x: u64,
    /// VR(MS): what a status report may acknowledge; what is missing before it is lost for HARQ.
    vr_ms: u64,
    /// When t-Reordering expires.
    reordering: Option<Instant>,
    /// When t-StatusProhibit expires.
    prohibited: Instant,
    /// A poll that cannot be answered before VR(MS) is beyond it.
    polled: Option<u64>,
    /// A status report is triggered.
    triggered: bool,
    t_reordering: Duration,
    t_status_prohibit: Duration,
}

impl Receiver {
    pub(in crate::cell) fn new(profile: &RlcProfile) -> Self {
        Self {
            received: VecDeque::new(),
            vr_r: 0,
            vr_h: 0,
            vr_x: 0,
            vr_ms: 0,
            reordering: None,
            prohibited: Instant::ZERO,
            polled: None,
            triggered: false,
            t_reordering: profile.t_reordering,
            t_status_prohibit: profile.t_status_prohibit,
        }
    }

    /// VR(R): all before it have been received, and go up in order.
    pub(in crate::cell) fn in_order(&self) -> u64 {
        self.vr_r
    }

    /// A block has been decoded.
    pub(in crate::cell) fn receive(&mut self, now: Instant, sn: u64, poll: bool) {
        if poll {
            self.polled = self.polled.max(Some(sn));
        }
        self.fill(sn);
        // §5.1.3.2.3: t-Reordering stops once all before VR(X) is there, and starts where something is missing.
        if self.vr_x <= self.vr_r {
            self.reordering = None;
        }
        self.watch(now, self.vr_r);
        self.answer_poll();
    }

    /// A block is there, or will never be.
    pub(in crate::cell) fn fill(&mut self, sn: u64) {
        let Some(offset) = sn.checked_sub(self.vr_r) else { return };
        let offset = offset as usize;
        if self.received.len() <= offset {
            self.received.resize(offset + 1, false);
        }
        self.received[offset] = true;
        self.vr_h = self.vr_h.max(sn + 1);
        self.vr_ms = self.missing_from(self.vr_ms);
        while self.received.front() == Some(&true) {
            self.received.pop_front();
            self.vr_r += 1;
        }
    }

    /// The first block from `sn` on that has not been received.
    fn missing_from(&self, sn: u64) -> u64 {
        let sn = sn.max(self.vr_r);
        let skip = (sn - self.vr_r) as usize;
        sn + self.received.iter().skip(skip).take_while(|&&received| received).count() as u64
    }

    /// t-Reordering starts where something is missing from `sn` on: VR(R) when a block comes (§5.1.3.2.3), so that what was
    /// reported and does not come is reported again; VR(MS) when it expires (§5.1.3.2.4).
    fn watch(&mut self, now: Instant, sn: u64) {
        if self.reordering.is_none() && self.vr_h > sn {
            self.reordering = Some(now + self.t_reordering);
            self.vr_x = self.vr_h;
        }
    }

    /// §5.2.3: a poll is answered at once where nothing before it is missing, else when HARQ had its time.
    fn answer_poll(&mut self) {
        if self.polled.is_some_and(|sn| sn < self.vr_ms) {
            self.polled = None;
            self.triggered = true;
        }
    }

    /// When [`Receiver::on_timer`] has something to do.
    pub(in crate::cell) fn deadline(&self) -> Instant {
        let report = if self.triggered { self.prohibited } else { Instant::MAX };
        report.min(self.reordering.unwrap_or(Instant::MAX))
    }

    /// t-Reordering may have expired; the status report that is to be sent now.
    pub(in crate::cell) fn on_timer(&mut self, now: Instant) -> Option<Status> {
        if self.reordering.is_some_and(|at| at <= now) {
            self.reordering = None;
            // §5.1.3.2.4; §5.2.3: a status report is triggered.
            self.vr_ms = self.missing_from(self.vr_x);
            self.triggered = true;
            self.watch(now, self.vr_ms);
            self.answer_poll();
        }
        (self.triggered && self.prohibited <= now).then(|| self.report(now))
    }

    fn report(&mut self, now: Instant) -> Status {
        self.triggered = false;
        self.prohibited = now + self.t_status_prohibit;
        let missing = |(sn, &received): (u64, &bool)| (!received).then_some(sn);
        let nacks = (self.vr_r..self.vr_ms).zip(&self.received).filter_map(missing).collect();
        Status { ack: self.vr_ms, nacks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Profile;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn receiver() -> Receiver {
        Receiver::new(&Profile::lte().rlc)
    }

    #[test]
    fn a_gap_is_reported_when_t_reordering_has_expired() {
        let mut receiver = receiver();
        for (at, sn) in [(1, 0), (3, 2), (4, 3)] {
            receiver.receive(ms(at), sn, false);
        }
        assert_eq!((receiver.in_order(), receiver.deadline()), (1, ms(53)));
        assert_eq!(receiver.on_timer(ms(52)), None);
        // VR(X) was 3 when the timer started; 3 is there too.
        assert_eq!(receiver.on_timer(ms(53)), Some(Status { ack: 4, nacks: vec![1] }));
        receiver.receive(ms(60), 1, false);
        assert_eq!((receiver.in_order(), receiver.deadline()), (4, Instant::MAX));
    }

    #[test]
    fn a_gap_that_harq_fills_is_not_reported() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 0, false);
        receiver.receive(ms(3), 2, false);
        receiver.receive(ms(10), 1, false);
        assert_eq!((receiver.in_order(), receiver.deadline()), (3, Instant::MAX));
    }

    #[test]
    fn a_later_gap_waits_for_its_own_turn() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 1, false);
        receiver.receive(ms(20), 3, false);
        assert_eq!(receiver.on_timer(ms(51)), Some(Status { ack: 2, nacks: vec![0] }));
        // From the expiry on for what was missing then.
        assert_eq!(receiver.deadline(), ms(101));
        assert_eq!(receiver.on_timer(ms(101)), Some(Status { ack: 4, nacks: vec![0, 2] }));
    }

    #[test]
    fn a_gap_that_stays_is_reported_again_when_later_blocks_come() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 1, false);
        assert_eq!(receiver.on_timer(ms(51)), Some(Status { ack: 2, nacks: vec![0] }));
        assert_eq!(receiver.deadline(), Instant::MAX);
        receiver.receive(ms(60), 2, false);
        assert_eq!(receiver.on_timer(ms(110)), Some(Status { ack: 3, nacks: vec![0] }));
    }

    #[test]
    fn a_poll_is_answered_at_once_unless_something_before_it_is_missing() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 0, true);
        assert_eq!(receiver.on_timer(ms(1)), Some(Status { ack: 1, nacks: vec![] }));
        receiver.receive(ms(100), 2, true);
        assert_eq!(receiver.on_timer(ms(100)), None);
        receiver.receive(ms(108), 1, false);
        assert_eq!(receiver.on_timer(ms(108)), Some(Status { ack: 3, nacks: vec![] }));
    }

    #[test]
    fn reports_keep_their_distance() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 0, true);
        assert!(receiver.on_timer(ms(1)).is_some());
        receiver.receive(ms(2), 1, true);
        assert_eq!((receiver.on_timer(ms(2)), receiver.deadline()), (None, ms(51)));
        assert_eq!(receiver.on_timer(ms(51)), Some(Status { ack: 2, nacks: vec![] }));
    }

    #[test]
    fn a_block_that_comes_twice_changes_nothing() {
        let mut receiver = receiver();
        receiver.receive(ms(1), 0, false);
        receiver.receive(ms(2), 0, false);
        assert_eq!((receiver.in_order(), receiver.deadline()), (1, Instant::MAX));
    }
}
