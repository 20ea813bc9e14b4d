//! Hybrid ARQ: a transport block that is not decoded is repeated a round trip later, and what was received of it is
//! combined with the repetition (TS 36.321 §5.3.2, TS 38.321 §5.3.2).

use std::collections::VecDeque;

use handfast_core::Stream;

use super::profile::HarqProfile;

/// One transmission of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transmission {
    /// The block's sequence number in RLC.
    pub(super) sn: u64,
    /// Whether it asks the receiver for a status report.
    pub(super) poll: bool,
    /// How often it was sent before.
    attempt: u32,
}

impl Transmission {
    pub(super) fn first(sn: u64, poll: bool) -> Self {
        Self { sn, poll, attempt: 0 }
    }
}

/// The processes of one direction. There are as many as slots in a round trip, so none ever waits for a free one.
#[derive(Debug)]
pub(super) struct Harq {
    profile: HarqProfile,
    /// Slots from a transmission to its repetition.
    round_trip: u64,
    random: Stream,
    /// What is to be repeated, and from which slot on.
    repetitions: VecDeque<(u64, Transmission)>,
}

impl Harq {
    pub(super) fn new(profile: HarqProfile, round_trip: u64, random: Stream) -> Self {
        Self { profile, round_trip, random, repetitions: VecDeque::new() }
    }

    /// The slot of the first repetition.
    pub(super) fn due(&self) -> Option<u64> {
        self.repetitions.front().map(|&(slot, _)| slot)
    }

    /// What slot `number` repeats.
    pub(super) fn repetition(&mut self, number: u64) -> Option<Transmission> {
        self.due().filter(|&due| due <= number)?;
        self.repetitions.pop_front().map(|(_, transmission)| transmission)
    }

    /// Sends a block in slot `number`: whether it is decoded. If not, it is repeated, unless the sender does not learn of it
    /// or has sent it often enough.
    pub(super) fn send(&mut self, number: u64, sent: Transmission) -> bool {
        let HarqProfile { bler, combined_bler, transmissions, nack_to_ack, .. } = self.profile;
        let fails = if sent.attempt == 0 { bler } else { combined_bler };
        if !self.random.chance(fails) {
            return true;
        }
        let attempt = sent.attempt + 1;
        if attempt < transmissions && !self.random.chance(nack_to_ack) {
            self.repetitions.push_back((number + self.round_trip, Transmission { attempt, ..sent }));
        }
        false
    }

    /// The buffers of all processes are flushed (TS 36.321 §5.9, MAC reset).
    pub(super) fn reset(&mut self) {
        self.repetitions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Profile;

    fn harq(profile: HarqProfile) -> Harq {
        Harq::new(profile, 8, Stream::new(1, "harq"))
    }

    fn never_decoded() -> HarqProfile {
        HarqProfile { bler: 1.0, combined_bler: 1.0, nack_to_ack: 0.0, ..Profile::lte().harq }
    }

    #[test]
    fn a_block_is_repeated_a_round_trip_later_until_it_was_sent_four_times() {
        let mut harq = harq(never_decoded());
        let mut slot = 10;
        assert!(!harq.send(slot, Transmission::first(7, true)));
        for _ in 0..3 {
            assert_eq!(harq.repetition(slot + 7), None);
            slot += 8;
            let sent = harq.repetition(slot).unwrap();
            assert_eq!((sent.sn, sent.poll), (7, true));
            assert!(!harq.send(slot, sent));
        }
        assert_eq!(harq.due(), None);
    }

    #[test]
    fn a_repetition_is_combined_with_what_came_before() {
        let mut harq = harq(HarqProfile { combined_bler: 0.0, ..never_decoded() });
        harq.send(0, Transmission::first(1, false));
        let again = harq.repetition(8).unwrap();
        assert!(harq.send(8, again));
    }

    #[test]
    fn a_sender_that_takes_a_nack_for_an_ack_does_not_repeat() {
        let mut harq = harq(HarqProfile { nack_to_ack: 1.0, ..never_decoded() });
        assert!(!harq.send(0, Transmission::first(1, false)));
        assert_eq!(harq.due(), None);
    }

    #[test]
    fn one_block_in_ten_fails_at_first() {
        let mut harq = harq(Profile::lte().harq);
        let failed = (0..100_000).filter(|&slot| !harq.send(slot, Transmission::first(slot, false))).count();
        // The standard deviation is 95.
        assert!((9_600..=10_400).contains(&failed), "{failed}");
    }
}
