//! The switches of a scenario as a controller sees them: their numbers, their ports, and where access points hang.

use handfast_core::BitRate;
use handfast_scenario::{NodeId, NodeKind, Scenario};

use crate::topology::{Topology, reverse};

/// An access point at its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The access point's node.
    pub ap: NodeId,
    /// The switch next to it.
    pub switch: NodeId,
    /// The switch's `OpenFlow` port towards it.
    pub port: u32,
    /// What its slowest radio link carries to a station.
    pub rate: BitRate,
}

/// A path to an access point from a switch that is not next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The switch.
    pub switch: NodeId,
    /// Which access point: index into [`Fabric::access_points`].
    pub to: usize,
    /// The switch's port.
    pub port: u32,
    /// The switch at its other end.
    pub next: NodeId,
}

/// What a controller must know of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Every switch.
    pub switches: Vec<NodeId>,
    /// The access points that stations can be at.
    pub access_points: Vec<Attached>,
    /// Ways between switches, shortest first as everywhere.
    pub routes: Vec<Route>,
    /// Every host that is no station, with the switch that it hangs at.
    pub hosts: Vec<(NodeId, NodeId)>,
}

/// A switch's datapath id.
pub fn datapath_of(switch: NodeId) -> u64 {
    switch as u64 + 1
}

/// The `OpenFlow` number of a node's port: these begin at 1.
pub fn port_no(port: u32) -> u32 {
    port + 1
}

impl Fabric {
    /// That of a scenario.
    ///
    /// # Errors
    /// One sentence: an access point with stations hangs at no switch.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Result<Self, String> {
        let of_kind = |kind| move |&node: &NodeId| scenario.nodes[node].kind == kind;
        let switches: Vec<_> = (0..scenario.nodes.len()).filter(of_kind(NodeKind::Switch)).collect();
        let aps = (0..scenario.nodes.len()).filter(of_kind(NodeKind::AccessPoint));
        let with_stations = aps.filter_map(|ap| Some((ap, slowest_radio(scenario, ap)?)));
        let attach = |(ap, rate)| attach(scenario, topology, ap, rate);
        let access_points = with_stations.map(attach).collect::<Result<Vec<_>, _>>()?;
        let routes = routes(scenario, topology, &switches, &access_points);
        let hosts = (0..scenario.nodes.len()).filter(of_kind(NodeKind::Host));
        let hosts = hosts.filter_map(|host| Some((host, next_switch(scenario, topology, host)?))).collect();
        Ok(Self { switches, access_points, routes, hosts })
    }

    /// The number of an access point.
    pub fn number_of(&self, ap: NodeId) -> Option<usize> {
        self.access_points.iter().position(|at| at.ap == ap)
    }
}

/// [`None`]: no station has a link to it.
fn slowest_radio(scenario: &Scenario, ap: NodeId) -> Option<BitRate> {
    let rate = |(id, link): (usize, &handfast_scenario::Link)| {
        let (_, at) = scenario.radio(id).filter(|&(_, at)| at == ap)?;
        Some(scenario.carries(id, usize::from(link.between[0] != at)))
    };
    scenario.links.iter().enumerate().filter_map(rate).min()
}

fn attach(scenario: &Scenario, topology: &Topology, ap: NodeId, rate: BitRate) -> Result<Attached, String> {
    let is_switch = |node: u32| scenario.nodes[node as usize].kind == NodeKind::Switch;
    let up = topology.ports(ap).iter().find(|port| is_switch(port.neighbour)).ok_or_else(|| {
        format!(
            "access point `{}` hangs at no switch that a controller could command",
            scenario.nodes[ap].name
        )
    })?;
    let (switch, port) = topology.departure(reverse(up.out as usize));
    Ok(Attached { ap, switch, port: port_no(port), rate })
}

/// The switch next to a node.
fn next_switch(scenario: &Scenario, topology: &Topology, node: NodeId) -> Option<NodeId> {
    let neighbours = topology.ports(node).iter().map(|port| port.neighbour as NodeId);
    neighbours.into_iter().find(|&next| scenario.nodes[next].kind == NodeKind::Switch)
}

fn routes(
    scenario: &Scenario,
    topology: &Topology,
    switches: &[NodeId],
    access_points: &[Attached],
) -> Vec<Route> {
    let pairs =
        switches.iter().flat_map(|&switch| access_points.iter().enumerate().map(move |to| (switch, to)));
    let apart = pairs.filter(|&(switch, (_, at))| at.switch != switch);
    let route = |(switch, (to, at)): (NodeId, (usize, &Attached))| {
        let out = topology.towards(switch, topology.goal(at.ap))?;
        let (_, port) = topology.departure(out as usize);
        let next = topology.ports(switch)[port as usize].neighbour as NodeId;
        // A path through anything but switches is not the controller's to make.
        let switched = scenario.nodes[next].kind == NodeKind::Switch;
        switched.then_some(Route { switch, to, port: port_no(port), next })
    };
    apart.filter_map(route).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Net};

    #[test]
    fn access_points_hang_at_their_switch() {
        let scenario = testing::roam(&[]);
        let fabric = Fabric::new(&scenario, &Topology::new(&scenario)).unwrap();
        let rate = BitRate::from_bps(54_000_000);
        let at = |ap, port| Attached { ap, switch: 1, port, rate };
        assert_eq!(
            fabric,
            Fabric {
                switches: vec![1],
                access_points: vec![at(2, 2), at(3, 3)],
                routes: vec![],
                hosts: vec![(0, 1)]
            }
        );
        assert_eq!((fabric.number_of(3), fabric.number_of(1)), (Some(1), None));
    }

    #[test]
    fn switches_know_the_path_to_access_points_elsewhere() {
        // h0 - s1 - s2 - a3 - m4, and s1 - a5 - m4.
        let net = Net::new("hssama").link(0, 1).link(1, 2).link(2, 3).link(3, 4).link(1, 5).link(5, 4);
        let scenario = net.build();
        let fabric = Fabric::new(&scenario, &Topology::new(&scenario)).unwrap();
        let places: Vec<_> = fabric.access_points.iter().map(|at| (at.ap, at.switch, at.port)).collect();
        assert_eq!(places, [(3, 2, 2), (5, 1, 3)]);
        let route = |switch, to, port, next| Route { switch, to, port, next };
        assert_eq!(fabric.routes, [route(1, 0, 2, 2), route(2, 1, 1, 1)]);
        assert_eq!(fabric.hosts, [(0, 1)]);
    }

    #[test]
    fn an_access_point_without_a_switch_is_an_error() {
        let scenario = Net::new("ham").link(0, 1).link(1, 2).build();
        let error = Fabric::new(&scenario, &Topology::new(&scenario)).unwrap_err();
        assert!(error.contains("hangs at no switch"), "{error}");
    }
}
