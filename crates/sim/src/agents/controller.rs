//! The SDN controller in the simulator: where its switches sit, and who tells it of stations.

use std::collections::BTreeMap;

use handfast_assist::sdn::{self, AccessPoint, ApId, Config, Notice, What};
use handfast_core::{Duration, Instant};
use handfast_net::{Port, SwitchPass, SwitchSetup};
use handfast_plan::address::Addresses;
use handfast_plan::association::{Associations, StationEvent};
use handfast_plan::fabric::{Fabric, datapath_of, port_no};
use handfast_plan::topology::channel;
use handfast_scenario::{LinkId, NodeId, Scenario, Sdn, SdnPolicy};
use handfast_wire::openflow::{EthAddr, PortNo};
use handfast_wire::{Ethernet, Packet};

use crate::agents::chain::{Course, Leave};
use crate::agents::low_ack::LowAcks;
use crate::agents::sdn::{ControlChannel, ControlPlane, Departure};
use crate::engine::queue::Timer;
use crate::net::network::{NO_CHANNEL, Network};
use crate::net::packets::Passing;

/// The controller and the switches it commands.
pub(crate) struct Control {
    plane: ControlPlane,
    /// For each switch of the plane its node.
    nodes: Vec<NodeId>,
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
            associations.station_events(agent.notification, agent.news)
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
    fn left(&mut self, now: Instant, station: NodeId, mac: EthAddr, ap: NodeId, delivered: u64) {
        let (Some(on_air), Some(&ap)) = (&mut self.on_air, self.access_points.get(&ap)) else { return };
        let OnAir { epoch, before } = *on_air.entry(station).or_default();
        let what = What::Delivered(delivered - before);
        self.plane.announce(now + self.notification, Notice { station: mac, ap, epoch, what });
    }

    /// It is associated again.
    fn came(&mut self, station: NodeId, delivered: u64) {
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
    let attach = |at: &handfast_plan::fabric::Attached| AccessPoint {
        datapath_id: datapath_of(at.switch),
        port: PortNo(at.port),
        rate: Some(at.rate),
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

/// The frame in which a packet travels between the switches.
fn framed(addresses: &Addresses, packet: Packet) -> Packet {
    let mac = |ip| addresses.find(ip).map_or(EthAddr::default(), |id| addresses.mac(id));
    let ethernet = Some(Ethernet { dst: mac(packet.dst), src: mac(packet.src), vlan: None });
    Packet { ethernet, ..packet }
}

impl Network {
    /// A station leaves an access point, or comes to one, by this link: the controller will hear what was delivered over it.
    pub(crate) fn count_air(&mut self, now: Instant, scenario: &Scenario, link: LinkId, comes: bool) {
        let (Some(control), Some((station, ap))) = (&mut self.control, scenario.radio(link)) else { return };
        let end = usize::from(scenario.links[link].between[0] != ap);
        let delivered = self.links[channel(link, end)].link.counters().delivered;
        if comes {
            control.came(station, delivered);
            return;
        }
        control.left(now, station, self.addresses.mac_of(station), ap, delivered);
        let deadline = control.plane.deadline();
        self.queue.arm(&mut control.timer, deadline);
    }

    /// A packet has come to a switch that a controller commands.
    #[cold]
    pub(crate) fn switch(&mut self, now: Instant, switch: usize, course: Course, passing: Passing) {
        let (packet, in_port) =
            (framed(&self.addresses, self.packet(passing.handle)), PortNo(port_no(course.port.0)));
        if let Some(control) = &mut self.control
            && let Some(pass) = control.plane.pass(now, switch, in_port, &packet)
        {
            return self.leave_switch(now, course, pass, passing);
        }
        self.packets.free(passing.handle);
        let Some(mut control) = self.control.take() else { return };
        control.plane.on_packet(now, switch, in_port, packet);
        self.depart(now, &mut control);
        self.queue.arm(&mut control.timer, control.plane.deadline());
        self.control = Some(control);
    }

    /// A packet leaves a switch. Agents behind it see it before it leaves the node.
    fn leave_switch(&mut self, now: Instant, course: Course, pass: SwitchPass, passing: Passing) {
        let leave = match pass {
            SwitchPass::Forward(PortNo(number)) => Leave::By(Port(number - 1)),
            SwitchPass::Normal => {
                let from = self.topology.ports(course.node).get(course.port.0 as usize);
                Leave::Normal(from.map_or(NO_CHANNEL, |port| port.out as usize ^ 1))
            }
        };
        self.consult(now, Course { leave, ..course }, passing);
    }

    /// The controller's, a switch's, or a message's time has come.
    #[cold]
    pub(crate) fn wake_control(&mut self, now: Instant) {
        let Some(mut control) = self.control.take() else { return };
        control.plane.on_timer(now);
        self.depart(now, &mut control);
        let deadline = control.plane.deadline();
        crate::net::network::assert_later(
            now,
            deadline.unwrap_or(Instant::MAX),
            "the controller or a switch",
        );
        self.queue.settle(&mut control.timer, deadline);
        self.control = Some(control);
    }

    /// Sends on what has left the switches.
    fn depart(&mut self, now: Instant, control: &mut Control) {
        // What happened is for logs; a simulation has none.
        drop(control.plane.records());
        for (switch, departure) in control.plane.departures() {
            let node = control.nodes[switch];
            let (packet, port, pass) = match departure {
                Departure::By(port, packet) => (packet, None, Some(SwitchPass::Forward(port))),
                Departure::Normal(PortNo(number), packet) => {
                    (packet, Some(Port(number - 1)), Some(SwitchPass::Normal))
                }
                Departure::Dropped(packet) => (packet, None, None),
            };
            let port = port.unwrap_or_else(|| self.port_from(node, &packet));
            let passing = self.admit(Packet { ethernet: None, ..packet });
            let Some(pass) = pass else {
                self.lose(passing.handle);
                continue;
            };
            let rest = self.chains.behind_switch(node);
            self.leave_switch(now, Course { node, rest, port, leave: Leave::Routed }, pass, passing);
        }
    }
}
