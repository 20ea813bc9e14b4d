//! SDTP in the simulator: its nodes as agents, and the controller with its control channels.
//!
//! A node's reports and the controller's instructions are packets between the two, so that a node stays an agent like others. No
//! link carries them: the channels here do (`run/network/sdtp.rs`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::sdtp::{Controller, Instruction, Instructions, Node, Report};
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

/// A node of SDTP as an agent.
pub(crate) struct SdtpNode {
    node: Node,
    address: IpAddr,
    controller: IpAddr,
}

impl SdtpNode {
    pub(crate) fn new(node: Node, address: IpAddr, controller: IpAddr) -> Self {
        Self { node, address, controller }
    }

    fn report(&mut self, out: &mut Outbox) {
        for report in self.node.reports() {
            let bytes = report.emit().into_iter();
            bytes.for_each(|bytes| out.forward(control_packet(self.address, self.controller, bytes)));
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

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.node.counters().totals().collect()
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
