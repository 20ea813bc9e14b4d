//! What the network does for SDTP's controller: it carries reports to it and instructions to the nodes. `agents/sdtp.rs` holds the
//! controller and its channels.

use handfast_core::Instant;
use handfast_net::Port;
use handfast_wire::Packet;

use crate::agents::chain::{Course, Leave};
use crate::run::network::{Network, assert_later};

impl Network {
    /// Takes a packet for the controller, which no link carries. The others come back.
    #[inline]
    pub(crate) fn take_report(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let Some(control) = &mut self.sdtp else { return Some(packet) };
        if packet.dst != control.address {
            return Some(packet);
        }
        control.send_up(now, &packet);
        let deadline = control.deadline();
        self.queue.arm(&mut control.timer, deadline);
        None
    }

    /// A message has arrived.
    #[cold]
    pub(crate) fn wake_sdtp(&mut self, now: Instant) {
        while let Some(packet) = self.sdtp.as_mut().and_then(|control| control.arrived(now)) {
            self.instruct(now, packet);
        }
        let Some(control) = &mut self.sdtp else { return };
        let deadline = control.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "SDTP's controller");
        self.queue.settle(&mut control.timer, deadline);
    }

    /// Shows an instruction to the agents of its node.
    fn instruct(&mut self, now: Instant, packet: Packet) {
        let Some(node) = self.addresses.node_of(packet.dst) else { return };
        let node = node as usize;
        let (rest, passing) = (self.chains.at(node), self.admit(packet));
        self.consult(now, Course { node, rest, port: Port::LOCAL, leave: Leave::Routed }, passing);
    }
}
