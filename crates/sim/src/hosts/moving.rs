//! Hosts whose address changes, and applications that open a new connection from the next one.
//!
//! `run/network/moving.rs` does it; `hosts/sessions.rs` holds what goes on without the application's doing.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};
use handfast_host::app::Reconnect;
use handfast_plan::StreamId;
use handfast_plan::address::AddressId;
use handfast_scenario::NodeId;

use crate::engine::queue::Timer;

/// All of them.
pub(crate) struct Moving {
    /// Of each station that goes from one IP network to another the address that it has; [`None`]: it has none now.
    pub(crate) addresses: BTreeMap<NodeId, Option<AddressId>>,
    /// When applications try to open a new connection.
    attempts: BTreeSet<(Instant, StreamId)>,
    /// How long each of them waits if its next attempt fails.
    waits: BTreeMap<StreamId, Duration>,
    pub(crate) timer: Timer,
}

impl Moving {
    /// Stations with these addresses.
    pub(crate) fn new(stations: impl Iterator<Item = (NodeId, AddressId)>, timer: Timer) -> Self {
        let addresses = stations.map(|(station, address)| (station, Some(address))).collect();
        Self { addresses, attempts: BTreeSet::new(), waits: BTreeMap::new(), timer }
    }

    /// An application tries at that time.
    pub(crate) fn try_at(&mut self, at: Instant, stream: StreamId) {
        self.attempts.insert((at, stream));
    }

    /// An attempt has failed.
    pub(crate) fn put_off(&mut self, now: Instant, stream: StreamId, how: &Reconnect) {
        let wait = self.waits.entry(stream).or_insert(how.after);
        self.attempts.insert((now + *wait, stream));
        *wait = (*wait + *wait).min(how.most);
    }

    /// One has succeeded, or is not needed.
    pub(crate) fn settled(&mut self, stream: StreamId) {
        self.waits.remove(&stream);
        self.attempts.retain(|&(_, other)| other != stream);
    }

    /// The next attempt that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<StreamId> {
        let &first = self.attempts.first().filter(|(at, _)| *at <= now)?;
        self.attempts.remove(&first);
        Some(first.1)
    }

    /// Whether an application is about to open a new connection for a stream.
    pub(crate) fn tries(&self, stream: StreamId) -> bool {
        self.attempts.iter().any(|&(_, other)| other == stream)
    }

    /// When something is to be tried next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.attempts.first().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entry::Machine;

    #[test]
    fn attempts_that_fail_come_ever_more_rarely() {
        let mut moving = Moving::new(std::iter::empty(), Timer::new(0, Machine::Agent(0)));
        let how =
            Reconnect { most: Duration::from_millis(300), ..Reconnect::after(Duration::from_millis(100)) };
        moving.try_at(Instant::from_millis(5), 7);
        let mut seen = Vec::new();
        for _ in 0..4 {
            let at = moving.deadline().unwrap();
            seen.push(at.as_nanos() / 1_000_000);
            assert_eq!((moving.take_due(at), moving.take_due(at)), (Some(7), None));
            moving.put_off(at, 7, &how);
        }
        assert_eq!(seen, [5, 105, 305, 605]);
        assert!(moving.tries(7));
        moving.settled(7);
        assert_eq!((moving.deadline(), moving.tries(7)), (None, false));
    }
}
