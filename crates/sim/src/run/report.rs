//! What the network knows of a run that has come to its end.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::sdtp::{NodeCounters, Repairs};
use handfast_core::{Duration, Instant};
use handfast_host::meter::FlowSample;
use handfast_host::session::{Ending, Sending};
use handfast_host::transport::Transport;
use handfast_net::Queue;
use handfast_plan::StreamId;
use handfast_results::handover::Tracker;
use handfast_results::metrics::{self, Scope, Values};
use handfast_results::report::{FlowFacts, Inputs, RunFacts, full_segments, report as compute};
use handfast_results::result::{RunResult, SegmentResult};
use handfast_scenario::{FlowId, Scenario};
use handfast_tcp::{Counters, Endpoint};

use crate::agents::chain::Member;
use crate::agents::controller::Control;
use crate::engine::ids::ConnectionId;
use crate::hosts::connections::Connections;
use crate::net::books::Managed;
use crate::run::network::Network;

/// The result.
pub(crate) fn report(inputs: &Inputs<'_>, network: &Network, trackers: &[Vec<Tracker>]) -> RunResult {
    let run = RunFacts {
        backend: "sim",
        valid: true,
        packets: Some(network.books.packets()),
        packet_hops: Some(network.books.hops()),
        byte_hops: Some(network.books.byte_hops()),
        controller: network.control.as_deref().map(Control::counters).or_else(|| agent_counters(network)),
        segments: segments(inputs.scenario, network),
        environment: None,
    };
    let known = Known { inputs, network, disciplines: has_disciplines(inputs.scenario) };
    let flows: Vec<_> = (0..inputs.scenario.flows.len()).map(|id| known.facts(id)).collect();
    compute(inputs, run, flows, trackers)
}

/// What SDTP's controller and the agents of all nodes have counted together, and what the node that has most. None where nobody
/// counts.
fn agent_counters(network: &Network) -> Option<BTreeMap<String, u64>> {
    let mut sums = BTreeMap::new();
    let of_nodes = network.chains.members.iter().filter_map(|member| match member {
        Member::Agent { machine, .. } => Some(machine.counters()),
        Member::Switch(_) => None,
    });
    let of_controller = network.sdtp.iter().flat_map(|sdtp| sdtp.counters());
    let layers = network.layers.iter().flat_map(|all| all.by_station.values());
    let of_layers = layers.flat_map(|layer| layer.monitor.counters().totals());
    let of_sessions = network.hosts.sessions.iter().map(|all| ("session_paths", all.resumed()));
    let of_transports = network.hosts.transports.moves().map(|moves| ("path_moves", moves));
    let above = of_layers.chain(of_sessions).chain(of_transports);
    for (name, count) in of_controller.chain(of_nodes.flatten()).chain(above) {
        let sum: &mut u64 = sums.entry(name.to_owned()).or_default();
        *sum = if NodeCounters::is_of_one(name) { count.max(*sum) } else { *sum + count };
    }
    (!sums.is_empty()).then_some(sums)
}

/// What became of losses in the segments of SDTP's paths, by path and node.
fn segments(scenario: &Scenario, network: &Network) -> Option<Vec<SegmentResult>> {
    network.sdtp.as_ref()?;
    let name = |address: IpAddr| {
        let node = network.addresses.node_of(address);
        node.map_or_else(|| address.to_string(), |node| scenario.nodes[node as usize].name.clone())
    };
    let of_node = |member: &Member| match member {
        Member::Agent { machine, node, .. } => {
            machine.repairs().into_iter().map(|(edges, repairs)| (edges, *node, repairs)).collect()
        }
        Member::Switch(_) => Vec::new(),
    };
    let mut all: Vec<_> = network.chains.members.iter().flat_map(of_node).collect();
    all.sort_by_key(|&(edges, node, _)| (edges, node));
    let segment = |((from, to), node, repairs): ((IpAddr, IpAddr), usize, Repairs)| SegmentResult {
        from: name(from),
        to: name(to),
        at: scenario.nodes[node].name.clone(),
        noticed: repairs.noticed,
        repaired: repairs.repaired,
        given_up: repairs.given_up,
        repair_mean_s: repairs.mean().map(Duration::as_secs_f64),
    };
    Some(all.into_iter().map(segment).collect())
}

/// What is known of one of a flow's streams.
struct OfStream {
    /// How many connections were opened for it.
    opened: u64,
    ending: Option<Ending>,
    metrics: Values,
}

/// What the facts about flows are made of.
#[derive(Clone, Copy)]
struct Known<'a> {
    inputs: &'a Inputs<'a>,
    network: &'a Network,
    /// Whether a queue is anything but drop-tail.
    disciplines: bool,
}

