//! The network in motion: packets from endpoint to link to node to endpoint.
//!
//! A packet crosses a node within the event of its arrival, so a hop costs one event. Nothing here knows a shape of
//! topology, a number of flows, or who helps.

use handfast_core::Instant;
use handfast_net::{Cause, Exit, Forward, Forwarder, Link, Outbox, Port};
use handfast_scenario::NodeId;
use handfast_wire::{Body, Packet};

use crate::RunError;
use crate::capture::Taps;
use crate::packets::{Handle, Label, Packets, node_of};
use crate::queue::{EventQueue, Machine, Timer};
use crate::side::{Side, SideId};
use crate::topology::{ChannelId, Topology};

/// One direction of a link.
pub(crate) struct Channel {
    pub(crate) link: Link<Handle>,
    pub(crate) timer: Timer,
    /// The node at its far end.
    pub(crate) to: u32,
}

/// What a node does with packets for others.
pub(crate) enum NodeRole {
    /// Has endpoints; forwards nothing.
    Host,
    /// Forwards by destination address.
    Plain,
    /// A plug-in sees every packet that arrives or that the node's endpoints send.
    Dyn(Box<Plugin>),
}

/// A plug-in's machine and its entry in the event queue.
pub(crate) struct Plugin {
    pub(crate) machine: Box<dyn Forwarder>,
    pub(crate) timer: Timer,
}

pub(crate) struct Node {
    pub(crate) role: NodeRole,
    /// Local ports in use are [`FIRST_PORT`] and up; which side has which.
    pub(crate) sides: Vec<u32>,
}

/// The first of the ports that flows get, one a flow end and node.
pub(crate) const FIRST_PORT: u16 = 5001;

/// What the network counts.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Packets that arrived at their destination endpoint, once each.
    pub(crate) packets: u64,
    /// Links that packets have passed.
    pub(crate) packet_hops: u64,
    /// For each side, segments with payload that it sent and that never arrived.
    pub(crate) lost: Vec<u64>,
}

pub(crate) struct Network {
    pub(crate) queue: EventQueue,
    pub(crate) packets: Packets,
    pub(crate) topology: Topology,
    pub(crate) channels: Vec<Channel>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sides: Vec<Side>,
    pub(crate) books: Books,
    pub(crate) taps: Taps,
    pub(crate) outbox: Outbox,
    pub(crate) verify_wire: bool,
    /// What ends the run at the next look.
    pub(crate) failed: Option<RunError>,
}

impl Network {
    /// Wakes the machine whose entry stands at `now`, and enters its next deadline.
    #[inline]
    pub(crate) fn wake(&mut self, now: Instant, machine: Machine) {
        match machine {
            Machine::Channel(id) => self.wake_channel(now, id as usize),
            Machine::Side(id) => self.wake_side(now, id as usize),
            Machine::Agent(node) => self.wake_agent(now, node as usize),
        }
    }

    /// Takes from a channel what has come out, and enters its deadline anew. Also after an outage began.
    pub(crate) fn wake_channel(&mut self, now: Instant, id: ChannelId) {
        while let Some(exit) = self.channels[id].link.poll(now) {
            match exit {
                Exit::Delivered { handle, corrupted } => self.arrive(now, id, handle, corrupted),
                Exit::Duplicated { handle, corrupted } => {
                    let copy = self.packets.duplicate(handle);
                    self.arrive(now, id, copy, corrupted);
                }
                Exit::Lost { handle, .. } => self.lose(handle),
            }
        }
        let channel = &mut self.channels[id];
        let deadline = channel.link.deadline();
        assert_later(now, deadline, "a link");
        self.queue.settle(&mut channel.timer, deadline);
    }

    fn wake_side(&mut self, now: Instant, id: SideId) {
        let side = &mut self.sides[id];
        if side.deadline().is_some_and(|due| due <= now) {
            side.on_timer(now);
            self.pump(now, id);
        }
        let side = &mut self.sides[id];
        let deadline = side.deadline();
        assert_later(now, deadline, "an endpoint or application");
        self.queue.settle(&mut side.timer, deadline);
    }

    fn wake_agent(&mut self, now: Instant, node: NodeId) {
        let mut out = std::mem::take(&mut self.outbox);
        if let NodeRole::Dyn(plugin) = &mut self.nodes[node].role
            && plugin.machine.deadline().is_some_and(|due| due <= now)
        {
            plugin.machine.on_timer(now, &mut out);
        }
        self.flush(now, node, out);
        if let NodeRole::Dyn(plugin) = &mut self.nodes[node].role {
            let deadline = plugin.machine.deadline();
            assert_later(now, deadline, "an agent");
            self.queue.settle(&mut plugin.timer, deadline);
        }
    }

    /// A packet has passed a channel.
    fn arrive(&mut self, now: Instant, id: ChannelId, handle: Handle, corrupted: bool) {
        self.books.packet_hops += 1;
        let node = self.channels[id].to as usize;
        if corrupted {
            self.packets.corrupt(handle);
        }
        if self.verify_wire {
            self.rewire(handle);
        }
        if !self.taps.is_empty() {
            self.taps.record(now, node, self.topology.arrival_port(id), self.packets.get(handle));
        }
        match self.nodes[node].role {
            NodeRole::Dyn(_) => self.consult(now, node, Port(self.topology.arrival_port(id)), handle),
            _ => self.route(now, node, handle),
        }
    }

    #[cold]
    fn rewire(&mut self, handle: Handle) {
        match self.packets.get(handle).through_wire() {
            Ok(packet) => self.packets.replace(handle, packet),
            Err(error) => self.failed = Some(error.into()),
        }
    }

