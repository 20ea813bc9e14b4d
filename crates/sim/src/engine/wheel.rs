//! A timing wheel: the near future in slots of equal width.

use crate::engine::entry::Entry;
use crate::engine::fast_path::flight::Flight;

const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 12;
/// A bit of `words` stands for each word of `occupied`.
const WORDS: usize = SLOTS / WORD;
const WORD: usize = u64::BITS as usize;
/// Slots are 2^11 ns wide at first.
const FIRST_SHIFT: u32 = 11;
/// And 2^0 to 2^30 ns later.
const MAX_SHIFT: u32 = 30;
/// How many times the earliest entry is looked for between two judgements of the width.
const SPELL: u32 = 4096;

const NONE: u32 = u32::MAX;

/// An entry in a slot's list. The node freed last is used first: few are in use at a time, and they stay in the cache.
#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Entry,
    next: u32,
    /// Of a packet.
    flight: Flight,
}

const _: () = assert!(size_of::<Node>() == 32);

/// What happened since the width was last judged.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    searches: u32,
    /// Entries that new ones went behind.
    compared: u32,
    /// Entries that lay beyond the end.
    beyond: u32,
}

/// Entries of the next [`SLOTS`] slots of time; which slot is the first moves with time. Entries that do not fit are for
/// the caller to keep. The width follows what happens, and never what order entries come out in.
#[derive(Debug)]
pub(crate) struct Wheel {
    first: Entry,
    /// That of the earliest entry.
    first_flight: Flight,
    shift: u32,
    /// The first slot, counted from time 0. No entry stands before it.
    start: u64,
    /// The first node of each slot's list, which is in order; slots are reused modulo their number.
    heads: Box<[u32; SLOTS]>,
    nodes: Vec<Node>,
    free: u32,
    /// A bit for each slot with entries.
    occupied: [u64; WORDS],
    /// A bit for each word of `occupied` that is not zero.
    words: u64,
    spell: Spell,
}

const _: () = assert!(WORDS == WORD, "`words` has a bit for each word");

impl Default for Wheel {
    fn default() -> Self {
        Self {
            first: Entry::NEVER,
            first_flight: Flight::NONE,
            shift: FIRST_SHIFT,
            start: 0,
            heads: Box::new([NONE; SLOTS]),
            nodes: Vec::new(),
            free: NONE,
            occupied: [0; WORDS],
            words: 0,
            spell: Spell::default(),
        }
    }
}

