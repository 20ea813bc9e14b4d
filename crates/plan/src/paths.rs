//! The paths of flows: the channels that their packets take, there and back, at the start and after each handover.

use handfast_scenario::{Flow, FlowId, NodeId, Protocol, Scenario};

use crate::address::Addresses;
use crate::change::Change;
use crate::interfaces::{Interface, interfaces};
use crate::timeline::Timeline;
use crate::topology::Topology;

/// The paths of flows, as channels.
pub struct Paths {
    /// For each flow the path from its sender to its receiver at the start.
    pub forward: Vec<Vec<u32>>,
    /// And back.
    pub backward: Vec<Vec<u32>>,
    /// For each flow whose transport uses several addresses the paths from its sender to its receiver, each with the way back, the
    /// primary one first; of other flows none.
    pub several: Vec<Vec<[Vec<u32>; 2]>>,
    /// For each outage of the timeline, the paths that differ once it has ended: those of a station that has roamed.
    pub reroutes: Vec<Vec<Reroute>>,
}

/// A flow's path from some moment on; empty where there is none.
pub struct Reroute {
    /// Which flow.
    pub flow: FlowId,
    /// From its sender to its receiver.
    pub forward: Vec<u32>,
    /// And back.
    pub backward: Vec<u32>,
}

/// Finds each flow's path, there and back; `topology` is as at the start.
///
/// # Errors
/// One sentence that names the flow that has none.
pub fn paths(scenario: &Scenario, topology: &Topology, timeline: &Timeline) -> Result<Paths, String> {
    let name = |node: NodeId| &scenario.nodes[node].name;
    let path = |flow: &Flow, from, to| {
        topology
            .path(from, to)
            .ok_or_else(|| format!("flow `{}`: no path from `{}` to `{}`", flow.name, name(from), name(to)))
    };
    let forward = scenario.flows.iter().map(|f| path(f, f.from, f.to)).collect::<Result<_, _>>()?;
    let backward = scenario.flows.iter().map(|f| path(f, f.to, f.from)).collect::<Result<_, _>>()?;
    let several = scenario.flows.iter().map(|flow| several(scenario, topology, flow)).collect();
    Ok(Paths { forward, backward, several, reroutes: reroutes(scenario, topology, timeline) })
}

/// The paths between the interfaces of a flow's ends, if its transport uses them all.
fn several(scenario: &Scenario, topology: &Topology, flow: &Flow) -> Vec<[Vec<u32>; 2]> {
    let has_one = |node: NodeId| scenario.nodes[node].more_aps.is_empty();
    if flow.transport == Protocol::Tcp || has_one(flow.from) && has_one(flow.to) {
        return Vec::new();
    }
    let addresses = Addresses::of(scenario);
    let [from, to] = [flow.from, flow.to].map(|node| interfaces(scenario, topology, &addresses, node));
    let pairs = from.iter().flat_map(|own| to.iter().map(move |other| (own, other)));
    let path = |(own, other): (&Interface, &Interface)| {
        let there = topology.path_by(flow.from, own.out, other.goal)?;
        Some([there, topology.path_by(flow.to, other.out, own.goal)?])
    };
    pairs.filter_map(path).collect()
}

/// The paths after each handover.
fn reroutes(scenario: &Scenario, topology: &Topology, timeline: &Timeline) -> Vec<Vec<Reroute>> {
    let mut reroutes: Vec<Vec<Reroute>> = timeline.outages.iter().map(|_| Vec::new()).collect();
    if timeline.outages.iter().all(|outage| outage.station.is_none()) {
        return reroutes;
    }
    let mut topology = topology.clone();
    for (_, change) in timeline.changes() {
        let Change::AssociationBegins { handover, station, old_link, new_link } = change else { continue };
        topology.roam(station, old_link, new_link);
        let flows = scenario.flows.iter().enumerate();
        let path = |from, to| topology.path(from, to).unwrap_or_default();
        let moved = flows.filter(|(_, flow)| flow.from == station || flow.to == station);
        let reroute = |(id, flow): (FlowId, &Flow)| Reroute {
            flow: id,
            forward: path(flow.from, flow.to),
            backward: path(flow.to, flow.from),
        };
        reroutes[handover] = moved.map(reroute).collect();
    }
    reroutes
}
