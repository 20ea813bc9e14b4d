//! A node of SDTP with whatever functions its slices have there: an edge, a caching node, a retransmission node, or several at once.
//!
//! Nothing is addressed to a node in the path: it looks at what passes. So one that fails, or that is left out, is passed over.

mod congestion;
mod hold;
mod overload;
mod passing;
mod recover;
mod send;
mod steering;

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};
use handfast_net::{Outbox, Port};
use handfast_wire::sdtp::{Data, Information, Message, Stream};
use handfast_wire::{Body, Packet};

use super::caching::{self, CachingNode};
use super::config::Config;
use super::control::{Activation, Instruction, Location, Order, Report};
use super::convert::Outer;
use super::counters::{Kept, NodeCounters};
use super::detection::Detection;
use super::edge::{Arrived, Edge, Output as EdgeOutput};
use super::holding::Holding;
use super::lately::Lately;
use super::own_drops::OwnDrops;
use super::repairs::Repairs;
use super::retransmission::Output;
use super::seals::Seals;
use crate::{Verdict, View};

/// Directions in which a node has functions, at most: both of as many slices as a port number can name.
const MOST_DIRECTIONS: usize = 2 * 65_536;

/// The data of a slice in one direction.
type Direction = (IpAddr, IpAddr, u16);

/// What a slice has a node do.
#[derive(Clone, Copy, Debug)]
struct Functions {
    caching: bool,
    retransmission: bool,
    round_trip: Duration,
}

/// The node.
#[derive(Debug)]
pub struct Node {
    address: IpAddr,
    config: Config,
    /// Without hosts behind it there is none.
    edge: Option<Edge>,
    functions: BTreeMap<Direction, Functions>,
    /// By which port SDTP packets from one edge to another leave, where that is not the one to which their destination leads.
    steered: BTreeMap<(IpAddr, IpAddr), Port>,
    caching: CachingNode<Data>,
    detection: Detection,
    own_drops: OwnDrops,
    holding: Holding,
    lately: Lately,
    seals: Seals,
    /// Whether it does without its functions for now: it cannot keep up.
    is_overloaded: bool,
    /// Until when a stream that it meets may have passed unseen: it begins with what comes.
    unseen_until: Instant,
    counters: NodeCounters,
    /// What the edge has for others, and the retransmission function: kept for their memory.
    edges: EdgeOutput,
    outputs: Vec<Output>,
    answers: Vec<caching::Output<Data>>,
    timed: Vec<(Stream, Output)>,
    reports: Vec<Report>,
}

impl Node {
    /// A node with hosts behind it, each at a port; without any it is no edge.
    pub fn new(address: IpAddr, hosts: BTreeMap<IpAddr, Port>, config: Config) -> Self {
        Self {
            address,
            edge: (!hosts.is_empty()).then(|| Edge::new(address, hosts, &config)),
            functions: BTreeMap::new(),
            steered: BTreeMap::new(),
            caching: CachingNode::new(config.caching),
            detection: Detection::new(config.thresholds, config.connections),
            own_drops: OwnDrops::new(config.connections),
            holding: Holding::new(config.caching.quotas, config.thresholds.persistence),
            lately: Lately::new(config.connections),
            seals: Seals::new(address, config.sealing.clone()),
            is_overloaded: false,
            unseen_until: Instant::ZERO,
            counters: NodeCounters::default(),
            edges: EdgeOutput::default(),
            outputs: Vec::new(),
            answers: Vec::new(),
            timed: Vec::new(),
            reports: Vec::new(),
            config,
        }
    }

    /// The same with these ports, which lead to hosts that are not its own: no SDTP comes from there either.
    #[must_use]
    pub fn with_strangers_at(mut self, ports: impl IntoIterator<Item = Port>) -> Self {
        let mut ports = ports.into_iter().peekable();
        if ports.peek().is_some() {
            let none = || Edge::new(self.address, BTreeMap::new(), &self.config);
            self.edge.get_or_insert_with(none).distrust(ports);
        }
        self
    }

