//! What comes out of a switch, and what it counts.

use handfast_wire::Packet;
use handfast_wire::openflow::{Body, Message, PortNo};

/// One thing that a switch puts out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchOutput {
    /// A packet leaves by a port of the switch.
    Forward(PortNo, Packet),
    /// A packet that came in by this port goes the way it would go without `OpenFlow`: the driver's own forwarding decides
    /// (§4.5, `NORMAL`).
    Normal(PortNo, Packet),
    /// A message to the controller.
    Message(Message),
    /// A packet ends here. Said for the books only: a packet in no output is gone all the same.
    Dropped(Packet),
}

/// What becomes of a packet of which nothing else comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchPass {
    /// As [`SwitchOutput::Forward`].
    Forward(PortNo),
    /// As [`SwitchOutput::Normal`].
    Normal,
}

/// Where a switch puts what comes out. The driver owns it, empties it after every call, and keeps its memory.
#[derive(Debug, Default)]
pub struct SwitchOutbox(Vec<SwitchOutput>);

impl SwitchOutbox {
    /// What was put in, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = SwitchOutput> + '_ {
        self.0.drain(..)
    }

    pub(super) fn push(&mut self, output: SwitchOutput) {
        self.0.push(output);
    }

    /// A message that answers request `xid`; an asynchronous message has 0.
    pub(super) fn message(&mut self, xid: u32, body: Body) {
        self.push(SwitchOutput::Message(Message { xid, body }));
    }
}

/// What a switch counts, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// Packets that came in by a port.
    pub packets: u64,
    /// Packets, from a port or the controller, of which nothing came out.
    pub dropped: u64,
    /// Packets sent to the controller.
    pub packet_ins: u64,
    /// Packets meant for the controller that were not sent: there was no connection, the port's configuration forbids it, or
    /// they have no form on the wire.
    pub packet_ins_lost: u64,
    /// Packets from the controller.
    pub packet_outs: u64,
    /// Frames from the controller that are no packet here: ARP, fragments, garbage. Each was answered with an error.
    pub unparsable: u64,
    /// Requests that were refused.
    pub errors: u64,
}
