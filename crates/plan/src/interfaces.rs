//! The interfaces of hosts: a station with several radios has one by each, and an address there. For transports that use several
//! addresses at once.

use handfast_scenario::{NodeId, Scenario};

use crate::address::{AddressId, Addresses};
use crate::radios::Radios;
use crate::topology::{Goal, Topology};

/// An interface of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its address.
    pub address: AddressId,
    /// The channel by which the host sends from there; [`None`]: that of its routes.
    pub out: Option<u32>,
    /// How others get to that address.
    pub goal: Goal,
}

/// The interfaces of a node, its primary one first.
pub fn interfaces(
    scenario: &Scenario,
    topology: &Topology,
    addresses: &Addresses,
    node: NodeId,
) -> Vec<Interface> {
    let of = &scenario.nodes[node];
    let (Some(first), false) = (of.ap, of.more_aps.is_empty()) else {
        let goal = topology.goal(node);
        return vec![Interface { address: addresses.first(node), out: None, goal }];
    };
    let radios = Radios::new(scenario);
    let aps = std::iter::once(first).chain(of.more_aps.iter().copied());
    let links = aps.filter_map(|ap| radios.link(node, ap));
    let by = |(link, (_, address)): (usize, (u32, AddressId))| {
        let out = topology.ports(node).iter().map(|port| port.out).find(|&out| out as usize / 2 == link);
        Interface { address, out, goal: topology.goal_by(node, link) }
    };
    links.zip(addresses.all(node)).map(by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_station_has_an_interface_by_each_of_its_radios() {
        let mut scenario = testing::roam(&[]);
        let (station, aps) = (4, [2, 3]);
        scenario.nodes[station].more_aps = vec![aps[1]];
        let (topology, addresses) = (Topology::new(&scenario), Addresses::of(&scenario));
        let all = interfaces(&scenario, &topology, &addresses, station);
        let path = |by: &Interface| {
            let there = topology.path_by(0, None, by.goal).unwrap();
            let back = topology.path_by(station, by.out, topology.goal(0)).unwrap();
            [there, back].map(|path| path.into_iter().map(|channel| channel / 2).collect::<Vec<_>>())
        };
        assert_eq!(all.len(), 2);
        for (by, link) in all.iter().zip([3, 4]) {
            let [there, mut back] = path(by);
            back.reverse();
            assert_eq!((there.last(), &there), (Some(&link), &back));
        }
        assert_ne!(all[0].address, all[1].address);
        // Who knows nothing of radios takes the first.
        assert_eq!(topology.path(0, station), topology.path_by(0, None, all[0].goal));
        assert_eq!(interfaces(&scenario, &topology, &addresses, 0).len(), 1);
    }
}
