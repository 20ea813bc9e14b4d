//! A packet's way through the tables (§5.1), and out of the switch.

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::Packet;
use handfast_wire::openflow::{Body, Match, NO_BUFFER, PacketIn, PacketInReason, PortNo};

use super::outbox::{SwitchCounters, SwitchOutbox, SwitchOutput};
use super::pattern::{bits_of, with_metadata};
use super::ports::Ports;
use super::program::Output;
use super::session::Session;
use super::table::Table;

/// Of a packet-in that no entry sent (§7.4.1).
const NO_COOKIE: u64 = u64::MAX;
/// Bytes of a packet-in before its frame: header, fixed part, a match with one field, padding. A message has at most 65,535.
const PACKET_IN_HEADER_LEN: usize = 42;

/// Why and on whose behalf a packet goes to the controller.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    reason: PacketInReason,
    table_id: u8,
    cookie: u64,
}

impl Cause {
    /// An action of a packet-out.
    pub(super) const PACKET_OUT: Self =
        Self { reason: PacketInReason::Action, table_id: 0, cookie: NO_COOKIE };
}

/// What the ways out need: everything of the switch but its tables.
pub(super) struct Exit<'a> {
    pub(super) ports: &'a Ports,
    pub(super) session: &'a Session,
    pub(super) counters: &'a mut SwitchCounters,
    pub(super) out: &'a mut SwitchOutbox,
    pub(super) in_port: PortNo,
    /// What a packet-out says of its packet; zero of one that arrives.
    pub(super) metadata: u32,
    /// Whether the packet left by any of them.
    pub(super) left: bool,
}

impl Exit<'_> {
    /// Sends the packet through the tables.
    pub(super) fn through(&mut self, tables: &mut [Table], now: Instant, packet: &Packet) {
        let Some(bits) = bits_of(self.in_port, packet) else { return };
        let bits = with_metadata(bits, self.metadata);
        let len = packet.wire_len();
        let (mut set, mut at) = (None, 0);
        loop {
            // §5.4: no entry, not even one for misses: the packet is dropped, with what its action set says.
            let Some(entry) = tables.get_mut(usize::from(at)).and_then(|table| table.lookup(&bits)) else {
                return;
            };
            entry.count(now, len);
            let miss = entry.is_table_miss();
            let cause = |reason| Cause { reason, table_id: at, cookie: entry.cookie };
            let reason = if miss { PacketInReason::NoMatch } else { PacketInReason::Action };
            for &output in &entry.program.apply {
                self.output(output, packet, cause(reason));
            }
            if entry.program.clear {
                set = None;
            }
            set = entry.program.write.or(set);
            let Some(next) = entry.program.goto else {
                // §5.10: the action set is executed where the pipeline ends.
                if let Some(output) = set {
                    self.output(output, packet, cause(PacketInReason::Action));
                }
                return;
            };
            at = next;
        }
    }

    /// One output action (§4.5, §7.2.5).
    pub(super) fn output(&mut self, Output { port, max_len }: Output, packet: &Packet, cause: Cause) {
        match port {
            PortNo::CONTROLLER => self.packet_in(max_len, packet, cause),
            PortNo::NORMAL => self.put(SwitchOutput::Normal(self.in_port, packet.clone())),
            PortNo::IN_PORT => self.forward(self.in_port, packet),
            PortNo::ALL | PortNo::FLOOD => {
                for to in self.ports.all_but(self.in_port) {
                    if port == PortNo::ALL || self.ports.floods(to) {
                        self.forward(to, packet);
                    }
                }
            }
            // §7.2.5: back out of the port of arrival only by `IN_PORT`.
            port if port != self.in_port => self.forward(port, packet),
            _ => {}
        }
    }

    fn forward(&mut self, port: PortNo, packet: &Packet) {
        if self.ports.forwards(port) {
            self.put(SwitchOutput::Forward(port, packet.clone()));
        }
    }

    fn put(&mut self, output: SwitchOutput) {
        self.left = true;
        self.out.push(output);
    }

    /// §7.4.1. Without a connection the packet is lost (§6.3, connection interruption: fail secure mode).
    fn packet_in(&mut self, max_len: u16, packet: &Packet, cause: Cause) {
        let wanted = self.session.hears_packets() && self.ports.tells(self.in_port);
        let Some((data, total_len)) = wanted.then(|| frame(packet, max_len)).flatten() else {
            self.counters.packet_ins_lost += 1;
            return;
        };
        self.counters.packet_ins += 1;
        self.left = true;
        let Cause { reason, table_id, cookie } = cause;
        let matches = Match { in_port: Some(self.in_port), ..Match::default() };
        let packet_in = PacketIn { buffer_id: NO_BUFFER, total_len, reason, table_id, cookie, matches, data };
        self.out.message(0, Body::PacketIn(packet_in));
    }
}

/// The packet's frame, cut to `max_len` bytes and to what a message holds, and its whole length.
fn frame(packet: &Packet, max_len: u16) -> Option<(Bytes, u16)> {
    let mut frame = Vec::new();
    packet.emit(&mut frame).ok()?;
    // A frame of the longest IP packet is longer than the field can say.
    let total_len = frame.len().min(usize::from(u16::MAX)) as u16;
    frame.truncate(usize::from(max_len).min(usize::from(u16::MAX) - PACKET_IN_HEADER_LEN));
    Some((frame.into(), total_len))
}
