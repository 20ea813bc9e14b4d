//! A node of SDTP with whatever functions its slices have there: an edge, a caching node, a retransmission node, or several at once.
//!
//! Nothing is addressed to a node in the path: it looks at what passes. So one that fails, or that is left out, is passed over.

mod congestion;
mod hold;
mod overload;
mod recover;
mod send;
mod steering;

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};
use handfast_net::{Outbox, Port};
use handfast_wire::sdtp::{Data, Information, Message, Outcome, Request, Sdtp, Stream};
use handfast_wire::{Body, Packet};

use super::auth::Refusal;
use super::caching::{self, CachingNode, Passing, Served};
use super::config::Config;
use super::control::{Activation, Instruction, Location, Order, Report};
use super::convert::Outer;
use super::counters::{Kept, NodeCounters};
use super::detection::{Detection, Extent};
use super::edge::{Arrived, Edge, Output as EdgeOutput};
use super::holding::Holding;
use super::lately::Lately;
use super::own_drops::OwnDrops;
use super::repairs::Repairs;
use super::requests::RepeatOf;
use super::retransmission::{Arrival, Output};
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
            holding: Holding::new(config.caching.quotas, config.resequencing.persistence),
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
        NodeCounters { cache_bytes, cache_overflows, held_bytes, ..self.counters }
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

    fn look_at_sdtp(
        &mut self,
        now: Instant,
        port: Port,
        view: &View<'_>,
        sdtp: &Sdtp,
        out: &mut Outbox,
    ) -> Verdict {
        if self.edge.as_ref().is_some_and(|edge| edge.is_hosts_port(port)) {
            self.counters.forged += 1;
            return Verdict::Drop;
        }
        let ends_here = view.dst == self.address;
        if view.corrupted {
            self.counters.corrupted += u64::from(ends_here);
            return if ends_here { Verdict::Drop } else { Verdict::Pass };
        }
        let stream = sdtp.stream(view.src, view.dst);
        let functions = self.functions_for(&stream);
        let goes_on = if ends_here { Verdict::Take } else { Verdict::Pass };
        if acts_on(&sdtp.message, functions, ends_here) && !self.is_genuine(view, sdtp) {
            return Verdict::Drop;
        }
        let Some(functions) = functions else { return goes_on };
        match &sdtp.message {
            Message::Data(_) | Message::Repeat(_) => {
                self.watch(now, &stream, functions, view, sdtp, out);
                if self.is_to_wait(view, &stream) { Verdict::Take } else { goes_on }
            }
            Message::Information(information) => {
                self.heed(now, &stream, functions, information);
                goes_on
            }
            Message::Request(request) => self.serve(now, &stream, functions, request, ends_here, out),
            Message::Notification(notification) if functions.caching => {
                self.caching.on_notification(now, &stream, *notification);
                Verdict::Drop
            }
            Message::Notification(_) | Message::Congestion(_) => goes_on,
            Message::Parity(parity) => {
                if functions.retransmission && self.config.caching.parity {
                    self.recover(now, &stream, functions, view, parity, out);
                }
                // It is of this node's segment, and ends where that does.
                if ends_here || functions.retransmission { Verdict::Drop } else { Verdict::Pass }
            }
        }
    }

    /// Whether a message was sealed by a node of its slice, and comes here for the first time.
    fn is_genuine(&mut self, view: &View<'_>, sdtp: &Sdtp) -> bool {
        let counter = match self.seals.verify(view, sdtp) {
            Ok(()) => return true,
            Err(Refusal::Replayed) => &mut self.counters.replayed,
            Err(Refusal::Forged | Refusal::Crowded) => &mut self.counters.unsealed,
        };
        *counter += 1;
        false
    }

    /// Data, or an RD, comes by, or ends here.
    fn watch(
        &mut self,
        now: Instant,
        stream: &Stream,
        functions: Functions,
        view: &View<'_>,
        sdtp: &Sdtp,
        out: &mut Outbox,
    ) {
        let Some(data) = sdtp.data() else { return };
        let Some(extent) = Extent::of(sdtp.sequence, data).map(|extent| self.as_seen(now, extent)) else {
            return;
        };
        if functions.retransmission {
            let repeat = match &sdtp.message {
                Message::Repeat(repeat) => Some(RepeatOf::from(repeat)),
                _ => None,
            };
            let (outputs, round_trip) = (&mut self.outputs, functions.round_trip);
            let arrival = self.detection.on_data(now, stream, extent, repeat.as_ref(), round_trip, outputs);
            self.counters.needless_repeats += u64::from(repeat.is_some() && arrival == Arrival::Duplicate);
            if self.config.caching.parity {
                self.lately.on_data(now, stream, extent, data);
            }
            self.send_outputs(now, stream, out);
        }
        if functions.caching {
            // Nobody asks behind the receiving edge.
            let kept = (view.dst != self.address).then_some(data);
            self.cache(now, stream, extent, view.ip_len, kept);
        } else {
            self.own_drops.on_data(stream, extent.seq, extent.len);
        }
    }

    fn cache(&mut self, now: Instant, stream: &Stream, extent: Extent, ip_len: usize, data: Option<&Data>) {
        let Extent { seq, len, since_start } = extent;
        let bytes = u32::try_from(ip_len).unwrap_or(u32::MAX);
        self.caching.on_data(now, stream, &Passing { seq, len, bytes, since_start }, data);
    }

    /// An RI from a node upstream.
    fn heed(&mut self, now: Instant, stream: &Stream, functions: Functions, information: &Information) {
        if functions.retransmission {
            self.detection.on_information(now, stream, information, functions.round_trip);
        }
        if functions.caching {
            self.caching.on_information(now, stream, information);
        }
    }

    /// `[sdtp]` §III-C 4: an RR climbs the caches of its CR segment, "until the packets are found in the current CR segment". What
    /// the last of them lacks will not come.
    fn serve(
        &mut self,
        now: Instant,
        stream: &Stream,
        functions: Functions,
        request: &Request,
        ends_here: bool,
        out: &mut Outbox,
    ) -> Verdict {
        let Some(request) = &self.but_what_waits(stream, request) else { return Verdict::Drop };
        let is_last = ends_here || functions.retransmission;
        let served = if functions.caching {
            self.caching.on_request(now, stream, request, &mut self.answers)
        } else if !is_last && self.refuse(stream, request, out) {
            return Verdict::Drop;
        } else {
            Served::None
        };
        self.send_answers(out);
        self.counters.requests_climbed +=
            u64::from(functions.caching && !is_last && !matches!(served, Served::All));
        let left = match served {
            Served::All => return Verdict::Drop,
            Served::None if !is_last => return Verdict::Pass,
            Served::None => *request,
            Served::Some(left) => left,
        };
        if is_last {
            self.counters.requests_unserved += 1;
            let Request { trigger, expected, .. } = left;
            let never = Information { trigger, expected, outcome: Outcome::Never };
            self.send(stream, Message::Information(never), out);
        } else {
            self.send(stream, Message::Request(left), out);
        }
        Verdict::Drop
    }

    /// A packet that [`Node::look`] has asked for.
    pub fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        let Some(packet) = self.wait_behind(now, packet, out) else { return };
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
                    Message::Congestion(congestion) => self.slow_down(&stream, congestion.until),
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

/// Whether a node does something because of a message but to send it on. At its end the edge does.
fn acts_on(message: &Message, functions: Option<Functions>, ends_here: bool) -> bool {
    let has = functions.is_some_and(|functions| functions.caching || functions.retransmission);
    match message {
        Message::Data(_) => false,
        Message::Repeat(_) | Message::Information(_) | Message::Request(_) => ends_here || has,
        Message::Parity(_) => ends_here || functions.is_some_and(|functions| functions.retransmission),
        Message::Notification(_) => functions.is_some_and(|functions| functions.caching),
        Message::Congestion(_) => ends_here,
    }
}
