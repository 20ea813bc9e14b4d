//! The network in motion: packets from endpoint to link to node to endpoint.
//!
//! A packet crosses a node within the event of its arrival, so a hop costs one event, and one between links in tandem none
//! (`flight.rs`).
//! Nothing here knows a shape of topology, a number of flows, or who helps.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use handfast_core::Instant;
use handfast_measure::address::node_of;
use handfast_measure::topology::{ChannelId, Goal, Topology};
use handfast_net::{Cause, Exit, Forward, Forwarder, Link, Outbox, Port};
use handfast_scenario::{LinkId, NodeId};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};

use crate::RunError;
use crate::advertisements::Heard;
use crate::air::{Air, OnAir};
use crate::capture::Taps;
use crate::flight::Way;
use crate::notify::Notifiers;
use crate::packets::{Handle, Label, Packets, Passing};
use crate::queue::{Entry, EventQueue, Machine, Timer};
use crate::quick_start::Routers;
use crate::sdn::Control;
use crate::side::{Path, Side, SideId};
use crate::tally::Tally;

/// One direction of a link. Aligned, so that a hop touches as few cache lines as can be.
#[repr(C, align(64))]
pub(crate) struct Channel {
    pub(crate) timer: Timer,
    pub(crate) link: Link<Passing>,
    /// The node at its far end.
    pub(crate) to: u32,
    pub(crate) on_air: OnAir,
}

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
    pub(crate) lost: Tally,
}

pub(crate) struct Network {
    pub(crate) queue: EventQueue,
    pub(crate) packets: Packets,
    pub(crate) topology: Topology,
    pub(crate) channels: Vec<Channel>,
    /// For each channel whether packets fly; empty where none does.
    pub(crate) ways: Vec<Way>,
    pub(crate) plugins: Vec<Plugin>,
    /// The media that radio links share.
    pub(crate) airs: Vec<Air>,
    /// The controller of its switches, if it has one.
    pub(crate) control: Option<Box<Control>>,
    /// The stations that tell of their access links.
    pub(crate) notifiers: Option<Box<Notifiers>>,
    /// For each node at which packets do not just pass, who sees them.
    pub(crate) helper_of: BTreeMap<u32, Helper>,
    /// For each node which side has which port, counted from [`FIRST_PORT`].
    pub(crate) ports: Vec<Vec<u32>>,
    pub(crate) sides: Vec<Side>,
    pub(crate) books: Books,
    pub(crate) taps: Taps,
    /// From whom stations have heard advertisements last.
    pub(crate) heard: Heard,
    pub(crate) outbox: Outbox,
    pub(crate) verify_wire: bool,
    /// The routers of Quick-Start; [`None`]: no sender asks.
    pub(crate) quick_start: Option<Box<Routers>>,
    /// Whether either of the two wants to see each packet.
    pub(crate) looks_closer: bool,
    /// Whether only a controller's rules follow stations.
    pub(crate) subnets: bool,
    /// Whether so few bytes take turns that they stay in the processor's cache: only packets are fetched ahead then.
    pub(crate) fits_cache: bool,
    /// When the run ends.
    pub(crate) end: Instant,
    /// What ends the run at the next look.
    pub(crate) failed: Option<RunError>,
}

impl Network {
    /// A station has gone from one of its radio links to another.
    pub(crate) fn roam(&mut self, station: NodeId, goes: LinkId, comes: LinkId) {
        if self.subnets {
            self.topology.roam_alone(station, goes, comes);
        } else {
            self.topology.roam(station, goes, comes);
        }
        for &id in &self.ports[station] {
            let path = &mut self.sides[id as usize].path;
            path.out = self.topology.towards(station, path.goal).unwrap_or(path.out);
        }
    }

    /// Wakes machines in order, up to but not at `border`, and no more than `most` of them; false where none was left.
    #[inline(never)]
    pub(crate) fn wake_some(&mut self, most: u32, border: Instant) -> bool {
        for _ in 0..most {
            let entry = self.queue.first();
            let now = entry.at();
            if now >= border {
                return false;
            }
            match entry.machine() {
                Machine::Channel(id) => self.wake_link(now, id as usize, entry),
                Machine::Side(id) => self.wake_side(now, id as usize),
                Machine::Agent(CONTROL) => self.wake_control(now),
                Machine::Agent(NOTIFIERS) => self.wake_notifiers(now),
                Machine::Agent(id) => self.wake_plugin(now, id as usize),
                Machine::Air(id) => self.wake_air(now, id as usize),
                Machine::Packet(handle) => self.land(now, handle, entry),
            }
        }
        true
    }

