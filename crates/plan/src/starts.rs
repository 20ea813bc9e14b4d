//! When flows start.

use handfast_core::{Duration, Instant, Stream};
use handfast_scenario::{Flow, Scenario};

/// When each flow opens its connection, jitter drawn.
pub fn starts(scenario: &Scenario, seed: u64) -> Vec<Instant> {
    let start = |flow: &Flow| {
        let jitter =
            Stream::new(seed, &format!("flow {} start", flow.name)).below(flow.start_jitter.as_nanos());
        flow.start + Duration::from_nanos(jitter)
    };
    scenario.flows.iter().map(start).collect()
}
