//! What the network knows of a run that has come to its end.

use handfast_core::{Duration, Instant};
use handfast_results::handover::Tracker;
use handfast_results::meter::WindowMeter;
use handfast_results::metrics::{self, Scope, Values};
use handfast_results::report::{FlowFacts, Inputs, RunFacts, full_segments, report as compute, secs};
use handfast_results::result::RunResult;
use handfast_scenario::FlowId;
use handfast_tcp::Endpoint;

use crate::agents::controller::Control;
use crate::hosts::side::{Ending, Role, Side};
use crate::net::network::Network;

/// The result.
pub(crate) fn report(inputs: &Inputs<'_>, network: &Network, trackers: &[Vec<Tracker>]) -> RunResult {
    let run = RunFacts {
        backend: "sim",
        valid: true,
        packets: Some(network.books.packets),
        packet_hops: Some(network.books.packet_hops),
        controller: network.control.as_deref().map(Control::counters),
        environment: None,
    };
    let flows: Vec<_> = (0..inputs.scenario.flows.len()).map(|id| facts(inputs, network, id)).collect();
    compute(inputs, run, &flows, trackers)
}

fn facts(inputs: &Inputs<'_>, network: &Network, id: FlowId) -> FlowFacts {
    let end = Instant::ZERO + inputs.scenario.duration;
    let (sender, receiver) = (&network.sides[2 * id], &network.sides[2 * id + 1]);
    let (Role::Sender { window, .. }, Role::Receiver(sink)) = (&sender.role, &receiver.role) else {
        unreachable!("even sides send, odd ones receive");
    };
    let counters = sender.endpoint().map(Endpoint::counters).copied().unwrap_or_default();
    let over = sender.ending.map_or(end, Ending::at);
    let packets = |bytes: f64| full_segments(inputs.scheme, bytes);
    FlowFacts {
        opened: sender.endpoint().is_some(),
        ended: sender.ending.map(Ending::at),
        outcome: outcome(sender),
        finished: matches!(sender.ending, Some(Ending::Done(_))),
        meter: sink.meter,
        metrics: Values::new(Scope::Flow)
            .with(metrics::RETRANSMITTED, Some(counters.retransmitted_segments))
            .with(metrics::TIMEOUTS, Some(counters.timeouts))
            .with(metrics::SPURIOUS_TIMEOUTS, Some(counters.spurious_timeouts))
            .with(metrics::FAST_RETRANSMITS, Some(counters.fast_retransmits))
            .with(metrics::DATA_SEGMENTS, Some(counters.data_segments_sent))
            .with(metrics::LOST, Some(network.books.lost.of(2 * id)))
            .with(metrics::CWND_MEAN, window.and_then(|w| w.mean(over)).map(packets))
            .with(metrics::CWND_MIN, window.map(|w: WindowMeter| packets(w.min() as f64)))
            .with(metrics::SRTT, secs(srtt(sender, end))),
    }
}

fn srtt(sender: &Side, end: Instant) -> Option<Duration> {
    let srtt = sender.endpoint()?.snapshot(end).srtt;
    (srtt > Duration::ZERO).then_some(srtt)
}

fn outcome(sender: &Side) -> &'static str {
    match (sender.endpoint(), sender.ending) {
        (None, _) => "not-started",
        (_, None) => "open",
        (_, Some(Ending::Done(_))) => "closed",
        (_, Some(Ending::Died(_, death))) => death.name(),
    }
}
