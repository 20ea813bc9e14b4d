//! A switch on the bench: with a controller, three ports and a clock.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::{Switch, SwitchOutbox, SwitchOutput, SwitchSetup};
use handfast_wire::openflow::{
    ALL_TABLES, ANY_GROUP, Action, Body, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowStats,
    FlowStatsRequest, Instruction, Match, Message, MultipartReply, MultipartRequest, NO_BUFFER, PacketIn,
    PacketOut, Port, PortNo, WHOLE_PACKET,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body as Carried, Ethernet, Packet, Payload};

pub(crate) const P1: PortNo = PortNo(1);
pub(crate) const P2: PortNo = PortNo(2);
pub(crate) const P3: PortNo = PortNo(3);
pub(crate) const MAC_A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
pub(crate) const MAC_B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
pub(crate) const IP_A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const IP_B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(crate) const TCP: u8 = 6;
pub(crate) const IPV4: u16 = 0x0800;

pub(crate) struct Bench {
    pub(crate) switch: Switch,
    pub(crate) now: Instant,
    outbox: SwitchOutbox,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::of(SwitchSetup::new(1, [P1, P2, P3]))
    }

    pub(crate) fn of(setup: SwitchSetup) -> Self {
        let mut bench = Self {
            switch: Switch::new(setup),
            now: Instant::from_millis(500),
            outbox: SwitchOutbox::default(),
        };
        bench.switch.connected(bench.now, &mut bench.outbox);
        bench.drain();
        bench
    }

    pub(crate) fn drain(&mut self) -> Vec<SwitchOutput> {
        self.outbox.drain().collect()
    }

    pub(crate) fn connect(&mut self) -> Vec<SwitchOutput> {
        self.switch.connected(self.now, &mut self.outbox);
        self.drain()
    }

    pub(crate) fn disconnect(&mut self) -> Vec<SwitchOutput> {
        self.switch.connection_lost(self.now, &mut self.outbox);
        self.drain()
    }

    pub(crate) fn set_port(&mut self, port: Port) -> Vec<SwitchOutput> {
        self.switch.set_port(port, &mut self.outbox);
        self.drain()
    }

    pub(crate) fn remove_port(&mut self, port: PortNo) -> Vec<SwitchOutput> {
        self.switch.remove_port(port, &mut self.outbox);
        self.drain()
    }

    /// Lets time pass; what the timers do comes back.
    pub(crate) fn wait(&mut self, span: Duration) -> Vec<SwitchOutput> {
        let end = self.now + span;
        while let Some(due) = self.switch.deadline().filter(|&due| due <= end) {
            self.now = due;
            self.switch.on_timer(due, &mut self.outbox);
            assert!(
                self.switch.deadline().is_none_or(|next| next > due),
                "a deadline that is not in the future"
            );
        }
        self.now = end;
        self.drain()
    }

    pub(crate) fn say(&mut self, body: Body) -> Vec<SwitchOutput> {
        self.switch.on_message(self.now, &Message { xid: 77, body }, &mut self.outbox);
        self.drain()
    }

    /// The one message that answers, and its transaction.
    pub(crate) fn ask(&mut self, body: Body) -> Body {
        match self.say(body).as_slice() {
            [SwitchOutput::Message(Message { xid: 77, body })] => body.clone(),
            other => panic!("expected one answer with the transaction of the request, got {other:?}"),
        }
    }

    /// Type and code of the error that a request gets.
    pub(crate) fn refused(&mut self, body: Body) -> (u16, u16) {
        match self.ask(body) {
            Body::Error(error) => (error.kind, error.code),
            other => panic!("expected an error, got {other:?}"),
        }
    }

    /// A change that is carried out without a word.
    pub(crate) fn change(&mut self, request: FlowMod) {
        assert_eq!(self.say(Body::FlowMod(request)), []);
    }

    pub(crate) fn add(&mut self, priority: u16, matches: Match, actions: Vec<Action>) {
        self.change(entry(priority, matches, actions));
    }

    pub(crate) fn packet(&mut self, in_port: PortNo, packet: Packet) -> Vec<SwitchOutput> {
        self.switch.on_packet(self.now, in_port, packet, &mut self.outbox);
        self.drain()
    }

    /// The ports by which a packet leaves; empty where it was dropped, and said so.
    pub(crate) fn out_ports(&mut self, in_port: PortNo, packet: Packet) -> Vec<PortNo> {
        let sent = packet.clone();
        out_ports(&self.packet(in_port, packet), &sent)
    }

    /// All entries as the switch tells them.
    pub(crate) fn flows(&mut self) -> Vec<FlowStats> {
        self.flows_of(all_flows())
    }

    pub(crate) fn flows_of(&mut self, request: FlowStatsRequest) -> Vec<FlowStats> {
        match self.ask(Body::MultipartRequest(MultipartRequest::Flow(request))) {
            Body::MultipartReply(MultipartReply::Flow { more: false, flows }) => flows,
            other => panic!("expected entries in one part, got {other:?}"),
        }
    }

    /// The only entry.
    pub(crate) fn flow(&mut self) -> FlowStats {
        let flows = self.flows();
        assert_eq!(flows.len(), 1);
        flows[0].clone()
    }

    pub(crate) fn priorities(&mut self) -> Vec<u16> {
        self.flows().iter().map(|flow| flow.priority).collect()
    }
}