    /// Whether the controller is there. Without it, connections that begin are plain TCP; what it has ordered stays.
    pub fn set_controller(&mut self, is_there: bool) {
        if let Some(edge) = &mut self.edge {
            edge.set_controller(is_there);
        }
    }

    /// Another node was in its place until now: what that one had of streams is not asked for again.
    pub fn follow(&mut self, now: Instant) {
        self.detection.follow(now);
        if let Some(edge) = &mut self.edge {
            edge.follow(now);
        }
    }

    /// It will end: its edge converts nothing any more, and the controller has others do the same.
    pub fn retire(&mut self) {
        if let Some(edge) = &mut self.edge {
            edge.retire();
            self.reports.push(Report::Leaving);
        }
    }

    /// It caches nothing and asks for nothing any more, until the controller orders it again.
    pub fn deactivate(&mut self) {
        self.functions.clear();
    }

    /// Whether a host is behind it.
    pub fn has_host(&self, address: IpAddr) -> bool {
        self.edge.as_ref().is_some_and(|edge| edge.has_host(address))
    }

    /// Whether it has hosts behind it, of which it protects all packets.
    pub fn protects_all(&self) -> bool {
        self.is_edge() && self.config.all
    }

    /// Whether it has hosts behind it.
    pub fn is_edge(&self) -> bool {
        self.edge.is_some()
    }

    /// Whether data of a stream is reverted here.
    pub fn reverts(&mut self, stream: &Stream) -> bool {
        self.edge.as_mut().is_some_and(|edge| edge.has_stream(stream))
    }

    /// A segment passes without the controller being told of it if it is a handshake.
    pub fn see_handshake(&mut self, view: &View<'_>) {
        if let (Some(edge), Some(segment)) = (&mut self.edge, view.intact()) {
            edge.see_handshake(view, segment);
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> NodeCounters {
        let (cache_bytes, cache_overflows) = (self.caching.most(), self.caching.counters().overflowed);
        let held_bytes = self.holding.most();
        NodeCounters { held_bytes, cache_bytes, cache_overflows, ..self.counters }
    }

    /// What became of losses before it, by the edges of connections, the sending one first.
    pub fn repairs(&self) -> impl Iterator<Item = ((IpAddr, IpAddr), Repairs)> + '_ {
        self.detection.repairs()
    }

    /// What it keeps.
    pub fn kept(&self) -> Kept {
        let edge = self.edge.as_ref().map(Edge::kept).unwrap_or_default();
        let (watched, cached) = (self.detection.len(), self.caching.connections());
        let (cache_cost, held_cost) = (self.caching.cost(), self.holding.cost());
        Kept { watched, cached, cache_cost, held_cost, ..edge }
    }

    /// What it has for the controller.
    pub fn reports(&mut self) -> impl Iterator<Item = Report> + '_ {
        self.reports.drain(..)
    }

    /// A packet passes.
    pub fn look(&mut self, now: Instant, port: Port, view: &View<'_>, out: &mut Outbox) -> Verdict {
        if let Some(sdtp) = view.sdtp() {
            let verdict = self.look_at_sdtp(now, port, view, sdtp, out);
            let is_steered = verdict == Verdict::Pass && self.steers(port, view.src, view.dst).is_some();
            return if is_steered { Verdict::Take } else { verdict };
        }
        let Some(edge) = &mut self.edge else { return Verdict::Pass };
        if let Some(segment) = view.intact() {
            if edge.wants(port, view, segment) {
                return Verdict::Take;
            }
            if !edge.is_hosts_port(port) {
                edge.see_handshake(view, segment);
            }
        }
        // Bit errors are the hosts' to find: the checksum around a packet would hide them.
        let protects =
            self.config.all && !self.is_overloaded && !view.corrupted && edge.wants_whole(now, port, view);
        if protects { Verdict::Take } else { Verdict::Pass }
    }

