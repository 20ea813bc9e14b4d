//! A line of nodes with a host, or several, at each end, and a controller. Each packet crosses each link as bytes.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use handfast_assist::sdtp::{
    Config, Controller, Instruction, Instructions, Node, NodeCounters, Report, Sealing,
};
use handfast_assist::{Verdict, View};
use handfast_core::{Duration, Instant};
use handfast_net::{Cause, Forward, Outbox, Port};
use handfast_wire::sdtp::Sdtp;
use handfast_wire::{Body, Packet};

pub(crate) use crate::setting::{HOP, KEY, host, host_v6, kind, ms, node};
use crate::setting::{controller, through_the_wire};

pub(crate) const LEFT: Port = Port(0);
pub(crate) const RIGHT: Port = Port(1);

const CONTROLLER_DELAY: Duration = Duration::from_millis(3);

/// What sits at the ends.
pub(crate) trait Host {
    fn on_packet(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>);

    fn on_timer(&mut self, _now: Instant, _out: &mut Vec<Packet>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// Keeps what comes.
#[derive(Default)]
pub(crate) struct Sink(pub(crate) Vec<(Instant, Packet)>);

impl Host for Sink {
    fn on_packet(&mut self, now: Instant, packet: Packet, _out: &mut Vec<Packet>) {
        self.0.push((now, packet));
    }
}

enum Event {
    /// At a place of the line: 0 is the left end, the nodes follow, then the right end.
    Arrive(usize, Port, Packet),
    Report(IpAddr, Report),
    Instruct(IpAddr, Instruction),
}

/// A packet on a link between two nodes.
pub(crate) struct Crossing<'a> {
    pub(crate) now: Instant,
    /// The node that it leaves.
    pub(crate) from: usize,
    /// The node that it is to reach.
    pub(crate) to: usize,
    pub(crate) packet: &'a Packet,
}

impl Crossing<'_> {
    pub(crate) fn sdtp(&self) -> Option<&Sdtp> {
        match &self.packet.body {
            Body::Sdtp(sdtp) => Some(sdtp),
            _ => None,
        }
    }
}