/// The ports by which `packet` left unchanged.
pub(crate) fn out_ports(outputs: &[SwitchOutput], packet: &Packet) -> Vec<PortNo> {
    outputs
        .iter()
        .filter_map(|output| match output {
            SwitchOutput::Forward(port, sent) => {
                assert_eq!(sent, packet);
                Some(*port)
            }
            SwitchOutput::Dropped(sent) => {
                assert_eq!((sent, outputs.len()), (packet, 1));
                None
            }
            other => panic!("expected ports only, got {other:?}"),
        })
        .collect()
}

pub(crate) fn packet_in(outputs: &[SwitchOutput]) -> PacketIn {
    match outputs {
        [SwitchOutput::Message(Message { xid: 0, body: Body::PacketIn(packet_in) })] => packet_in.clone(),
        other => panic!("expected one packet-in, got {other:?}"),
    }
}

pub(crate) fn removed(outputs: &[SwitchOutput]) -> Vec<FlowRemoved> {
    outputs
        .iter()
        .map(|output| match output {
            SwitchOutput::Message(Message { xid: 0, body: Body::FlowRemoved(removed) }) => removed.clone(),
            other => panic!("expected ends of entries, got {other:?}"),
        })
        .collect()
}

pub(crate) fn all_flows() -> FlowStatsRequest {
    FlowStatsRequest {
        table_id: ALL_TABLES,
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        cookie: 0,
        cookie_mask: 0,
        matches: Match::default(),
    }
}

pub(crate) fn output(port: PortNo) -> Action {
    Action::Output { port, max_len: WHOLE_PACKET }
}

pub(crate) fn to_controller(max_len: u16) -> Action {
    Action::Output { port: PortNo::CONTROLLER, max_len }
}

pub(crate) fn apply(actions: Vec<Action>) -> Vec<Instruction> {
    vec![Instruction::ApplyActions(actions)]
}

/// An addition to table 0.
pub(crate) fn entry(priority: u16, matches: Match, actions: Vec<Action>) -> FlowMod {
    FlowMod {
        cookie: 0,
        cookie_mask: 0,
        table_id: 0,
        command: FlowModCommand::Add,
        idle_timeout: 0,
        hard_timeout: 0,
        priority,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        flags: FlowModFlags::default(),
        matches,
        instructions: apply(actions),
    }
}

/// A change without instructions, of table 0.
pub(crate) fn request(command: FlowModCommand, priority: u16, matches: Match) -> FlowMod {
    FlowMod { command, instructions: Vec::new(), ..entry(priority, matches, Vec::new()) }
}

pub(crate) fn packet_out(in_port: PortNo, actions: Vec<Action>, packet: &Packet) -> Body {
    Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port, actions, data: frame(packet) })
}

pub(crate) fn frame(packet: &Packet) -> Bytes {
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap();
    frame.into()
}

pub(crate) fn framed(mut packet: Packet) -> Packet {
    packet.ethernet = Some(Ethernet { dst: MAC_B, src: MAC_A, vlan: None });
    packet
}

/// A segment of `len` bytes from A to B, port 1000 to port 80.
pub(crate) fn segment(len: usize) -> Packet {
    let segment = Segment {
        src_port: 1000,
        dst_port: 80,
        seq: SeqNum(1),
        flags: Flags::ACK,
        payload: Payload::Bytes(vec![0x55; len].into()),
        ..Segment::EMPTY
    };
    framed(Packet::tcp(IP_A.into(), IP_B.into(), segment))
}

pub(crate) fn datagram(src: IpAddr, dst: IpAddr, payload: Payload) -> Packet {
    let body = Carried::Other { protocol: 17, payload };
    let packet = Packet::tcp(src, dst, Segment::EMPTY);
    framed(Packet { body, ..packet })
}