    #[inline]
    fn wake_link(&mut self, now: Instant, id: ChannelId, entry: Entry) {
        self.queue.pop_link(&mut self.channels[id].timer, entry);
        let (next, flight) = self.queue.next();
        self.get_next_ready(next, flight);
        self.empty_channel(now, id);
        let channel = &mut self.channels[id];
        let next = channel.link.next();
        assert_later(now, next, "a link");
        // What came out may have led to something new on this very link.
        self.queue.arm_link(&mut channel.timer, next);
        if !self.fits_cache
            && let Some(&passing) = channel.link.front()
        {
            self.packets.prefetch(passing.handle);
            self.get_ready(id, passing);
        }
    }

    /// Takes from a channel what has come out, and enters its deadline anew: after something was done to the link.
    pub(crate) fn wake_channel(&mut self, now: Instant, id: ChannelId) {
        self.empty_channel(now, id);
        let channel = &mut self.channels[id];
        assert_later(now, channel.link.next(), "a link");
        self.queue.settle(&mut channel.timer, channel.link.deadline());
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    fn empty_channel(&mut self, now: Instant, id: ChannelId) {
        loop {
            let link = &mut self.channels[id].link;
            if link.next() > now {
                return;
            }
            if let Some(passing) = link.poll_plain(now) {
                self.arrive(now, id, passing);
            } else if let Some(passing) = self.poll_unusual(now, id) {
                self.arrive_unusually(now, id, passing);
            }
        }
    }

    /// What has come out of a link with impairments or after an outage; [`None`]: nothing that arrives.
    #[inline(never)]
    fn poll_unusual(&mut self, now: Instant, id: ChannelId) -> Option<Passing> {
        let (passing, corrupted) = match self.channels[id].link.poll(now)? {
            Exit::Delivered { handle, corrupted } => (handle, corrupted),
            Exit::Duplicated { handle, corrupted } => (self.packets.duplicate(handle.handle), corrupted),
            Exit::Lost { handle, cause } => {
                self.fail(now, id, handle.handle, cause);
                return None;
            }
        };
        if corrupted {
            self.packets.corrupt(passing.handle);
        }
        Some(passing)
    }

    /// A packet ends at a link.
    #[cold]
    pub(crate) fn fail(&mut self, now: Instant, id: ChannelId, handle: Handle, cause: Cause) {
        match cause {
            Cause::Outage => self.unheard(now, id),
            Cause::QueueFull => self.discarded(id, handle),
            Cause::Loss => {}
        }
        self.lose(handle);
    }

    /// A full queue has refused a packet: the agent of the node that it was to leave may keep account of that.
    fn discarded(&mut self, id: ChannelId, handle: Handle) {
        let (node, port) = self.topology.departure(id);
        if let Some(Helper::Plugin(plugin)) = self.helper_at(node) {
            let packet = self.packet(handle);
            self.plugins[plugin as usize].machine.on_discard(Port(port), &packet);
        }
    }

    fn wake_side(&mut self, now: Instant, id: SideId) {
        if !self.fits_cache {
            self.get_way_ready(id);
        }
        let side = &mut self.sides[id];
        if side.deadline().is_some_and(|due| due <= now) {
            side.on_timer(now);
            self.pump(now, id);
        }
        let side = &mut self.sides[id];
        let deadline = side.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "an endpoint or application");
        self.queue.settle(&mut side.timer, deadline);
        if !self.fits_cache {
            self.get_next_timer_ready();
        }
    }

    fn wake_plugin(&mut self, now: Instant, id: usize) {
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

    /// A packet has passed a channel.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    fn arrive(&mut self, now: Instant, id: ChannelId, mut passing: Passing) {
        self.books.packet_hops += 1;
        let node = self.channels[id].to as usize;
        if self.looks_closer {
            passing = self.look_closer(now, node, passing);
        }
        if !self.taps.is_empty() {
            self.record_arrival(now, node, id, passing.handle);
        }
        match self.helper_at(node) {
            Some(helper) => {
                let port = Port(self.topology.arrival_port(id));
                self.consult(now, helper, port, passing);
            }
            None => self.route(now, node, id, passing),
        }
    }

    // A copy of it, so that the plain way stays short.
    #[inline(never)]
    fn arrive_unusually(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        self.arrive(now, id, passing);
    }

    #[cold]
    fn record_arrival(&mut self, now: Instant, node: NodeId, id: ChannelId, handle: Handle) {
        let packet = self.packet(handle);
        self.taps.record(now, node, self.topology.arrival_port(id), &packet);
    }

    #[cold]
    fn record_departure(&mut self, now: Instant, id: ChannelId, handle: Handle) {
        let (node, port) = self.topology.departure(id);
        let packet = self.packet(handle);
        self.taps.record(now, node, port, &packet);
    }

    #[inline]
    fn helper_at(&self, node: NodeId) -> Option<Helper> {
        self.helper_of.get(&(node as u32)).copied()
    }