impl Known<'_> {
    /// What is known of a flow.
    fn facts(&self, id: FlowId) -> FlowFacts {
        let &Self { inputs, network, .. } = self;
        let connections = &network.hosts.connections;
        let streams: Vec<_> =
            connections.streams(id).filter_map(|stream| self.of_stream(id, stream)).collect();
        if let Some(ends) = network.hosts.transports.of_flow(id) {
            let senders = network.hosts.transports.sender(id).into_iter();
            let facts = FlowFacts::without_tcp(ends, network.hosts.transports.lost(id));
            let metrics = self.with_managed(facts.metrics.clone(), senders);
            return FlowFacts { metrics: self.with_window(metrics, id, ends[0], facts.ended), ..facts };
        }
        let ending = Ending::of_all(&streams.iter().map(|stream| stream.ending).collect::<Vec<_>>());
        let (opened, meter) = (streams.iter().map(|stream| stream.opened).sum(), network.hosts.meter(id));
        let metrics = Values::of_connections(streams.into_iter().map(|stream| stream.metrics).collect());
        let facts = FlowFacts::of_tcp(&inputs.scenario.flows[id], ending, opened, meter, metrics);
        let probes = connections.streams(id).filter_map(|stream| network.hosts.probes.get(&stream).cloned());
        let end = Instant::ZERO + inputs.scenario.duration;
        let asker = network.hosts.askers.get(&id);
        let figures = asker.map(|asker| asker.lock().figures(end)).unwrap_or_default();
        FlowFacts { probes: probes.collect(), figures, ..facts }
    }

    /// Adds what is known of the window of a transport that has one.
    fn with_window(
        &self,
        metrics: Values,
        flow: FlowId,
        sender: &dyn Transport,
        ended: Option<Instant>,
    ) -> Values {
        let Some(window) = sender.window() else { return metrics };
        let end = Instant::ZERO + self.inputs.scenario.duration;
        let packets = |bytes: f64| full_segments(self.inputs.scheme, bytes);
        let delivered = self.network.hosts.meter(flow).bytes;
        let seen = sender.sample(end).map(|seen| FlowSample { delivered, ..seen });
        metrics
            .with(metrics::CWND_MEAN, window.mean(ended.unwrap_or(end)).map(packets))
            .with(metrics::CWND_MIN, Some(packets(window.min() as f64)))
            .with_sample(seen.as_ref())
    }

    /// Counts are those of all connections of a stream; the window is that of its sender over all of them.
    fn of_stream(&self, flow: FlowId, stream: StreamId) -> Option<OfStream> {
        let &Self { inputs, network, .. } = self;
        let end = Instant::ZERO + inputs.scenario.duration;
        let connections = &network.hosts.connections;
        let (sender, _) = connections.ends(stream)?;
        let ending = sender.ending();
        let counters: Vec<_> = counters(connections, stream).collect();
        let count = |get: fn(&Counters) -> u64| Some(counters.iter().map(get).sum::<u64>());
        let over = ending.map_or(end, Ending::at);
        let packets = |bytes: f64| full_segments(inputs.scheme, bytes);
        let window = sender.sending().and_then(Sending::window);
        let lost =
            connections.of_stream(stream).iter().map(|pair| network.books.lost(pair.sender)).sum::<u64>();
        let delivered = network.hosts.meter(flow).bytes;
        let seen = sender.endpoint().zip(sender.sending());
        let seen = seen.map(|(endpoint, sending)| sending.sample(endpoint, end, delivered));
        let metrics = Values::new(Scope::Flow)
            .with(metrics::RETRANSMITTED, count(|counters| counters.retransmitted_segments))
            .with(metrics::TIMEOUTS, count(|counters| counters.timeouts))
            .with(metrics::SPURIOUS_TIMEOUTS, count(|counters| counters.spurious_timeouts))
            .with(metrics::FAST_RETRANSMITS, count(|counters| counters.fast_retransmits))
            .with(metrics::DATA_SEGMENTS, count(|counters| counters.data_segments_sent))
            .with(metrics::LOST, Some(lost))
            .with(metrics::CWND_MEAN, window.and_then(|window| window.mean(over)).map(packets))
            .with(metrics::CWND_MIN, window.map(|window| packets(window.min() as f64)))
            .with_sample(seen.as_ref());
        let senders = connections.of_stream(stream).iter().map(|pair| pair.sender);
        let metrics = self.with_managed(metrics, senders);
        Some(OfStream { opened: counters.len() as u64, ending, metrics })
    }

    /// Adds what queue disciplines have decided about what these sent; where all queues are drop-tail nobody measures it.
    fn with_managed(&self, metrics: Values, senders: impl Iterator<Item = ConnectionId>) -> Values {
        if !self.disciplines {
            return metrics;
        }
        let Managed { dropped, marked } = self.network.books.managed(senders);
        metrics.with(metrics::AQM_DROPPED, Some(dropped)).with(metrics::CE_MARKED, Some(marked))
    }
}

/// Whether a queue of the scenario is anything but drop-tail.
fn has_disciplines(scenario: &Scenario) -> bool {
    let mut queues = scenario.links.iter().flat_map(|link| [&link.forward.queue, &link.backward.queue]);
    queues.any(|queue| !matches!(queue, Queue::DropTail(_)))
}

/// What the senders of the connections that carried a stream have counted.
fn counters(connections: &Connections, stream: StreamId) -> impl Iterator<Item = Counters> + '_ {
    let senders = connections.of_stream(stream).iter().map(|pair| &connections[pair.sender]);
    let opened = senders.filter(|sender| !sender.is_unheard());
    opened.filter_map(|sender| sender.endpoint().map(Endpoint::counters).copied())
}