/// After how long each copy arrives: nothing is lost with one.
pub(crate) type Fate = Box<dyn FnMut(&Crossing<'_>) -> Vec<Duration>>;

pub(crate) struct Line<H> {
    pub(crate) now: Instant,
    pub(crate) nodes: Vec<Node>,
    pub(crate) ends: [H; 2],
    pub(crate) controller: Controller,
    pub(crate) fate: Fate,
    /// Whether a copy of a packet has bit errors.
    pub(crate) corrupts: Box<dyn FnMut() -> bool>,
    /// Whether the queue of the node that a packet leaves has no room for it.
    pub(crate) is_full: Box<dyn FnMut(&Crossing<'_>) -> bool>,
    /// Whether a message with a packet in it is lost between the controller and a node.
    pub(crate) loses_control: Box<dyn FnMut() -> bool>,
    /// Packets that nodes have sent to each other, by type: data, RR, RD, RI, CN, PD, CM.
    pub(crate) crossed: BTreeMap<&'static str, u64>,
    hosts: [Vec<IpAddr>; 2],
    config: Config,
    events: BTreeMap<(Instant, u64), Event>,
    number: u64,
    generation: u64,
}

impl<H: Host> Line<H> {
    /// Caches everywhere, retransmission nodes in the middle and at the end of each direction; two hosts of each family at an
    /// end.
    pub(crate) fn new(nodes: usize, ends: [H; 2], config: Config) -> Self {
        let hosts = [0, 1].map(|end| {
            [1, 2].into_iter().flat_map(|number| [host(end, number), host_v6(end, number)]).collect()
        });
        let mut line = Self {
            now: Instant::from_millis(1_000),
            nodes: Vec::new(),
            ends,
            controller: controller(nodes, &hosts),
            fate: Box::new(|_| vec![HOP]),
            corrupts: Box::new(|| false),
            is_full: Box::new(|_| false),
            loses_control: Box::new(|| false),
            crossed: BTreeMap::new(),
            hosts,
            config,
            events: BTreeMap::new(),
            number: 0,
            generation: 0,
        };
        line.nodes = (0..nodes).map(|place| line.make(place, nodes)).collect();
        line
    }

    fn make(&self, place: usize, nodes: usize) -> Node {
        let behind = |end: usize, port| self.hosts[end].iter().map(move |&host| (host, port));
        let hosts = match place {
            0 => behind(0, LEFT).collect(),
            last if last + 1 == nodes => behind(1, RIGHT).collect(),
            _ => BTreeMap::new(),
        };
        let first = self.generation << 40;
        let sealing = self.config.sealing.clone().map(|sealing| Sealing { first, ..sealing });
        Node::new(node(place), hosts, Config { sealing, ..self.config.clone() })
    }

    /// A node begins anew. What it and the controller have on the way to each other is lost with its connection.
    pub(crate) fn restart(&mut self, place: usize) {
        let its = node(place);
        self.events.retain(|_, event| match event {
            Event::Arrive(..) => true,
            Event::Report(of, _) | Event::Instruct(of, _) => *of != its,
        });
        self.generation += 1;
        self.nodes[place] = self.make(place, self.nodes.len());
        self.report(place, &Report::Started);
    }

    fn enter(&mut self, after: Duration, event: Event) {
        self.number += 1;
        self.events.insert((self.now + after, self.number), event);
    }

    /// What a host sends.
    pub(crate) fn send(&mut self, end: usize, packet: Packet) {
        let (place, port) = if end == 0 { (1, LEFT) } else { (self.nodes.len(), RIGHT) };
        self.enter(ms(1), Event::Arrive(place, port, packet));
    }

    /// What comes to a node by a port, from anybody.
    pub(crate) fn inject(&mut self, place: usize, port: Port, packet: Packet) {
        self.enter(Duration::ZERO, Event::Arrive(place + 1, port, packet));
    }

    /// The controller says something to a node.
    pub(crate) fn instruct(&mut self, place: usize, instruction: Instruction) {
        self.enter(CONTROLLER_DELAY, Event::Instruct(node(place), instruction));
    }

    /// The time goes on.
    pub(crate) fn run(&mut self, by: Duration) {
        let until = self.now + by;
        while self.step(until) {}
        self.now = until;
    }

    /// The next thing happens, if one does until then.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let event = self.events.keys().next().map(|&(at, _)| at);
        let timer = self.nodes.iter().filter_map(Node::deadline).min();
        let host = self.ends.iter().filter_map(Host::deadline).min();
        let Some(next) = [event, timer, host].into_iter().flatten().min().filter(|&next| next <= until)
        else {
            return false;
        };
        assert!(next >= self.now, "a deadline is in the past");
        self.now = next;
        if event == Some(next) {
            let (_, event) = self.events.pop_first().expect("there is one");
            self.happen(event);
        } else if host == Some(next) {
            (0..2).for_each(|end| self.wake_host(end));
        } else {
            (0..self.nodes.len()).for_each(|place| self.wake_node(place));
        }
        true
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(0, _, packet) => self.deliver(0, packet),
            Event::Arrive(place, _, packet) if place > self.nodes.len() => self.deliver(1, packet),
            Event::Arrive(place, port, packet) => self.arrive(place - 1, port, packet),
            Event::Report(from, report) => self.tell_controller(from, report),
            Event::Instruct(to, instruction) => {
                let place = (0..self.nodes.len()).find(|&place| node(place) == to).expect("a node");
                let mut out = Outbox::default();
                self.nodes[place].on_instruction(self.now, instruction, &mut out);
                self.flush(place, &mut out);
            }
        }
    }

    fn deliver(&mut self, end: usize, packet: Packet) {
        let mut out = Vec::new();
        self.ends[end].on_packet(self.now, packet, &mut out);
        for packet in out {
            self.send(end, packet);
        }
    }

    fn wake_host(&mut self, end: usize) {
        if self.ends[end].deadline().is_some_and(|due| due <= self.now) {
            let mut out = Vec::new();
            self.ends[end].on_timer(self.now, &mut out);
            assert!(self.ends[end].deadline().is_none_or(|next| next > self.now));
            for packet in out {
                self.send(end, packet);
            }
        }
    }

    fn wake_node(&mut self, place: usize) {
        if self.nodes[place].deadline().is_some_and(|due| due <= self.now) {
            let mut out = Outbox::default();
            self.nodes[place].on_timer(self.now, &mut out);
            assert!(
                self.nodes[place].deadline().is_none_or(|next| next > self.now),
                "a deadline is in the future"
            );
            self.flush(place, &mut out);
        }
    }

    fn arrive(&mut self, place: usize, port: Port, packet: Packet) {
        let mut out = Outbox::default();
        let verdict = self.nodes[place].look(self.now, port, &View::of(&packet), &mut out);
        self.flush(place, &mut out);
        match verdict {
            Verdict::Pass => self.forward(place, &packet),
            Verdict::Drop => {}
            Verdict::Take => {
                self.nodes[place].on_packet(self.now, port, packet, &mut out);
                self.flush(place, &mut out);
            }
        }
    }

    fn flush(&mut self, place: usize, out: &mut Outbox) {
        for forward in out.drain() {
            match forward {
                Forward::Routed(packet) => self.forward(place, &packet),
                Forward::Dropped(_) => {}
                Forward::To(..) => panic!("{forward:?}"),
            }
        }
        let reports: Vec<_> = self.nodes[place].reports().collect();
        for report in reports {
            self.report(place, &report);
        }
    }

    fn report(&mut self, place: usize, report: &Report) {
        let bytes = report.emit().expect("it has a form on the wire");
        let is_lost = matches!(report, Report::Handshake(_)) && (self.loses_control)();
        if !is_lost {
            let report = Report::parse(&bytes).expect("it comes back");
            self.enter(CONTROLLER_DELAY, Event::Report(node(place), report));
        }
    }

    fn tell_controller(&mut self, from: IpAddr, report: Report) {
        let mut instructions = Instructions::new();
        self.controller.on_report(from, report, &mut instructions);
        for (to, instruction) in instructions {
            let bytes = instruction.emit().expect("it has a form on the wire");
            if instruction.packet.is_none() || !(self.loses_control)() {
                let instruction = Instruction::parse(&bytes).expect("it comes back");
                self.enter(CONTROLLER_DELAY, Event::Instruct(to, instruction));
            }
        }
    }

    /// Where an address is: as the places of events.
    fn place_of(&self, address: IpAddr) -> Option<usize> {
        let nodes = self.nodes.len();
        let at = |end: usize| self.hosts[end].contains(&address);
        if at(0) {
            return Some(0);
        }
        if at(1) { Some(nodes + 1) } else { (1..=nodes).find(|&place| node(place - 1) == address) }
    }

    fn forward(&mut self, place: usize, packet: &Packet) {
        let here = place + 1;
        let Some(goal) = self.place_of(packet.dst).filter(|&goal| goal != here) else { return };
        let (next, port) = if goal > here { (here + 1, LEFT) } else { (here - 1, RIGHT) };
        let packet = through_the_wire(packet);
        if next == 0 || next > self.nodes.len() {
            return self.enter(ms(1), Event::Arrive(next, port, packet));
        }
        let crossing = Crossing { now: self.now, from: place, to: next - 1, packet: &packet };
        if (self.is_full)(&crossing) {
            return self.nodes[place].on_drop(self.now, &View::of(&packet), Cause::QueueFull);
        }
        *self.crossed.entry(kind(&packet)).or_default() += 1;
        for delay in (self.fate)(&crossing) {
            let corrupted = packet.corrupted || (self.corrupts)();
            let copy = through_the_wire(&Packet { corrupted, ..packet.clone() });
            self.enter(delay, Event::Arrive(next, port, copy));
        }
    }

    /// What all nodes have counted.
    pub(crate) fn counted(&self) -> NodeCounters {
        self.nodes.iter().fold(NodeCounters::default(), |mut sum, node| {
            sum += node.counters();
            sum
        })
    }
}

impl Line<Sink> {
    pub(crate) fn scripted(config: Config) -> Self {
        Self::new(3, [Sink::default(), Sink::default()], config)
    }

    /// What has come to an end since.
    pub(crate) fn got(&mut self, end: usize) -> VecDeque<Packet> {
        self.ends[end].0.drain(..).map(|(_, packet)| packet).collect()
    }
}

pub(crate) fn sealed() -> Config {
    Config { sealing: Some(Sealing { key: KEY, first: 0 }), ..Config::default() }
}