    #[cold]
    fn look_closer(&mut self, now: Instant, node: NodeId, passing: Passing) -> Passing {
        let passing = if self.verify_wire { self.rewire(passing) } else { passing };
        if self.quick_start.is_some() { self.show_router(now, node, passing) } else { passing }
    }

    fn rewire(&mut self, passing: Passing) -> Passing {
        match self.packet(passing.handle).through_wire() {
            Ok(packet) => self.packets.replace(passing.handle, packet),
            Err(error) => {
                self.failed = Some(error.into());
                passing
            }
        }
    }

    /// Sends a packet on, or delivers it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn route(&mut self, now: Instant, node: NodeId, from: ChannelId, passing: Passing) {
        if passing.goal.node as usize == node {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.pass_on(node, passing.goal) {
            // A bridge sends nothing back to where it came from (IEEE 802.1Q §8.6.1): a station has roamed meanwhile.
            Some(channel) if channel as usize != from ^ 1 => self.transmit(now, channel as usize, passing),
            _ => self.stray(now, node, passing),
        }
    }

    /// A packet has come where no way leads on. Where its station has been before a make-before-break handover, the link to it
    /// is still there.
    #[cold]
    pub(crate) fn stray(&mut self, now: Instant, node: NodeId, passing: Passing) {
        let mut last = self.topology.ports(node).iter().filter(|port| port.neighbour == passing.goal.node);
        match last.find(|port| !self.channels[port.out as usize].link.is_gone()).map(|port| port.out) {
            Some(channel) => self.transmit(now, channel as usize, passing),
            None => self.end(now, node, passing),
        }
    }

