//! What the network does for the SDN controller: it takes packets through switches, wakes the controller, sends what it emits,
//! and counts what access points deliver. `agents/controller.rs` holds the controller.

use handfast_core::Instant;
use handfast_net::{Port, SwitchPass};
use handfast_plan::address::Addresses;
use handfast_plan::fabric::port_no;
use handfast_plan::topology::{channel, reverse};
use handfast_scenario::{LinkId, Scenario};
use handfast_wire::openflow::{EthAddr, PortNo};
use handfast_wire::{Ethernet, Packet};

use crate::agents::chain::{Course, Leave};
use crate::agents::controller::Control;
use crate::agents::sdn::Departure;
use crate::net::packets::Passing;
use crate::run::network::{NO_CHANNEL, Network};

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
                Leave::Normal(from.map_or(NO_CHANNEL, |port| reverse(port.out as usize)))
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
        crate::run::network::assert_later(
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

/// The frame in which a packet travels between the switches.
fn framed(addresses: &Addresses, packet: Packet) -> Packet {
    let mac = |ip| addresses.find(ip).map_or(EthAddr::default(), |id| addresses.mac(id));
    let ethernet = Some(Ethernet { dst: mac(packet.dst), src: mac(packet.src), vlan: None });
    Packet { ethernet, ..packet }
}
