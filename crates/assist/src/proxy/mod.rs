//! A proxy that splits TCP connections (RFC 3135 §2.4): its node answers a client's SYN in the server's place, opens a connection to
//! the server in the client's, and passes bytes on between the two. Neither host is told.
//!
//! Each host talks to an endpoint that is near, so that losses are repaired and windows grow within that part of the way. What
//! the proxy acknowledges is no longer known to have reached the other host (RFC 3135 §4.1.3), and what hides TCP's header from
//! it (`IPsec`, §4.1.1) it cannot help: those packets pass.

mod spec;
mod split;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum, Stream, fnv1a};
use handfast_net::{Outbox, Port};
use handfast_tcp::Received;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use crate::{Agent, ConnectionKey, Verdict, View};

use split::{Side, Split};

pub use spec::ProxySpec;

/// Endpoints and bounds.
#[derive(Clone, Debug)]
pub struct Config {
    /// The TCP towards who opens a connection.
    pub client_side: Arc<handfast_tcp::Config>,
    /// The TCP towards who is asked.
    pub server_side: Arc<handfast_tcp::Config>,
    /// Bytes of one direction of a connection that wait to be sent or to be acknowledged at most; as many may wait before
    /// them in the receive buffer.
    pub buffer: Bytes,
    /// Connections at most, those in TIME-WAIT included; the SYN of another one passes.
    pub connections: usize,
}

/// RFC 9293 §3.8.4: no less than two hours. Hosts that have gone without a word would keep their places for ever.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(7_200);

impl Config {
    /// These bounds, with those TCPs.
    pub fn new([client_side, server_side]: [handfast_tcp::Config; 2], bounds: Bounds) -> Self {
        let Bounds { buffer, connections } = bounds;
        let bounded = |tcp: handfast_tcp::Config| {
            Arc::new(handfast_tcp::Config {
                receive_buffer: tcp.receive_buffer.min(buffer),
                send_buffer: buffer,
                keepalive_idle: Some(KEEPALIVE_IDLE),
                ..tcp
            })
        };
        Self { client_side: bounded(client_side), server_side: bounded(server_side), buffer, connections }
    }
}

/// What a proxy keeps at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// As [`Config::buffer`].
    pub buffer: Bytes,
    /// As [`Config::connections`].
    pub connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        // tcp_wmem[2] of Linux, about.
        Self { buffer: Bytes(4_000_000), connections: 1_000 }
    }
}

/// What has become of connections and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Connections that were split.
    split: u64,
    /// SYNs that passed for want of room.
    unsplit: u64,
    /// Bytes that went from one endpoint to the other.
    relayed: u64,
    /// Segments and timeouts of endpoints that are gone.
    repeated: u64,
    timeouts: u64,
}

/// The proxy of one node.
pub struct Proxy {
    config: Config,
    /// By the direction from client to server.
    splits: BTreeMap<ConnectionKey, Entry>,
    timers: BTreeSet<(Instant, ConnectionKey)>,
    /// Makes initial sequence numbers differ between proxies. In the simulator nobody guesses them.
    secret: u64,
    counters: Counters,
}

struct Entry {
    split: Split,
    /// Its entry in [`Proxy::timers`].
    deadline: Option<Instant>,
}

impl Proxy {
    /// A proxy without connections.
    pub fn new(config: Config, mut stream: Stream) -> Self {
        Self {
            config,
            splits: BTreeMap::new(),
            timers: BTreeSet::new(),
            secret: stream.bits(),
            counters: Counters::default(),
        }
    }

    /// Connections that it has split and not forgotten.
    pub fn connections(&self) -> usize {
        self.splits.len()
    }

    /// The connection of a segment, and who has sent it.
    fn find(&self, key: ConnectionKey) -> Option<(ConnectionKey, Side)> {
        [(key, Side::Client), (key.reversed(), Side::Server)]
            .into_iter()
            .find(|(key, _)| self.splits.contains_key(key))
    }

    /// RFC 6528 §3: a clock of 4 us a tick, and a function of addresses and secret; not a cryptographic one, as on real networks it
    /// would have to be.
    fn initial_sequence(&self, now: Instant, key: &ConnectionKey) -> SeqNum {
        let ConnectionKey { src, dst, src_port, dst_port } = key;
        let text = format!("{src} {src_port} {dst} {dst_port} {}", self.secret);
        SeqNum((now.as_nanos() / 4_000).wrapping_add(fnv1a(text.as_bytes())) as u32)
    }

