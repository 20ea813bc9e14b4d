//! What was found for headers of late, as long as no entry comes or goes.

use super::entry::Rank;
use super::pattern::Bits;

/// Headers that are remembered: as many flows as a switch may see at a time, and a fixed amount of memory whatever a stranger
/// makes up.
const SLOTS: usize = 1024;

/// Each header has one slot, which the last of those that share it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    slots: Vec<Slot>,
    /// How often all was forgotten: what was kept before is not there.
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: u64,
    bits: Bits,
    rank: Rank,
}

impl Found {
    /// The entry for these headers.
    pub(super) fn get(&self, bits: &Bits) -> Option<Rank> {
        let slot = self.slots.get(slot_of(bits))?;
        (slot.generation == self.generation && slot.bits == *bits).then_some(slot.rank)
    }

    /// Remembers it.
    pub(super) fn keep(&mut self, bits: Bits, rank: Rank) {
        let slot = Slot { generation: self.generation, bits, rank };
        if self.slots.is_empty() {
            // A generation that never comes: all others are free.
            self.slots.resize(SLOTS, Slot { generation: u64::MAX, ..slot });
        }
        self.slots[slot_of(&bits)] = slot;
    }

    /// Entries came or went.
    pub(super) fn forget(&mut self) {
        self.generation += 1;
    }
}

/// A multiplicative hash: its upper bits depend on all words. Who makes headers up to meet others makes a switch search again.
fn slot_of(bits: &Bits) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = bits.iter().fold(0_u64, |hash, &word| (hash.rotate_left(23) ^ word).wrapping_mul(ODD));
    (hash >> (u64::BITS - SLOTS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(number: u64) -> Bits {
        let mut bits = Bits::default();
        bits[0] = number;
        bits
    }

    #[test]
    fn what_was_kept_is_found_until_all_is_forgotten() {
        let mut found = Found::default();
        assert_eq!(found.get(&bits(1)), None);
        found.keep(bits(1), Rank::first(7));
        assert_eq!(found.get(&bits(1)), Some(Rank::first(7)));
        assert_eq!(found.get(&bits(2)), None);
        found.forget();
        assert_eq!(found.get(&bits(1)), None);
        found.keep(bits(1), Rank::first(8));
        assert_eq!(found.get(&bits(1)), Some(Rank::first(8)));
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
