//! A base station between a sender and a mobile.

use std::net::{IpAddr, Ipv4Addr};

use handfast_assist::snoop::{Config, Snoop};
use handfast_assist::{Agent, Verdict, View};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::{Forward, Outbox, Port};
use handfast_wire::tcp::{Flags, SackBlock, Segment};
use handfast_wire::{Body, Packet, Payload};

const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
const WIRED: Port = Port(0);
const RADIO: Port = Port(1);
/// Bytes of a segment.
pub(crate) const LEN: u32 = 1_000;

/// What left the base station: data towards the mobile by its sequence number, acknowledgments towards the sender by theirs,
/// with or without SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Data(u32),
    Ack(u32),
    Sack(u32),
}

pub(crate) struct World {
    pub(crate) snoop: Snoop,
    pub(crate) now: Instant,
    /// The first sequence number: others are counted from it, in segments.
    isn: u32,
    /// The connection's port.
    pub(crate) port: u16,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Config::default(), 5_000)
    }

    pub(crate) fn with(config: Config, isn: u32) -> Self {
        Self { snoop: Snoop::new(config, [RADIO]), now: Instant::from_millis(1_000), isn, port: 80 }
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    fn seq(&self, number: u32) -> SeqNum {
        SeqNum(self.isn) + number * LEN
    }

    fn number(&self, seq: SeqNum) -> u32 {
        seq.0.wrapping_sub(self.isn) / LEN
    }

    fn pass(&mut self, port: Port, packet: Packet) -> Vec<Left> {
        let mut out = Outbox::default();
        match self.snoop.look(self.now, port, &View::of(&packet), &mut out) {
            Verdict::Take => self.snoop.on_packet(self.now, port, packet, &mut out),
            Verdict::Pass => out.forward(packet),
            Verdict::Drop => {}
        }
        assert!(self.snoop.deadline().is_none_or(|due| due >= self.now));
        self.left(&mut out)
    }

    fn left(&self, out: &mut Outbox) -> Vec<Left> {
        let went = out.drain().filter_map(|forward| match forward {
            Forward::Routed(packet) => Some(packet),
            Forward::To(..) => panic!("Snoop lets addresses decide"),
            Forward::Dropped(_) => None,
        });
        went.map(|packet| {
            let Body::Tcp(segment) = &packet.body else { panic!("{packet:?}") };
            match (packet.dst == MOBILE, segment.sack.is_empty()) {
                (true, _) => Left::Data(self.number(segment.seq)),
                (false, true) => Left::Ack(self.number(segment.ack)),
                (false, false) => Left::Sack(self.number(segment.ack)),
            }
        })
        .collect()
    }

    pub(crate) fn data_packet(&self, number: u32) -> Packet {
        let payload = Payload::Synthetic { stream: 0, offset: u64::from(number * LEN), len: LEN };
        let seq = self.seq(number);
        let segment = Segment {
            src_port: self.port,
            dst_port: 9,
            seq,
            flags: Flags::ACK,
            window: 100,
            payload,
            ..Segment::EMPTY
        };
        Packet::tcp(SENDER, MOBILE, segment)
    }

    /// Segment number `number` comes from the sender.
    pub(crate) fn data(&mut self, number: u32) -> Vec<Left> {
        let packet = self.data_packet(number);
        self.pass(WIRED, packet)
    }

    pub(crate) fn ack_packet(&self, number: u32, sacked: &[(u32, u32)]) -> Packet {
        let mut segment = Segment {
            src_port: 9,
            dst_port: self.port,
            ack: self.seq(number),
            flags: Flags::ACK,
            window: 100,
            ..Segment::EMPTY
        };
        for &(start, end) in sacked {
            segment.sack.push(SackBlock { start: self.seq(start), end: self.seq(end) });
        }
        Packet::tcp(MOBILE, SENDER, segment)
    }

    /// The mobile wants segment number `number` next.
    pub(crate) fn ack(&mut self, number: u32) -> Vec<Left> {
        self.sack(number, &[])
    }

    /// And has these, from the first to before the second.
    pub(crate) fn sack(&mut self, number: u32, sacked: &[(u32, u32)]) -> Vec<Left> {
        let packet = self.ack_packet(number, sacked);
        self.pass(RADIO, packet)
    }

    /// A packet of the mobile's that was changed.
    pub(crate) fn up(&mut self, change: impl Fn(&mut Segment), number: u32) -> Vec<Left> {
        let mut packet = self.ack_packet(number, &[]);
        let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
        change(segment);
        self.pass(RADIO, packet)
    }

    /// A packet of the sender's that was changed.
    pub(crate) fn down(&mut self, change: impl Fn(&mut Packet), number: u32) -> Vec<Left> {
        let mut packet = self.data_packet(number);
        change(&mut packet);
        self.pass(WIRED, packet)
    }

    /// Waits for the timer; when it was due, in milliseconds from now, and what left.
    pub(crate) fn timer(&mut self) -> Option<(u64, Vec<Left>)> {
        let began = self.now;
        loop {
            self.now = self.now.max(self.snoop.deadline()?);
            let (mut out, before) = (Outbox::default(), self.snoop.counters().timed_out);
            self.snoop.on_timer(self.now, &mut out);
            assert!(self.snoop.deadline().is_none_or(|due| due > self.now));
            // It may wake early: a restarted timer keeps its entry.
            if self.snoop.counters().timed_out > before {
                return Some((self.now.since(began).as_millis(), self.left(&mut out)));
            }
        }
    }
}
