//! What the network does when an application reconnects: it opens a flow's next connection. `hosts/reconnect.rs` holds what that
//! is made of.

use handfast_core::Instant;
use handfast_scenario::NodeId;

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::{Connection, Local, Remote, SocketAddress, iss};
use crate::hosts::connections::Pair;
use crate::run::network::Network;

impl Network {
    /// A flow's connection has died: its application opens another one, from a new port, to the same port as before.
    #[cold]
    pub(crate) fn reconnect(&mut self, now: Instant, id: ConnectionId) {
        let peer = self.hosts.connections.peer(id);
        let &Connection { local, remote, .. } = &self.hosts.connections[id];
        let Remote { goal: home, .. } = self.hosts.connections[peer].remote;
        let there = self.hosts.connections[peer].local;
        let Some(port) = self.hosts.free_port(local.node as NodeId, local.socket, remote.socket) else {
            return;
        };
        let Some((sending, position)) = self.hosts.connections[id].leave_sending(now) else { return };
        let Some(sink) = self.hosts.connections[peer].leave_receiving(now, position) else { return };
        let stream = sending.stream();
        let flow = self.hosts.connections.flow(stream);
        let Some(again) = self.hosts.again.get(&flow) else { return };
        let index = stream - self.hosts.connections.streams(flow).start;
        let count = self.hosts.connections.of_stream(stream).len() as u32;
        let [first, second] = [0, 1].map(|end| iss(again.seed, &again.name, index, 2 * count + end));
        let socket = SocketAddress { port, ..local.socket };
        let (sender_tcp, receiver_tcp) = (again.sender.clone(), again.receiver.clone());
        let opens = now + again.after;
        let Pair { sender, receiver } = self.hosts.connections.next();
        let [key, peer_key] = [sender, receiver].map(|id| self.queue.add_connection(id));
        self.books.add_connections(2);
        let place = (Local { socket, ..local }, remote);
        let sender = Connection::sender(key, place, sending, opens, sender_tcp, first);
        let place = (there, Remote { goal: home, socket });
        let receiver = Connection::receiver(peer_key, place, sink, receiver_tcp, second);
        self.connect(now, stream, sender, receiver);
    }
}
