//! Packets that will land beyond the end of the wheel.

use std::collections::BTreeMap;

use crate::engine::entry::Entry;
use crate::engine::fast_path::flight::Flight;

/// Flights by when they end, and those that end at the same time on the same link in the order in which they came.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// The earliest entry: it is looked at with each event.
    first: Entry,
    /// By [`Entry::order`] and number.
    flights: BTreeMap<(u128, u64), (Entry, Flight)>,
    /// How many have come.
    count: u64,
}

impl Default for Overflow {
    fn default() -> Self {
        Self { first: Entry::NEVER, flights: BTreeMap::new(), count: 0 }
    }
}

impl Overflow {
    /// The earliest entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        self.first
    }

    #[cold]
    pub(crate) fn insert(&mut self, entry: Entry, flight: Flight) {
        self.flights.insert((entry.order(), self.count), (entry, flight));
        self.count += 1;
        self.note_first();
    }

    /// Takes the earliest out, if there is one.
    #[cold]
    pub(crate) fn pop(&mut self) -> Option<Flight> {
        let (_, (_, flight)) = self.flights.pop_first()?;
        self.note_first();
        Some(flight)
    }

    fn note_first(&mut self) {
        self.first = self.flights.first_key_value().map_or(Entry::NEVER, |(_, &(entry, _))| entry);
    }
}
