//! What stations wait for: the next deadline of each, barriers, and which of them gives way under pressure.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};

use crate::sdn::StationId;
use crate::sdn::shared::Shared;
use crate::sdn::station::Station;

/// Indexes over all stations. They are kept up to date by whoever changes a station ([`Agenda::follow`]).
#[derive(Default)]
pub(super) struct Agenda {
    /// When each station has something to do.
    due: BTreeSet<(Instant, StationId)>,
    /// Which station waits for which barrier: thousands may come back at once.
    waiting: BTreeMap<u32, StationId>,
    /// Since when stations are away of which something is held: under pressure every segment asks who gives way.
    holding: BTreeSet<(Instant, StationId)>,
    /// Stations for which something diverts, or may.
    away: usize,
}

/// A station's entries.
#[derive(Clone, Copy)]
struct Entries {
    deadline: Instant,
    barrier: Option<u32>,
    away_since: Option<Instant>,
    diverts: bool,
}

impl Entries {
    fn of(station: &Station, age: Duration) -> Self {
        Self {
            deadline: station.deadline(age),
            barrier: station.barrier(),
            away_since: station.away_since(),
            diverts: station.diverts(),
        }
    }
}

impl Agenda {
    /// Does something to a station, and enters what follows from it.
    pub(super) fn follow(
        &mut self,
        id: StationId,
        station: &mut Station,
        shared: &mut Shared,
        act: impl FnOnce(&mut Station, &mut Shared),
    ) {
        let age = shared.config.datagrams.age;
        let before = Entries::of(station, age);
        act(station, shared);
        self.update(id, before, Entries::of(station, age));
    }

    fn update(&mut self, id: StationId, before: Entries, after: Entries) {
        self.away = self.away + usize::from(after.diverts) - usize::from(before.diverts);
        if before.deadline != after.deadline {
            self.due.remove(&(before.deadline, id));
            self.due.insert((after.deadline, id));
        }
        if before.barrier != after.barrier {
            before.barrier.map(|barrier| self.waiting.remove(&barrier));
            self.waiting.extend(after.barrier.map(|barrier| (barrier, id)));
        }
        if before.away_since != after.away_since {
            before.away_since.map(|since| self.holding.remove(&(since, id)));
            self.holding.extend(after.away_since.map(|since| (since, id)));
        }
    }

    /// A station is new.
    pub(super) fn insert(&mut self, id: StationId, station: &Station, age: Duration) {
        self.due.insert((station.deadline(age), id));
        self.away += usize::from(station.diverts());
    }

    /// A station is forgotten.
    pub(super) fn remove(&mut self, id: StationId, station: &Station, age: Duration) {
        self.away -= usize::from(station.diverts());
        self.due.remove(&(station.deadline(age), id));
        station.barrier().map(|barrier| self.waiting.remove(&barrier));
    }

    /// Stations for which something diverts, or may.
    pub(super) fn away(&self) -> usize {
        self.away
    }

    /// Deadlines and their stations, the earliest first.
    pub(super) fn by_deadline(&self) -> impl Iterator<Item = (Instant, StationId)> + '_ {
        self.due.iter().copied()
    }

    /// The station with the earliest deadline, if that has come.
    pub(super) fn due(&self, now: Instant) -> Option<StationId> {
        self.due.first().filter(|&&(due, _)| due <= now).map(|&(_, id)| id)
    }

    /// Which station waits for a barrier.
    pub(super) fn of_barrier(&self, barrier: u32) -> Option<StationId> {
        self.waiting.get(&barrier).copied()
    }

    /// Stations of which something is held, and since when they are away.
    pub(super) fn holding(&self) -> impl Iterator<Item = (Instant, StationId)> + '_ {
        self.holding.iter().copied()
    }
}
