//! Three bumps in a line with their controller: hosts before the first and behind the last one. Frames and messages take no time.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::sdtp::auth::Key;
use handfast_assist::sdtp::bump::{Bump, Mode, Side};
use handfast_assist::sdtp::{
    Config, Controller, Instruction, Instructions, Node, Placed, Planner, Report, Sealing,
};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Checksums, Ethernet, LinkType, Packet, Payload};

pub(crate) const CLIENT: Ethernet =
    Ethernet { dst: [0x46, 0, 0, 0, 0, 2], src: [0x62, 0, 0, 0, 0, 1], vlan: None };
pub(crate) const NODES: usize = 3;

pub(crate) fn edge(number: usize) -> IpAddr {
    [10, 99, 0, 1 + number as u8].into()
}

/// Of the client and of the server.
pub(crate) fn hosts(v6: bool) -> [IpAddr; 2] {
    if v6 {
        ["fd00::1", "fd00::2"].map(|text| text.parse().unwrap())
    } else {
        [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]
    }
}

/// A segment from the client (false) or the server (true) with what senders vary.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) server: bool,
    pub(crate) v6: bool,
    pub(crate) segment: Segment,
    pub(crate) change: fn(&mut Packet),
}

impl Sent {
    pub(crate) fn packet(&self) -> Packet {
        let [client, server] = hosts(self.v6);
        let (src, dst, ports) =
            if self.server { (server, client, (80, 4000)) } else { (client, server, (4000, 80)) };
        let ethernet =
            if self.server { Ethernet { dst: CLIENT.src, src: CLIENT.dst, vlan: None } } else { CLIENT };
        let segment = Segment { src_port: ports.0, dst_port: ports.1, ..self.segment.clone() };
        let mut packet = Packet { ethernet: Some(ethernet), ..Packet::tcp(src, dst, segment) };
        (self.change)(&mut packet);
        packet
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        self.packet().emit(&mut frame).unwrap();
        frame
    }
}

pub(crate) fn sent(server: bool, flags: Flags, seq: u32, ack: u32, payload: &'static [u8]) -> Sent {
    let mss = flags.contains(Flags::SYN).then_some(1460);
    let payload = Payload::Bytes(Bytes::from_static(payload));
    let timestamps = Some(Timestamps { val: seq, ecr: ack });
    let (seq, ack, window) = (SeqNum(seq), SeqNum(ack), 500);
    let segment = Segment { flags, seq, ack, window, mss, timestamps, payload, ..Segment::EMPTY };
    Sent { server, v6: false, segment, change: |_| () }
}

/// What crosses a link between two nodes, or comes to a host.
pub(crate) type Frame = Vec<u8>;

pub(crate) struct World {
    pub(crate) bumps: Vec<Bump>,
    pub(crate) controller: Controller,
    pub(crate) config: Config,
    /// Whether the controller is reached.
    pub(crate) online: bool,
    pub(crate) now: Instant,
    /// What has crossed each link to the right: after node 0, after node 1.
    pub(crate) crossed: Vec<(usize, Side, Frame)>,
    /// Which frame of data that crosses the second link to the right is lost, counted from now on.
    pub(crate) lose: Option<usize>,
    /// Whether the interface of node 1 has dropped it, and says so.
    pub(crate) congested: bool,
    /// Whether the interfaces of node 1 drop all data, and say so.
    pub(crate) full: bool,
    /// What came to the client and to the server.
    pub(crate) came: [Vec<Frame>; 2],
}

impl World {
    pub(crate) fn new(mode: Mode, carriage: Carriage) -> Self {
        let sealing = Some(Sealing { key: Key::new([7; 32]), first: 0 });
        Self::with(mode, Config { carriage, sealing, ..Config::default() })
    }

    pub(crate) fn with(mode: Mode, config: Config) -> Self {
        let mut planner = Planner::default();
        let round_trip = Duration::from_millis(2);
        let placed = |number: usize, last: usize| Placed {
            address: edge(number),
            caching: number != last,
            retransmission: number == last,
            round_trip,
        };
        planner.insert(edge(0), edge(2), [0, 1, 2].map(|number| placed(number, 2)).to_vec());
        planner.insert(edge(2), edge(0), [2, 1, 0].map(|number| placed(number, 0)).to_vec());
        let of = |v6: bool| hosts(v6).into_iter().zip([edge(0), edge(2)]);
        let bumps = (0..NODES).map(|number| bump(number, mode, &config)).collect();
        let mut this = Self {
            bumps,
            controller: Controller::new(planner, of(false).chain(of(true)).collect()),
            config,
            online: false,
            now: Instant::from_millis(1000),
            crossed: Vec::new(),
            lose: None,
            congested: false,
            full: false,
            came: [Vec::new(), Vec::new()],
        };
        this.connect(true);
        this
    }

