//! What was found for headers of late, as long as no entry comes or goes that they could match.

use super::entry::Rank;
use super::pattern::{Bits, Pattern, destination};

/// Headers that are remembered: as many flows as a switch may see at a time, and a fixed amount of memory whatever a stranger
/// makes up.
const SLOTS: usize = 1024;
/// An entry for one destination makes forget what shares its part of the destinations, and nothing else: stations come and go
/// all the time.
const PARTS: usize = 256;

/// Each header has one slot, which the last of those that share it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    slots: Vec<Slot>,
    /// How often each part of the destinations was forgotten: what was kept before is not there.
    ages: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// [`NEVER`]: there is nothing.
    age: u64,
    bits: Bits,
    rank: Rank,
}

const NEVER: u64 = u64::MAX;

impl Found {
    /// The entry for these headers.
    pub(super) fn get(&self, bits: &Bits) -> Option<Rank> {
        let slot = self.slots.get(slot_of(bits))?;
        (slot.bits == *bits && slot.age == self.ages[part_of(destination(bits))]).then_some(slot.rank)
    }

    /// Remembers it.
    pub(super) fn keep(&mut self, bits: Bits, rank: Rank) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot { age: NEVER, bits, rank });
            self.ages.resize(PARTS, 0);
        }
        self.slots[slot_of(&bits)] = Slot { age: self.ages[part_of(destination(&bits))], bits, rank };
    }

    /// An entry with this match has come or gone.
    pub(super) fn forget(&mut self, pattern: &Pattern) {
        let Some(destination) = pattern.destination() else {
            return self.ages.iter_mut().for_each(|age| *age += 1);
        };
        if let Some(age) = self.ages.get_mut(part_of(destination)) {
            *age += 1;
        }
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

fn part_of(destination: u64) -> usize {
    (destination.wrapping_mul(ODD) >> (u64::BITS - PARTS.ilog2())) as usize
}

/// A multiplicative hash: its upper bits depend on all words. Who makes headers up to meet others makes a switch search again.
fn slot_of(bits: &Bits) -> usize {
    let hash = bits.iter().fold(0_u64, |hash, &word| (hash.rotate_left(23) ^ word).wrapping_mul(ODD));
    (hash >> (u64::BITS - SLOTS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::openflow::{Masked, Match};

    fn bits(number: u64) -> Bits {
        let mut bits = Bits::default();
        bits[0] = number;
        bits
    }

    fn towards(destination: u8) -> Pattern {
        let matches =
            Match { eth_dst: Some(Masked::exact([0, 0, 0, 0, 0, destination])), ..Match::default() };
        Pattern::new(&matches).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_until_an_entry_comes_or_goes_that_it_could_match() {
        let mut found = Found::default();
        assert_eq!(found.get(&bits(1)), None);
        found.forget(&towards(0));
        found.keep(bits(1), Rank::first(7));
        assert_eq!(found.get(&bits(1)), Some(Rank::first(7)));
        assert_eq!(found.get(&bits(2)), None);
        let elsewhere = (1..=255).find(|&destination| part_of(destination.into()) != part_of(0)).unwrap();
        found.forget(&towards(elsewhere));
        assert_eq!(found.get(&bits(1)), Some(Rank::first(7)));
        found.forget(&towards(0));
        assert_eq!(found.get(&bits(1)), None);
        found.keep(bits(1), Rank::first(8));
        found.forget(&Pattern::default());
        assert_eq!(found.get(&bits(1)), None);
        // A mask that leaves bits out is about many destinations.
        found.keep(bits(1), Rank::first(9));
        let group = Masked { value: [1, 0, 0, 0, 0, 0], mask: Some([1, 0, 0, 0, 0, 0]) };
        found.forget(&Pattern::new(&Match { eth_dst: Some(group), ..Match::default() }).unwrap());
        assert_eq!(found.get(&bits(1)), None);
    }

    #[test]
    fn headers_that_share_a_slot_are_not_taken_for_each_other() {
        let mut found = Found::default();
        for number in 0..100_000 {
            found.keep(bits(number), Rank::first(number as u16));
        }
        let known: Vec<u64> = (0..100_000).filter(|&number| found.get(&bits(number)).is_some()).collect();
        assert!((900..=SLOTS).contains(&known.len()), "{} of {SLOTS} slots in use", known.len());
        assert!(known.iter().all(|&number| found.get(&bits(number)) == Some(Rank::first(number as u16))));
    }
}
