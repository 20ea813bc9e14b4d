//! The association: what drivers call.

mod api;
mod arrival;
mod control;
mod open;
mod pace;
mod paths;
mod probe;
mod restart;
mod sacks;
mod shutdown;
mod timers;
mod transmit;
#[cfg(test)]
mod wrap;

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Instant, ShortQueue, Stream};

use crate::event::MAX_EVENTS;
use crate::handshake::CookieKey;
use crate::path::Paths;
use crate::receive::{Acks, Inbound};
use crate::send::{Outstanding, Queue};
use crate::tsn::Tsn;
use crate::{Config, Counters, Event, Failure, Received, State, Transmit};
use control::Control;
use pace::Pace;
use paths::Probing;
use probe::Probe;

/// Both ends, as a client knows them: at least one address of each.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    /// Our port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Our addresses; the first makes the primary path.
    pub local: &'a [IpAddr],
    /// The addresses of the peer that are known; INIT goes to the first.
    pub remote: &'a [IpAddr],
}

/// An SCTP association.
#[derive(Clone, Debug)]
pub struct Association {
    config: Config,
    /// Cookies are made with the first, and known by either.
    keys: [CookieKey; 2],
    random: Stream,
    state: State,
    local_port: u16,
    remote_port: u16,
    /// My Verification Tag, and the peer's (§13.2).
    local_tag: u32,
    remote_tag: u32,
    /// Tie-tags (§5.2.2): random, for whoever sees a cookie must not learn the tags.
    tie: [u32; 2],
    /// Our addresses.
    local: Vec<IpAddr>,
    paths: Paths,
    /// PMDCS.
    pmdcs: u64,
    /// `Overall Error Count` (§8.1).
    errors: u32,

    queue: Queue,
    sent: Outstanding,
    /// The window that the peer advertised last.
    a_rwnd: u64,
    probe: Probe,
    /// The Fast Recovery exit point (§7.2.4).
    recovery: Option<Tsn>,
    probing: Probing,
    /// The next packet of repeated chunks leaves whatever cwnd says (§6.3.3 E3, §7.2.4 step 3).
    urgent: bool,
    /// Packets of new data that may leave before the next event (§6.1 D).
    burst: u32,
    /// Nothing more could leave since.
    exhausted: bool,
    /// In place of that: a restored window leaves spread.
    pace: Option<Pace>,

    inbound: Inbound,
    acks: Acks,

    control: ShortQueue<Control>,
    /// The cookie that we echo, and how many the peer has called stale.
    cookie: Bytes,
    stale_cookies: u32,
    /// The path of the last INIT, COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK, and how often it was repeated.
    attempt: Attempt,
    /// T1-init or T1-cookie, T2-shutdown, T5-shutdown-guard.
    t1: Option<Instant>,
    t2: Option<Instant>,
    t5: Option<Instant>,

    events: ShortQueue<Event>,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    path: usize,
    retries: u32,
}

impl Association {
    /// When [`Association::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let timers = [self.t1, self.t2, self.t5, self.probe.at, self.acks.deadline(), self.paths.deadline()];
        timers.into_iter().chain([self.pace_deadline()]).flatten().min()
    }

    /// A timer is due; afterwards the deadline, if there is one, is in the future.
    pub fn on_timer(&mut self, now: Instant) {
        self.refill_burst();
        self.acks.on_timer(now);
        self.on_probe_timer(now);
        self.on_pace_timer(now);
        for path in 0..self.paths.all().len() {
            self.on_path_timers(now, path);
        }
        self.on_association_timers(now);
    }

    /// A packet has come from an address and port of the peer.
    pub fn on_packet(&mut self, now: Instant, received: &Received<'_>) {
        self.refill_burst();
        self.arrive(now, received);
    }

    /// The next packet to send now, or [`None`]. `budget`: bytes of SCTP packet that the driver can take; less than a full one counts
    /// as nothing.
    pub fn poll_transmit(&mut self, now: Instant, budget: Size) -> Option<Transmit> {
        if budget.get() < self.packet_len() as u64 {
            return None;
        }
        let transmit = self.control_packet(now).or_else(|| self.data_packet(now));
        match &transmit {
            Some(_) => self.counters.packets_sent += 1,
            None => self.nothing_leaves(now),
        }
        transmit
    }

    /// Bytes of the longest packet.
    fn packet_len(&self) -> usize {
        handfast_wire::sctp::HEADER_LEN + self.pmdcs as usize
    }

    /// §6.1 D: an event releases Max.Burst packets; several do that come before anything could leave.
    fn refill_burst(&mut self) {
        let left = if std::mem::take(&mut self.exhausted) { 0 } else { self.burst };
        self.burst = left.saturating_add(self.config.max_burst.unwrap_or(u32::MAX).max(1));
    }

    /// What a session layer does is one event, in however many calls: what it has opened needs no other one.
    fn refill_for_layer(&mut self) {
        if self.exhausted || self.burst == 0 {
            self.refill_burst();
        }
    }

    /// All that may leave now has left.
    fn nothing_leaves(&mut self, now: Instant) {
        self.schedule_probe(now);
        self.notice_pace(now);
        self.exhausted = true;
        self.urgent &= self.sent.has_lost();
        for (n, path) in self.paths.all_mut().iter_mut().enumerate() {
            path.was_full = self.sent.flight(n) >= path.window.cwnd;
        }
    }

    fn emit(&mut self, event: Event) {
        self.events.push_within(MAX_EVENTS, event);
    }

    /// The association is over. What was received can still be read, and what says goodbye still leaves.
    fn end(&mut self, event: Event) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        (self.t1, self.t2, self.t5, self.probe) = (None, None, None, Probe::default());
        self.pace = None;
        self.acks = Acks::default();
        self.paths.stop();
        self.queue = Queue::new(0);
        self.sent = Outstanding::new(handfast_core::SeqNum(0));
        self.emit(event);
    }

    fn fail(&mut self, failure: Failure) {
        self.end(Event::Failed(failure));
    }
}