impl Wheel {
    /// The earliest entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        self.first
    }

    /// Adds an entry; false where it does not fit.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry, flight: Flight) -> bool {
        let Some(index) = self.index(entry) else { return false };
        let node = self.free;
        let Some(place) = self.nodes.get_mut(node as usize) else {
            return self.insert_anew(entry, flight);
        };
        self.free = place.next;
        let head = self.heads[index];
        if self.nodes.get(head as usize).is_some_and(|head| entry.is_after(head.entry)) {
            self.link_behind(head, node, entry, flight);
            return true;
        }
        self.nodes[node as usize] = Node { entry, next: head, flight };
        self.heads[index] = node;
        self.occupied[index / WORD] |= 1 << (index % WORD);
        self.words |= 1 << (index / WORD);
        if entry < self.first {
            (self.first, self.first_flight) = (entry, flight);
        }
        true
    }

    /// Makes node `new` that of `entry`, and puts it where it belongs in the list behind `head`.
    #[inline(never)]
    fn link_behind(&mut self, head: u32, new: u32, entry: Entry, flight: Flight) {
        let mut before = head;
        let next = loop {
            self.spell.compared += 1;
            let next = self.nodes[before as usize].next;
            match self.nodes.get(next as usize) {
                Some(node) if entry.is_after(node.entry) => before = next,
                _ => break next,
            }
        };
        self.nodes[before as usize].next = new;
        self.nodes[new as usize] = Node { entry, next, flight };
    }

    /// [`Wheel::insert`] where no node is free.
    #[cold]
    fn insert_anew(&mut self, entry: Entry, flight: Flight) -> bool {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { entry, next: NONE, flight });
        self.insert(entry, flight)
    }

    /// Takes the earliest entry out. There is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Flight {
        let flight = self.first_flight;
        let node = self.unlink_first();
        self.release(node);
        self.find_first();
        flight
    }

    /// That of the earliest entry; [`Flight::NONE`] where there is none.
    #[inline]
    pub(crate) fn first_flight(&self) -> Flight {
        self.first_flight
    }

    /// Takes an entry out; false where it is not here.
    pub(crate) fn remove(&mut self, entry: Entry) -> bool {
        let slot = self.slot(entry);
        if slot.wrapping_sub(self.start) >= SLOTS as u64 {
            return false;
        }
        let Some(node) = self.unlink(slot as usize % SLOTS, entry) else { return false };
        self.release(node);
        if entry == self.first {
            self.start = slot;
            self.find_first();
        }
        true
    }

    /// The slot of an entry that is to come here, if it fits.
    #[inline]
    fn index(&mut self, entry: Entry) -> Option<usize> {
        let slot = self.slot(entry);
        if self.words == 0 {
            // Room for later entries, and some for earlier ones.
            self.start = slot.saturating_sub(SLOTS as u64 / 4);
        }
        if slot.wrapping_sub(self.start) >= SLOTS as u64 {
            self.spell.beyond += 1;
            return None;
        }
        Some(slot as usize % SLOTS)
    }

    #[inline]
    fn release(&mut self, node: u32) {
        self.nodes[node as usize].next = self.free;
        self.free = node;
    }

    /// Takes the node of the earliest entry, which there is, out of its list: it is the first there. No entry stands before its
    /// slot.
    #[inline]
    fn unlink_first(&mut self) -> u32 {
        self.start = self.slot(self.first);
        let index = self.start as usize % SLOTS;
        let head = self.heads[index];
        self.set_head(index, self.nodes[head as usize].next);
        head
    }

    /// Takes an entry's node out of a slot's list; [`None`] where it is not there.
    #[inline(never)]
    fn unlink(&mut self, index: usize, entry: Entry) -> Option<u32> {
        let (mut before, mut at) = (NONE, self.heads[index]);
        while let Some(&Node { entry: found, next, .. }) = self.nodes.get(at as usize) {
            if found == entry {
                match self.nodes.get_mut(before as usize) {
                    Some(before) => before.next = next,
                    None => self.set_head(index, next),
                }
                return Some(at);
            }
            (before, at) = (at, next);
        }
        None
    }

    #[inline]
    fn set_head(&mut self, index: usize, node: u32) {
        self.heads[index] = node;
        if node == NONE {
            let word = &mut self.occupied[index / WORD];
            *word &= !(1 << (index % WORD));
            self.words &= !(u64::from(*word == 0) << (index / WORD));
        }
    }

    /// Whether the width should be judged again.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.spell.searches >= SPELL
    }

    /// Judges the width, and changes it. What no longer fits is handed out.
    #[cold]
    pub(crate) fn judge(&mut self) -> Vec<(Entry, Flight)> {
        // An entry goes in for each that comes out.
        let Spell { searches, compared, beyond } = std::mem::take(&mut self.spell);
        let crowded = compared > 2 * searches;
        let short = beyond > searches / 8 && compared < searches / 2;
        if crowded && self.shift > 0 {
            self.resize(self.shift - 1)
        } else if short && self.shift < MAX_SHIFT {
            self.resize(self.shift + 1)
        } else {
            Vec::new()
        }
    }

    fn resize(&mut self, shift: u32) -> Vec<(Entry, Flight)> {
        let mut entries = Vec::new();
        for &head in self.heads.iter() {
            let mut at = head;
            while let Some(node) = self.nodes.get(at as usize) {
                entries.push((node.entry, node.flight));
                at = node.next;
            }
        }
        let start = self.start << self.shift >> shift;
        *self = Self { shift, start, ..Self::default() };
        entries.retain(|&(entry, flight)| !self.insert(entry, flight));
        entries
    }

    #[inline]
    fn slot(&self, entry: Entry) -> u64 {
        entry.at().as_nanos() >> self.shift
    }

    /// Looks for the earliest entry.
    #[inline]
    fn find_first(&mut self) {
        self.spell.searches += 1;
        let head = if self.words == 0 { NONE } else { self.heads[self.first_occupied()] };
        let first = self.nodes.get(head as usize);
        (self.first, self.first_flight) =
            first.map_or((Entry::NEVER, Flight::NONE), |node| (node.entry, node.flight));
    }

    /// The first slot with entries, from the start of the wheel around. There is one.
    #[inline]
    fn first_occupied(&self) -> usize {
        let start = self.start as usize % SLOTS;
        let (word, bit) = (start / WORD, start % WORD);
        let ahead = self.occupied[word] & (u64::MAX << bit);
        if ahead != 0 {
            return word * WORD + ahead.trailing_zeros() as usize;
        }
        // Around once; the first word comes again for the bits before the start.
        let after = self.words & (u64::MAX << word << 1);
        let words = if after == 0 { self.words } else { after };
        let word = words.trailing_zeros() as usize % WORDS;
        word * WORD + self.occupied[word].trailing_zeros() as usize % WORD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entry::{Key, Machine};
    use handfast_core::Instant;

    fn entry(nanos: u64, rank: u32) -> Entry {
        Entry::new(Instant::from_nanos(nanos), Key::new(rank, Machine::Channel(rank)))
    }

    fn drain(wheel: &mut Wheel) -> Vec<u64> {
        let mut times = Vec::new();
        while wheel.first() < Entry::NEVER {
            times.push(wheel.first().at().as_nanos());
            assert!(wheel.remove(wheel.first()));
        }
        times
    }

    fn len(wheel: &Wheel) -> usize {
        let next = |&at: &u32| wheel.nodes.get(at as usize).map(|node| node.next);
        let free = std::iter::successors(Some(wheel.free), next).count() - 1;
        wheel.nodes.len() - free
    }

    #[test]
    fn entries_come_out_in_order_around_the_wheel() {
        let mut wheel = Wheel::default();
        let width = 1 << FIRST_SHIFT;
        let mut times = Vec::new();
        for step in 0..3 * SLOTS as u64 {
            let at = step * width + step % 7;
            assert!(wheel.insert(entry(at, 0), Flight::NONE));
            assert!(wheel.insert(entry(at + 100 * width, 1), Flight::NONE));
            while len(&wheel) > 150 {
                times.push(wheel.first().at().as_nanos());
                assert!(wheel.remove(wheel.first()));
            }
        }
        times.extend(drain(&mut wheel));
        assert!(times.is_sorted());
        assert_eq!(times.len(), 6 * SLOTS);
    }

    #[test]
    fn what_lies_before_or_beyond_is_not_taken() {
        let mut wheel = Wheel::default();
        let span = (SLOTS as u64) << FIRST_SHIFT;
        assert!(wheel.insert(entry(10 * span, 0), Flight::NONE));
        assert!(!wheel.insert(entry(8 * span, 1), Flight::NONE));
        assert!(!wheel.insert(entry(12 * span, 2), Flight::NONE));
        assert!(!wheel.remove(entry(8 * span, 1)));
        assert_eq!(drain(&mut wheel), [10 * span]);
    }

    #[test]
    fn crowded_slots_become_narrower_and_a_short_wheel_wider() {
        for (gap, together) in [(1, 64), (1 << 20, 2)] {
            let (mut wheel, mut next) = (Wheel::default(), 0);
            let mut kept = Vec::new();
            for _ in 0..20 * SPELL {
                while len(&wheel) < together {
                    next += gap;
                    if !wheel.insert(entry(next, (next / gap) as u32), Flight::NONE) {
                        kept.push(next);
                    }
                }
                assert!(wheel.remove(wheel.first()));
                // In turn a far one, so that there is something beyond the end.
                wheel.insert(entry(next + (SLOTS as u64) * gap, 0), Flight::NONE);
                wheel.remove(entry(next + (SLOTS as u64) * gap, 0));
                if wheel.is_due() {
                    kept.extend(wheel.judge().iter().map(|(entry, _)| entry.at().as_nanos()));
                }
            }
            let narrower = gap == 1;
            assert_eq!(wheel.shift < FIRST_SHIFT, narrower, "{gap}: {}", wheel.shift);
            assert_eq!(wheel.shift > FIRST_SHIFT, !narrower, "{gap}: {}", wheel.shift);
        }
    }
}