    /// The controller is reached from now on, or not any more.
    pub(crate) fn connect(&mut self, online: bool) {
        self.online = online;
        let mut instructions = Instructions::new();
        for number in 0..NODES {
            let acts = self.bumps[number].mode() == Mode::Act;
            self.bumps[number].set_controller(online && acts);
            if online {
                self.controller.is_back(edge(number), &mut instructions);
            } else {
                self.controller.is_away(edge(number));
            }
        }
        self.instruct(instructions);
    }

    /// The controller does not reach a node.
    pub(crate) fn away(&mut self, number: usize) {
        self.controller.is_away(edge(number));
        self.bumps[number].set_controller(false);
    }

    /// It does again.
    pub(crate) fn back(&mut self, number: usize) {
        let mut instructions = Instructions::new();
        self.controller.is_back(edge(number), &mut instructions);
        self.bumps[number].set_controller(true);
        self.instruct(instructions);
    }

    /// A node will end.
    pub(crate) fn retire(&mut self, number: usize) {
        self.bumps[number].retire();
        self.run(&mut VecDeque::new());
    }

    /// A node is started again.
    pub(crate) fn restart(&mut self, number: usize) {
        // As the time of day does.
        let first = self.config.sealing.as_ref().map_or(0, |sealing| sealing.first) + (1 << 20);
        self.config.sealing = Some(Sealing { key: Key::new([7; 32]), first });
        self.bumps[number] = bump(number, Mode::Act, &self.config);
        self.bumps[number].set_controller(self.online);
        let mut instructions = Instructions::new();
        self.controller.is_back(edge(number), &mut instructions);
        self.controller.on_report(edge(number), Report::Started, &mut instructions);
        self.instruct(instructions);
    }

    /// A host sends; all that follows from it at once.
    pub(crate) fn send(&mut self, what: &Sent) -> Frame {
        let frame = what.frame();
        self.inject(what.server, frame.clone());
        frame
    }

    /// A frame comes from the client's or the server's side.
    pub(crate) fn inject(&mut self, server: bool, frame: Frame) {
        let at = if server { NODES - 1 } else { 0 };
        let mut queue = VecDeque::from([(at, Side::Inside, frame)]);
        self.run(&mut queue);
    }