    /// A SYN has come: of a new connection, or of one whose ports were in use before.
    fn open(&mut self, now: Instant, key: ConnectionKey, syn: &Segment) {
        let split = Split::new(now, &self.config, syn, self.initial_sequence(now, &key));
        self.forget(&key);
        self.splits.insert(key, Entry { split, deadline: None });
        self.counters.split += 1;
    }

    fn forget(&mut self, key: &ConnectionKey) {
        let Some(Entry { split, deadline }) = self.splits.remove(key) else { return };
        deadline.map(|at| self.timers.remove(&(at, *key)));
        let [repeated, timeouts] = split.repairs();
        self.counters.repeated += repeated;
        self.counters.timeouts += timeouts;
    }

    /// Moves bytes on, sends what a connection has to send, and enters its next deadline.
    fn settle(&mut self, now: Instant, key: ConnectionKey, out: &mut Outbox) {
        let Some(Entry { split, deadline }) = self.splits.get_mut(&key) else { return };
        self.counters.relayed += split.relay(now);
        while let Some((to, transmit)) = split.poll_transmit(now) {
            let (src, dst) = if to == Side::Server { (key.src, key.dst) } else { (key.dst, key.src) };
            out.forward(Packet::tcp_with(src, dst, transmit.segment, transmit.ip));
        }
        let next = split.deadline();
        if next != *deadline {
            let old = std::mem::replace(deadline, next);
            old.map(|at| self.timers.remove(&(at, key)));
            next.map(|at| self.timers.insert((at, key)));
        }
        if split.is_over() {
            self.forget(&key);
        }
    }
}

/// RFC 9293 §3.10.7.2: what a listener opens a connection for. Not if the hosts sign their segments: the proxy cannot.
fn opens(segment: &Segment) -> bool {
    let has = |flag| segment.flags.contains(flag);
    has(Flags::SYN) && !has(Flags::ACK) && !has(Flags::RST) && !segment.is_signed()
}

impl Agent for Proxy {
    fn look(&mut self, _now: Instant, _port: Port, view: &View<'_>, _out: &mut Outbox) -> Verdict {
        let Some(segment) = view.tcp else { return Verdict::Pass };
        let key = ConnectionKey::of(view, segment);
        let Some((key, side)) = self.find(key) else {
            if view.corrupted || !opens(segment) {
                return Verdict::Pass;
            }
            if self.splits.len() < self.config.connections {
                return Verdict::Take;
            }
            self.counters.unsplit += 1;
            return Verdict::Pass;
        };
        // RFC 9293 §3.1: an endpoint verifies checksums.
        if view.corrupted {
            return Verdict::Drop;
        }
        let reopens = side == Side::Client && opens(segment);
        let busy = self.splits.get(&key).is_some_and(|entry| entry.split.is_half_over());
        // What was acknowledged has to arrive first; the client tries again.
        if reopens && busy { Verdict::Drop } else { Verdict::Take }
    }

    fn on_packet(&mut self, now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        let Body::Tcp(segment) = &packet.body else { return out.forward(packet) };
        let key = ConnectionKey::of(&View::of(&packet), segment);
        let known = self.find(key);
        let gone =
            known.is_some_and(|(key, _)| self.splits.get(&key).is_some_and(|entry| entry.split.is_spent()));
        let (key, side) = match known {
            Some(found) if !(gone && opens(segment)) => found,
            _ => {
                self.open(now, key, segment);
                (key, Side::Client)
            }
        };
        if let Some(Entry { split, .. }) = self.splits.get_mut(&key) {
            split.on_segment(now, side, &Received { segment, ip: packet.ip_facts() });
        }
        self.settle(now, key, out);
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(&(at, key)) = self.timers.first().filter(|&&(at, _)| at <= now) {
            self.timers.remove(&(at, key));
            if let Some(Entry { split, deadline }) = self.splits.get_mut(&key) {
                *deadline = None;
                split.on_timer(now);
            }
            self.settle(now, key, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counters { split, unsplit, relayed, mut repeated, mut timeouts } = self.counters;
        for entry in self.splits.values() {
            let [more, expired] = entry.split.repairs();
            repeated += more;
            timeouts += expired;
        }
        vec![
            ("connections_split", split),
            ("connections_unsplit", unsplit),
            ("relayed_bytes", relayed),
            ("proxy_retransmitted_segments", repeated),
            ("proxy_timeouts", timeouts),
        ]
    }
}
