//! SCTP in UDP (RFC 6951): which packet is whose.
//!
//! A server has one socket for all, and finds an association by the verification tag, which is its own choice: two clients behind one
//! translator may have the same address and port of SCTP. So no INIT restarts an association (RFC 9260 §5.2.4, action A): it opens
//! another one.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::{Instant, Stream};
use handfast_sctp::{Association, CookieKey, Endpoints, MAX_PATHS, Received};
use handfast_wire::Checksums;
use handfast_wire::sctp::{CHUNK_HEADER_LEN, Chunk, Init, Packet, Parameter, UDP_PORT};

use super::carried::Carried;
use super::one::{Body, One};
use super::strangers::{Becomes, Strangers, any, bits, take_proof};
use super::{Config, Connections, DATAGRAM, FIRST_PORT, InsideId, Kind, Leaving, NO_LIMIT};
use crate::iosl::secure::Entropy;

/// The padding parameter (RFC 4820 §4).
const PAD: u16 = 0x8005;

/// Octets of a parameter's header.
const PARAMETER_HEADER: usize = CHUNK_HEADER_LEN;

/// From where a packet has come, and to which address of this machine.
type Ends = (SocketAddr, Option<IpAddr>);

/// What all associations share.
#[derive(Default)]
pub(super) struct Sctp {
    /// Where others may open some.
    strangers: Option<Strangers>,
    /// By their verification tags: those that others have opened.
    by_tag: BTreeMap<u32, InsideId>,
}

impl Sctp {
    pub(super) fn listen(&mut self, config: &Config, entropy: &mut Entropy) {
        self.strangers.get_or_insert_with(|| Strangers::new(config, entropy));
    }

    /// An association that others have opened is over.
    pub(super) fn forget(&mut self, now: Instant, tag: u32) {
        if self.by_tag.remove(&tag).is_some()
            && let Some(strangers) = &mut self.strangers
        {
            strangers.on_over(now, tag);
        }
    }
}

impl Connections {
    pub(super) fn connect_sctp(&mut self, now: Instant, peer: SocketAddr, local: &[IpAddr]) -> InsideId {
        let random = bits(&mut self.entropy);
        let port = FIRST_PORT + (random % u64::from(u16::MAX - FIRST_PORT)) as u16;
        let remote = [peer.ip().to_canonical()];
        let local = &local[..local.len().min(MAX_PATHS)];
        let endpoints = Endpoints { local_port: port, remote_port: UDP_PORT, local, remote: &remote };
        let (key, seed) = (CookieKey::new(self.entropy.bytes()), bits(&mut self.entropy));
        let random = Stream::new(seed, "association");
        let association = Association::connect(now, self.config.sctp, key, random, &endpoints);
        self.add_association(association, (peer, None), false)
    }

    fn add_association(&mut self, association: Association, (peer, to): Ends, is_guest: bool) -> InsideId {
        let carried = Body::Sctp(Box::new(Carried::new(association, peer, to)));
        self.add(Kind::Sctp, One::new(peer, is_guest, carried))
    }

    /// A packet has come to a socket of an association that this end has opened, at this address of the machine.
    pub(super) fn on_packet_back(&mut self, now: Instant, id: InsideId, to: IpAddr, datagram: &Bytes) {
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
        self.with(now, id, |one| {
            let from = one.peer.ip().to_canonical();
            if let Some(carried) = one.carried_mut() {
                carried.association.on_packet(now, &Received { packet: &packet, from, to });
            }
        });
    }

    /// A packet has come to the socket at which others connect: for which association.
    pub(super) fn on_packet(&mut self, now: Instant, ends: Ends, datagram: &Bytes) -> Option<InsideId> {
        // RFC 6951 §4: SCTP has its own checksum, whatever that of UDP says.
        let packet = Packet::parse(datagram, Checksums::Verify).ok()?;
        match self.sctp.by_tag.get(&packet.tag).copied() {
            Some(id) => {
                self.with(now, id, |one| {
                    if let Some(carried) = one.carried_mut() {
                        take(now, carried, ends, packet);
                    }
                });
                Some(id)
            }
            None => self.meet(now, ends, packet, datagram.len()),
        }
    }

    /// A packet of no association.
    fn meet(&mut self, now: Instant, ends: Ends, packet: Packet, len: usize) -> Option<InsideId> {
        let Self { sctp: Sctp { strangers, .. }, entropy, .. } = self;
        let (from, to) = ends;
        match strangers.as_mut()?.on_packet(now, from, packet, len, entropy) {
            Becomes::Open(association) if self.has_room() => {
                let (tag, _) = association.tags();
                let id = self.add_association(*association, ends, true);
                self.sctp.by_tag.insert(tag, id);
                // It is established already.
                self.with(now, id, |_| {});
                return Some(id);
            }
            Becomes::Reply(answer) => self.answer(to, from, answer),
            Becomes::Nothing | Becomes::Open(_) => {}
        }
        None
    }

    /// The next packet of an association.
    pub(super) fn next_packet(&mut self, now: Instant, id: InsideId, out: &mut Vec<u8>) -> Option<Leaving> {
        let one = self.all.get_mut(&id)?;
        let (peer, is_guest) = (one.peer, one.is_guest);
        let carried = one.carried_mut()?;
        let mut transmit = carried.association.poll_transmit(now, NO_LIMIT)?;
        if let [Chunk::Init(init)] = transmit.packet.chunks.as_mut_slice() {
            // So that the answer, which is longer by its cookie, is no three times as long; and it shows that the path carries this
            // much (RFC 9000 §14.1).
            let fill = DATAGRAM.saturating_sub(len_of(init) + PARAMETER_HEADER);
            init.parameters.push(Parameter::Unknown { kind: PAD, value: vec![0; fill].into() });
        }
        let reached = carried.reach(peer, transmit.to);
        let from = if is_guest { reached.to } else { Some(transmit.from) };
        // An association makes no packet that cannot be written.
        out.extend_from_slice(&transmit.packet.emit().ok()?);
        Some(Leaving { of: Some(id), from, to: reached.at })
    }
}

/// A packet with the tag of an association that others have opened.
fn take(now: Instant, carried: &mut Carried, (at, to): Ends, mut packet: Packet) {
    let from = at.ip().to_canonical();
    if let Some(Chunk::CookieEcho(sealed)) = packet.chunks.first_mut() {
        // A copy shows nothing of where its sender is, and a cookie of others that has this tag by chance changes nothing.
        take_proof(sealed);
        if !carried.has(from) {
            return;
        }
    } else {
        carried.learn(at, to, &packet);
    }
    carried.association.on_packet(now, &Received { packet: &packet, from, to: any(from) });
}

/// Octets of a packet with this INIT alone.
fn len_of(init: &Init) -> usize {
    Packet { src_port: 0, dst_port: 0, tag: 0, chunks: vec![Chunk::Init(init.clone())] }.wire_len()
}
