//! A node of SDTP as a bump in the wire: it has two sides, and what comes in at one leaves by the other.
//!
//! What it does not take goes on byte for byte: other protocols, tags, fragments, what is malformed. An edge converts only what
//! can be given back byte for byte.

mod buffers;
mod counters;
mod emitted;
mod frames;
mod losses;
mod observing;
mod overload;

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_net::{Cause, Forward, Outbox, Port};
use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Checksums, LinkType, Packet, Seen};

use super::control::{Instruction, Report};
use super::counters::NodeCounters;
use super::node::Node;
use super::repairs::Repairs;
use crate::{Verdict, View};
pub use counters::BumpCounters;
pub use emitted::Emitted;
use frames::Frames;
use losses::Losses;
use overload::Overload;

/// A side of the bump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of an edge: where its hosts are. Of a node in the core: one of both.
    Inside,
    /// The other one.
    Outside,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Inside, Self::Outside];

    /// The node's number of the port.
    pub const fn port(self) -> Port {
        Port(self as u32)
    }

    /// Where what comes in here leaves.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }
}

/// Whether the bump acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It counts what it would convert, and converts nothing. What was converted for it, it still reverts.
    #[default]
    Observe,
    /// It acts.
    Act,
}

/// The bump.
#[derive(Debug)]
pub struct Bump {
    node: Node,
    mode: Mode,
    frames: Frames,
    overload: Overload,
    losses: Losses,
    counters: BumpCounters,
    /// What the node has for others, and scratch: kept for their memory.
    out: Outbox,
    scratch: Vec<u8>,
    emitted: Emitted,
}

impl Bump {
    /// A node in a wire; its hosts, if it has any, are inside. `streams`: so many directions of connections have their frames
    /// remembered.
    pub fn new(mut node: Node, mode: Mode, streams: usize) -> Self {
        node.set_controller(false);
        Self {
            node,
            mode,
            frames: Frames::new(streams),
            overload: Overload::default(),
            losses: Losses::new(streams),
            counters: BumpCounters::default(),
            out: Outbox::default(),
            scratch: Vec::new(),
            emitted: Emitted::default(),
        }
    }

    /// What it has counted, and its node.
    pub fn counters(&self) -> (BumpCounters, NodeCounters) {
        (self.counters, self.node.counters())
    }

