//! Where SDTP packets leave a node when addresses would lead them to a link that is down.

use std::net::IpAddr;

use handfast_net::{Outbox, Port};
use handfast_wire::Packet;

use super::{MOST_DIRECTIONS, Node};
use crate::sdtp::control::{Report, Steering};

impl Node {
    /// The link at a port carries packets from now on, or none.
    pub fn on_link(&mut self, port: Port, is_up: bool) {
        self.reports.push(Report::PortStatus(port, is_up));
    }

    pub(super) fn steer(&mut self, steering: &Steering) {
        let &Steering { from, to, port } = steering;
        match port {
            None => drop(self.steered.remove(&(from, to))),
            Some(port) if self.steered.len() < MOST_DIRECTIONS => {
                self.steered.insert((from, to), port);
            }
            Some(_) => {}
        }
    }

    /// By which port packets from one edge to another leave that have come by `came`. As in `OpenFlow` none goes back there: two
    /// nodes of which one has not heard of a new path yet would send it to and fro.
    pub(super) fn steers(&self, came: Port, from: IpAddr, to: IpAddr) -> Option<Port> {
        self.steered.get(&(from, to)).copied().filter(|&port| port != came)
    }

    /// A packet that this node has made leaves.
    #[inline]
    pub(super) fn send_on(&self, packet: Packet, out: &mut Outbox) {
        match self.steers(Port::LOCAL, packet.src, packet.dst) {
            Some(port) => out.send(port, packet),
            None => out.forward(packet),
        }
    }
}
