//! What the network does for stations that go from one IP network to another: their address changes, what is sent to the old one
//! arrives nowhere, and applications open new connections. `hosts/moving.rs` holds when.

use std::collections::BTreeSet;

use handfast_core::Instant;
use handfast_host::app::{Notice, Reconnect};
use handfast_host::session::Ending;
use handfast_plan::StreamId;
use handfast_plan::address::AddressId;
use handfast_scenario::NodeId;

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::{Role, SocketAddress};
use crate::hosts::connections::Pair;
use crate::run::network::reconnect::Opener;
use crate::run::network::{Network, assert_later};

impl Network {
    /// The address that a host has now: `otherwise` that of one that keeps it. [`None`]: it has none.
    pub(crate) fn own_address(&self, node: NodeId, otherwise: AddressId) -> Option<AddressId> {
        let moving = self.moving.as_ref().and_then(|moving| moving.addresses.get(&node));
        moving.map_or(Some(otherwise), |&own| own)
    }

    /// A station has left an IP network: its connections there can say and hear nothing.
    #[cold]
    pub(crate) fn address_ends(&mut self, now: Instant, station: NodeId) {
        let gone = self.moving.as_mut().and_then(|moving| moving.addresses.get_mut(&station)?.take());
        let Some(gone) = gone else { return };
        for (stream, pair) in self.pairs_at(station, gone) {
            if self.is_unused(pair) {
                continue;
            }
            for id in self.ends_at(pair, station) {
                self.hosts.connections[id].strand();
            }
            if let Some(Reconnect { notice: Notice::After(after), .. }) = self.policy(stream)
                && let Some(moving) = &mut self.moving
            {
                moving.try_at(now + after, stream);
            }
        }
        self.tell_sessions_gone(now, station);
        self.arm_moving();
    }

    /// It has an address in the one that it has come to.
    #[cold]
    pub(crate) fn address_begins(&mut self, now: Instant, station: NodeId) {
        let Some(address) = self.addresses.assign(station, 0) else { return };
        let Some(moving) = &mut self.moving else { return };
        moving.addresses.insert(station, Some(address));
        self.leave_addresses(station, address);
        for stream in self.hosts.connections.all_streams() {
            let Some(&pair) = self.hosts.connections.of_stream(stream).last() else { continue };
            let notices = self.policy(stream).is_some_and(|how| how.notice == Notice::NewAddress);
            if notices && self.is_stranded(pair) {
                self.attempt(now, stream);
            }
        }
        self.tell_sessions_back(now, station);
        self.arm_moving();
    }

    /// What a station had at other addresses is nobody's: what is sent there, and what is under way, arrives nowhere. Connections on
    /// which nothing was sent begin at the new address.
    fn leave_addresses(&mut self, station: NodeId, address: AddressId) {
        let own: Vec<_> = self.hosts.at(station).collect();
        let mut lost = BTreeSet::new();
        for id in own {
            let peer = self.hosts.connections.peer(id);
            if self.hosts.connections[id].local.socket.address == address {
                continue;
            }
            let sends = self.hosts.connections.sends(id);
            let (sender, receiver) = if sends { (id, peer) } else { (peer, id) };
            if self.is_unused(Pair { sender, receiver }) {
                self.rebind(id, peer, address);
            } else {
                self.hosts.connections[peer].strand();
                lost.extend([id, peer]);
            }
        }
        self.packets.strand(&lost);
    }

    /// A connection on which nothing was sent is at another address of its station.
    fn rebind(&mut self, own: ConnectionId, peer: ConnectionId, address: AddressId) {
        let before = self.hosts.connections[own].local.socket;
        let now = SocketAddress { address, ..before };
        let there = self.hosts.connections[peer].local.socket;
        self.hosts.connections[own].local.socket = now;
        self.hosts.connections[peer].remote.socket = now;
        let nodes = [own, peer].map(|id| self.hosts.connections[id].local.node as NodeId);
        self.hosts.rebind(nodes[0], (before, there), (now, there), own);
        self.hosts.rebind(nodes[1], (there, before), (there, now), peer);
    }

    /// The connection of a flow has died. Whether its application opens the next one when its host has an address.
    pub(crate) fn try_later(&mut self, now: Instant, pair: Pair) -> bool {
        let Some(sending) = self.hosts.connections[pair.sender].sending() else { return false };
        let stream = sending.stream();
        let Some(how) = self.policy(stream) else { return false };
        let nodes = [pair.sender, pair.receiver].map(|id| self.hosts.connections[id].local.node as NodeId);
        let Some(moving) = &mut self.moving else { return false };
        if !nodes.iter().any(|node| moving.addresses.contains_key(node)) {
            return false;
        }
        moving.try_at(now + how.after, stream);
        self.arm_moving();
        true
    }