    /// Hands a packet to a link.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn transmit(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        if self.ways.get(id).is_some_and(Way::is_open) {
            return self.fly(now, id, passing);
        }
        if !self.taps.is_empty() {
            self.record_departure(now, id, passing.handle);
        }
        if self.channels[id].on_air.is_somewhere() {
            return self.contend(now, id, passing);
        }
        self.propagate(now, id, passing);
    }

    /// Hands a packet to a link whose medium, if it has one, has let it through.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn propagate(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        let channel = &mut self.channels[id];
        let was_idle = channel.link.next() == Instant::MAX;
        if let Err(cause) = channel.link.enqueue(now, passing, passing.size(), passing.has_payload()) {
            return self.fail(now, id, passing.handle, cause);
        }
        self.queue.arm_link(&mut channel.timer, channel.link.next());
        if was_idle && !self.fits_cache {
            self.get_ready(id, passing);
        }
    }

    /// A packet has reached the node it is addressed to.
    pub(crate) fn deliver(&mut self, now: Instant, node: NodeId, handle: Handle) {
        let label = self.packets.label(handle);
        let origin = label.origin;
        if label.corrupted {
            // A host verifies checksums: a corrupted segment never reaches an endpoint (RFC 9293 §3.1).
            return self.lose(handle);
        }
        if label.whole {
            return self.deliver_whole(now, node, handle);
        }
        let id = origin as usize ^ 1;
        let side = &mut self.sides[id];
        let ports = (side.path.remote_port, side.path.local_port);
        side.on_segment(now, &self.packets.segment(handle, ports));
        self.delivered(now, id, handle);
    }

    /// A packet of which only the packet itself says whom it is for.
    #[cold]
    fn deliver_whole(&mut self, now: Instant, node: NodeId, handle: Handle) {
        if self.notifiers.is_some() {
            self.tell_of_start(now, node, handle);
        }
        let Some(Packet { src, body: Body::Tcp(segment), quick_start, hop_limit, .. }) =
            self.packets.whole(handle)
        else {
            return self.notified(now, node, handle);
        };
        let index = usize::from(segment.dst_port.wrapping_sub(FIRST_PORT));
        let id = self.ports[node].get(index).map(|&id| id as usize);
        let Some(id) = id.filter(|&id| self.sides[id].expects(*src, segment)) else {
            return self.lose(handle);
        };
        if let Some(option) = *quick_start {
            self.sides[id].on_quick_start_option(option, *hop_limit);
        }
        self.sides[id].on_segment(now, segment);
        self.delivered(now, id, handle);
    }

    /// A side has taken its segment in, and answers.
    #[inline]
    fn delivered(&mut self, now: Instant, id: SideId, handle: Handle) {
        self.books.packets += 1;
        self.packets.free(handle);
        self.answer(now, id);
    }

    /// Sends what a side has to send after something has come for it.
    #[inline]
    pub(crate) fn answer(&mut self, now: Instant, id: SideId) {
        self.pump(now, id);
        let side = &mut self.sides[id];
        let deadline = side.deadline();
        self.queue.arm(&mut side.timer, deadline);
    }

    /// Sends all that a side has to send now.
    fn pump(&mut self, now: Instant, id: SideId) {
        loop {
            while let Some(segment) = self.sides[id].poll_transmit(now) {
                self.originate(now, id, segment);
            }
            if !self.sides[id].take_stock(now) {
                return;
            }
        }
    }

    /// A segment of one of the node's own endpoints.
    #[inline]
    fn originate(&mut self, now: Instant, id: SideId, segment: Segment) {
        if self.looks_closer {
            return self.originate_closer(now, id, segment);
        }
        let passing = self.admit_own(id, segment);
        self.emerge(now, id, passing);
    }

    /// Takes in a segment of one of the node's own endpoints.
    #[inline]
    pub(crate) fn admit_own(&mut self, id: SideId, segment: Segment) -> Passing {
        let side = &self.sides[id];
        let goal = side.path.goal;
        if side.addresses(&segment) {
            let len = Packet::tcp_len(ANY_ADDRESS, &segment);
            self.packets.insert(segment, len, id as u32, goal, |segment| side.packet(segment))
        } else {
            // The ports that its endpoint was told by an agent in the path.
            self.packets.insert_whole(side.packet(segment), id as u32, goal)
        }
    }

    /// A packet of one of the node's own endpoints leaves it.
    #[inline]
    pub(crate) fn emerge(&mut self, now: Instant, id: SideId, passing: Passing) {
        let Path { node, out, .. } = self.sides[id].path;
        match self.helper_at(node as usize) {
            Some(helper) => self.consult(now, helper, Port::LOCAL, passing),
            None => self.transmit(now, out as usize, passing),
        }
    }

    /// Shows a packet to who is to see it, and does what that says.
    #[cold]
    fn consult(&mut self, now: Instant, helper: Helper, port: Port, passing: Passing) {
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

    /// The packet with all that stands around its segment.
    #[cold]
    pub(crate) fn packet(&self, handle: Handle) -> Packet {
        self.packets.whole(handle).cloned().unwrap_or_else(|| {
            let &Label { origin, corrupted, .. } = self.packets.label(handle);
            let side = &self.sides[origin as usize];
            let segment = self.packets.segment(handle, (side.path.local_port, side.path.remote_port));
            Packet { corrupted, ..side.packet(segment) }
        })
    }

    /// Takes a packet from a plug-in. Its loss would be that of the side that has its source address and port.
    pub(crate) fn admit(&mut self, mut packet: Packet) -> Passing {
        let sides = node_of(packet.src).and_then(|node| self.ports.get(node as usize));
        let origin = match (&packet.body, sides) {
            (Body::Tcp(segment), Some(sides)) => {
                sides.get(usize::from(segment.src_port.wrapping_sub(FIRST_PORT)))
            }
            _ => None,
        };
        let origin = origin.copied().unwrap_or(NO_ORIGIN);
        let goal = node_of(packet.dst).map_or(Goal::nowhere(), |node| self.topology.goal(node as usize));
        let len = packet.ip_len();
        match (
            self.sides.get(origin as usize),
            std::mem::replace(&mut packet.body, Body::Tcp(Segment::EMPTY)),
        ) {
            (Some(side), Body::Tcp(segment))
                if side.addresses(&segment) && packet == side.packet(Segment::EMPTY) =>
            {
                self.packets.insert(segment, len, origin, goal, |segment| side.packet(segment))
            }
            (_, body) => self.packets.insert_whole(Packet { body, ..packet }, origin, goal),
        }
    }

    /// Ends a packet's way.
    #[cold]
    pub(crate) fn lose(&mut self, handle: Handle) {
        let &Label { origin, has_payload, .. } = self.packets.label(handle);
        if has_payload {
            self.books.lost.add(origin);
        }
        self.packets.free(handle);
    }
}

/// The controller's number among the agents.
pub(crate) const CONTROL: u32 = (1 << 24) - 1;

/// That of all stations that tell of their access links.
pub(crate) const NOTIFIERS: u32 = CONTROL - 1;

/// Where a packet came from that came from no link.
pub(crate) const NO_CHANNEL: ChannelId = ChannelId::MAX;

/// All simulated nodes have addresses of one kind.
const ANY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The origin of packets from no flow's address.
const NO_ORIGIN: u32 = u32::MAX;

/// DESIGN: a deadline that is not in the future after the machine has acted is a bug; the run would never end.
#[inline]
pub(crate) fn assert_later(now: Instant, deadline: Instant, machine: &str) {
    if deadline <= now {
        never_ends(now, machine);
    }
}

// A function of its own: what a panic's message needs would be laid out with each event.
#[cold]
#[inline(never)]
fn never_ends(now: Instant, machine: &str) -> ! {
    panic!("{machine} at {now} wants to act at {now} again");
}
