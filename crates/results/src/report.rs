//! From what a backend knows of a run to its result.

use std::collections::BTreeMap;

use handfast_core::{Duration, Instant};
use handfast_scenario::{Flow, FlowId, NodeId, NodeKind, Scenario, Scheme};

use crate::delays::with_measured;
use crate::handover::Tracker;
use crate::meter::DeliveryMeter;
use crate::metrics::{self, Recovery, Scope, Together, Values, max_if_all_known, mean_if_all_known};
use crate::result::{Environment, FlowHandover, FlowResult, HandoverResult, RunResult, SegmentResult};
use handfast_host::probe::Probe;
use handfast_host::session::Ending;
use handfast_host::transport::{Figures, Transport};
use handfast_plan::Paths;
use handfast_plan::change::Outage;
use handfast_plan::limit::{limits, segment_size};
use handfast_plan::timeline::Timeline;

/// What the run was made of.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The scheme.
    pub scheme: &'a Scheme,
    /// The seed.
    pub seed: u64,
    /// When each flow was to open its connection.
    pub starts: &'a [Instant],
    /// What happened to the network.
    pub timeline: &'a Timeline,
    /// The paths that flows took.
    pub paths: &'a Paths,
}

/// What a backend knows of a run besides its flows. [`None`]: it cannot know.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its name: "sim" or "lab".
    pub backend: &'static str,
    /// Whether the run counts.
    pub valid: bool,
    /// Segments and acknowledgements that arrived at their destination.
    pub packets: Option<u64>,
    /// Links that packets passed.
    pub packet_hops: Option<u64>,
    /// Bytes of IP packets that passed links, each link by itself.
    pub byte_hops: Option<u64>,
    /// What a controller, or the agents of nodes, have counted.
    pub controller: Option<BTreeMap<String, u64>>,
    /// What became of losses in segments of paths; [`None`]: nobody repairs any, or nobody knows.
    pub segments: Option<Vec<SegmentResult>>,
    /// Where it ran.
    pub environment: Option<Environment>,
}

/// What a backend knows of one flow. [`None`]: it cannot know, or there is nothing to know.
#[derive(Clone, Debug)]
pub struct FlowFacts {
    /// Whether the sender has opened the connection.
    pub opened: bool,
    /// When the connection was closed or given up at the sender.
    pub ended: Option<Instant>,
    /// As in [`FlowResult::outcome`].
    pub outcome: &'static str,
    /// Whether all that was written is acknowledged: after the last byte nothing is missing.
    pub finished: bool,
    /// What the receiving application got.
    pub meter: DeliveryMeter,
    /// What else it has measured: the metrics of the sender, the network and agents.
    pub metrics: Values,
    /// Further figures, of an endpoint that is not TCP.
    pub figures: Figures,
    /// What has measured its streams, where it asks for that; none where the backend cannot.
    pub probes: Vec<Probe>,
}

impl FlowFacts {
    /// Those of a flow over TCP: how it ended if it has, how many connections it has opened, and what was measured.
    pub fn of_tcp(
        flow: &Flow,
        ending: Option<Ending>,
        opened: u64,
        meter: DeliveryMeter,
        metrics: Values,
    ) -> Self {
        let several = flow.connections > 1 || flow.app.reconnects().is_some();
        let metrics = if several { metrics.with(metrics::CONNECTIONS, Some(opened)) } else { metrics };
        Self {
            opened: opened > 0,
            ended: ending.map(Ending::at),
            outcome: ending.map_or(if opened > 0 { "open" } else { "not-started" }, Ending::name),
            finished: matches!(ending, Some(Ending::Done(_))),
            meter,
            metrics,
            figures: Figures::new(),
            probes: Vec::new(),
        }
    }

    /// Those of a flow that does not use TCP: from its ends, the sender first, and what the network has lost.
    pub fn without_tcp([sender, receiver]: [&dyn Transport; 2], lost: u64) -> Self {
        let mut figures = sender.figures();
        figures.extend(receiver.figures());
        let (ending, counts) = (sender.ending(), sender.counts());
        let sent = counts.unwrap_or_default();
        Self {
            opened: sender.has_begun(),
            ended: ending.map(Ending::at),
            outcome: ending.map_or(if sender.has_begun() { "open" } else { "not-started" }, Ending::name),
            finished: matches!(ending, Some(Ending::Done(_))),
            meter: receiver.meter(),
            metrics: Values::new(Scope::Flow)
                .with(metrics::RETRANSMITTED, Some(sent.retransmitted))
                .with(metrics::TIMEOUTS, Some(sent.timeouts))
                // Nobody finds them, so none was found.
                .with(metrics::SPURIOUS_TIMEOUTS, Some(0_u64))
                .with(metrics::FAST_RETRANSMITS, Some(sent.fast_retransmits))
                .with(metrics::DATA_SEGMENTS, counts.map(|counts| counts.data))
                .with(metrics::LOST, Some(lost)),
            figures,
            probes: Vec::new(),
        }
    }
}

/// Payload bytes as full segments of the scheme.
pub fn full_segments(scheme: &Scheme, bytes: f64) -> f64 {
    bytes / segment_size(scheme).0 as f64
}

