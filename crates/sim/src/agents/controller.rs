//! The state of the SDN controller in the simulator: its switches, their nodes, and what it will hear of stations.

use std::collections::BTreeMap;

use handfast_assist::sdn::{self, AccessPoint, ApId, Config, Notice, What};
use handfast_core::{Duration, Instant};
use handfast_net::SwitchSetup;
use handfast_plan::address::Addresses;
use handfast_plan::association::{Associations, StationEvent};
use handfast_plan::fabric::{Fabric, datapath_of, port_no};
use handfast_scenario::{NodeId, Sdn, SdnPolicy};
use handfast_wire::openflow::{EthAddr, PortNo};

use crate::agents::low_ack::LowAcks;
use crate::agents::sdn::{ControlChannel, ControlPlane};
use crate::engine::queue::Timer;

/// The controller and the switches it commands.
pub(crate) struct Control {
    pub(crate) plane: ControlPlane,
    /// For each switch of the plane its node.
    pub(crate) nodes: Vec<NodeId>,
    /// The numbers of access points.
    access_points: BTreeMap<NodeId, ApId>,
    /// Under the zero-window scheme: what each station's access point has delivered to it.
    on_air: Option<BTreeMap<NodeId, OnAir>>,
    notification: Duration,
    /// Access points that stations have left, where the controller hears of that.
    pub(crate) low_acks: Option<LowAcks>,
    pub(crate) timer: Timer,
}

/// One station's association, as its access point counts.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    epoch: u64,
    /// What the link to the station had delivered as the association began.
    before: u64,
}

impl Default for OnAir {
    /// That of the start ([`handfast_plan::association::Association::epoch`]).
    fn default() -> Self {
        Self { epoch: 1, before: 0 }
    }
}

impl Control {
    /// As it is at the start, told beforehand what it will hear of stations, and when.
    pub(crate) fn new(
        agent: &Sdn,
        fabric: &Fabric,
        ports: impl Fn(NodeId) -> usize,
        associations: &Associations,
        addresses: &Addresses,
        timer: Timer,
    ) -> Self {
        let setup = |&node: &NodeId| {
            let numbers = (0..ports(node) as u32).map(|port| PortNo(port_no(port)));
            SwitchSetup::new(datapath_of(node), numbers)
        };
        let switches = fabric.switches.iter().map(setup);
        let channel = ControlChannel { delay: agent.control_delay, rate: Some(agent.control_rate) };
        let mut plane = ControlPlane::new(Instant::ZERO, config(agent, fabric, addresses), switches, channel);
        for StationEvent { at, station, ap, epoch, began } in
            associations.station_events(agent.notification, agent.end_notice)
        {
            let Some(number) = fabric.number_of(ap) else { continue };
            let what = if began { What::Associated } else { What::Disassociated };
            let notice = Notice { station: addresses.mac_of(station), ap: ApId(number as u32), epoch, what };
            plane.announce(at, notice);
        }
        let numbers = (0..).zip(&fabric.access_points).map(|(number, at)| (at.ap, ApId(number)));
        Self {
            plane,
            nodes: fabric.switches.clone(),
            access_points: numbers.collect(),
            on_air: (agent.policy == SdnPolicy::ZeroWindow).then(BTreeMap::new),
            notification: agent.notification,
            low_acks: LowAcks::new(agent, fabric, associations),
            timer,
        }
    }

    /// A station leaves; `delivered`: what the link to it has delivered in all. Its access point counts what it was given in
    /// this association, and reports it with the end.
    pub(crate) fn left(&mut self, now: Instant, station: NodeId, mac: EthAddr, ap: NodeId, delivered: u64) {
        let (Some(on_air), Some(&ap)) = (&mut self.on_air, self.access_points.get(&ap)) else { return };
        let OnAir { epoch, before } = *on_air.entry(station).or_default();
        let what = What::Delivered(delivered - before);
        self.plane.announce(now + self.notification, Notice { station: mac, ap, epoch, what });
    }

    /// It is associated again.
    pub(crate) fn came(&mut self, station: NodeId, delivered: u64) {
        if let Some(on_air) = &mut self.on_air {
            let last = on_air.entry(station).or_default();
            *last = OnAir { epoch: last.epoch + 1, before: delivered };
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.plane.deadline()
    }

    /// The controller will hear this at `at`.
    pub(crate) fn announce(&mut self, at: Instant, notice: Notice) {
        self.plane.announce(at, notice);
    }

    /// What the controller has counted, by the names that `handfastd` gives them.
    pub(crate) fn counters(&self) -> BTreeMap<String, u64> {
        let counters = self.plane.controller().counters();
        let others = [("dropped_other", counters.dropped_other), ("passed_other", counters.passed_other)];
        let others = others.map(|(name, by_class)| (name, by_class.iter().sum()));
        counters.totals().into_iter().chain(others).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// The nodes of its switches, by number.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }
}

fn config(agent: &Sdn, of: &Fabric, addresses: &Addresses) -> Config {
    // A rate that the scenario gives holds at each access point; otherwise it is that of the radio.
    let given = agent.release.rate().is_some();
    let attach = |at: &handfast_plan::fabric::Attached| AccessPoint {
        datapath_id: datapath_of(at.switch),
        port: PortNo(at.port),
        rate: (!given).then_some(at.rate),
        vlan: None,
        uplink: None,
    };
    let route = |route: &handfast_plan::fabric::Route| {
        ((datapath_of(route.switch), ApId(route.to as u32)), PortNo(route.port))
    };
    let next = |route: &handfast_plan::fabric::Route| {
        ((datapath_of(route.switch), ApId(route.to as u32)), datapath_of(route.next))
    };
    agent.config(sdn::Fabric {
        access_points: of.access_points.iter().map(attach).collect(),
        routes: of.routes.iter().map(route).collect(),
        next: of.routes.iter().map(next).collect(),
        hosts: of.hosts.iter().map(|&(host, switch)| (addresses.mac_of(host), datapath_of(switch))).collect(),
    })
}
