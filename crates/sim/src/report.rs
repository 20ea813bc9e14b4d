//! From what was metered to the result.

use handfast_core::{Duration, Instant};
use handfast_scenario::{FlowId, NodeKind, Scenario, Scheme};
use handfast_tcp::{Death, Endpoint};

use crate::build::Paths;
use crate::handover::Tracker;
use crate::limit::{limits, segment_size};
use crate::meter::WindowMeter;
use crate::network::Network;
use crate::result::{
    Aggregate, FlowHandover, FlowResult, HandoverResult, RunResult, max_if_all_known, mean_if_all_known,
};
use crate::side::{Ending, Role, Side};
use crate::timeline::{Outage, Timeline};

/// What the run was made of.
pub(crate) struct Inputs<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) scheme: &'a Scheme,
    pub(crate) seed: u64,
    pub(crate) starts: &'a [Instant],
    pub(crate) timeline: &'a Timeline,
}

/// The result of a run that has come to its end.
pub(crate) fn report(
    inputs: &Inputs<'_>,
    paths: &Paths,
    network: &Network,
    trackers: &[Vec<Tracker>],
) -> RunResult {
    let Inputs { scenario, scheme, .. } = inputs;
    let limits = limits(scenario, scheme, inputs.timeline, inputs.starts, &paths.forward);
    let mut flows: Vec<_> =
        (0..scenario.flows.len()).map(|id| flow(inputs, network, id, limits.flows[id])).collect();
    recoveries(&mut flows, trackers);
    let handovers = handovers(scenario, inputs.timeline, trackers);
    RunResult {
        scenario: scenario.name.clone(),
        scenario_hash: scenario.hash.clone(),
        scheme: scheme.name.clone(),
        backend: "sim",
        seed: inputs.seed,
        valid: true,
        duration_s: scenario.duration.as_secs_f64(),
        packets: network.books.packets,
        packet_hops: network.books.packet_hops,
        aggregate: Aggregate::of(&flows, &handovers, limits.together),
        flows,
        handovers,
        environment: None,
    }
}

fn flow(inputs: &Inputs<'_>, network: &Network, id: FlowId, limit_bps: Option<f64>) -> FlowResult {
    let scenario = inputs.scenario;
    let (flow, end) = (&scenario.flows[id], Instant::ZERO + scenario.duration);
    let (sender, receiver) = (&network.sides[2 * id], &network.sides[2 * id + 1]);
    let (Role::Sender { window, .. }, Role::Receiver(sink)) = (&sender.role, &receiver.role) else {
        unreachable!("even sides send, odd ones receive");
    };
    let counters = sender.endpoint().map(Endpoint::counters).copied().unwrap_or_default();
    let over = sender.ending.map_or(end, Ending::at);
    // After the last byte of a flow that is done nothing is missing.
    let last = sink.meter.span.map(|(_, last)| last);
    let waited_until = if let Some(Ending::Done(_)) = sender.ending { last.unwrap_or(over) } else { over };
    let packets = |bytes: f64| bytes / segment_size(inputs.scheme).0 as f64;
    FlowResult {
        flow: flow.name.clone(),
        from: scenario.nodes[flow.from].name.clone(),
        to: scenario.nodes[flow.to].name.clone(),
        start_s: sender.endpoint().map(|_| inputs.starts[id].as_secs_f64()),
        end_s: sender.ending.map(|ending| ending.at().as_secs_f64()),
        outcome: outcome(sender),
        goodput_bps: sink.meter.rate(),
        limit_bps,
        delivered_bytes: sink.meter.bytes,
        first_byte_s: sink.meter.span.map(|(first, _)| first.as_secs_f64()),
        last_byte_s: last.map(Instant::as_secs_f64),
        stall_s: None,
        time_to_full_rate_s: None,
        idle_s: sink.meter.idle(waited_until).map(Duration::as_secs_f64),
        retransmitted_segments: counters.retransmitted_segments,
        timeouts: counters.timeouts,
        spurious_timeouts: counters.spurious_timeouts,
        fast_retransmits: counters.fast_retransmits,
        data_segments_sent: counters.data_segments_sent,
        lost_segments: network.books.lost[2 * id],
        cwnd_mean_pkt: window.and_then(|w| w.mean(over)).map(packets),
        cwnd_min_pkt: window.map(|w: WindowMeter| packets(w.min() as f64)),
        srtt_s: srtt(sender, end),
    }
}

fn srtt(sender: &Side, end: Instant) -> Option<f64> {
    let srtt = sender.endpoint()?.snapshot(end).srtt;
    (srtt > Duration::ZERO).then(|| srtt.as_secs_f64())
}

fn outcome(sender: &Side) -> &'static str {
    match (sender.endpoint(), sender.ending) {
        (None, _) => "not-started",
        (_, None) => "open",
        (_, Some(Ending::Done(_))) => "closed",
        (_, Some(Ending::Died(_, death))) => match death {
            Death::Reset => "reset",
            Death::HandshakeTimeout => "handshake-timeout",
            Death::Timeout => "timeout",
            Death::Aborted => "aborted",
        },
    }
}

/// Fills in each flow's means over the outages it was in.
fn recoveries(flows: &mut [FlowResult], trackers: &[Vec<Tracker>]) {
    let mut of_flow: Vec<Vec<&Tracker>> = vec![Vec::new(); flows.len()];
    for tracker in trackers.iter().flatten().filter(|t| t.concerned()) {
        of_flow[tracker.flow].push(tracker);
    }
    for (flow, trackers) in flows.iter_mut().zip(of_flow) {
        flow.stall_s = mean_if_all_known(trackers.iter().map(|t| secs(t.stall())));
        flow.time_to_full_rate_s = mean_if_all_known(trackers.iter().map(|t| secs(t.time_to_full_rate())));
    }
}

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
    let link = &scenario.links[outage.link];
    let mut ends = link.between.iter().map(|&node| &scenario.nodes[node]);
    let station = ends.find(|node| node.kind == NodeKind::Station);
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
        down_s: outage.down.as_secs_f64(),
        up_s: (outage.up < end).then(|| outage.up.as_secs_f64()),
        stall_s: max_if_all_known(flows.iter().map(|f| f.stall_s)),
        time_to_full_rate_s: max_if_all_known(flows.iter().map(|f| f.time_to_full_rate_s)),
        flows,
    }
}
