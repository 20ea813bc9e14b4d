//! Connections and sub-flows begin.

use std::sync::Arc;

use handfast_core::{Instant, SeqNum, Stream};
use handfast_tcp::Endpoint;
use handfast_wire::tcp::mptcp::{Capable, Join, Mptcp};
use handfast_wire::tcp::{Flags, Segment};

use super::{Connection, Mode};
use crate::data::{DataReceiver, DataSender};
use crate::keys::Key;
use crate::subflow::{Phase, Subflow};
use crate::{Config, Counters, Flow, Received, State, SubflowId};

/// The token of a SYN that joins a connection: whose [`Connection::token`] it is, its driver has to find.
pub fn token_of_join(segment: &Segment) -> Option<u32> {
    let is_syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
    segment.mptcp().filter(|_| is_syn).find_map(|option| match option {
        Mptcp::Join(Join::Syn { token, .. }) => Some(token),
        _ => None,
    })
}

impl Connection {
    /// Active open: the SYN comes out of the first [`Connection::poll_transmit`]. `random` gives keys and numbers that nobody may
    /// guess.
    pub fn connect(config: Config, flow: Flow, random: Stream, now: Instant) -> Self {
        let mut connection = Self::new(config, random, true);
        connection.add(flow, Phase::First, true, now);
        connection
    }

    /// Passive open: the answer to a SYN that joins nothing.
    pub fn accept(config: Config, random: Stream, now: Instant, syn: &Received<'_>) -> Self {
        let mut connection = Self::new(config, random, false);
        connection.add(syn.flow, Phase::First, false, now);
        connection.on_segment(now, syn);
        connection
    }

    fn new(config: Config, mut random: Stream, initiator: bool) -> Self {
        let key = Key(random.bits());
        Self {
            mode: Mode::Opening,
            state: State::Opening,
            initiator,
            checksum: config.checksum,
            closed_address: false,
            key,
            peer_key: None,
            own: Vec::new(),
            subflows: Vec::new(),
            next_id: 0,
            turn: 0,
            tx: DataSender::default(),
            rx: DataReceiver::new(config.tcp.receive_buffer.get()),
            data_timer: None,
            backoff: 0,
            orphan: None,
            fast_close: false,
            peer_closed: false,
            connected: false,
            events: std::collections::VecDeque::new(),
            counters: Counters::default(),
            past: handfast_tcp::Counters::default(),
            config,
            random,
        }
    }

    /// Another sub-flow of ours (§3.2): from the address with this ID. [`None`]: the peer has not yet shown that it speaks Multipath
    /// TCP, wants none, or there are enough.
    pub fn join(&mut self, now: Instant, flow: Flow, address_id: u8, backup: bool) -> Option<SubflowId> {
        let first = self.subflows.iter().any(|s| s.id == SubflowId(0) && s.flow.remote == flow.remote);
        if !self.may_join() || (self.closed_address && first) || self.find(flow).is_some() {
            return None;
        }
        let nonce = self.random.bits() as u32;
        let subflow = self.add(flow, Phase::Joining { nonce }, true, now);
        subflow.address_ids.0 = address_id;
        subflow.backup.0 = backup;
        Some(subflow.id)
    }

    /// A SYN that names this connection. Whether it is answered; without an answer of ours it is refused.
    pub fn accept_join(&mut self, now: Instant, syn: &Received<'_>) -> bool {
        let join = syn.tcp.segment.mptcp().find_map(|option| match option {
            Mptcp::Join(Join::Syn { backup, address_id, token, nonce }) => {
                Some((backup, address_id, token, nonce))
            }
            _ => None,
        });
        let Some((backup, address_id, token, peer_nonce)) = join else { return false };
        if token != self.token() || !self.may_join() || self.find(syn.flow).is_some() {
            return false;
        }
        let local = syn.flow.local.ip();
        let own = self.own.iter().find(|&&(_, address)| address == local).map_or(0, |&(id, _)| id);
        let nonce = self.random.bits() as u32;
        let subflow = self.add(syn.flow, Phase::Joined { nonce, peer_nonce }, false, now);
        subflow.address_ids = (own, address_id);
        subflow.backup.1 = backup;
        self.on_segment(now, syn);
        true
    }

    fn may_join(&self) -> bool {
        let speaks = self.mode == Mode::Multipath { confirmed: true };
        speaks && self.state != State::Closed && self.subflows.len() < self.config.subflows
    }

    fn add(&mut self, flow: Flow, phase: Phase, active: bool, now: Instant) -> &mut Subflow {
        let iss = SeqNum(self.random.bits() as u32);
        let (tcp, local, remote) = (Arc::clone(&self.config.tcp), flow.local.port(), flow.remote.port());
        let endpoint = if active {
            Endpoint::connect(tcp, local, remote, iss, now)
        } else {
            Endpoint::listen(tcp, local, iss)
        };
        let id = SubflowId(self.next_id);
        self.next_id += 1;
        self.counters.subflows += 1;
        self.subflows.push(Subflow::new(id, flow, endpoint, iss, phase));
        let last = self.subflows.len() - 1;
        &mut self.subflows[last]
    }

    pub(super) fn find(&self, flow: Flow) -> Option<usize> {
        self.subflows.iter().position(|subflow| subflow.flow == flow)
    }

    /// What we say of us in the handshake: version 1, HMAC-SHA256 (§3.1).
    pub(super) fn capable(&self) -> Capable {
        Capable {
            version: 1,
            checksum: self.checksum,
            algorithms: Capable::HMAC_SHA256,
            ..Capable::default()
        }
    }
}