    /// Sends a packet on, or delivers it.
    #[inline]
    fn route(&mut self, now: Instant, node: NodeId, handle: Handle) {
        let Label { dst, .. } = self.packets.label(handle);
        if dst as usize == node {
            return self.deliver(now, node, handle);
        }
        let out = if matches!(self.nodes[node].role, NodeRole::Host) {
            None
        } else {
            self.topology.port(node, dst as usize)
        };
        match out {
            Some(port) => self.transmit(now, node, port, handle),
            None => self.lose(handle),
        }
    }

    /// Hands a packet to the link at `port`.
    fn transmit(&mut self, now: Instant, node: NodeId, port: u32, handle: Handle) {
        if !self.taps.is_empty() {
            self.taps.record(now, node, port, self.packets.get(handle));
        }
        let Some(attachment) = self.topology.ports(node).get(port as usize) else { return self.lose(handle) };
        let label = self.packets.label(handle);
        let channel = &mut self.channels[attachment.out as usize];
        match channel.link.enqueue(now, handle, label.size(), label.has_payload) {
            Ok(()) => self.queue.arm(&mut channel.timer, channel.link.deadline()),
            Err(Cause::QueueFull | Cause::Loss | Cause::Outage) => self.lose(handle),
        }
    }

    /// A packet has reached the node it is addressed to.
    fn deliver(&mut self, now: Instant, node: NodeId, handle: Handle) {
        let packet = self.packets.get(handle);
        let side = match &packet.body {
            // A host verifies checksums: a corrupted segment never reaches an endpoint (RFC 9293 §3.1).
            Body::Tcp(segment) if !packet.corrupted => {
                let index = segment.dst_port.wrapping_sub(FIRST_PORT);
                let side = self.nodes[node].sides.get(usize::from(index)).copied();
                side.filter(|&side| self.sides[side as usize].expects(packet, segment))
            }
            _ => None,
        };
        let Some(side) = side else { return self.lose(handle) };
        self.books.packets += 1;
        if let Body::Tcp(segment) = &packet.body {
            self.sides[side as usize].on_segment(now, segment);
        }
        self.packets.free(handle);
        self.pump(now, side as usize);
        let side = &mut self.sides[side as usize];
        let deadline = side.deadline();
        self.queue.arm(&mut side.timer, deadline);
    }

    /// Sends all that a side has to send now.
    fn pump(&mut self, now: Instant, id: SideId) {
        loop {
            while let Some(packet) = self.sides[id].poll_transmit(now) {
                self.originate(now, id, packet);
            }
            if !self.sides[id].take_stock(now) {
                return;
            }
        }
    }

    /// A packet of one of the node's own endpoints.
    #[inline]
    fn originate(&mut self, now: Instant, id: SideId, packet: Packet) {
        let node = self.sides[id].path.node as usize;
        let handle = self.packets.insert(packet, id as u32);
        if let NodeRole::Dyn(_) = self.nodes[node].role {
            return self.consult(now, node, Port::LOCAL, handle);
        }
        let dst = self.packets.label(handle).dst as usize;
        match self.topology.port(node, dst) {
            Some(port) => self.transmit(now, node, port, handle),
            None => self.lose(handle),
        }
    }

    /// Shows a packet to the node's plug-in and does what that says.
    #[cold]
    fn consult(&mut self, now: Instant, node: NodeId, port: Port, handle: Handle) {
        let packet = self.packets.get(handle).clone();
        self.packets.free(handle);
        let mut out = std::mem::take(&mut self.outbox);
        if let NodeRole::Dyn(plugin) = &mut self.nodes[node].role {
            plugin.machine.on_packet(now, port, packet, &mut out);
            self.queue.arm(&mut plugin.timer, plugin.machine.deadline());
        }
        self.flush(now, node, out);
    }

    fn flush(&mut self, now: Instant, node: NodeId, mut out: Outbox) {
        for forward in out.drain() {
            match forward {
                Forward::Routed(packet) => {
                    let handle = self.admit(packet);
                    self.route(now, node, handle);
                }
                Forward::To(Port::LOCAL, packet) => {
                    let handle = self.admit(packet);
                    self.deliver(now, node, handle);
                }
                Forward::To(Port(port), packet) => {
                    let handle = self.admit(packet);
                    self.transmit(now, node, port, handle);
                }
                Forward::Dropped(packet) => {
                    let handle = self.admit(packet);
                    self.lose(handle);
                }
            }
        }
        self.outbox = out;
    }

    /// Takes a packet from a plug-in, and finds out by its source whose loss it would be.
    fn admit(&mut self, packet: Packet) -> Handle {
        let sides =
            node_of(packet.src).and_then(|node| self.nodes.get(node as usize)).map(|node| &node.sides);
        let origin = match (&packet.body, sides) {
            (Body::Tcp(segment), Some(sides)) => {
                sides.get(usize::from(segment.src_port.wrapping_sub(FIRST_PORT)))
            }
            _ => None,
        };
        let origin = origin.copied().unwrap_or(NO_ORIGIN);
        self.packets.insert(packet, origin)
    }

    /// Ends a packet's way.
    fn lose(&mut self, handle: Handle) {
        let Label { origin, has_payload, .. } = self.packets.label(handle);
        if let Some(lost) = self.books.lost.get_mut(origin as usize) {
            *lost += u64::from(has_payload);
        }
        self.packets.free(handle);
    }
}

/// The origin of packets from no flow's address.
const NO_ORIGIN: u32 = u32::MAX;

/// DESIGN: a deadline that is not in the future after the machine has acted is a bug; the run would never end.
#[inline]
fn assert_later(now: Instant, deadline: Option<Instant>, machine: &str) {
    assert!(deadline.is_none_or(|deadline| deadline > now), "{machine} at {now} wants to act at {now} again");
}
