//! Whether a scenario can be run at all.

use handfast_core::Duration;
use handfast_scenario::Scenario;

use crate::address::MAX_NODES;

/// Refuses what neither backend can run.
///
/// # Errors
/// One sentence that says what.
pub fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.nodes.len() > MAX_NODES {
        return Err(format!("{} nodes: there are addresses for {MAX_NODES}", scenario.nodes.len()));
    }
    if scenario.sample_interval == Duration::ZERO {
        return Err("the sample interval is zero".to_owned());
    }
    for flow in &scenario.flows {
        if flow.from == flow.to {
            return Err(format!("flow `{}` goes from a node to itself", flow.name));
        }
        flow.app.check().map_err(|why| format!("flow `{}` {why}", flow.name))?;
    }
    Ok(())
}
