//! The agent of a base station: all connections that pass it.

use std::collections::BTreeSet;

use handfast_core::{Bytes, Instant};
use handfast_net::{Forwarder, Outbox, Port};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::config::{Config, Counters};
use super::connection::{Connection, Verdict, resets, without_sack};
use crate::ConnectionKey;
use crate::recent::Recent;

/// A connection, and when its timer is due as far as the agent's list says.
#[derive(Debug, Default)]
struct Known {
    connection: Connection,
    due: Option<Instant>,
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

    fn consider(&mut self, now: Instant, port: Port, packet: &Packet, segment: &Segment) -> Verdict {
        let direction = ConnectionKey::of(packet, segment);
        let up = self.radio.contains(&port);
        let key = if up { direction.reversed() } else { direction };
        if resets(segment) {
            self.forget(&key);
            return Verdict::Pass;
        }
        let acknowledges = up && segment.flags.contains(Flags::ACK);
        if !acknowledges && (up || segment.seq_len() == 0) {
            return Verdict::Pass;
        }
        if !up && !self.known.contains(&key) {
            self.make_room();
        } else if up && !self.known.contains(&key) {
            return Verdict::Pass;
        }
        if self.known.heard(&key).is_some_and(|heard| now.since(heard) > self.config.idle) {
            self.forget(&key);
        }
        let known = self.known.touch(now, key, Known::default);
        let full = self.bytes + packet.ip_len() as u64 > self.config.total.get();
        let per_connection = if full { Bytes(0) } else { self.config.per_connection };
        let (config, counters) = (&Config { per_connection, ..self.config }, &mut self.counters);
        let before = known.connection.bytes();
        let verdict = if up {
            known.connection.on_ack(now, packet, segment, config, counters, &mut self.more)
        } else {
            known.connection.on_data(now, packet, segment, config, counters, &mut self.more)
        };
        self.bytes = self.bytes + known.connection.bytes() - before;
        self.rearm(key);
        verdict
    }

    /// Enters a connection's timer anew.
    fn rearm(&mut self, key: ConnectionKey) {
        let Some(known) = self.known.get_mut(&key) else { return };
        let due = known.connection.deadline(&self.config);
        if due == known.due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut known.due, due) {
            self.timers.remove(&(old, key));
        }
        self.timers.extend(due.map(|due| (due, key)));
    }

    fn forget(&mut self, key: &ConnectionKey) {
        let Some(known) = self.known.remove(key) else { return };
        self.bytes -= known.connection.bytes();
        if let Some(due) = known.due {
            self.timers.remove(&(due, *key));
        }
    }

    fn make_room(&mut self) {
        if let Some(key) = self.known.in_the_way() {
            self.counters.evicted += 1;
            self.forget(&key);
        }
    }
}

impl Forwarder for Snoop {
    fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        let verdict = match &packet.body {
            // What would fail its checksum is nobody's.
            Body::Tcp(segment) if !packet.corrupted => self.consider(now, port, &packet, segment),
            _ => Verdict::Pass,
        };
        for more in self.more.drain(..) {
            out.forward(more);
        }
        match verdict {
            Verdict::Pass => out.forward(packet),
            Verdict::PassWithoutSack => out.forward(without_sack(packet)),
            Verdict::Suppress => out.discard(packet),
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(&(due, key)) = self.timers.first()
            && due <= now
        {
            if let Some(known) = self.known.get_mut(&key) {
                known.connection.on_timer(now, &self.config, &mut self.counters, &mut self.more);
            }
            self.rearm(key);
        }
        for more in self.more.drain(..) {
            out.forward(more);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(due, _)| due)
    }
}
