//! When a block may be sent, and what it carries: slots, the rate, and the grants of the uplink.

use handfast_core::{BitRate, Duration, Instant};

use super::profile::Profile;
use crate::line::NANOBITS_PER_BYTE;

/// The slots of one direction, numbered from 0. The first begins at a random moment within one slot, so that traffic with
/// a period of its own is not in step with them.
#[derive(Debug)]
pub(super) struct Slots {
    slot: Duration,
    phase: Duration,
}

impl Slots {
    pub(super) fn new(slot: Duration, phase: Duration) -> Self {
        Self { slot, phase }
    }

    /// When a slot begins.
    pub(super) fn begin(&self, number: u64) -> Instant {
        Instant::ZERO + (self.phase + self.slot.saturating_mul(number))
    }

    /// The first slot that begins at `at` or later.
    pub(super) fn from(&self, at: Instant) -> u64 {
        at.since(Instant::ZERO + self.phase).as_nanos().div_ceil(self.slot.as_nanos())
    }

    /// How many slots `time` takes, at least one.
    pub(super) fn count(&self, time: Duration) -> u64 {
        time.as_nanos().div_ceil(self.slot.as_nanos()).max(1)
    }
}

/// The bytes of a slot at the rate of the link: a slot carries whole bytes, and what is left over is for the next one.
#[derive(Debug)]
pub(super) struct Budget {
    nanobits_per_slot: u128,
    /// What the last slots left over, and the slot that may use it.
    left: (u64, u128),
}

impl Budget {
    pub(super) fn new(rate: BitRate, slot: Duration) -> Self {
        let nanobits_per_slot = u128::from(rate.as_bps()) * u128::from(slot.as_nanos());
        Self { nanobits_per_slot, left: (0, 0) }
    }

    /// Whether nothing can be sent.
    pub(super) fn is_nothing(&self) -> bool {
        self.nanobits_per_slot == 0
    }

    /// The bytes that slot `number` carries.
    pub(super) fn take(&mut self, number: u64) -> u64 {
        // What an idle slot could have carried is gone.
        let left = if self.left.0 == number { self.left.1 } else { 0 };
        let nanobits = left + self.nanobits_per_slot;
        self.left = (number + 1, nanobits % u128::from(NANOBITS_PER_BYTE));
        u64::try_from(nanobits / u128::from(NANOBITS_PER_BYTE)).unwrap_or(u64::MAX)
    }

    /// Slot `number` repeats a block: what is left over waits.
    pub(super) fn skip(&mut self, number: u64) {
        if self.left.0 == number {
            self.left.0 += 1;
        }
    }
}

/// From which slot on new blocks may be sent.
#[derive(Debug)]
pub(super) enum Grants {
    /// The sender schedules itself.
    Downlink,
    /// A station asks first (TS 36.321 §5.4.4): in every `period`th slot from `offset` on; the grant is for the slot `grant`
    /// later. It tells the scheduler with each block whether more waits (buffer status report, §5.4.5), so that one request
    /// lasts until its buffer is empty.
    Uplink { period: u64, offset: u64, grant: u64, from: Option<u64> },
}

impl Grants {
    pub(super) fn new(profile: &Profile, slots: &Slots, draw: impl FnOnce(u64) -> u64) -> Self {
        let Some(request) = &profile.request else { return Self::Downlink };
        let period = slots.count(request.period);
        Self::Uplink { period, offset: draw(period), grant: slots.count(request.grant), from: None }
    }

    /// There is something to send in slot `earliest` or later.
    pub(super) fn request(&mut self, earliest: u64) {
        if let Self::Uplink { period, offset, grant, from: from @ None } = self {
            let asked = earliest.saturating_sub(*offset).div_ceil(*period) * *period + *offset;
            *from = Some(asked + *grant);
        }
    }

    /// Nothing is left to send, or all grants are void.
    pub(super) fn end(&mut self) {
        if let Self::Uplink { from, .. } = self {
            *from = None;
        }
    }

    /// The first slot for new blocks; [`None`]: nobody has asked.
    pub(super) fn from(&self) -> Option<u64> {
        match self {
            Self::Downlink => Some(0),
            Self::Uplink { from, .. } => *from,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_begins_at_its_phase() {
        let slots = Slots::new(Duration::from_millis(1), Duration::from_micros(300));
        assert_eq!(slots.begin(2), Instant::from_nanos(2_300_000));
        let from = |us: u64| slots.from(Instant::from_nanos(us * 1000));
        assert_eq!([0, 300, 301, 1300, 1301].map(from), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn slots_in_a_row_carry_the_rate_to_the_bit() {
        // 10.5 bytes a slot.
        let mut budget = Budget::new(BitRate::from_bps(84_000), Duration::from_millis(1));
        assert_eq!([0, 1, 2, 3].map(|slot| budget.take(slot)), [10, 11, 10, 11]);
        budget.take(4);
        assert_eq!(budget.take(6), 10, "an idle slot saves nothing up");
        budget.skip(7);
        assert_eq!(budget.take(8), 11, "a repetition does not lose what was left over");
    }

    #[test]
    fn a_station_asks_and_waits_for_its_grant() {
        let slots = Slots::new(Duration::from_millis(1), Duration::ZERO);
        let mut grants = Grants::new(&Profile::lte_uplink(), &slots, |_| 3);
        assert_eq!(grants.from(), None);
        // Requests in slots 3, 13, 23: the first from slot 4 on is 13, and the grant is for 8 slots later.
        grants.request(4);
        assert_eq!(grants.from(), Some(21));
        grants.request(30);
        assert_eq!(grants.from(), Some(21), "one request is enough");
        grants.end();
        grants.request(23);
        assert_eq!(grants.from(), Some(31));
    }
}
