//! Which switches there are, and by which port of each an access point is reached.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::BitRate;
use handfast_wire::openflow::{EthAddr, PortNo};

/// An access point: its index in [`Fabric::access_points`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApId(pub u32);

/// Where an access point hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// The switch that it is attached to, by its datapath id. Held segments are released there.
    pub datapath_id: u64,
    /// The port.
    pub port: PortNo,
    /// What its radio carries to a station, if that is known: a release is paced to it, and else to what
    /// [`super::Release::Paced`] says.
    pub rate: Option<BitRate>,
    /// The VLAN tag that frames of its stations have at this port; [`None`]: they have none, or the port is a member of one
    /// VLAN only and sets it itself.
    pub vlan: Option<u16>,
    /// Where the switch has several ports that lead to no access point: the one by which the rest of the network is reached.
    /// Under [`super::Steering::Overlay`], for what was held at another switch.
    pub uplink: Option<PortNo>,
}

/// The switches and the paths through them. Whoever drives the controller knows the topology; the controller does not
/// explore it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Every access point.
    pub access_points: Vec<AccessPoint>,
    /// At a switch to which an access point is not attached, the port towards it.
    pub routes: BTreeMap<(u64, ApId), PortNo>,
    /// Which switch follows on such a path.
    pub next: BTreeMap<(u64, ApId), u64>,
    /// The switch of each host that is no station. A station's rules are made on the paths from the hosts that it has to do with
    /// and nowhere else; without hosts, on every switch.
    pub hosts: BTreeMap<EthAddr, u64>,
}

impl Fabric {
    /// An access point; [`None`]: there is none of this number.
    pub fn access_point(&self, ap: ApId) -> Option<AccessPoint> {
        self.access_points.get(ap.0 as usize).copied()
    }

    /// The access point at a switch's port.
    pub(crate) fn at_port(&self, datapath_id: u64, port: PortNo) -> Option<ApId> {
        let here = |at: &AccessPoint| at.datapath_id == datapath_id && at.port == port;
        self.access_points.iter().position(here).map(|index| ApId(index as u32))
    }

    /// The port of a switch towards an access point.
    pub fn port_towards(&self, datapath_id: u64, ap: ApId) -> Option<PortNo> {
        let attached = self.access_point(ap).filter(|at| at.datapath_id == datapath_id).map(|at| at.port);
        attached.or_else(|| self.routes.get(&(datapath_id, ap)).copied())
    }

    /// The switches on the path from one to an access point, both ends included.
    pub fn path(&self, from: u64, ap: ApId) -> impl Iterator<Item = u64> {
        // As many steps as there are switches: a circle of wrong entries has an end as well.
        let step = move |at: &u64| self.next.get(&(*at, ap)).copied();
        std::iter::successors(Some(from), step).take(self.next.len() + 1)
    }

    /// Every switch, in order.
    pub fn switches(&self) -> BTreeSet<u64> {
        let attached = self.access_points.iter().map(|at| at.datapath_id);
        attached.chain(self.routes.keys().map(|&(datapath_id, _)| datapath_id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_is_reached_at_its_switch_and_by_routes() {
        let at = |datapath_id, port| AccessPoint {
            datapath_id,
            port: PortNo(port),
            rate: None,
            vlan: None,
            uplink: None,
        };
        let routes = BTreeMap::from([((7, ApId(1)), PortNo(9)), ((5, ApId(0)), PortNo(3))]);
        let next =
            BTreeMap::from([((7, ApId(1)), 6), ((8, ApId(1)), 7), ((5, ApId(0)), 3), ((3, ApId(0)), 5)]);
        let fabric = Fabric { access_points: vec![at(5, 1), at(6, 2)], routes, next, ..Fabric::default() };
        let path = |from, ap| fabric.path(from, ApId(ap)).collect::<Vec<_>>();
        assert_eq!((path(8, 1), path(6, 1)), (vec![8, 7, 6], vec![6]));
        assert_eq!(path(5, 0).len(), 5, "a circle has an end");
        assert_eq!(fabric.port_towards(5, ApId(0)), Some(PortNo(1)), "where it hangs comes before any route");
        assert_eq!(fabric.port_towards(7, ApId(1)), Some(PortNo(9)));
        assert_eq!(fabric.port_towards(7, ApId(0)), None);
        assert_eq!(fabric.access_point(ApId(2)), None);
        assert_eq!(fabric.switches(), BTreeSet::from([5, 6, 7]));
    }
}