    /// What became of losses before it, by the edges of connections, the sending one first.
    pub fn repairs(&self) -> impl Iterator<Item = ((IpAddr, IpAddr), Repairs)> + '_ {
        self.node.repairs()
    }

    /// Whether it acts.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether it acts from now on. One that observes has no controller, and the functions that it had are gone: the controller
    /// orders them again when it comes back.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        if mode == Mode::Observe {
            self.set_controller(false);
            self.node.deactivate();
        }
    }

    /// Another one was in its place until now: what that one had of streams is not asked for again.
    pub fn follow(&mut self, now: Instant) {
        self.node.follow(now);
    }

    /// It will end: nothing is converted any more. What was converted for it, it still reverts.
    pub fn retire(&mut self) {
        self.node.retire();
    }

    /// Whether the controller is there.
    pub fn set_controller(&mut self, is_there: bool) {
        self.node.set_controller(is_there);
    }

    /// What it has for the controller.
    pub fn reports(&mut self) -> impl Iterator<Item = Report> + '_ {
        self.node.reports()
    }

    /// The frames that leave, in order. Their owner takes them after each call.
    pub fn emitted(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    /// A frame comes in, with all its checksums.
    pub fn on_frame(&mut self, now: Instant, side: Side, frame: &[u8]) {
        self.counters.frames += 1;
        if self.goes_on(now, side, frame) {
            self.counters.passed += 1;
            self.emitted.push(side.other(), frame);
        }
    }

    /// A frame that it has emitted did not leave: the interface had no room.
    pub fn on_drop(&mut self, now: Instant, frame: &[u8]) {
        let seen = Seen::at(frame);
        if seen == Seen::Sdtp
            && let Some(packet) = parse(&Bytes::copy_from_slice(frame), seen)
        {
            self.node.on_drop(now, &View::of(&packet), Cause::QueueFull);
        }
    }

    /// Frames were lost because the node is too slow for what comes. It does without its optional work for a while: connections
    /// that begin are plain, it keeps no copies and asks for nothing. What is converted goes on so: only this node can revert it.
    pub fn on_overrun(&mut self, now: Instant) {
        if self.overload.on_overrun(now) {
            self.counters.overloads += 1;
            self.node.set_overloaded(now, true);
        }
    }

    /// Whether it does without its optional work.
    pub fn is_overloaded(&self) -> bool {
        self.overload.is_on()
    }

    fn goes_on(&mut self, now: Instant, side: Side, frame: &[u8]) -> bool {
        let seen = Seen::at(frame);
        if !self.concerns(side, seen) {
            return true;
        }
        if self.is_overloaded() && !self.node.is_edge() {
            self.counters.bypassed += 1;
            return true;
        }
        let Some(packet) = parse(&buffers::copy(frame), seen) else { return true };
        match self.mode {
            Mode::Act => self.show(now, side, frame, packet),
            Mode::Observe => self.observe(now, side, frame, packet),
        }
    }

    /// Whether the node may want such a frame.
    fn concerns(&self, side: Side, seen: Seen) -> bool {
        match seen {
            Seen::Sdtp => true,
            // What an edge protects besides TCP.
            Seen::Other => side == Side::Inside && self.node.protects_all(),
            Seen::Tcp(_) if !self.node.is_edge() => false,
            // One that observes looks for what was lost on its way here.
            Seen::Tcp(flags) => {
                side == Side::Inside || self.mode == Mode::Observe || flags.contains(Flags::SYN)
            }
        }
    }

    /// The node looks at a packet, and may take it. Whether its frame goes on.
    fn show(&mut self, now: Instant, side: Side, frame: &[u8], packet: Packet) -> bool {
        let verdict = self.node.look(now, side.port(), &View::of(&packet), &mut self.out);
        if verdict != Verdict::Drop {
            self.frames.note(now, side, &packet);
        }
        let goes_on = match verdict {
            Verdict::Pass => true,
            Verdict::Drop => false,
            Verdict::Take if self.is_fit(&packet, frame) => {
                self.node.on_packet(now, side.port(), packet, &mut self.out);
                false
            }
            Verdict::Take => {
                self.counters.unfit += 1;
                self.node.see_handshake(&View::of(&packet));
                true
            }
        };
        self.leave(now);
        goes_on
    }

    /// Whether what comes out at the other end is what has come. Of a SYN only the IP options matter, and whether it is signed: its
    /// segment size is lowered anyway. Its answer has to go the way of the SYN.
    fn is_fit(&mut self, packet: &Packet, frame: &[u8]) -> bool {
        match &packet.body {
            Body::Sdtp(_) => true,
            Body::Tcp(segment) if segment.is_signed() => false,
            Body::Tcp(segment) if segment.flags.contains(Flags::SYN) => {
                self.scratch.clear();
                let network = packet.wire_len() - packet.ip_len();
                packet.emit(&mut self.scratch).is_ok()
                    && (segment.flags.contains(Flags::ACK) || frame.get(network) == self.scratch.get(network))
            }
            _ => packet.is_as_emitted(frame, &mut self.scratch),
        }
    }

    /// The controller has sent this.
    pub fn on_instruction(&mut self, now: Instant, instruction: Instruction) {
        if self.mode == Mode::Act {
            self.node.on_instruction(now, instruction, &mut self.out);
            self.leave(now);
        }
    }

    /// What is due at this time.
    pub fn on_timer(&mut self, now: Instant) {
        if self.overload.on_timer(now) {
            self.node.set_overloaded(now, false);
        }
        self.node.on_timer(now, &mut self.out);
        self.leave(now);
    }

    /// When [`Bump::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        [self.node.deadline(), self.overload.deadline()].into_iter().flatten().min()
    }

    /// What the node has put out gets a frame and a side.
    fn leave(&mut self, now: Instant) {
        let mut out = std::mem::take(&mut self.out);
        for forward in out.iter_mut() {
            let (Forward::Routed(packet) | Forward::To(_, packet)) = forward else { continue };
            match self.way(now, packet) {
                // The CN of the first cache: nobody is upstream of an edge.
                Some(Side::Inside) if matches!(packet.body, Body::Sdtp(_)) && self.node.is_edge() => {}
                Some(side) if self.emitted.emit(side, packet) => {}
                _ => self.counters.unsendable += 1,
            }
        }
        out.clear();
        self.out = out;
    }

    /// Where a packet of the node leaves. It gets a frame if it has none.
    fn way(&mut self, now: Instant, packet: &mut Packet) -> Option<Side> {
        match (&packet.body, packet.ethernet) {
            (Body::Sdtp(_), None) => self.frames.frame(packet),
            (_, None) => None,
            (Body::Sdtp(_), Some(_)) => {
                // An edge has made it of its host's.
                self.frames.note(now, Side::Inside, packet);
                Some(Side::Outside)
            }
            (_, Some(_)) if self.node.has_host(packet.dst) => Some(Side::Inside),
            (_, Some(_)) => Some(Side::Outside),
        }
    }
}

fn parse(frame: &Bytes, seen: Seen) -> Option<Packet> {
    let parse = if seen == Seen::Sdtp { Packet::parse_sdtp } else { Packet::parse };
    parse(LinkType::Ethernet, frame, Checksums::Verify).ok()
}
