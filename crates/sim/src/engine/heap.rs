//! A 4-ary heap of events.

use handfast_core::prefetch::prefetch;

use crate::engine::entry::{Entry, Rank};

/// The four children of an entry: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Family([Entry; ARITY]);

const ARITY: usize = 4;
const _: () = assert!(size_of::<Family>() == 64);

/// A 4-ary heap that knows where its entries stand.
///
/// Places are counted through all families. The root stands last in the first one, so that a family holds just the children of
/// one entry: those of place `p` are family `p - 2`. Places that hold nothing hold [`Entry::NEVER`].
#[derive(Debug)]
pub(crate) struct Heap {
    /// The earliest entry: it is looked at with each event, and changes with few.
    first: Entry,
    families: Vec<Family>,
    /// One past the last place that holds an entry.
    end: usize,
    /// Where the entry of each rank stands; meaningless without one.
    place: Vec<u32>,
}

const ROOT: usize = ARITY - 1;

impl Heap {
    /// A heap for machines of ranks below `machines`.
    pub(crate) fn new(machines: usize) -> Self {
        Self { first: Entry::NEVER, families: Vec::new(), end: ROOT, place: vec![0; machines] }
    }

    /// A rank after all others.
    pub(crate) fn add_rank(&mut self) -> Rank {
        self.place.push(0);
        (self.place.len() - 1) as Rank
    }

    /// The earliest entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        self.first
    }

    /// Adds an entry of a rank that has none.
    pub(crate) fn insert(&mut self, entry: Entry) {
        if self.end.is_multiple_of(ARITY) || self.families.is_empty() {
            self.families.push(Family([Entry::NEVER; ARITY]));
        }
        self.end += 1;
        self.rise(self.end - 1, entry);
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
        self.first = self.families.first().map_or(Entry::NEVER, |family| family.0[ROOT]);
    }

    fn remove_at(&mut self, place: usize) {
        if self.end == ROOT {
            return;
        }
        self.end -= 1;
        let last = std::mem::replace(self.at(self.end), Entry::NEVER);
        if self.end.is_multiple_of(ARITY) || self.end == ROOT {
            self.families.pop();
        }
        if place < self.end {
            // The last entry may belong above as well as below the gap, if that is in another branch.
            self.sink(place, last);
            let settled = self.place[last.rank()] as usize;
            self.rise(settled, last);
        }
    }

    #[inline]
    fn at(&mut self, place: usize) -> &mut Entry {
        &mut self.families[place / ARITY].0[place % ARITY]
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        *self.at(place) = entry;
        self.place[entry.rank()] = place as u32;
    }

    /// Moves `entry`, which is to stand at `place`, towards the root as far as it belongs.
    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > ROOT {
            let parent = place / ARITY + 2;
            let above = *self.at(parent);
            if above < entry {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves `entry`, which is to stand at `place`, towards the leaves as far as it belongs.
    fn sink(&mut self, mut place: usize, entry: Entry) {
        while let Some((child, below)) = self.first_child(place) {
            if entry < below {
                break;
            }
            self.put(place, below);
            place = child;
        }
        self.put(place, entry);
    }

    /// The earliest of the children of `place`, and where it stands; [`Entry::NEVER`] where none of its places holds one.
    #[inline]
    fn first_child(&self, place: usize) -> Option<(usize, Entry)> {
        let family = place - 2;
        let &Family([a, b, c, d]) = self.families.get(family)?;
        // One of the next families will be compared next: they stand together.
        let first = family * ARITY;
        prefetch(self.families.get(first - 2), 0..ARITY);
        let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
        let (before, after) = (a.min(b), c.min(d));
        let last_wins = after < before;
        Some((first + left + (right - left) * usize::from(last_wins), before.min(after)))
    }
}
