//! What the kernel and the packet loop know of a run, in the words of `results`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use handfast_core::Duration;
use handfast_host::meter::FlowSample;
use handfast_host::probe::Probe;
use handfast_host::session::Ending;
use handfast_host::transport::Figures;
use handfast_plan::address::Addresses;
use handfast_plan::{StreamId, Streams};
use handfast_results::metrics::{self, Scope, Values};
use handfast_results::report::{FlowFacts, Inputs, RunFacts};
use handfast_scenario::{Flow, FlowId, NodeId};

use crate::announcer::Announced;
use crate::environment::environment;
use crate::names::port_of;
use crate::packet_loop::LoopReport;
use crate::roaming;
use crate::traffic::counters::Counters;
use crate::traffic::receiver::Received;
use crate::traffic::sender::{Sent, Totals};

/// What the threads of a run brought back.
pub(crate) struct Moved {
    pub(crate) sent: Vec<Sent>,
    pub(crate) received: Received,
    pub(crate) looped: LoopReport,
    /// How late bridges were told at the most where a station had gone.
    pub(crate) bridges_late: Duration,
    /// How the controller was told.
    pub(crate) announced: Announced,
}

/// A run that has come to its end.
pub(crate) struct Outcome {
    /// For each node what its kernel counted.
    pub(crate) counters: Vec<Counters>,
    pub(crate) moved: Moved,
    /// Of the streams that are measured.
    pub(crate) probes: BTreeMap<StreamId, Probe>,
}

/// The run as a whole.
pub(crate) fn run(inputs: &Inputs<'_>, outcome: &Outcome) -> RunFacts {
    let looped = &outcome.moved.looped;
    let seconds = |percent| looped.lateness.percentile(percent).as_secs_f64();
    let mut environment = environment();
    environment.realtime = looped.real_time;
    if looped.lateness.frames() > 0 {
        environment.lateness_p50_s = Some(seconds(50.0));
        environment.lateness_p99_s = Some(seconds(99.0));
        environment.lateness_max_s = Some(looped.lateness.max().as_secs_f64());
    }
    environment.problems.extend(looped.verdict().err());
    environment.problems.extend(told(&outcome.moved));
    let nodes = inputs.scenario.nodes.iter().zip(&outcome.counters);
    let counted = nodes.filter(|(_, counters)| !counters.is_empty());
    environment.counters = counted.map(|(node, counters)| (node.name.clone(), counters.clone())).collect();
    RunFacts {
        backend: "lab",
        valid: environment.problems.is_empty(),
        packets: None,
        packet_hops: Some(looped.channels.iter().map(|counters| counters.delivered + counters.lost()).sum()),
        byte_hops: None,
        controller: outcome.moved.announced.counters.clone(),
        segments: None,
        environment: Some(environment),
    }
}

/// What was wrong with how bridges and the controller were told where stations had gone.
fn told(moved: &Moved) -> Vec<String> {
    let Announced { late: controller_late, lost, counters: _ } = moved.announced;
    let mut problems = Vec::new();
    for (who, late) in [("a bridge", moved.bridges_late), ("the controller", controller_late)] {
        if late > roaming::BOUND {
            let (late, most) = (late.as_nanos() / 1_000, roaming::BOUND);
            problems.push(format!(
                "{who} was told {late} us late where a station had gone; a run counts up to {most}"
            ));
        }
    }
    if lost > 0 {
        problems.push(format!("the controller was lost {lost} times"));
    }
    problems
}

/// Its flows.
pub(crate) fn flows(inputs: &Inputs<'_>, outcome: &Outcome) -> Vec<FlowFacts> {
    let streams = Streams::of(inputs.scenario);
    (0..inputs.scenario.flows.len()).map(|id| flow(inputs, outcome, &streams, id)).collect()
}

