//! What is settled before a run begins: whether it can be run, the machines of its links, which way
//! flows go, when they start.

use handfast_core::{Duration, Instant, Stream};
use handfast_net::Link;
use handfast_scenario::{App, Flow, NodeId, Scenario};

use crate::address::MAX_NODES;
use crate::topology::Topology;

/// Which way flows go, as channels.
pub struct Paths {
    /// For each flow the way from its sender to its receiver.
    pub forward: Vec<Vec<u32>>,
    /// And back.
    pub backward: Vec<Vec<u32>>,
}

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
        if matches!(flow.app, App::Paced { interval: Duration::ZERO, .. }) {
            return Err(format!("flow `{}` writes without pause: its interval is zero", flow.name));
        }
        if matches!(flow.app, App::Paced { size, .. } if size.get() > u64::from(u32::MAX)) {
            return Err(format!("flow `{}` writes more than {} bytes at once", flow.name, u32::MAX));
        }
    }
    Ok(())
}

/// Finds each flow's way, there and back.
///
/// # Errors
/// One sentence that names the flow that has none.
pub fn paths(scenario: &Scenario, topology: &Topology) -> Result<Paths, String> {
    let name = |node: NodeId| &scenario.nodes[node].name;
    let way = |flow: &Flow, from, to| {
        topology
            .path(from, to)
            .ok_or_else(|| format!("flow `{}`: no way from `{}` to `{}`", flow.name, name(from), name(to)))
    };
    let forward = scenario.flows.iter().map(|f| way(f, f.from, f.to)).collect::<Result<_, _>>()?;
    let backward = scenario.flows.iter().map(|f| way(f, f.to, f.from)).collect::<Result<_, _>>()?;
    Ok(Paths { forward, backward })
}

/// The machine of every channel, each with its random numbers: the same seed makes the same decisions in both backends.
pub fn links<H: Copy>(scenario: &Scenario, seed: u64) -> Vec<Link<H>> {
    let ways = scenario.links.iter().flat_map(|link| [(link, 0, &link.forward), (link, 1, &link.backward)]);
    ways.map(|(link, end, direction)| {
        Link::new(direction, Stream::new(seed, &format!("link {} {end}", link.name)))
    })
    .collect()
}

/// When each flow opens its connection, jitter drawn.
pub fn starts(scenario: &Scenario, seed: u64) -> Vec<Instant> {
    let start = |flow: &Flow| {
        let jitter =
            Stream::new(seed, &format!("flow {} start", flow.name)).below(flow.start_jitter.as_nanos());
        flow.start + Duration::from_nanos(jitter)
    };
    scenario.flows.iter().map(start).collect()
}