    /// A packet that [`Node::look`] has asked for.
    pub fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        if let Some((stream, extent)) = self.behind_others(&packet) {
            return self.wait_behind(now, &stream, extent, packet, out);
        }
        if let Some(next) = self.steers(port, packet.src, packet.dst) {
            return out.send(next, packet);
        }
        let outer = Outer::of(&packet);
        let (src, dst) = (packet.src, packet.dst);
        match packet.body {
            Body::Sdtp(sdtp) => {
                let stream = sdtp.stream(src, dst);
                let repeat = matches!(sdtp.message, Message::Repeat(_));
                let arrived = Arrived { sequence: sdtp.sequence, outer, repeat };
                match sdtp.message {
                    Message::Data(data) => self.revert(now, &stream, arrived, data, out),
                    Message::Repeat(repeat) => self.revert(now, &stream, arrived, repeat.data, out),
                    Message::Information(information) => self.inform_edge(now, &stream, &information, out),
                    Message::Congestion(congestion) => self.slow_down(&stream, congestion),
                    Message::Request(_) | Message::Notification(_) | Message::Parity(_) => {}
                }
            }
            _ => self.convert(now, packet, out),
        }
    }

    fn convert(&mut self, now: Instant, packet: Packet, out: &mut Outbox) {
        let Some(edge) = &mut self.edge else { return };
        edge.on_host_packet(now, packet, &self.config, &mut self.counters, &mut self.edges);
        self.leave_edge(now, out);
    }

    fn revert(&mut self, now: Instant, stream: &Stream, arrived: Arrived, data: Data, out: &mut Outbox) {
        let Some(edge) = &mut self.edge else { return };
        edge.on_data(now, stream, arrived, data, &mut self.counters, &mut self.edges);
        self.leave_edge(now, out);
    }

    fn inform_edge(&mut self, now: Instant, stream: &Stream, information: &Information, out: &mut Outbox) {
        let Some(edge) = &mut self.edge else { return };
        edge.on_information(stream, information, &mut self.edges);
        self.leave_edge(now, out);
    }

    /// The controller has sent this.
    pub fn on_instruction(&mut self, now: Instant, instruction: Instruction, out: &mut Outbox) {
        match &instruction.order {
            Some(Order::Activate(activation)) => return self.activate(activation),
            Some(Order::Steer(steering)) => return self.steer(steering),
            Some(Order::Admit(admission)) => self.seals.learn(admission.name.slice),
            Some(Order::Route(Location { edge: Some((_, slice)), .. })) => self.seals.learn(*slice),
            _ => {}
        }
        match &mut self.edge {
            Some(edge) => {
                edge.on_instruction(now, instruction, &self.config, &mut self.counters, &mut self.edges);
                self.leave_edge(now, out);
            }
            None => instruction.packet.into_iter().for_each(|packet| out.forward(packet)),
        }
    }

    fn activate(&mut self, activation: &Activation) {
        let &Activation { from, to, slice, caching, retransmission, round_trip } = activation;
        self.seals.learn(slice);
        let direction = (from, to, slice);
        if self.functions.len() >= MOST_DIRECTIONS && !self.functions.contains_key(&direction) {
            return;
        }
        self.functions.insert(direction, Functions { caching, retransmission, round_trip });
    }

    /// What is due at this time.
    pub fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        if self.detection.deadline().is_some_and(|due| due <= now) {
            let mut timed = std::mem::take(&mut self.timed);
            self.detection.on_timer(now, &mut timed);
            timed.drain(..).for_each(|(stream, output)| self.send_output(now, &stream, output, out));
            self.timed = timed;
        }
        if self.caching.deadline().is_some_and(|due| due <= now) {
            self.caching.on_timer(now, &mut self.answers);
            self.send_answers(out);
        }
        if let Some(edge) = &mut self.edge
            && edge.deadline().is_some_and(|due| due <= now)
        {
            edge.on_timer(now, &mut self.edges);
            self.leave_edge(now, out);
        }
        self.try_queues(now, out);
    }

    /// When [`Node::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        let edge = self.edge.as_ref().and_then(Edge::deadline);
        let own = [self.detection.deadline(), self.caching.deadline(), self.holding.deadline()];
        own.into_iter().chain([edge]).flatten().min()
    }
}