fn flow(inputs: &Inputs<'_>, outcome: &Outcome, streams: &Streams, id: FlowId) -> FlowFacts {
    let flow = &inputs.scenario.flows[id];
    let lost = streams.of_flow(id).map(|stream| lost(inputs, outcome, flow, stream)).sum();
    let sent: Vec<_> = streams.of_flow(id).map(|stream| &outcome.moved.sent[stream as usize]).collect();
    let meter = outcome.moved.received.meters[id];
    let transports = sent.iter().find_map(|sent| sent.transport.as_deref());
    if let Some((sender, receiver)) = transports.zip(outcome.moved.received.transports.get(&id)) {
        return FlowFacts::without_tcp([sender, &**receiver], lost);
    }
    let alone = |counts: &[&str]| {
        let counters = counters_if_alone(inputs, outcome, flow.from)?;
        Some(counts.iter().map(|&name| counted(counters, name)).sum::<u64>())
    };
    let metrics: Vec<_> = sent.iter().map(|sent| of_stream(sent, meter.bytes)).collect();
    let metrics = Values::of_connections(metrics);
    // Undone in the state Loss: both by timestamps or DSACK and by F-RTO (`tcp_try_undo_loss`).
    let spurious = metrics.spurious_timeouts().or_else(|| alone(&["TcpExtTCPLossUndo"]));
    let fast =
        metrics.fast_retransmits().or_else(|| alone(&["TcpExtTCPSackRecovery", "TcpExtTCPRenoRecovery"]));
    let metrics = metrics
        .with(metrics::SPURIOUS_TIMEOUTS, spurious)
        .with(metrics::FAST_RETRANSMITS, fast)
        .with(metrics::LOST, Some(lost));
    let ending = Ending::of_all(&sent.iter().map(|sent| sent.ending).collect::<Vec<_>>());
    let opened = sent.iter().map(|sent| sent.opened).sum();
    let probes = streams.of_flow(id).filter_map(|stream| outcome.probes.get(&stream).cloned()).collect();
    let figures = match flow.app.dialogue() {
        Some(_) => outcome.moved.received.figures.get(&id).cloned().unwrap_or_default(),
        None => Figures::new(),
    };
    FlowFacts { probes, figures, ..FlowFacts::of_tcp(flow, ending, opened, meter, metrics) }
}

/// What the sender of a stream has counted; 0 of one that was never opened. `delivered`: what the flow's receiver has got.
fn of_stream(sent: &Sent, delivered: u64) -> Values {
    let seen = sent.totals.map(|totals| FlowSample { delivered, ..totals.seen });
    let count =
        |get: fn(&Totals) -> Option<u64>| sent.totals.as_ref().map_or((sent.opened == 0).then_some(0), get);
    Values::new(Scope::Flow)
        .with(metrics::RETRANSMITTED, count(|totals| Some(totals.retransmitted)))
        .with(metrics::TIMEOUTS, count(|totals| totals.timeouts))
        .with(metrics::SPURIOUS_TIMEOUTS, count(|totals| totals.spurious_timeouts))
        .with(metrics::FAST_RETRANSMITS, count(|totals| totals.fast_retransmits))
        .with(metrics::DATA_SEGMENTS, count(|totals| Some(totals.data_segments)))
        .with(metrics::CWND_MEAN, sent.cwnd_mean)
        .with(metrics::CWND_MIN, sent.cwnd_min)
        .with_sample(seen.as_ref())
}

/// The counters of a host, if only one flow can have moved them.
fn counters_if_alone<'a>(inputs: &Inputs<'_>, outcome: &'a Outcome, host: NodeId) -> Option<&'a Counters> {
    let flows = inputs.scenario.flows.iter().filter(|flow| flow.from == host || flow.to == host);
    (flows.count() == 1).then(|| &outcome.counters[host])
}

fn counted(counters: &Counters, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// Segments and datagrams with payload on the way to the port of a flow's stream that never arrived whole.
fn lost(inputs: &Inputs<'_>, outcome: &Outcome, flow: &Flow, stream: StreamId) -> u64 {
    let addresses = Addresses::of(inputs.scenario);
    let (from, to) = (addresses.ip_of(flow.from), SocketAddr::new(addresses.ip_of(flow.to), port_of(stream)));
    let keys = outcome.moved.looped.lost.iter();
    keys.filter(|((source, goal), _)| source.ip() == from && *goal == to).map(|(_, lost)| lost).sum()
}
