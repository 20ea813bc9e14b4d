//! What the network does when an application reconnects: it opens a flow's next connection. `hosts/reconnect.rs` holds what that
//! is made of.

use std::sync::Arc;

use handfast_core::Instant;
use handfast_plan::StreamId;
use handfast_scenario::NodeId;
use handfast_tcp::Endpoint;

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::{Connection, Local, Remote, Role, SocketAddress, iss};
use crate::hosts::connections::Pair;
use crate::run::network::Network;

/// Which end of a connection opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    Sender,
    Receiver,
}

/// Where the sender of a connection is and where its peer, and the same of its receiver.
pub(crate) type Places = [(Local, Remote); 2];

impl Network {
    /// A flow's connection has died: its application opens another one, from a new port, to the same port as before.
    #[cold]
    pub(crate) fn reconnect(&mut self, now: Instant, id: ConnectionId) {
        let pair = Pair { sender: id, receiver: self.hosts.connections.peer(id) };
        if self.try_later(now, pair) {
            return;
        }
        let Some(places) = self.next_places(pair, Opener::Sender) else { return };
        let Some((sending, position)) = self.hosts.connections[id].leave_sending(now) else { return };
        let Some(sink) = self.hosts.connections[pair.receiver].leave_receiving(now, position) else { return };
        let stream = sending.stream();
        let Some(again) = self.hosts.again.get(&self.hosts.connections.flow(stream)) else { return };
        let opens = now + again.how.after;
        let roles = [Role::Sender(sending), Role::Receiver(sink)];
        self.open_next(now, stream, Opener::Sender, places, roles, Some(opens));
    }

    /// Where the ends of the connection after `pair` are: the one that opens it has a new port, and each the address that it has now.
    /// [`None`]: it has none, or no port.
    pub(crate) fn next_places(&mut self, pair: Pair, opener: Opener) -> Option<Places> {
        let ends = [pair.sender, pair.receiver].map(|id| &self.hosts.connections[id]);
        let mut locals = ends.map(|end| end.local);
        for local in &mut locals {
            let node = local.node as NodeId;
            local.socket.address = self.own_address(node, local.socket.address)?;
        }
        let (own, other) = if opener == Opener::Sender { (0, 1) } else { (1, 0) };
        let Local { node, socket, .. } = locals[own];
        let port = self.hosts.free_port(node as NodeId, socket, locals[other].socket)?;
        locals[own].socket = SocketAddress { port, ..socket };
        let nodes = locals.map(|local| local.node as NodeId);
        let goals = nodes.map(|node| self.topology.goal(node));
        for (end, local) in locals.iter_mut().enumerate() {
            local.out = self.topology.towards(nodes[end], goals[1 - end]).unwrap_or(local.out);
        }
        let place =
            |end: usize| (locals[end], Remote { goal: goals[1 - end], socket: locals[1 - end].socket });
        Some([place(0), place(1)])
    }

    /// Opens the next connection that carries a stream. `opens`: when; [`None`]: now.
    pub(crate) fn open_next(
        &mut self,
        now: Instant,
        stream: StreamId,
        opener: Opener,
        places: Places,
        [sender, receiver]: [Role; 2],
        opens: Option<Instant>,
    ) -> Option<Pair> {
        let flow = self.hosts.connections.flow(stream);
        let again = self.hosts.again.get(&flow)?;
        let index = stream - self.hosts.connections.streams(flow).start;
        let count = self.hosts.connections.of_stream(stream).len() as u32;
        let [first, second] = [0, 1].map(|end| iss(again.seed, &again.name, index, 2 * count + end));
        let tcp = [Arc::clone(&again.sender), Arc::clone(&again.receiver)];
        let pair = self.hosts.connections.next();
        let [key, peer_key] = [pair.sender, pair.receiver].map(|id| self.queue.add_connection(id));
        self.books.add_connections(2);
        let [at, there] = places;
        let ports = [at.0.socket.port, there.0.socket.port];
        let [own, other] = tcp;
        let (from, to) = match opener {
            Opener::Sender => (
                Endpoint::connect(own, ports[0], ports[1], first, now),
                Endpoint::listen(other, ports[1], second),
            ),
            Opener::Receiver => (
                Endpoint::listen(own, ports[0], first),
                Endpoint::connect(other, ports[1], ports[0], second, now),
            ),
        };
        let mut sender = Connection::new(key, at, sender, from);
        let receiver = Connection::new(peer_key, there, receiver, to);
        if let Some(opens) = opens {
            sender.opens_at(opens);
        }
        self.connect(now, stream, sender, receiver);
        Some(pair)
    }
}
