//! A 4-ary heap of events.

use crate::queue::Entry;

/// A 4-ary heap that knows where its entries stand.
#[derive(Debug)]
pub(crate) struct Heap {
    /// The earliest entry: it is looked at with each event, and changes with few.
    first: Entry,
    entries: Vec<Entry>,
    /// Where in `entries` the entry of each rank stands; meaningless without one.
    place: Vec<u32>,
}

const ARITY: usize = 4;

impl Heap {
    /// A heap for machines of ranks below `machines`.
    pub(crate) fn new(machines: usize) -> Self {
        Self { first: Entry::NEVER, entries: Vec::new(), place: vec![0; machines] }
    }

    /// The earliest entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        self.first
    }

    /// Adds an entry of a rank that has none.
    pub(crate) fn insert(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.rise(self.entries.len() - 1, entry);
        self.first = self.first.min(entry);
    }

    /// Puts another entry of the same rank in the place of `old`.
    pub(crate) fn replace(&mut self, old: Entry, new: Entry) {
        let place = self.place[old.rank()] as usize;
        if new < old {
            self.rise(place, new);
        } else {
            self.sink(place, new);
        }
        self.note_first();
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, entry: Entry) {
        self.remove_at(self.place[entry.rank()] as usize);
        self.note_first();
    }

    fn note_first(&mut self) {
        self.first = self.entries.first().copied().unwrap_or(Entry::NEVER);
    }

    fn remove_at(&mut self, place: usize) {
        let Some(last) = self.entries.pop() else { return };
        if place < self.entries.len() {
            // The last entry may belong above as well as below the gap, if that is in another branch.
            self.sink(place, last);
            let settled = self.place[last.rank()] as usize;
            self.rise(settled, last);
        }
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
        self.place[entry.rank()] = place as u32;
    }

    /// Moves `entry`, which is to stand at `place`, towards the root as far as it belongs.
    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent] < entry {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves `entry`, which is to stand at `place`, towards the leaves as far as it belongs.
    fn sink(&mut self, mut place: usize, entry: Entry) {
        while let Some(child) = self.first_child(place) {
            if entry < self.entries[child] {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }

    /// The earliest of the children of `place`.
    #[inline]
    fn first_child(&self, place: usize) -> Option<usize> {
        let first = place * ARITY + 1;
        if let Some(&[a, b, c, d]) = self.entries.get(first..first + ARITY) {
            let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
            let last_wins = usize::from(c.min(d) < a.min(b));
            return Some(first + left + (right - left) * last_wins);
        }
        let (offset, _) = self.entries.get(first..)?.iter().enumerate().min_by_key(|(_, entry)| **entry)?;
        Some(first + offset)
    }
}
