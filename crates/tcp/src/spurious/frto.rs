//! Forward RTO-Recovery (RFC 5682): basic (§2.1) and SACK-enhanced (§3.1).

use super::Verdict;
use crate::config::Frto;
use crate::event::Detector;

/// What F-RTO and Eifel look at in an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckView {
    /// SND.UNA has advanced.
    pub(crate) advanced: bool,
    /// It counts as a duplicate acknowledgement, by RFC 5681 or by what it SACKs.
    pub(crate) duplicate: bool,
    /// SND.UNA after it.
    pub(crate) una: u64,
    /// Octets below `recover` that it SACKed for the first time.
    pub(crate) sacked_below: bool,
    /// It SACKed octets at or above `recover`.
    pub(crate) sacked_above: bool,
    /// Everything outstanding is acknowledged.
    pub(crate) all: bool,
    /// It reports octets that arrived twice (RFC 2883).
    pub(crate) dsack: bool,
    /// `TSecr`.
    pub(crate) ecr: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Off,
    /// Step 2: waits for the first acknowledgement after the retransmission, which ends at this position.
    First(u64),
    /// Step 3: new data went out up to this position; waits for the second.
    Second(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FrtoState {
    variant: Frto,
    step: Step,
    /// `recover`: SND.MAX when the timer expired.
    recover: u64,
}

impl FrtoState {
    pub(crate) fn new(variant: Frto) -> Self {
        Self { variant, step: Step::Off, recover: 0 }
    }

    /// Step 1. `fresh`: no loss recovery was underway; otherwise acknowledgements of earlier retransmissions would be
    /// taken for those of originals, and the algorithm is not used.
    pub(crate) fn on_timeout(&mut self, max: u64, fresh: bool) {
        self.step = if fresh && self.variant != Frto::Off { Step::First(max) } else { Step::Off };
        self.recover = max;
    }

    pub(crate) fn on_retransmission(&mut self, end: u64) {
        if let Step::First(upto) = &mut self.step {
            *upto = end;
        }
    }

    pub(crate) fn on_ack(&mut self, ack: &AckView) -> Verdict {
        match (self.step, self.variant) {
            (Step::Off, _) => Verdict::Undecided,
            (Step::First(upto), Frto::Sack) => self.first_sack(ack, upto),
            (Step::First(upto), _) => self.first_basic(ack, upto),
            (Step::Second(_), Frto::Sack) => self.second_sack(ack),
            (Step::Second(_), _) => self.second_basic(ack),
        }
    }

    fn first_basic(&mut self, ack: &AckView, upto: u64) -> Verdict {
        // RFC 5682 §2.1 step 2a: a duplicate, everything acknowledged, or not all of the retransmission: conventional.
        if ack.duplicate || (ack.advanced && (ack.una >= self.recover || ack.una < upto)) {
            self.step = Step::Off;
            return Verdict::Undecided;
        }
        // Step 2b.
        if ack.advanced { Verdict::SendNew } else { Verdict::Undecided }
    }

    fn second_basic(&mut self, ack: &AckView) -> Verdict {
        if ack.duplicate {
            // RFC 5682 §2.1 step 3a
            self.step = Step::Off;
            Verdict::Genuine
        } else if ack.advanced {
            // Step 3b: it acknowledges data that was never retransmitted.
            self.step = Step::Off;
            Verdict::Spurious(Detector::Frto)
        } else {
            Verdict::Undecided
        }
    }

    fn first_sack(&mut self, ack: &AckView, upto: u64) -> Verdict {
        // RFC 5682 §3.1 step 2: duplicates only update the scoreboard; we stay in this step.
        if !ack.advanced {
            return Verdict::Undecided;
        }
        // Step 2a: everything acknowledged, or not all of the retransmission.
        if ack.una >= self.recover || ack.una < upto {
            self.step = Step::Off;
            return Verdict::Undecided;
        }
        // Step 2b.
        Verdict::SendNew
    }

    fn second_sack(&mut self, ack: &AckView) -> Verdict {
        if ack.sacked_above || ack.una > self.recover {
            // RFC 5682 §3.1 step 3a: the new data arrived, and what was sent before it did not.
            self.step = Step::Off;
            Verdict::Genuine
        } else if ack.advanced || ack.sacked_below {
            // Step 3b: data from before the timeout arrives that was not retransmitted.
            self.step = Step::Off;
            Verdict::Spurious(Detector::Frto)
        } else if ack.duplicate {
            // Step 3a, second sentence: a duplicate that brings nothing new from below `RecoveryPoint`.
            self.step = Step::Off;
            Verdict::Genuine
        } else {
            Verdict::Undecided
        }
    }

    pub(crate) fn sending_new(&mut self, limit: u64) {
        self.step = Step::Second(limit);
    }

    pub(crate) fn limit(&self) -> Option<u64> {
        if let Step::Second(limit) = self.step { Some(limit) } else { None }
    }

    pub(crate) fn stop(&mut self) {
        self.step = Step::Off;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.step == Step::Off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: AckView = AckView {
        advanced: false,
        duplicate: false,
        una: 0,
        sacked_below: false,
        sacked_above: false,
        all: false,
        dsack: false,
        ecr: None,
    };

    fn dup() -> AckView {
        AckView { duplicate: true, ..NOTHING }
    }

    fn ack(una: u64) -> AckView {
        AckView { advanced: true, una, ..NOTHING }
    }

    /// Timed out with 0..100 outstanding, 0..10 retransmitted.
    fn timed_out(variant: Frto) -> FrtoState {
        let mut f = FrtoState::new(variant);
        f.on_timeout(100, true);
        f.on_retransmission(10);
        f
    }

    fn second(variant: Frto) -> FrtoState {
        let mut f = timed_out(variant);
        assert_eq!(f.on_ack(&ack(20)), Verdict::SendNew);
        f.sending_new(120);
        assert_eq!(f.limit(), Some(120));
        f
    }

    #[test]
    fn basic_step_2a_goes_back_to_conventional_recovery() {
        for a in [dup(), ack(100), ack(101), ack(9)] {
            let mut f = timed_out(Frto::Basic);
            assert_eq!(f.on_ack(&a), Verdict::Undecided, "{a:?}");
            assert!(f.is_done(), "{a:?}");
        }
    }

    #[test]
    fn basic_step_3_tells_spurious_from_genuine() {
        assert_eq!(second(Frto::Basic).on_ack(&ack(30)), Verdict::Spurious(Detector::Frto));
        let mut genuine = second(Frto::Basic);
        assert_eq!(genuine.on_ack(&NOTHING), Verdict::Undecided, "a window update decides nothing");
        assert_eq!(genuine.on_ack(&dup()), Verdict::Genuine);
        assert!(genuine.is_done());
    }

    #[test]
    fn sack_step_2_waits_through_duplicates() {
        let mut f = timed_out(Frto::Sack);
        assert_eq!(f.on_ack(&AckView { sacked_below: true, ..dup() }), Verdict::Undecided);
        assert!(!f.is_done());
        assert_eq!(f.on_ack(&ack(10)), Verdict::SendNew);
        for a in [ack(100), ack(9)] {
            let mut f = timed_out(Frto::Sack);
            assert_eq!(f.on_ack(&a), Verdict::Undecided);
            assert!(f.is_done());
        }
    }

    #[test]
    fn sack_step_3_looks_at_where_the_new_octets_lie() {
        let sacked_above = AckView { sacked_above: true, ..dup() };
        let sacked_below = AckView { sacked_below: true, ..dup() };
        assert_eq!(second(Frto::Sack).on_ack(&sacked_above), Verdict::Genuine);
        assert_eq!(second(Frto::Sack).on_ack(&ack(101)), Verdict::Genuine);
        assert_eq!(second(Frto::Sack).on_ack(&sacked_below), Verdict::Spurious(Detector::Frto));
        assert_eq!(second(Frto::Sack).on_ack(&ack(100)), Verdict::Spurious(Detector::Frto));
        assert_eq!(second(Frto::Sack).on_ack(&dup()), Verdict::Genuine);
        assert_eq!(second(Frto::Sack).on_ack(&NOTHING), Verdict::Undecided);
    }

    #[test]
    fn it_stays_off_where_it_must() {
        let mut f = FrtoState::new(Frto::Off);
        f.on_timeout(100, true);
        assert_eq!(f.on_ack(&ack(20)), Verdict::Undecided);
        let mut f = FrtoState::new(Frto::Basic);
        f.on_timeout(100, false);
        assert_eq!(f.on_ack(&ack(20)), Verdict::Undecided);
        let mut f = timed_out(Frto::Basic);
        f.on_timeout(100, false);
        assert_eq!(f.on_ack(&ack(20)), Verdict::Undecided, "a second timeout switches the textbook rule off");
    }
}
