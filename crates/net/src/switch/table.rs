//! A flow table: its entries by rank, and an index by which a packet finds the best one.
//!
//! Entries with the same mask form a group, ordered by value. A packet is looked up once in each group: the cost grows with the
//! number of different masks, which is small in practice, and not with that of entries.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{Entry, Rank};
use super::found::Found;
use super::pattern::{Bits, Pattern, Shape};

/// One table.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    entries: BTreeMap<Rank, Entry>,
    groups: Vec<Group>,
    /// What was found for the headers of late: a flow's packets are all alike.
    found: Found,
}

/// The entries with one mask.
#[derive(Clone, Debug)]
struct Group {
    shape: Shape,
    ranks: BTreeSet<(Bits, Rank)>,
}

impl Group {
    /// The best entry with that value.
    fn best(&self, value: &Bits) -> Option<Rank> {
        self.between(value, Rank::first(u16::MAX), Rank::last(0))
    }

    fn between(&self, value: &Bits, first: Rank, last: Rank) -> Option<Rank> {
        self.ranks.range((*value, first)..=(*value, last)).next().map(|&(_, rank)| rank)
    }
}

impl Table {
    /// The entry of the highest priority that a packet matches (§5.3).
    pub(super) fn lookup(&mut self, bits: &Bits) -> Option<&mut Entry> {
        let rank = if let Some(rank) = self.found.get(bits) {
            rank
        } else {
            let best = self.groups.iter().filter_map(|group| group.best(&group.shape.of(bits))).min()?;
            self.found.keep(*bits, best);
            best
        };
        self.entries.get_mut(&rank)
    }

    /// The entry with exactly this match and priority (§6.4, strict).
    pub(super) fn find(&self, pattern: &Pattern, priority: u16) -> Option<Rank> {
        let group = self.groups.iter().find(|group| group.shape == pattern.shape())?;
        group.between(pattern.value(), Rank::first(priority), Rank::last(priority))
    }

    /// Whether another entry of that priority overlaps (§6.4). One with the same match would be replaced, as by Open vSwitch.
    pub(super) fn overlaps(&self, pattern: &Pattern, priority: u16) -> bool {
        let equals = self.entries.range(Rank::first(priority)..=Rank::last(priority));
        equals.into_iter().any(|(_, entry)| entry.pattern != *pattern && entry.pattern.overlaps(pattern))
    }

    /// Adds an entry. None with its match and priority is there.
    pub(super) fn insert(&mut self, entry: Entry) {
        self.found.forget(&entry.pattern);
        let shape = entry.pattern.shape();
        let key = (*entry.pattern.value(), entry.rank);
        match self.groups.iter_mut().find(|group| group.shape == shape) {
            Some(group) => drop(group.ranks.insert(key)),
            None => self.groups.push(Group { shape, ranks: BTreeSet::from([key]) }),
        }
        self.entries.insert(entry.rank, entry);
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, rank: Rank) -> Option<Entry> {
        let entry = self.entries.remove(&rank)?;
        self.found.forget(&entry.pattern);
        let shape = entry.pattern.shape();
        if let Some(at) = self.groups.iter().position(|group| group.shape == shape) {
            self.groups[at].ranks.remove(&(*entry.pattern.value(), rank));
            if self.groups[at].ranks.is_empty() {
                self.groups.swap_remove(at);
            }
        }
        Some(entry)
    }

    /// An entry, to be changed.
    pub(super) fn get_mut(&mut self, rank: Rank) -> Option<&mut Entry> {
        self.entries.get_mut(&rank)
    }

    /// All entries, the best first.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// All entries, to be changed.
    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.values_mut()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
