//! Which association was the last of a station that was forgotten: reports of it may still come.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};

use super::StationId;

/// The last associations of stations that stayed away.
#[derive(Debug, Default)]
pub(crate) struct Departed {
    last: BTreeMap<StationId, (Instant, u64)>,
    order: BTreeSet<(Instant, StationId)>,
}

impl Departed {
    /// A station is forgotten; of more than `most` the one that was forgotten first gives way.
    pub(crate) fn remember(&mut self, now: Instant, station: StationId, epoch: u64, most: usize) {
        self.forget(station);
        self.last.insert(station, (now, epoch));
        self.order.insert((now, station));
        while self.last.len() > most
            && let Some((_, first)) = self.order.pop_first()
        {
            self.last.remove(&first);
        }
    }

    /// A station's last association, if it was forgotten less than `memory` ago.
    pub(crate) fn last(&self, now: Instant, station: StationId, memory: Duration) -> Option<u64> {
        let &(since, epoch) = self.last.get(&station)?;
        (now.since(since) < memory).then_some(epoch)
    }

    /// There is something newer.
    pub(crate) fn forget(&mut self, station: StationId) {
        if let Some((since, _)) = self.last.remove(&station) {
            self.order.remove(&(since, station));
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
