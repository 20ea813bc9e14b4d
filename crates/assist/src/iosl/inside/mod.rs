//! What is below a session where the kernel's TCP is not: connections of our own in datagrams of UDP. They are endpoints of our TCP
//! ([`handfast_wire::tcp::in_udp`]), or associations of our SCTP (RFC 9260, RFC 6951). All those of one end, which others have opened
//! too; no clock and no socket.
//!
//! What this end opens has a socket for each of its addresses, which hears the peer alone. What others open is at one socket, of both
//! kinds where both are taken: [`Kind::of`] tells them apart.
//!
//! After every call that may change what there is to send, the driver calls [`Connections::poll_transmit`] until it gives nothing,
//! then waits for a datagram or [`Connections::deadline`]. [`Connections::poll_touched`] says to which connections something has
//! happened.

mod agenda;
mod beside;
mod carried;
mod config;
mod one;
mod programs;
mod sctp;
mod strangers;
mod stream;
mod tcp;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::{Bytes as Octets, Instant};
use handfast_wire::tcp::in_udp::VERSION;

use self::agenda::Agenda;
pub use self::beside::MOST_BESIDE;
pub use self::config::Config;
use self::one::{Body, One};
pub use self::one::{Failure, Stands, Window};
use self::sctp::Sctp;
use self::tcp::Tcp;
use super::secure::Entropy;
pub use handfast_wire::tcp::in_udp::DATAGRAM;

/// What a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// TCP in UDP.
    Tcp,
    /// SCTP in UDP.
    Sctp,
}

/// The first port of SCTP that a client's association may have: of those that nobody is given (RFC 6335 §6).
const FIRST_PORT: u16 = 49_152;

/// The upper four bits of the first octet of a packet from such a port.
const LEAST_SCTP: u8 = (FIRST_PORT >> 12) as u8;

const _: () = assert!(VERSION < LEAST_SCTP);

impl Kind {
    /// Of what kind a datagram is that others have sent to where they connect; [`None`]: of none.
    ///
    /// Its first octet says it (as RFC 7983 has it for other protocols at one port). TCP in UDP begins with its version, in four
    /// bits, which is less than 12. A packet of SCTP begins with its sender's port (RFC 9260 §3.1), which is the client's choice, and
    /// clients choose one from 49152 on: there these four bits are 12 at least. So no datagram is of both kinds, and a packet of SCTP
    /// from any other port is nobody's.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        match datagram.first()? >> 4 {
            VERSION => Some(Self::Tcp),
            LEAST_SCTP.. => Some(Self::Sctp),
            _ => None,
        }
    }
}

/// A connection, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InsideId {
    kind: Kind,
    number: u64,
}

impl InsideId {
    /// What it is.
    pub fn kind(self) -> Kind {
        self.kind
    }
}

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Whose it is; [`None`]: an answer to a stranger.
    pub of: Option<InsideId>,
    /// By which address of this machine; [`None`]: by any.
    pub from: Option<IpAddr>,
    /// To whom.
    pub to: SocketAddr,
}

/// Answers to strangers that wait to be sent; more are dropped.
const MOST_ANSWERS: usize = 256;

/// A driver says by not asking that it has no room.
const NO_LIMIT: Octets = Octets(u64::MAX);

/// Connections of one end.
pub struct Connections {
    config: Config,
    entropy: Entropy,
    all: BTreeMap<InsideId, One>,
    tcp: Tcp,
    sctp: Sctp,
    agenda: Agenda<InsideId>,
    accepted: VecDeque<InsideId>,
    answers: VecDeque<(Leaving, Bytes)>,
    next: u64,
}

impl Connections {
    /// Without any. `seed`: 32 bytes of the system's generator.
    pub fn new(config: Config, seed: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(seed);
        Self {
            tcp: Tcp::new(&config, &mut entropy),
            sctp: Sctp::default(),
            config,
            entropy,
            all: BTreeMap::new(),
            agenda: Agenda::default(),
            accepted: VecDeque::new(),
            answers: VecDeque::new(),
            next: 0,
        }
    }

    /// From now on others may open some of this kind.
    pub fn listen(&mut self, kind: Kind) {
        match kind {
            Kind::Tcp => self.tcp.listens = true,
            Kind::Sctp => self.sctp.listen(&self.config, &mut self.entropy),
        }
    }