    /// Time passes, and what is due is done.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        loop {
            let due = self.bumps.iter().filter_map(Bump::deadline).min().filter(|&due| due <= until);
            self.now = due.map_or(until, |due| due.max(self.now));
            let mut queue = VecDeque::new();
            for number in 0..NODES {
                self.bumps[number].on_timer(self.now);
                self.collect(number, &mut queue);
            }
            self.run(&mut queue);
            if due.is_none() {
                return;
            }
        }
    }

    fn run(&mut self, queue: &mut VecDeque<(usize, Side, Frame)>) {
        self.report(queue);
        while let Some((number, side, frame)) = queue.pop_front() {
            self.bumps[number].on_frame(self.now, side, &frame);
            self.collect(number, queue);
            self.report(queue);
        }
    }

    /// The controller hears what nodes have for it.
    fn report(&mut self, queue: &mut VecDeque<(usize, Side, Frame)>) {
        let mut instructions = Instructions::new();
        for number in 0..NODES {
            let reports: Vec<Report> = self.bumps[number].reports().collect();
            for report in reports.into_iter().filter(|_| self.online) {
                let report = Report::parse(&report.emit().unwrap()).unwrap();
                self.controller.on_report(edge(number), report, &mut instructions);
            }
        }
        self.instruct_into(instructions, queue);
    }

    fn instruct(&mut self, instructions: Instructions) {
        let mut queue = VecDeque::new();
        self.instruct_into(instructions, &mut queue);
        self.run(&mut queue);
    }

    fn instruct_into(&mut self, instructions: Instructions, queue: &mut VecDeque<(usize, Side, Frame)>) {
        for (address, instruction) in instructions {
            let number = (0..NODES).find(|&number| edge(number) == address).unwrap();
            let instruction = Instruction::parse(&instruction.emit().unwrap()).unwrap();
            self.bumps[number].on_instruction(self.now, instruction);
            self.collect(number, queue);
        }
    }

    /// What has left a node comes to the next one, or to a host. Node 2 stands the other way round.
    fn collect(&mut self, number: usize, queue: &mut VecDeque<(usize, Side, Frame)>) {
        let left: Vec<(Side, Frame)> =
            self.bumps[number].emitted().frames().map(|(side, frame)| (side, frame.to_vec())).collect();
        self.bumps[number].emitted().clear();
        for (side, frame) in left {
            let to_right = (side == Side::Outside) != (number == NODES - 1);
            match (number, to_right) {
                (0, false) => self.came[0].push(frame),
                (2, true) => self.came[1].push(frame),
                (0, true) => self.cross(1, Side::Inside, frame, queue),
                (1, true) => self.cross(2, Side::Outside, frame, queue),
                (2, false) => self.cross(1, Side::Outside, frame, queue),
                _ => self.cross(0, Side::Outside, frame, queue),
            }
        }
    }

    fn cross(&mut self, to: usize, side: Side, frame: Frame, queue: &mut VecDeque<(usize, Side, Frame)>) {
        self.crossed.push((to, side, frame.clone()));
        let is_data = |packet: &Packet| matches!(&packet.body, Body::Sdtp(sdtp) if sdtp.data().is_some());
        if self.full && to != 1 && is_data(&parse(&frame)) {
            return self.bumps[1].on_drop(self.now, &frame);
        }
        if to == 2
            && let Some(left) = self.lose
        {
            self.lose = left.checked_sub(1);
            if left == 0 {
                if self.congested {
                    self.bumps[1].on_drop(self.now, &frame);
                }
                return;
            }
        }
        queue.push_back((to, side, frame));
    }

    /// A connection opens; what the client and the server got is dropped.
    pub(crate) fn open(&mut self, v6: bool, change: fn(&mut Packet)) {
        let with = |sent: Sent| Sent { v6, change, ..sent };
        self.send(&with(sent(false, Flags::SYN, 100, 0, b"")));
        assert_eq!(self.came[1].len(), 1, "the SYN has come");
        self.send(&with(sent(true, Flags::SYN | Flags::ACK, 500, 101, b"")));
        assert_eq!(self.came.each_ref().map(Vec::len), [1, 2], "the SYN-ACK, and the closing ACK");
        self.send(&with(sent(false, Flags::ACK, 101, 501, b"")));
        assert_eq!(self.came[1].len(), 2, "the client's own ACK ends at its edge");
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.came = [Vec::new(), Vec::new()];
        self.crossed.clear();
    }

    /// What has crossed the links, as packets.
    pub(crate) fn packets(&self, to: usize, side: Side) -> Vec<Packet> {
        let at = self.crossed.iter().filter(|(node, at, _)| (*node, *at) == (to, side));
        at.map(|(_, _, frame)| parse(frame)).collect()
    }

    pub(crate) fn node_counter(&self, number: usize, name: &str) -> u64 {
        let counters: BTreeMap<_, _> = self.bumps[number].counters().1.totals().collect();
        counters[name]
    }
}

fn bump(number: usize, mode: Mode, config: &Config) -> Bump {
    let at = match number {
        0 => Some(0),
        2 => Some(1),
        _ => None,
    };
    let own = |v6: bool| at.map(|at| (hosts(v6)[at], Side::Inside.port()));
    let hosts = own(false).into_iter().chain(own(true)).collect();
    Bump::new(Node::new(edge(number), hosts, config.clone()), mode, 1000)
}

/// A frame; what SDTP carries in UDP is opened.
pub(crate) fn parse(frame: &[u8]) -> Packet {
    let packet =
        Packet::parse(LinkType::Ethernet, &Bytes::copy_from_slice(frame), Checksums::Verify).unwrap();
    match &packet.body {
        Body::Udp(_) => packet.to_sdtp(Checksums::Verify).unwrap_or(packet),
        _ => packet,
    }
}
