//! The agent of a base station: all connections that pass it.

use std::collections::BTreeSet;

use handfast_core::{Bytes, Instant};
use handfast_net::{Outbox, Port};
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, Segment};

use super::config::{Config, Counters};
use super::connection::{Connection, Outcome, resets, without_sack};
use crate::recent::{Place, Recent};
use crate::{Agent, ConnectionKey, Verdict, View};

/// A connection, and the time of its entry among the timers, which is not after its deadline.
#[derive(Debug, Default)]
struct Known {
    connection: Connection,
    entered: Option<Instant>,
}

/// Snoop at one base station.
#[derive(Debug)]
pub struct Snoop {
    config: Config,
    /// The ports that lead to mobiles.
    radio: BTreeSet<Port>,
    /// By the direction towards the mobile.
    known: Recent<Known>,
    timers: BTreeSet<(Instant, ConnectionKey)>,
    counters: Counters,
    /// IP bytes that are kept of all connections.
    bytes: u64,
    /// What is to leave besides what came.
    more: Vec<Packet>,
}

impl Snoop {
    /// An agent that knows of no connection; `radio` are the ports that lead to mobiles.
    pub fn new(config: Config, radio: impl IntoIterator<Item = Port>) -> Self {
        Self {
            config,
            radio: radio.into_iter().collect(),
            known: Recent::new(config.connections),
            timers: BTreeSet::new(),
            counters: Counters::default(),
            bytes: 0,
            more: Vec::new(),
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// IP bytes that are kept of all connections.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn consider(&mut self, now: Instant, port: Port, view: &View<'_>, segment: &Segment) -> Outcome {
        let direction = ConnectionKey::of(view, segment);
        let up = self.radio.contains(&port);
        let key = if up { direction.reversed() } else { direction };
        if resets(segment) {
            self.forget(&key);
            return Outcome::Pass;
        }
        let acknowledges = up && segment.flags.contains(Flags::ACK);
        if !acknowledges && (up || segment.seq_len() == 0) {
            return Outcome::Pass;
        }
        let mut place = self.known.find(&key);
        if let Some(known) = place {
            if now.since(self.known.heard(known)) > self.config.idle {
                self.forget(&key);
                place = None;
            }
        } else if up {
            return Outcome::Pass;
        } else {
            self.make_room();
        }
        let place = place.unwrap_or_else(|| self.known.insert(now, key, Known::default()));
        let known = self.known.touch(now, place);
        let full = self.bytes + view.ip_len as u64 > self.config.total.get();
        let per_connection = if full { Bytes(0) } else { self.config.per_connection };
        let (config, counters) = (&Config { per_connection, ..self.config }, &mut self.counters);
        let before = known.connection.bytes();
        let outcome = if up {
            known.connection.on_ack(now, view, segment, config, counters, &mut self.more)
        } else {
            known.connection.on_data(now, view, segment, config, counters, &mut self.more)
        };
        self.bytes = self.bytes + known.connection.bytes() - before;
        self.rearm(key, place);
        outcome
    }

    /// Enters a connection's timer anew. One that moves later leaves its entry where it is until that comes up: nearly every
    /// acknowledgment restarts the timer.
    fn rearm(&mut self, key: ConnectionKey, place: Place) {
        let known = self.known.get_mut(place);
        let due = known.connection.deadline(&self.config);
        match (known.entered, due) {
            (None, None) => return,
            (Some(entered), Some(due)) if entered <= due => return,
            _ => {}
        }
        if let Some(old) = std::mem::replace(&mut known.entered, due) {
            self.timers.remove(&(old, key));
        }
        self.timers.extend(due.map(|due| (due, key)));
    }

    fn forget(&mut self, key: &ConnectionKey) {
        let Some(known) = self.known.remove(key) else { return };
        self.bytes -= known.connection.bytes();
        if let Some(entered) = known.entered {
            self.timers.remove(&(entered, *key));
        }
    }

    fn make_room(&mut self) {
        if let Some(key) = self.known.in_the_way() {
            self.counters.evicted += 1;
            self.forget(&key);
        }
    }
}

impl Agent for Snoop {
    fn look(&mut self, now: Instant, port: Port, view: &View<'_>, out: &mut Outbox) -> Verdict {
        // What would fail its checksum is nobody's.
        let Some(segment) = view.intact() else { return Verdict::Pass };
        let outcome = self.consider(now, port, view, segment);
        if !self.more.is_empty() {
            self.more.drain(..).for_each(|more| out.forward(more));
        }
        match outcome {
            Outcome::Pass => Verdict::Pass,
            Outcome::PassWithoutSack => Verdict::Take,
            Outcome::Suppress => Verdict::Drop,
        }
    }

    /// It has taken an acknowledgment whose SACK blocks tell of holes that it fills.
    fn on_packet(&mut self, _now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        out.forward(without_sack(packet));
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(&(entered, key)) = self.timers.first()
            && entered <= now
            && let Some(place) = self.known.find(&key)
        {
            let known = self.known.get_mut(place);
            known.connection.on_timer(now, &self.config, &mut self.counters, &mut self.more);
            known.entered = None;
            self.timers.pop_first();
            self.rearm(key, place);
        }
        self.more.drain(..).for_each(|more| out.forward(more));
    }

    /// Not after the first deadline of a connection.
    fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(entered, _)| entered)
    }
}
