//! What is below a session where it is SCTP: associations (RFC 9260) whose packets travel in UDP (RFC 6951). All associations of one
//! end, those that others have opened too; no clock and no socket.
//!
//! A client's association has a socket for each of its addresses, which hears the peer alone. A server has one socket for all, and finds
//! an association by the verification tag, which is its own choice: two clients behind one translator may have the same address and
//! port of SCTP. So no INIT restarts an association (RFC 9260 §5.2.4, action A): it opens another one.
//!
//! After every call that may change what there is to send, the driver calls [`Associations::poll_transmit`] until it gives nothing, then
//! waits for a datagram or [`Associations::deadline`]. [`Associations::poll_touched`] says to which something has happened.

mod carried;
mod config;
mod programs;
mod strangers;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::{Bytes as Octets, Instant, Stream};
use handfast_sctp::{Association, CookieKey, Endpoints, MAX_PATHS, Received};
use handfast_wire::Checksums;
use handfast_wire::sctp::{CHUNK_HEADER_LEN, Chunk, Packet, Parameter, UDP_PORT};

use super::agenda::Agenda;
use super::secure::Entropy;
use carried::Carried;
pub use carried::Stands;
pub use config::{Config, DATAGRAM};
use strangers::{Becomes, Strangers, any, bits, take_proof};

/// An association, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssociationId(u64);

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Whose it is; [`None`]: an answer to a stranger.
    pub of: Option<AssociationId>,
    /// By which address of this machine; [`None`]: by any.
    pub from: Option<IpAddr>,
    /// To whom.
    pub to: SocketAddr,
}

/// Answers to strangers that wait to be sent; more are dropped.
const MOST_ANSWERS: usize = 256;

/// The first port of those that nobody is given (RFC 6335 §6), and how many there are. The first octet of a packet tells it from
/// [TCP in UDP](super::udp), whose version stands there.
const FIRST_PORT: u16 = 49_152;

/// The padding parameter (RFC 4820 §4).
const PAD: u16 = 0x8005;

/// Octets of a parameter's header.
const PARAMETER_HEADER: usize = CHUNK_HEADER_LEN;

/// A driver says by not asking that it has no room.
const NO_LIMIT: Octets = Octets(u64::MAX);

/// Associations of one end.
pub struct Associations {
    config: Config,
    /// Where others may open some.
    strangers: Option<Strangers>,
    entropy: Entropy,
    all: BTreeMap<AssociationId, Carried>,
    /// By their verification tags: those that others have opened.
    by_tag: BTreeMap<u32, AssociationId>,
    agenda: Agenda<AssociationId>,
    accepted: VecDeque<AssociationId>,
    answers: VecDeque<(Leaving, Bytes)>,
    next: u64,
}

impl Associations {
    /// Without any. `listens`: others may open some. `seed`: 32 bytes of the system's generator.
    pub fn new(config: Config, listens: bool, seed: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(seed);
        let strangers = listens.then(|| Strangers::new(&config, &mut entropy));
        Self {
            config,
            strangers,
            entropy,
            all: BTreeMap::new(),
            by_tag: BTreeMap::new(),
            agenda: Agenda::default(),
            accepted: VecDeque::new(),
            answers: VecDeque::new(),
            next: 0,
        }
    }

    /// Opens one, by these addresses of this machine, the first one first; there is one at least. [`None`]: there are too many.
    pub fn connect(&mut self, now: Instant, peer: SocketAddr, local: &[IpAddr]) -> Option<AssociationId> {
        if self.all.len() >= self.config.most || local.is_empty() {
            return None;
        }
        let random = bits(&mut self.entropy);
        let port = FIRST_PORT + (random % u64::from(u16::MAX - FIRST_PORT)) as u16;
        let remote = [peer.ip().to_canonical()];
        let local = &local[..local.len().min(MAX_PATHS)];
        let endpoints = Endpoints { local_port: port, remote_port: UDP_PORT, local, remote: &remote };
        let (key, seed) = (CookieKey::new(self.entropy.bytes()), bits(&mut self.entropy));
        let association =
            Association::connect(now, self.config.sctp, key, Stream::new(seed, "association"), &endpoints);
        Some(self.add(Carried::new(association, peer, None, false)))
    }

    fn add(&mut self, carried: Carried) -> AssociationId {
        let id = AssociationId(self.next);
        self.next += 1;
        self.all.insert(id, carried);
        self.agenda.sends(id);
        id
    }

    /// A datagram has come to a socket of an association that this end has opened, at this address of the machine.
    pub fn on_answer(&mut self, now: Instant, id: AssociationId, to: IpAddr, datagram: &Bytes) {
        let Ok(mut packet) = Packet::parse(datagram, Checksums::Verify) else { return };
        // RFC 6951 §5.7: addresses in packets say nothing where translators are. Those of a server say nothing here: a socket hears
        // one peer alone.
        match packet.chunks.as_mut_slice() {
            [Chunk::InitAck(init)] => {
                init.parameters.retain(|parameter| !matches!(parameter, Parameter::Address(_)));
            }
            // Both would open one at once (RFC 9260 §5.2.1), with addresses: only this end opens.
            [Chunk::Init(_) | Chunk::CookieEcho(_), ..] => return,
            _ => {}
        }
        self.with(now, id, |carried| {
            let from = carried.peer.ip().to_canonical();
            carried.association.on_packet(now, &Received { packet: &packet, from, to });
        });
    }