    /// Something is due: attempts, and what ends of sessions want.
    #[cold]
    pub(crate) fn wake_moving(&mut self, now: Instant) {
        while let Some(stream) = self.moving.as_mut().and_then(|moving| moving.take_due(now)) {
            self.attempt(now, stream);
        }
        self.wake_sessions(now);
        let deadline = self.moving_deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "an application that reconnects, or a session");
        if let Some(moving) = &mut self.moving {
            self.queue.settle(&mut moving.timer, deadline);
        }
    }

    /// Looks again when something is due.
    pub(crate) fn arm_moving(&mut self) {
        let deadline = self.moving_deadline();
        if let Some(moving) = &mut self.moving {
            self.queue.arm(&mut moving.timer, deadline);
        }
    }

    fn moving_deadline(&self) -> Option<Instant> {
        let attempts = self.moving.as_ref().and_then(|moving| moving.deadline());
        let sessions = self.hosts.sessions.as_ref().and_then(|sessions| sessions.deadline());
        attempts.into_iter().chain(sessions).min()
    }

    /// An application tries to open a new connection: without an address it fails at once.
    fn attempt(&mut self, now: Instant, stream: StreamId) {
        let Some(&pair) = self.hosts.connections.of_stream(stream).last() else { return };
        let Some(how) = self.policy(stream) else { return };
        let is_dead = matches!(self.hosts.connections[pair.sender].ending(), Some(Ending::Died(..)));
        let is_needed = is_dead || self.is_stranded(pair);
        let has_addresses = [pair.sender, pair.receiver].into_iter().all(|id| {
            let local = self.hosts.connections[id].local;
            self.own_address(local.node as NodeId, local.socket.address).is_some()
        });
        let Some(moving) = &mut self.moving else { return };
        if is_needed && !has_addresses {
            return moving.put_off(now, stream, &how);
        }
        moving.settled(stream);
        if is_needed {
            self.go_on_elsewhere(now, stream, pair, &how);
        }
    }

    /// The application goes on by a connection from its new address. Who moves opens it, whichever way its data goes.
    fn go_on_elsewhere(&mut self, now: Instant, stream: StreamId, pair: Pair, how: &Reconnect) {
        let opener = self.mover(pair);
        let Some(places) = self.next_places(pair, opener) else { return };
        let connections = &mut self.hosts.connections;
        let Some((mut sending, acknowledged)) = connections[pair.sender].leave_sending(now) else { return };
        let Some(mut sink) = connections[pair.receiver].leave_receiving(now, acknowledged) else { return };
        let position = if how.again { 0 } else { sink.meter.bytes };
        sending.go_on_at(position);
        sink.begin_at(position);
        let own = if opener == Opener::Sender { pair.sender } else { pair.receiver };
        self.hosts.connections[own].kill(now);
        self.answer(now, own);
        let roles = [Role::Sender(sending), Role::Receiver(sink)];
        if let Some(Pair { sender, receiver }) = self.open_next(now, stream, opener, places, roles, None) {
            self.answer(now, if opener == Opener::Sender { sender } else { receiver });
        }
    }

    /// Who opens the connection after this one: the end that moves, or else the sender.
    pub(crate) fn mover(&self, pair: Pair) -> Opener {
        let moves = |id: ConnectionId| {
            let node = self.hosts.connections[id].local.node as NodeId;
            self.moving.as_ref().is_some_and(|moving| moving.addresses.contains_key(&node))
        };
        if moves(pair.receiver) && !moves(pair.sender) { Opener::Receiver } else { Opener::Sender }
    }

    /// Whether an end of a connection has lost its address, or has another one.
    fn is_stranded(&self, pair: Pair) -> bool {
        [pair.sender, pair.receiver].into_iter().any(|id| self.hosts.connections[id].is_stranded())
    }

    /// Whether nothing was sent on a connection: it opens later.
    fn is_unused(&self, pair: Pair) -> bool {
        !self.hosts.connections[pair.sender].is_open() || !self.hosts.connections[pair.receiver].is_open()
    }

    fn policy(&self, stream: StreamId) -> Option<Reconnect> {
        let flow = self.hosts.connections.flow(stream);
        self.hosts.again.get(&flow).filter(|again| !again.in_session).map(|again| again.how)
    }

    /// The streams whose connection has an end at an address of a station.
    fn pairs_at(&self, station: NodeId, address: AddressId) -> Vec<(StreamId, Pair)> {
        let connections = &self.hosts.connections;
        let last = |stream| Some((stream, *connections.of_stream(stream).last()?));
        let here = |id: ConnectionId| {
            let local = connections[id].local;
            local.node as NodeId == station && local.socket.address == address
        };
        let at = |&(_, pair): &(StreamId, Pair)| here(pair.sender) || here(pair.receiver);
        connections.all_streams().filter_map(last).filter(at).collect()
    }

    fn ends_at(&self, pair: Pair, station: NodeId) -> impl Iterator<Item = ConnectionId> + use<> {
        let here = [pair.sender, pair.receiver]
            .map(|id| (self.hosts.connections[id].local.node as NodeId == station).then_some(id));
        here.into_iter().flatten()
    }
}
