//! The hosts: the ends of flows, which are applications on endpoints.

pub(crate) mod connection;
pub(crate) mod connections;
mod ids;
mod measure;
pub(crate) mod moving;
pub(crate) mod reconnect;
pub(crate) mod sessions;
pub(crate) mod transports;
pub(crate) mod ways;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use handfast_host::app::Sink;
use handfast_host::dialogue::SharedAsker;
use handfast_host::meter::{DeliveryMeter, SharedMeter};
use handfast_host::ports::Ports;
use handfast_host::probe::Probe;
use handfast_plan::{StreamId, Streams};
use handfast_scenario::{FlowId, NodeId};

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::SocketAddress;
use crate::hosts::connections::{Connections, Pair};
use crate::hosts::reconnect::Again;
use crate::hosts::sessions::Sessions;
use crate::hosts::transports::Transports;

/// For each station that has heard advertisements of base stations, whose it heard last.
pub(crate) type Heard = BTreeMap<NodeId, Ipv4Addr>;

/// All hosts together: a machine's state is found by its number, not by its host.
pub(crate) struct Hosts {
    pub(crate) connections: Connections,
    /// For each node which connection has which port.
    ports: Vec<Ports<SocketAddress, ConnectionId, ()>>,
    /// How flows that reconnect do so.
    pub(crate) again: BTreeMap<FlowId, Again>,
    /// What the receiving applications of flows with several connections at once have got.
    pub(crate) shared: BTreeMap<FlowId, SharedMeter>,
    /// What measures the streams of flows that ask for it.
    pub(crate) probes: BTreeMap<StreamId, Probe>,
    /// The clients of flows of which one end asks and the other answers.
    pub(crate) askers: BTreeMap<FlowId, SharedAsker>,
    /// The ends of flows that do not use TCP.
    pub(crate) transports: Transports,
    /// The ends of sessions; away while one of them is at work.
    pub(crate) sessions: Option<Box<Sessions>>,
    /// From whom stations have heard advertisements last.
    pub(crate) heard: Heard,
}

impl Hosts {
    /// Hosts without connections.
    pub(crate) fn new(nodes: usize, streams: Streams) -> Self {
        let ports = std::iter::repeat_with(Ports::default).take(nodes).collect();
        Self {
            connections: Connections::new(streams),
            ports,
            again: BTreeMap::new(),
            shared: BTreeMap::new(),
            probes: BTreeMap::new(),
            askers: BTreeMap::new(),
            transports: Transports::default(),
            sessions: None,
            heard: Heard::default(),
        }
    }

    /// Enters a connection at its host.
    pub(crate) fn bind(&mut self, node: NodeId, pair: (SocketAddress, SocketAddress), id: ConnectionId) {
        self.ports[node].open(pair, id);
    }

    /// A dynamic port of a node for one more connection to `remote`; [`None`]: all are taken.
    pub(crate) fn free_port(
        &mut self,
        node: NodeId,
        local: SocketAddress,
        remote: SocketAddress,
    ) -> Option<u16> {
        self.ports[node].free_port(|port| (SocketAddress { port, ..local }, remote))
    }

    /// A connection that nothing was sent on is between these addresses now.
    pub(crate) fn rebind(
        &mut self,
        node: NodeId,
        before: (SocketAddress, SocketAddress),
        pair: (SocketAddress, SocketAddress),
        id: ConnectionId,
    ) {
        self.ports[node].close(before);
        self.ports[node].open(pair, id);
    }

    /// The connection of a node between two addresses.
    pub(crate) fn bound(&self, node: NodeId, pair: (SocketAddress, SocketAddress)) -> Option<ConnectionId> {
        self.ports[node].connection(pair)
    }

    /// What the receiving application of a flow has got.
    pub(crate) fn meter(&self, flow: FlowId) -> DeliveryMeter {
        if let Some(shared) = self.shared.get(&flow) {
            return shared.get();
        }
        match self.transports.of_flow(flow) {
            Some([_, receiver]) => receiver.meter(),
            None => self.sink(flow).map(|sink| sink.meter).unwrap_or_default(),
        }
    }

    /// Notes the next delivery to it.
    pub(crate) fn watch(&mut self, flow: FlowId) {
        if let Some(shared) = self.shared.get(&flow) {
            shared.watch();
        } else if let Some(meter) = self.only_meter(flow) {
            meter.watch();
        }
    }

    /// The sink of a flow with one stream.
    fn sink(&self, flow: FlowId) -> Option<&Sink> {
        self.connections.of_flow(flow).next()?.1.sink()
    }

    /// The meter of a flow with one stream or without TCP.
    fn only_meter(&mut self, flow: FlowId) -> Option<&mut DeliveryMeter> {
        let stream = self.connections.streams(flow).next()?;
        match self.connections.of_stream(stream).last() {
            Some(&Pair { receiver, .. }) => self.connections[receiver].sink_mut().map(|sink| &mut sink.meter),
            None => self.transports.receiver_mut(flow)?.meter_mut(),
        }
    }

    /// The connections of a node, in order of their ports.
    pub(crate) fn at(&self, node: NodeId) -> impl Iterator<Item = ConnectionId> + '_ {
        self.ports[node].connections()
    }
}
