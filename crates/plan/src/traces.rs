//! What links follow over time in a run.

use std::sync::Arc;

use handfast_core::{BitRate, Duration, Instant, Stream};
use handfast_net::trace::{Trace, WINDOW};
use handfast_scenario::{LinkId, LinkTrace, Scenario};

use crate::topology::{ChannelId, channel};

/// A trace of a link as a run with this seed has it. Both directions are drawn by the same numbers: they have one course.
pub(crate) fn of_run(scenario: &Scenario, link: LinkId, trace: &LinkTrace, seed: u64) -> Arc<Trace> {
    let random = || Stream::new(seed, &format!("trace {}", scenario.links[link].name));
    trace.of_run(scenario.duration, random)
}

/// The rates of all channels that follow one, each of which holds until the channel's next: means of windows, so that a run of any
/// length has a bounded number of them.
pub fn rates(scenario: &Scenario, seed: u64) -> Vec<(Instant, ChannelId, BitRate)> {
    const MOST_WINDOWS: u64 = 100_000;
    let window = WINDOW.max(Duration::from_nanos(scenario.duration.as_nanos().div_ceil(MOST_WINDOWS)));
    let mut all = Vec::new();
    for (&(link, end), trace) in &scenario.traces {
        let trace = of_run(scenario, link, trace, seed);
        let mut last = None;
        for (at, rate) in trace.rates(scenario.duration, window) {
            if last != Some(rate) {
                all.push((at, channel(link, end), rate));
            }
            last = Some(rate);
        }
    }
    all
}

/// For each channel that follows a trace with a rate the highest one of any run: of a window, where the trace is recorded.
pub fn peaks(scenario: &Scenario) -> impl Iterator<Item = (ChannelId, BitRate)> + '_ {
    scenario.traces.iter().filter_map(|(&(link, end), trace)| {
        let peak = match trace {
            LinkTrace::Recorded(trace) => trace.peak_rate()?,
            LinkTrace::Drawn { generator, way } => generator.fastest(*way),
        };
        Some((channel(link, end), peak))
    })
}