    /// Opens one by these addresses of this machine, the first one first; there is one at least, and TCP has no other. What is
    /// written before its first datagram leaves goes with the handshake. [`None`]: there are too many.
    pub fn connect(
        &mut self,
        now: Instant,
        kind: Kind,
        peer: SocketAddr,
        local: &[IpAddr],
    ) -> Option<InsideId> {
        let first = *local.first().filter(|_| self.has_room())?;
        match kind {
            Kind::Tcp => self.connect_tcp(now, peer, first),
            Kind::Sctp => Some(self.connect_sctp(now, peer, local)),
        }
    }

    /// Whether there may be another one.
    fn has_room(&self) -> bool {
        self.all.len() < self.config.most
    }

    fn add(&mut self, kind: Kind, one: One) -> InsideId {
        let id = InsideId { kind, number: self.next };
        self.next += 1;
        self.tcp.shaking += usize::from(one.is_shaking());
        self.all.insert(id, one);
        self.agenda.sends(id);
        id
    }

    /// A datagram has come to a socket of a connection that this end has opened, at this address of the machine.
    pub fn on_answer(&mut self, now: Instant, id: InsideId, to: IpAddr, datagram: &Bytes) {
        let Some(peer) = self.all.get(&id).map(|one| one.peer) else { return };
        match id.kind {
            Kind::Tcp => drop(self.on_segment(now, (peer, Some(to)), datagram)),
            Kind::Sctp => self.on_packet_back(now, id, to, datagram),
        }
    }

    /// A datagram has come to the socket at which others connect: for which connection. `to`: the address of this machine.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        datagram: &Bytes,
    ) -> Option<InsideId> {
        match Kind::of(datagram)? {
            Kind::Tcp => self.on_segment(now, (from, to), datagram),
            Kind::Sctp => self.on_packet(now, (from, to), datagram),
        }
    }

    /// Does something to a connection, and sees what has come of it.
    fn with<T>(&mut self, now: Instant, id: InsideId, act: impl FnOnce(&mut One) -> T) -> Option<T> {
        let one = self.all.get_mut(&id)?;
        let was_shaking = one.is_shaking();
        let done = act(one);
        if one.settle(now) {
            self.accepted.push_back(id);
        }
        self.tcp.shaking -= usize::from(was_shaking && !one.is_shaking());
        self.agenda.sends(id);
        if one.is_known && !one.is_released {
            self.agenda.touches(id);
        }
        Some(done)
    }

    /// This goes to a stranger, if there is room for it.
    fn answer(&mut self, from: Option<IpAddr>, to: SocketAddr, answer: Bytes) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((Leaving { of: None, from, to }, answer));
        }
    }

    /// The next datagram, appended to `out`. `has_room`: whether the sockets of a connection have room.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        has_room: impl Fn(InsideId) -> bool,
    ) -> Option<Leaving> {
        if let Some((leaving, answer)) = self.answers.pop_front() {
            out.extend_from_slice(&answer);
            return Some(leaving);
        }
        if let Some(leaving) = self.next_beside(out, &has_room) {
            return Some(leaving);
        }
        while let Some(id) = self.agenda.next_sending(&has_room) {
            let leaving = match id.kind {
                Kind::Tcp => self.next_segment(now, id, out),
                Kind::Sctp => self.next_packet(now, id, out),
            };
            if leaving.is_some() {
                return leaving;
            }
            self.settle(now, id);
        }
        None
    }

    /// A connection has sent all it has: its deadline is entered anew, or it goes.
    fn settle(&mut self, now: Instant, id: InsideId) {
        let Some(one) = self.all.get_mut(&id) else { return self.agenda.forget(id, None) };
        if !one.is_gone() {
            let wakes_at = one.wakes_at();
            return self.agenda.waits(id, &mut one.deadline, wakes_at);
        }
        self.agenda.forget(id, one.deadline);
        match &one.body {
            Body::Tcp(stream) => self.tcp.forget((one.peer, stream.number)),
            Body::Sctp(carried) if one.is_guest => self.sctp.forget(now, carried.association.tags().0),
            Body::Sctp(_) => {}
        }
        self.all.remove(&id);
    }

    /// When [`Connections::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.agenda.deadline()
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some(id) = self.agenda.next_due(now) {
            self.with(now, id, |one| one.on_timer(now));
        }
    }

    /// The next connection that somebody has opened.
    pub fn accept(&mut self) -> Option<(InsideId, SocketAddr)> {
        while let Some(id) = self.accepted.pop_front() {
            if let Some(one) = self.all.get(&id) {
                return Some((id, one.peer));
            }
        }
        None
    }

    /// A connection to which something has happened: there may be something to read, or room to write.
    pub fn poll_touched(&mut self) -> Option<InsideId> {
        self.agenda.next_touched()
    }
}