    /// A datagram has come to the socket at which others connect: for which association. `to`: the address of this machine.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        datagram: &Bytes,
    ) -> Option<AssociationId> {
        // RFC 6951 §4: SCTP has its own checksum, whatever that of UDP says.
        let packet = Packet::parse(datagram, Checksums::Verify).ok()?;
        match self.by_tag.get(&packet.tag).copied() {
            Some(id) => {
                self.take(now, id, (from, to), packet);
                Some(id)
            }
            None => self.meet(now, (from, to), packet, datagram.len()),
        }
    }

    fn take(
        &mut self,
        now: Instant,
        id: AssociationId,
        (from, to): (SocketAddr, Option<IpAddr>),
        packet: Packet,
    ) {
        let mut packet = packet;
        self.with(now, id, |carried| {
            if let Some(Chunk::CookieEcho(sealed)) = packet.chunks.first_mut() {
                // A copy shows nothing of where its sender is, and a cookie of others that has this tag by chance changes nothing.
                take_proof(sealed);
                if !carried.has(from.ip().to_canonical()) {
                    return;
                }
            } else {
                carried.learn(from, to);
            }
            let from = from.ip().to_canonical();
            carried.association.on_packet(now, &Received { packet: &packet, from, to: any(from) });
        });
    }

    /// A packet of no association.
    fn meet(
        &mut self,
        now: Instant,
        (from, to): (SocketAddr, Option<IpAddr>),
        packet: Packet,
        len: usize,
    ) -> Option<AssociationId> {
        let Self { strangers, entropy, .. } = self;
        match strangers.as_mut()?.on_packet(now, from, packet, len, entropy) {
            Becomes::Reply(answer) if self.answers.len() < MOST_ANSWERS => {
                self.answers.push_back((Leaving { of: None, from: to, to: from }, answer));
                None
            }
            Becomes::Open(association) if self.all.len() < self.config.most => {
                let (tag, _) = association.tags();
                let id = self.add(Carried::new(*association, from, to, true));
                self.by_tag.insert(tag, id);
                self.accepted.push_back(id);
                self.with(now, id, |_| {});
                Some(id)
            }
            Becomes::Nothing | Becomes::Reply(_) | Becomes::Open(_) => None,
        }
    }

    /// Does something to an association, and sees what has come of it.
    fn with<T>(&mut self, now: Instant, id: AssociationId, act: impl FnOnce(&mut Carried) -> T) -> Option<T> {
        let carried = self.all.get_mut(&id)?;
        let done = act(carried);
        carried.settle(now);
        self.agenda.sends(id);
        if !carried.is_released {
            self.agenda.touches(id);
        }
        Some(done)
    }

    /// The next datagram, appended to `out`. `has_room`: whether the sockets of an association have room.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        has_room: impl Fn(AssociationId) -> bool,
    ) -> Option<Leaving> {
        if let Some((leaving, answer)) = self.answers.pop_front() {
            out.extend_from_slice(&answer);
            return Some(leaving);
        }
        while let Some(id) = self.agenda.next_sending(&has_room) {
            if let Some(leaving) = self.next_of(now, id, out) {
                return Some(leaving);
            }
            self.settle(now, id);
        }
        None
    }

    fn next_of(&mut self, now: Instant, id: AssociationId, out: &mut Vec<u8>) -> Option<Leaving> {
        let carried = self.all.get_mut(&id)?;
        let mut transmit = carried.association.poll_transmit(now, NO_LIMIT)?;
        if let [Chunk::Init(init)] = transmit.packet.chunks.as_mut_slice() {
            // So that the answer, which is longer by its cookie, is no three times as long; and it shows that the path carries this
            // much (RFC 9000 §14.1).
            let fill = DATAGRAM.saturating_sub(transmit_len(init) + PARAMETER_HEADER);
            init.parameters.push(Parameter::Unknown { kind: PAD, value: vec![0; fill].into() });
        }
        let reached = carried.reach(transmit.to);
        let from = if carried.is_guest { reached.to } else { Some(transmit.from) };
        // An association makes no packet that cannot be written.
        out.extend_from_slice(&transmit.packet.emit().ok()?);
        Some(Leaving { of: Some(id), from, to: reached.at })
    }

    /// An association has sent all it has: its deadline is entered anew, or it goes.
    fn settle(&mut self, now: Instant, id: AssociationId) {
        let Some(carried) = self.all.get_mut(&id) else { return self.agenda.forget(id, None) };
        if carried.is_gone() {
            self.agenda.forget(id, carried.deadline);
            let (tag, _) = carried.association.tags();
            if carried.is_guest && self.by_tag.remove(&tag).is_some() {
                self.strangers.iter_mut().for_each(|strangers| strangers.on_over(now, tag));
            }
            self.all.remove(&id);
        } else {
            self.agenda.waits(id, &mut carried.deadline, carried.association.deadline());
        }
    }

    /// When [`Associations::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.agenda.deadline()
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some(id) = self.agenda.next_due(now) {
            self.with(now, id, |carried| {
                carried.deadline = None;
                carried.association.on_timer(now);
            });
        }
    }

    /// The next association that somebody has opened.
    pub fn accept(&mut self) -> Option<(AssociationId, SocketAddr)> {
        while let Some(id) = self.accepted.pop_front() {
            if let Some(carried) = self.all.get(&id) {
                return Some((id, carried.peer));
            }
        }
        None
    }

    /// An association to which something has happened: there may be something to read, or room to write.
    pub fn poll_touched(&mut self) -> Option<AssociationId> {
        self.agenda.next_touched()
    }
}

/// Octets of a packet with this INIT alone.
fn transmit_len(init: &handfast_wire::sctp::Init) -> usize {
    Packet { src_port: 0, dst_port: 0, tag: 0, chunks: vec![Chunk::Init(init.clone())] }.wire_len()
}
