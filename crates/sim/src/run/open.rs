//! Opens the connections of flows.

use handfast_core::{Duration, Instant};
use handfast_host::app::{Reconnect, Sink, Source};
use handfast_host::meter::SharedMeter;
use handfast_host::probe::Probe;
use handfast_host::session::Sending;
use handfast_plan::StreamId;
use handfast_scenario::{AgentKind, FlowId, Iosl, NodeId, Scenario, Scheme};

use crate::RunError;
use crate::engine::entry::{Key, Machine};
use crate::engine::ids::ConnectionId;
use crate::engine::queue::Timer;
use crate::hosts::connection::{Connection, iss};
use crate::hosts::moving::Moving;
use crate::hosts::reconnect::Again;
use crate::hosts::sessions::Between;
use crate::run::layout::{Ends, Layout, Ranks};
use crate::run::network::{MOVING, Network};
use crate::run::places::places_of;
use crate::run::{dialogues, transports};

/// Opens the ends of all flows at their start.
pub(crate) fn open(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    layout: &Layout<'_>,
    ends: &Ends,
    ranks: &Ranks,
    seed: u64,
) -> Result<(), RunError> {
    let layered = Layered::of(scheme, scenario)?;
    for (id, flow) in scenario.flows.iter().enumerate() {
        let places = |network: &Network, stream| places_of(network, scenario, layout, ends, id, stream);
        if !flow.uses_tcp() {
            transports::open(network, scenario, scheme, layout, ends, &ranks.transports, (id, seed));
            continue;
        }
        let own = flow.tcp.as_ref().and_then(|name| scenario.scheme(name).ok());
        let scheme = own.unwrap_or(scheme);
        let between = layered.between(scenario, id)?;
        if let Some(kind) = flow.app.dialogue() {
            dialogues::open(network, scenario, scheme, layout, ends, ranks, (id, kind, seed));
            continue;
        }
        let how = flow.app.reconnects().or_else(|| between.map(|_| Reconnect::after(Duration::ZERO)));
        let again = how.map(|how| {
            let again = Again::new(flow, how, [&scheme.sender, &scheme.receiver], seed);
            Again { in_session: between.is_some(), ..again }
        });
        network.hosts.again.extend(again.map(|again| (id, again)));
        let shared = (flow.connections > 1).then(SharedMeter::default);
        network.hosts.shared.extend(shared.clone().map(|shared| (id, shared)));
        for (index, (stream, app)) in (0..).zip(layout.streams.shares(scenario, id)) {
            let pair = network.hosts.connections.next();
            let key = |id: ConnectionId| Key::new(ranks.connections[id.index()], Machine::Connection(id.0));
            let iss = |end: u32| iss(seed, &flow.name, index, end);
            let (start, [there, back]) = (layout.starts[id], places(network, stream));
            let sending = Sending::new(stream, Source::new(app, start, flow.stop));
            let tcp = (scheme.sender.clone(), scheme.receiver.clone());
            let mut sender = Connection::sender(key(pair.sender), there, sending, start, tcp.0, iss(0));
            let sink = Sink::new(stream, flow.read_rate);
            let sink = shared.iter().fold(sink, |sink, all| sink.sharing(all.clone()));
            let probe = Probe::new(flow.measure, app.writes(), start, flow.connections);
            let sink = probe.iter().fold(sink, |sink, probe| sink.measured_by(probe.clone()));
            network.hosts.probes.extend(probe.map(|probe| (stream, probe)));
            let receiver = Connection::receiver(key(pair.receiver), back, sink, tcp.1, iss(1));
            if let Some(between) = between {
                sender.never_opens();
                let all = network.hosts.sessions.get_or_insert_default();
                all.add(seed, start, stream, between);
            }
            network.connect(Instant::ZERO, stream, sender, receiver);
        }
    }
    move_stations(network, scenario, ranks);
    Ok(())
}

/// Stations that go from one IP network to another change their address; what is above connections has a timer.
fn move_stations(network: &mut Network, scenario: &Scenario, ranks: &Ranks) {
    if scenario.networks.is_empty() && network.hosts.sessions.is_none() {
        return;
    }
    let moves = |&node: &NodeId| {
        let of = &scenario.nodes[node];
        !scenario.networks.is_empty() && of.ap.is_some() && of.more_aps.is_empty()
    };
    let stations: Vec<_> = (0..scenario.nodes.len()).filter(moves).collect();
    let stations = stations.into_iter().map(|node| (node, network.addresses.first(node)));
    let timer = Timer::new(ranks.moving, Machine::Agent(MOVING));
    network.moving = Some(Box::new(Moving::new(stations, timer)));
    network.arm_moving();
}

/// The stations of a scheme whose socket layer has peers.
struct Layered<'a>(Vec<(&'a [NodeId], Vec<NodeId>, &'a Iosl)>);

impl<'a> Layered<'a> {
    fn of(scheme: &'a Scheme, scenario: &Scenario) -> Result<Self, RunError> {
        let mut all = Vec::new();
        for agent in &scheme.agents {
            let AgentKind::Iosl(spec) = &agent.kind else { continue };
            let Some(role) = &spec.peers else { continue };
            let plays = |&node: &NodeId| {
                let node = &scenario.nodes[node];
                !node.kind.forwards() && node.role.as_ref() == Some(role)
            };
            let peers: Vec<_> = (0..scenario.nodes.len()).filter(plays).collect();
            if peers.is_empty() {
                let why = format!("scheme `{}`: `peers = \"{role}\"`: no host plays this role", scheme.name);
                return Err(RunError::Scenario(why));
            }
            all.push((&agent.at[..], peers, spec));
        }
        Ok(Self(all))
    }

    /// Between whom the session of a flow is; [`None`]: it has none.
    fn between(&self, scenario: &Scenario, flow: FlowId) -> Result<Option<Between>, RunError> {
        let of = &scenario.flows[flow];
        let found = self.0.iter().find_map(|(stations, peers, spec)| {
            let ends = [(of.from, of.to), (of.to, of.from)];
            let is =
                |&(station, peer): &(NodeId, NodeId)| stations.contains(&station) && peers.contains(&peer);
            let (station, peer) = ends.into_iter().find(is)?;
            let Iosl { rules, restore: restores, fast_open, .. } = **spec;
            Some(Between { station, peer, rules, restores, fast_open })
        });
        if let Some(kind) = of.app.dialogue().filter(|_| found.is_some()) {
            let why = format!(
                "flow `{}`: sessions carry what goes one way, and `{}` asks and is answered",
                of.name,
                kind.name()
            );
            return Err(RunError::Scenario(why));
        }
        if found.is_some() && (of.read_rate.is_some() || of.measure.any()) {
            let why = format!("flow `{}`: sessions have neither `read_rate` nor `measure`", of.name);
            return Err(RunError::Scenario(why));
        }
        Ok(found)
    }
}

impl Network {
    /// Adds both ends of a connection that carries a stream.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        stream: StreamId,
        mut sender: Connection,
        mut receiver: Connection,
    ) {
        let pair = self.hosts.connections.next();
        self.attach_layer_if_any(now, &mut sender);
        self.attach_layer_if_any(now, &mut receiver);
        for (id, connection) in [(pair.sender, &sender), (pair.receiver, &receiver)] {
            let sockets = (connection.local.socket, connection.remote.socket);
            self.hosts.bind(connection.local.node as NodeId, sockets, id);
            self.queue.arm_connection(id, connection.key, connection.deadline());
        }
        self.hosts.connections.open(stream, sender, receiver);
    }
}
