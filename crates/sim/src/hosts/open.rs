//! Opens the connections of flows.

use handfast_core::{SeqNum, Stream};
use handfast_host::app::{Sink, Source};
use handfast_host::session::Sending;
use handfast_scenario::{FlowId, NodeId, Scenario, Scheme};

use crate::RunError;
use crate::engine::entry::{Key, Machine};
use crate::hosts::connection::{Connection, Local, Remote, SocketAddress};
use crate::hosts::connections::ConnectionId;
use crate::hosts::reconnect::Again;
use crate::net::network::Network;
use crate::run::build::{Layout, Ranks};

/// The first of the ports that connections get, one a connection and node.
const FIRST_PORT: u16 = 5001;

/// Which port each flow has at both of its nodes, and which machines each node has.
pub(crate) struct Ends {
    /// For each flow that of its sender and that of its receiver.
    ports: Vec<[u16; 2]>,
    /// For each node its connections, in order of port.
    pub(crate) connections_of: Vec<Vec<u32>>,
    /// The same of the ends of flows that do not use TCP.
    pub(crate) transports_of: Vec<Vec<u32>>,
}

impl Ends {
    /// Ports in the order of flows.
    pub(crate) fn assign(scenario: &Scenario) -> Result<Self, RunError> {
        let none = vec![Vec::new(); scenario.nodes.len()];
        let mut this = Self { ports: Vec::new(), connections_of: none.clone(), transports_of: none };
        let (mut connections, mut transports) = (0.., 0..);
        for flow in &scenario.flows {
            let mut ports = [0; 2];
            for (port, node) in ports.iter_mut().zip([flow.from, flow.to]) {
                *port = this.next_port(node).ok_or_else(|| {
                    let name = &scenario.nodes[node].name;
                    RunError::Scenario(format!("node `{name}` has more flows than ports"))
                })?;
                if flow.app.uses_tcp() {
                    this.connections_of[node].extend(connections.next());
                } else {
                    this.transports_of[node].extend(transports.next());
                }
            }
            this.ports.push(ports);
        }
        Ok(this)
    }

    fn next_port(&self, node: NodeId) -> Option<u16> {
        let taken = self.connections_of[node].len() + self.transports_of[node].len();
        u16::try_from(taken).ok()?.checked_add(FIRST_PORT)
    }

    /// How many connections there are, both ends counted.
    pub(crate) fn connections(&self) -> usize {
        self.connections_of.iter().map(Vec::len).sum()
    }
}

/// Opens the ends of all flows at their start.
pub(crate) fn open(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    layout: &Layout<'_>,
    ends: &Ends,
    ranks: &Ranks,
    seed: u64,
) {
    for (id, flow) in scenario.flows.iter().enumerate() {
        let places = places(network, scenario, layout, ends, id);
        if let Some(machines) = flow.app.transport(layout.starts[id], flow.stop) {
            let opened = network.hosts.transports.open(id, machines, places, &ranks.transports);
            for end in opened {
                network.arm_transport(end);
            }
            continue;
        }
        let own = flow.tcp.as_ref().and_then(|name| scenario.scheme(name).ok());
        let scheme = own.unwrap_or(scheme);
        let iss = |end: u32| iss(seed, &flow.name, end);
        let pair = network.hosts.connections.next();
        let key = |id: ConnectionId| Key::new(ranks.connections[id.index()], Machine::Connection(id.0));
        let (stream, start) = (id as u32, layout.starts[id]);
        let [there, back] = places;
        let sending = Sending::new(stream, Source::new(flow.app, start, flow.stop));
        let sender =
            Connection::sender(key(pair.sender), there, sending, start, scheme.sender.clone(), iss(0));
        let sink = Sink::new(stream, flow.read_rate);
        let receiver = Connection::receiver(key(pair.receiver), back, sink, scheme.receiver.clone(), iss(1));
        let again = Again::new(flow, [&scheme.sender, &scheme.receiver], seed);
        network.hosts.again.extend(again.map(|again| (id, again)));
        network.connect(id, sender, receiver);
    }
}

/// The initial sequence number of an end of one of a flow's connections.
pub(crate) fn iss(seed: u64, flow: &str, end: u32) -> SeqNum {
    SeqNum(Stream::new(seed, &format!("flow {flow} iss {end}")).bits() as u32)
}

/// Where the sender of a flow is and where its peer, and the same of its receiver.
fn places(
    network: &Network,
    scenario: &Scenario,
    layout: &Layout<'_>,
    ends: &Ends,
    id: FlowId,
) -> [(Local, Remote); 2] {
    let flow = &scenario.flows[id];
    let nodes = [flow.from, flow.to];
    let outs = [&layout.paths.forward[id], &layout.paths.backward[id]].map(|path| path[0]);
    let socket = |end: usize| SocketAddress {
        address: network.addresses.first(nodes[end]),
        port: ends.ports[id][end],
    };
    [0, 1].map(|end| {
        let local = Local { node: nodes[end] as u32, out: outs[end], socket: socket(end) };
        (local, Remote { goal: network.topology.goal(nodes[1 - end]), socket: socket(1 - end) })
    })
}

impl Network {
    /// Adds both ends of a connection of a flow.
    pub(crate) fn connect(&mut self, flow: FlowId, sender: Connection, receiver: Connection) {
        let pair = self.hosts.connections.next();
        for (id, connection) in [(pair.sender, &sender), (pair.receiver, &receiver)] {
            let sockets = (connection.local.socket, connection.remote.socket);
            self.hosts.bind(connection.local.node as NodeId, sockets, id);
            self.queue.arm_connection(id, connection.key, connection.deadline());
        }
        self.hosts.connections.open(flow, sender, receiver);
    }
}
