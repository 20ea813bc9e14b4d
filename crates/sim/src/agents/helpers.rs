//! Helpers: machines at nodes which see the packets there, and what they do with them.

use handfast_core::Instant;
use handfast_net::{Forward, Forwarder, Outbox, Port};
use handfast_plan::topology::Goal;
use handfast_scenario::NodeId;
use handfast_wire::tcp::Segment;
use handfast_wire::udp::Datagram;
use handfast_wire::{Body, Packet};

use crate::engine::queue::Timer;
use crate::hosts::connections::ConnectionId;
use crate::net::network::{Network, assert_later};
use crate::net::packets::Passing;

/// A plug-in's machine, where it sits, and its entry in the event queue.
pub(crate) struct Plugin {
    pub(crate) machine: Box<dyn Forwarder>,
    pub(crate) node: NodeId,
    pub(crate) timer: Timer,
}

/// Who sees every packet which arrives at a node or which its endpoints send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Helper {
    /// A plug-in, by its number.
    Plugin(u32),
    /// A switch that the controller commands, by its number there.
    Switch(u32),
}

impl Network {
    pub(crate) fn wake_plugin(&mut self, now: Instant, id: usize) {
        let mut out = std::mem::take(&mut self.outbox);
        let plugin = &mut self.plugins[id];
        if plugin.machine.deadline().is_some_and(|due| due <= now) {
            plugin.machine.on_timer(now, &mut out);
        }
        let node = plugin.node;
        self.flush(now, node, out);
        let plugin = &mut self.plugins[id];
        let deadline = plugin.machine.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "an agent");
        self.queue.settle(&mut plugin.timer, deadline);
    }

    #[inline]
    pub(crate) fn helper_at(&self, node: NodeId) -> Option<Helper> {
        self.helper_of.get(&(node as u32)).copied()
    }

    /// Shows a packet to who is to see it, and does what that says.
    #[cold]
    pub(crate) fn consult(&mut self, now: Instant, helper: Helper, port: Port, passing: Passing) {
        let plugin = match helper {
            Helper::Plugin(plugin) => plugin as usize,
            Helper::Switch(switch) => return self.switch(now, switch as usize, port, passing),
        };
        let packet = self.packet(passing.handle);
        self.packets.free(passing.handle);
        let mut out = std::mem::take(&mut self.outbox);
        let plugin = &mut self.plugins[plugin];
        plugin.machine.on_packet(now, port, packet, &mut out);
        let deadline = plugin.machine.deadline();
        self.queue.arm(&mut plugin.timer, deadline);
        let node = plugin.node;
        self.flush(now, node, out);
    }

    fn flush(&mut self, now: Instant, node: NodeId, mut out: Outbox) {
        for forward in out.drain() {
            match forward {
                Forward::Routed(packet) => {
                    let passing = self.admit(packet);
                    self.pass(now, node, passing);
                }
                Forward::To(port, packet) => {
                    let passing = self.admit(packet);
                    self.send_by(now, node, port, passing);
                }
                Forward::Dropped(packet) => {
                    let passing = self.admit(packet);
                    self.lose(passing.handle);
                }
            }
        }
        self.outbox = out;
    }

    /// Sends a packet by the port that a plug-in has chosen.
    pub(crate) fn send_by(&mut self, now: Instant, node: NodeId, port: Port, passing: Passing) {
        if port == Port::LOCAL {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.ports(node).get(port.0 as usize) {
            Some(attachment) => self.transmit(now, attachment.out as usize, passing),
            None => self.lose(passing.handle),
        }
    }

    /// Sends a packet the way its address says. What a host's own plug-in lets through is the host's own.
    pub(crate) fn pass(&mut self, now: Instant, node: NodeId, passing: Passing) {
        if passing.goal.node as usize == node {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.towards(node, passing.goal) {
            Some(channel) if passing.goal != Goal::nowhere() => self.transmit(now, channel as usize, passing),
            _ => self.end(now, node, passing),
        }
    }

    /// Takes a packet from a plug-in. Its loss would be that of the connection that has its addresses and ports.
    pub(crate) fn admit(&mut self, mut packet: Packet) -> Passing {
        let origin = self.origin(&packet).unwrap_or(ConnectionId::NONE);
        let goal = self.addresses.node_of(packet.dst);
        let goal = goal.map_or(Goal::nowhere(), |node| self.topology.goal(node as usize));
        let len = packet.ip_len();
        let body = std::mem::replace(&mut packet.body, Body::Tcp(Segment::EMPTY));
        match (self.hosts.connections.get(origin), body) {
            (Some(connection), Body::Tcp(segment))
                if connection.addresses(&segment)
                    && packet == connection.packet(&self.addresses, Segment::EMPTY) =>
            {
                let around = |segment| connection.packet(&self.addresses, segment);
                self.packets.insert(segment, len, origin, goal, around)
            }
            (_, body) => self.packets.insert_whole(Packet { body, ..packet }, origin, goal),
        }
    }

    /// Whose packet it is, as far as its addresses and ports say.
    fn origin(&self, packet: &Packet) -> Option<ConnectionId> {
        match &packet.body {
            Body::Tcp(segment) => {
                let (src, dst) = self.sockets(packet, (segment.src_port, segment.dst_port))?;
                self.hosts.bound(self.addresses.node(src.address) as usize, (src, dst))
            }
            Body::Other { .. } => {
                let datagram = Datagram::parse(packet)?;
                let pair = self.sockets(packet, (datagram.src_port, datagram.dst_port))?;
                self.hosts.transports.origin(pair)
            }
        }
    }
}
