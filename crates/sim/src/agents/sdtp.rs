//! SDTP in the simulator: its nodes as agents, and the controller with its control channels.
//!
//! A node's reports and the controller's instructions are packets between the two, so that a node stays an agent like others. No
//! link carries them: the channels here do (`run/network/sdtp.rs`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::sdtp::{Controller, Instruction, Instructions, Node, NodeCounters, Repairs, Report};
use handfast_assist::{Agent, LinkEvent, Sdtp, Verdict, View};
use handfast_core::{Duration, Instant, Stream};
use handfast_net::{Cause, Outbox, Port};
use handfast_wire::sdtp::Stream as SdtpStream;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Datagram, Packet, Payload};

use crate::engine::ids::ConnectionId;
use crate::engine::queue::Timer;

/// The port of `OpenFlow` (IANA).
const OPENFLOW: u16 = 6653;

/// Makes a node as it is when it begins, for the nth time.
pub(crate) type Maker = Box<dyn Fn(u64) -> Node + Send>;

/// A node of SDTP as an agent.
pub(crate) struct SdtpNode {
    node: Node,
    make: Maker,
    /// How often it has begun anew.
    restarts: u64,
    /// What it had counted before it began anew.
    before: NodeCounters,
    repairs_before: BTreeMap<(IpAddr, IpAddr), Repairs>,
    address: IpAddr,
    controller: IpAddr,
}

impl SdtpNode {
    pub(crate) fn new(make: Maker, address: IpAddr, controller: IpAddr) -> Self {
        let (node, before, repairs_before) = (make(0), NodeCounters::default(), BTreeMap::new());
        Self { node, make, restarts: 0, before, repairs_before, address, controller }
    }

    /// Of all times that it has begun.
    fn counted(&self) -> NodeCounters {
        let (now, before) = (self.node.counters(), self.before);
        // What it has held at most at one time is no sum.
        let most = |of: fn(&NodeCounters) -> u64| of(&now).max(of(&before));
        let (cache_bytes, held_bytes) = (most(|of| of.cache_bytes), most(|of| of.held_bytes));
        let mut sum = before;
        sum += now;
        NodeCounters { cache_bytes, held_bytes, ..sum }
    }

    fn all_repairs(&self) -> BTreeMap<(IpAddr, IpAddr), Repairs> {
        let mut sums = self.repairs_before.clone();
        self.node.repairs().for_each(|(edges, repairs)| *sums.entry(edges).or_default() += repairs);
        sums
    }

    fn send_report(&self, report: &Report, out: &mut Outbox) {
        if let Some(bytes) = report.emit() {
            out.forward(control_packet(self.address, self.controller, bytes));
        }
    }

    fn report(&mut self, out: &mut Outbox) {
        let reports: Vec<_> = self.node.reports().collect();
        for report in &reports {
            self.send_report(report, out);
        }
    }

    /// What the controller says, if it is that. Nothing else comes from the node itself with the controller's address.
    fn instruction(&self, port: Port, packet: &Packet) -> Option<Instruction> {
        let ours = port == Port::LOCAL && (packet.src, packet.dst) == (self.controller, self.address);
        let Body::Udp(datagram) = &packet.body else { return None };
        ours.then(|| Instruction::parse(&datagram.payload.to_bytes()).ok()).flatten()
    }
}

impl Agent for SdtpNode {
    fn look(&mut self, now: Instant, port: Port, view: &View<'_>, out: &mut Outbox) -> Verdict {
        if port == Port::LOCAL && view.src == self.controller {
            return Verdict::Take;
        }
        self.node.look(now, port, view, out)
    }

    fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        match self.instruction(port, &packet) {
            Some(instruction) => self.node.on_instruction(now, instruction, out),
            None => self.node.on_packet(now, port, packet, out),
        }
        self.report(out);
    }

    fn on_link_event(&mut self, _now: Instant, port: Port, event: LinkEvent, out: &mut Outbox) {
        self.node.on_link(port, event == LinkEvent::Up);
        self.report(out);
    }

    fn on_drop(&mut self, now: Instant, _port: Port, view: &View<'_>, cause: Cause) {
        self.node.on_drop(now, view, cause);
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        self.node.on_timer(now, out);
        self.report(out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn can_restart(&self) -> bool {
        true
    }

    fn restart(&mut self, _now: Instant, out: &mut Outbox) {
        (self.before, self.repairs_before) = (self.counted(), self.all_repairs());
        self.restarts += 1;
        self.node = (self.make)(self.restarts);
        self.send_report(&Report::Started, out);
    }

    fn repairs(&self) -> Vec<((IpAddr, IpAddr), Repairs)> {
        self.all_repairs().into_iter().collect()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counted().totals().collect()
    }
}

/// A message in flight.
enum InFlight {
    /// From the node with this address.
    Up(IpAddr, Bytes),
    /// To the node with this address.
    Down(IpAddr, Bytes),
}

/// The controller and its channels.
pub(crate) struct SdtpControl {
    controller: Controller,
    pub(crate) address: IpAddr,
    delay: Duration,
    /// How likely a message with a packet in it is lost.
    loss: f64,
    stream: Stream,
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    sent: u64,
    /// Which connection the data of a stream is from.
    origins: BTreeMap<SdtpStream, ConnectionId>,
    pub(crate) timer: Timer,
}

impl SdtpControl {
    pub(crate) fn new(
        spec: &Sdtp,
        controller: Controller,
        address: IpAddr,
        stream: Stream,
        timer: Timer,
    ) -> Self {
        let (delay, loss) = (spec.control_delay, spec.control_loss);
        Self {
            controller,
            address,
            delay,
            loss,
            stream,
            in_flight: BTreeMap::new(),
            sent: 0,
            origins: BTreeMap::new(),
            timer,
        }
    }

    /// The connection of a stream. `taken`: that of the packet from which an edge has made one of the stream, if it has.
    pub(crate) fn origin(&mut self, stream: &SdtpStream, taken: ConnectionId) -> Option<ConnectionId> {
        if taken == ConnectionId::NONE {
            return self.origins.get(stream).copied();
        }
        self.origins.insert(*stream, taken);
        Some(taken)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.in_flight.keys().next().map(|&(at, _)| at)
    }

    /// A node has sent this.
    pub(crate) fn send_up(&mut self, now: Instant, packet: &Packet) {
        let Body::Udp(datagram) = &packet.body else { return };
        let bytes = datagram.payload.to_bytes();
        let has_packet = matches!(Report::parse(&bytes), Ok(Report::Handshake(_)));
        self.send(now, has_packet, InFlight::Up(packet.src, bytes));
    }

    fn send(&mut self, now: Instant, has_packet: bool, message: InFlight) {
        if has_packet && self.loss > 0.0 && self.stream.chance(self.loss) {
            return;
        }
        self.sent += 1;
        self.in_flight.insert((now + self.delay, self.sent), message);
    }

    /// What has arrived: the controller answers its part, and the rest is for nodes.
    pub(crate) fn arrived(&mut self, now: Instant) -> Option<Packet> {
        loop {
            let entry = self.in_flight.first_entry().filter(|entry| entry.key().0 <= now)?;
            match entry.remove() {
                InFlight::Down(to, bytes) => return Some(control_packet(self.address, to, bytes)),
                InFlight::Up(from, bytes) => self.answer(now, from, &bytes),
            }
        }
    }

    fn answer(&mut self, now: Instant, from: IpAddr, bytes: &Bytes) {
        let Ok(report) = Report::parse(bytes) else { return };
        let mut instructions = Instructions::new();
        self.controller.on_report(from, report, &mut instructions);
        for (to, instruction) in instructions {
            if let Some(bytes) = instruction.emit() {
                self.send(now, instruction.packet.is_some(), InFlight::Down(to, bytes));
            }
        }
    }

    /// What the controller has counted.
    pub(crate) fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.controller.counted().totals()
    }
}

fn control_packet(src: IpAddr, dst: IpAddr, bytes: Bytes) -> Packet {
    let payload = Payload::Bytes(bytes);
    let body = Body::Udp(Datagram { src_port: OPENFLOW, dst_port: OPENFLOW, payload });
    Packet { body, ..Packet::tcp(src, dst, Segment::EMPTY) }
}
