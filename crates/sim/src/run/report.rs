//! What the network knows of a run that has come to its end.

use handfast_core::Instant;
use handfast_host::meter::srtt;
use handfast_host::session::{Ending, Sending};
use handfast_host::transport::{Figure, Figures};
use handfast_net::Queue;
use handfast_results::handover::Tracker;
use handfast_results::metrics::{self, Scope, Values};
use handfast_results::report::{FlowFacts, Inputs, RunFacts, full_segments, report as compute, secs};
use handfast_results::result::RunResult;
use handfast_scenario::FlowId;
use handfast_tcp::{Counters, Endpoint};

use crate::agents::controller::Control;
use crate::hosts::connections::{ConnectionId, Connections};
use crate::net::books::Managed;
use crate::net::network::Network;

/// The result.
pub(crate) fn report(inputs: &Inputs<'_>, network: &Network, trackers: &[Vec<Tracker>]) -> RunResult {
    let run = RunFacts {
        backend: "sim",
        valid: true,
        packets: Some(network.books.packets()),
        packet_hops: Some(network.books.hops()),
        controller: network.control.as_deref().map(Control::counters),
        environment: None,
    };
    let flows: Vec<_> = (0..inputs.scenario.flows.len()).map(|id| facts(inputs, network, id)).collect();
    compute(inputs, run, &flows, trackers)
}

fn facts(inputs: &Inputs<'_>, network: &Network, id: FlowId) -> FlowFacts {
    let end = Instant::ZERO + inputs.scenario.duration;
    let connections = &network.hosts.connections;
    let Some((sender, receiver)) = connections.ends(id) else {
        return facts_without_tcp(inputs, network, id);
    };
    let ending = sender.ending();
    let counters: Vec<_> = counters(connections, id).collect();
    let count = |get: fn(&Counters) -> u64| Some(counters.iter().map(get).sum::<u64>());
    let over = ending.map_or(end, Ending::at);
    let packets = |bytes: f64| full_segments(inputs.scheme, bytes);
    let window = sender.sending().and_then(Sending::window);
    let opened = connections.of_flow(id).iter().any(|pair| connections[pair.sender].endpoint().is_some());
    let lost = connections.of_flow(id).iter().map(|pair| network.books.lost(pair.sender)).sum::<u64>();
    let senders = connections.of_flow(id).iter().map(|pair| pair.sender);
    let managed = managed(inputs, network, senders);
    FlowFacts {
        opened,
        ended: ending.map(Ending::at),
        outcome: ending.map_or(if opened { "open" } else { "not-started" }, Ending::name),
        finished: matches!(ending, Some(Ending::Done(_))),
        meter: receiver.sink().map(|sink| sink.meter).unwrap_or_default(),
        metrics: Values::new(Scope::Flow)
            .with(metrics::RETRANSMITTED, count(|counters| counters.retransmitted_segments))
            .with(metrics::TIMEOUTS, count(|counters| counters.timeouts))
            .with(metrics::SPURIOUS_TIMEOUTS, count(|counters| counters.spurious_timeouts))
            .with(metrics::FAST_RETRANSMITS, count(|counters| counters.fast_retransmits))
            .with(metrics::DATA_SEGMENTS, count(|counters| counters.data_segments_sent))
            .with(metrics::LOST, Some(lost))
            .with(metrics::AQM_DROPPED, managed.map(|counts| counts.dropped))
            .with(metrics::CE_MARKED, managed.map(|counts| counts.marked))
            .with(metrics::CWND_MEAN, window.and_then(|window| window.mean(over)).map(packets))
            .with(metrics::CWND_MIN, window.map(|window| packets(window.min() as f64)))
            .with(metrics::SRTT, secs(sender.endpoint().and_then(|endpoint| srtt(endpoint, end)))),
        figures: connections_opened(inputs, connections, id),
    }
}

/// What queue disciplines have decided about what these sent; [`None`]: all queues are drop-tail.
fn managed(
    inputs: &Inputs<'_>,
    network: &Network,
    senders: impl Iterator<Item = ConnectionId>,
) -> Option<Managed> {
    let queues = inputs.scenario.links.iter().flat_map(|link| [&link.forward.queue, &link.backward.queue]);
    let any = queues.into_iter().any(|queue| !matches!(queue, Queue::DropTail(_)));
    any.then(|| network.books.managed(senders))
}

/// How many connections a flow has opened, if it opens more than one.
fn connections_opened(inputs: &Inputs<'_>, connections: &Connections, id: FlowId) -> Figures {
    let count = counters(connections, id).count() as u64;
    let reconnects = inputs.scenario.flows[id].app.reconnects();
    reconnects.map(|_| ("connections", Figure::Count(count))).into_iter().collect()
}

/// Those of a flow that does not use TCP.
fn facts_without_tcp(inputs: &Inputs<'_>, network: &Network, id: FlowId) -> FlowFacts {
    let [sender, receiver] = network.hosts.transports.of_flow(id).expect("every flow has ends");
    let mut figures = sender.figures();
    figures.extend(receiver.figures());
    let ended = sender.ended();
    let managed = managed(inputs, network, network.hosts.transports.sender(id).into_iter());
    FlowFacts {
        opened: sender.has_begun(),
        ended,
        outcome: match (sender.has_begun(), ended) {
            (_, Some(_)) => "closed",
            (true, None) => "open",
            (false, None) => "not-started",
        },
        finished: ended.is_some(),
        meter: receiver.meter(),
        // What is sent is sent once.
        metrics: Values::new(Scope::Flow)
            .with(metrics::RETRANSMITTED, Some(0_u64))
            .with(metrics::TIMEOUTS, Some(0_u64))
            .with(metrics::SPURIOUS_TIMEOUTS, Some(0_u64))
            .with(metrics::FAST_RETRANSMITS, Some(0_u64))
            .with(metrics::LOST, Some(network.hosts.transports.lost(id)))
            .with(metrics::AQM_DROPPED, managed.map(|counts| counts.dropped))
            .with(metrics::CE_MARKED, managed.map(|counts| counts.marked)),
        figures,
    }
}

/// What the senders of a flow's connections have counted.
fn counters(connections: &Connections, id: FlowId) -> impl Iterator<Item = Counters> + '_ {
    let senders = connections.of_flow(id).iter().map(|pair| &connections[pair.sender]);
    senders.filter_map(|sender| sender.endpoint().map(Endpoint::counters).copied())
}
