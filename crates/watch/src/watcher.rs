//! All connections of a machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use handfast_core::{Duration, Instant};

use crate::arrivals::{Arrivals, Heard};
use crate::connection::{Connection, Evidence, Wait};
use crate::diagnosis;
use crate::lookups::{Asked, Lookup, Lookups};
use crate::network::{Change, InterfaceId, Network};
use crate::sample::{ConnectionId, Sample};
use crate::stall::{Direction, End, Path, Stall};

/// What counts, and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A wait is a stall from here on, and from two round trips on.
    pub least: Duration,
    /// Connections that are watched at a time; further ones are not.
    pub connections: usize,
}

impl Default for Limits {
    /// Linux's shortest timeout (`TCP_RTO_MIN`): what is repaired without it takes less.
    fn default() -> Self {
        Self { least: Duration::from_millis(200), connections: 10_000 }
    }
}

/// Finds the stalls of all connections.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    limits: Limits,
    network: Network,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Of interfaces that have an address, of which the network remembers so many.
    arrivals: BTreeMap<InterfaceId, Arrivals>,
    lookups: Lookups,
    unwatched: u64,
}

impl Watcher {
    /// A watcher that knows nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Something in the network has changed. What is there already at the start is told the same way.
    pub fn on_change(&mut self, at: Instant, change: Change) {
        self.network.on_change(at, change);
    }

    /// All connections as they are now: the stalls that have ended since the last time.
    pub fn on_samples(&mut self, at: Instant, samples: Vec<Sample>) -> Vec<Stall> {
        let mut ended = Vec::new();
        let mut gone = std::mem::take(&mut self.connections);
        for sample in samples {
            let id = sample.id;
            match gone.remove(&id) {
                Some(mut connection) => {
                    let waits = connection.on_sample(at, sample, self.limits.least);
                    self.note_arrival(&connection);
                    ended.extend(
                        waits.into_iter().map(|wait| (id, connection.sample().clone(), wait, End::WentOn)),
                    );
                    self.connections.insert(id, connection);
                }
                None if self.connections.len() < self.limits.connections => {
                    self.connections.insert(id, Connection::new(at, &sample));
                }
                None => self.unwatched += 1,
            }
        }
        for (id, mut connection) in gone {
            let wait = connection.close(at, self.limits.least);
            ended.extend(wait.map(|wait| (id, connection.sample().clone(), wait, End::Broke)));
        }
        let ended = ended.into_iter();
        ended
            .filter_map(|(id, sample, wait, end)| self.stall(id, (sample.local, sample.remote), &wait, end))
            .collect()
    }

    /// All sockets that ask for names, as they are now: the questions that took long, and have ended since the last time.
    pub fn on_lookups(&mut self, at: Instant, lookups: &[Lookup]) -> Vec<Stall> {
        let asked = self.lookups.on_lookups(at, lookups, self.limits.connections);
        asked.iter().filter_map(|asked| self.asked(asked, End::WentOn)).collect()
    }

    /// The watch ends: the stalls that last.
    pub fn finish(&mut self, at: Instant) -> Vec<Stall> {
        let mut lasting = Vec::new();
        for (&id, connection) in &mut self.connections {
            let wait = connection.close(at, self.limits.least);
            lasting.extend(wait.map(|wait| (id, connection.sample().clone(), wait)));
        }
        let asking = self.lookups.waiting().map(|(lookup, from)| Asked { lookup, from, to: at });
        let asking = asking.filter_map(|asked| self.asked(&asked, End::Lasts));
        lasting
            .into_iter()
            .filter_map(|(id, sample, wait)| self.stall(id, (sample.local, sample.remote), &wait, End::Lasts))
            .chain(asking)
            .collect()
    }

    /// How many connections are watched.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.connections.len()
    }

    /// How many wait at this moment, long enough to count.
    #[must_use]
    pub fn waiting(&self, now: Instant) -> usize {
        let long = |from: Instant| now.since(from) >= self.limits.least;
        self.connections.values().filter(|one| one.waits_from().is_some_and(long)).count()
    }

    /// Samples of connections beyond [`Limits::connections`].
    #[must_use]
    pub fn unwatched(&self) -> u64 {
        self.unwatched
    }

    fn note_arrival(&mut self, connection: &Connection) {
        let interface = self.network.interface(connection.sample().local.ip());
        if let Some((interface, came)) = interface.zip(connection.came()) {
            self.arrivals.entry(interface).or_default().note(came);
        }
    }

    fn asked(&self, asked: &Asked, end: End) -> Option<Stall> {
        let &Asked { lookup, from, to } = asked;
        if to.since(from) < self.limits.least {
            return None;
        }
        let (direction, evidence) = (Direction::Resolving, Evidence::default());
        let wait = Wait { direction, from, to, evidence, path: Path::default() };
        self.stall(lookup.id, (lookup.local, lookup.server), &wait, end)
    }

    /// `ends`: this one and the other one.
    fn stall(
        &self,
        id: ConnectionId,
        ends: (SocketAddr, SocketAddr),
        wait: &Wait,
        end: End,
    ) -> Option<Stall> {
        let local = ends.0.ip();
        let gap = self.network.gap(local, wait.from, wait.to);
        let arrivals = self.network.interface(local).and_then(|interface| self.arrivals.get(&interface));
        let heard = arrivals.map_or(Heard::Nothing, |one| one.heard(wait.from, wait.to, self.limits.least));
        Some(Stall {
            connection: id,
            local: ends.0,
            remote: ends.1,
            direction: wait.direction,
            phases: diagnosis::phases(wait, gap, heard)?,
            end,
            retransmitted: wait.evidence.retransmitted,
            longest_rto: wait.evidence.longest_rto,
            path: wait.path,
        })
    }
}