/// The result of a run that has come to its end: facts in the order of flows, trackers in that of outages.
pub fn report(
    inputs: &Inputs<'_>,
    run: RunFacts,
    facts: Vec<FlowFacts>,
    trackers: &[Vec<Tracker>],
) -> RunResult {
    let Inputs { scenario, scheme, .. } = inputs;
    let limits = limits(scenario, scheme, inputs.timeline, inputs.starts, inputs.paths, inputs.seed);
    let mut flows: Vec<_> =
        facts.into_iter().enumerate().map(|(id, facts)| flow(inputs, facts, id, limits.flows[id])).collect();
    recoveries(&mut flows, trackers);
    let handovers = handovers(scenario, inputs.timeline, trackers);
    RunResult {
        scenario: scenario.name.clone(),
        scenario_hash: scenario.hash.clone(),
        scheme: scheme.name.clone(),
        backend: run.backend,
        seed: inputs.seed,
        valid: run.valid,
        duration_s: scenario.duration.as_secs_f64(),
        packets: run.packets,
        packet_hops: run.packet_hops,
        byte_hops: run.byte_hops,
        aggregate: aggregate(&flows, &handovers, limits.together),
        flows,
        handovers,
        controller: run.controller,
        segments: run.segments,
        environment: run.environment,
    }
}

fn aggregate(flows: &[FlowResult], handovers: &[HandoverResult], limit_bps: Option<f64>) -> Values {
    let flows: Vec<_> = flows.iter().map(|flow| &flow.metrics).collect();
    let recovery = |&FlowHandover { stall_s, time_to_full_rate_s, .. }: &FlowHandover| Recovery {
        stall_s,
        time_to_full_rate_s,
    };
    let recoveries: Vec<_> = handovers.iter().flat_map(|handover| &handover.flows).map(recovery).collect();
    Values::together(&Together { flows: &flows, recoveries: &recoveries, limit_bps })
}

fn flow(inputs: &Inputs<'_>, facts: FlowFacts, id: FlowId, limit_bps: Option<f64>) -> FlowResult {
    let scenario = inputs.scenario;
    let (flow, end) = (&scenario.flows[id], Instant::ZERO + scenario.duration);
    let meter = &facts.meter;
    let over = facts.ended.unwrap_or(end);
    let last = meter.span.map(|(_, last)| last);
    let waited_until = if facts.finished { last.unwrap_or(over) } else { over };
    let (mut metrics, mut figures) = (facts.metrics, facts.figures);
    metrics.take_figures(&mut figures);
    let metrics = with_measured(metrics, flow.measure, &facts.probes)
        .with(metrics::GOODPUT, meter.rate())
        .with(metrics::LIMIT, limit_bps)
        .with(metrics::DELIVERED, Some(meter.bytes))
        .with(metrics::FIRST_BYTE, meter.span.map(|(first, _)| first.as_secs_f64()))
        .with(metrics::LAST_BYTE, last.map(Instant::as_secs_f64))
        .with(metrics::IDLE, secs(meter.idle(waited_until)));
    FlowResult {
        flow: flow.name.clone(),
        from: scenario.nodes[flow.from].name.clone(),
        to: scenario.nodes[flow.to].name.clone(),
        start_s: facts.opened.then(|| inputs.starts[id].as_secs_f64()),
        end_s: facts.ended.map(Instant::as_secs_f64),
        outcome: facts.outcome,
        metrics,
        figures,
    }
}

/// Fills in each flow's means over the outages it was in.
fn recoveries(flows: &mut [FlowResult], trackers: &[Vec<Tracker>]) {
    let mut of_flow: Vec<Vec<&Tracker>> = vec![Vec::new(); flows.len()];
    for tracker in trackers.iter().flatten().filter(|t| t.concerned()) {
        of_flow[tracker.flow].push(tracker);
    }
    for (flow, trackers) in flows.iter_mut().zip(of_flow) {
        let stall = mean_if_all_known(trackers.iter().map(|t| secs(t.stall())));
        let full_rate = mean_if_all_known(trackers.iter().map(|t| secs(t.time_to_full_rate())));
        flow.metrics.set(metrics::STALL, stall);
        flow.metrics.set(metrics::TIME_TO_FULL_RATE, full_rate);
    }
}

/// A length of time as results have it.
fn secs(time: Option<Duration>) -> Option<f64> {
    time.map(Duration::as_secs_f64)
}

fn handovers(scenario: &Scenario, timeline: &Timeline, trackers: &[Vec<Tracker>]) -> Vec<HandoverResult> {
    let end = Instant::ZERO + scenario.duration;
    let mut within: Vec<_> =
        timeline.outages.iter().zip(trackers).filter(|(outage, _)| outage.down < end).collect();
    within.sort_by_key(|(outage, _)| outage.down);
    within.into_iter().map(|(outage, trackers)| handover(scenario, outage, trackers, end)).collect()
}

fn handover(scenario: &Scenario, outage: &Outage, trackers: &[Tracker], end: Instant) -> HandoverResult {
    let link = &scenario.links[outage.old_link];
    let node = |id: NodeId| &scenario.nodes[id];
    let station = outage
        .station
        .map(node)
        .or_else(|| link.between.iter().map(|&end| node(end)).find(|node| node.kind == NodeKind::Station));
    let to =
        outage.station.and_then(|_| scenario.radio(outage.new_link)).map(|(_, ap)| node(ap).name.clone());
    let concerned = trackers.iter().filter(|t| t.concerned());
    let flows: Vec<_> = concerned
        .map(|tracker| FlowHandover {
            flow: scenario.flows[tracker.flow].name.clone(),
            stall_s: secs(tracker.stall()),
            time_to_full_rate_s: secs(tracker.time_to_full_rate()),
        })
        .collect();
    HandoverResult {
        station: station.map_or_else(|| link.name.clone(), |node| node.name.clone()),
        link: link.name.clone(),
        to,
        down_s: outage.down.as_secs_f64(),
        up_s: (outage.up < end).then(|| outage.up.as_secs_f64()),
        stall_s: max_if_all_known(flows.iter().map(|f| f.stall_s)),
        time_to_full_rate_s: max_if_all_known(flows.iter().map(|f| f.time_to_full_rate_s)),
        flows,
    }
}
