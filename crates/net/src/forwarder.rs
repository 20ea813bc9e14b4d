//! The shape of a machine that takes every packet in its path whole: a plug-in's. Agents that mostly look at packets have a
//! trait of their own, `Agent` in `handfast-assist`; every forwarder is one.

use handfast_core::Instant;
use handfast_wire::Packet;

/// Which of a node's links: its index in the order in which the scenario lists the node's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port(pub u32);

impl Port {
    /// The node itself: packets of its own endpoints come in here, and what is sent here is delivered to them.
    pub const LOCAL: Self = Self(u32::MAX);
}

/// What becomes of a packet that leaves a forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The driver's forwarding table decides, by destination address.
    Routed(Packet),
    /// It leaves by this port.
    To(Port, Packet),
    /// It ends here. Said for the books only: a packet in no entry is gone all the same.
    Dropped(Packet),
}

/// Where a forwarder puts packets. The driver owns it, empties it after every call, and keeps its memory.
#[derive(Debug, Default)]
pub struct Outbox(Vec<Forward>);

impl Outbox {
    /// Sends a packet the way its destination address says.
    pub fn forward(&mut self, packet: Packet) {
        self.0.push(Forward::Routed(packet));
    }

    /// Sends a packet by one port.
    pub fn send(&mut self, port: Port, packet: Packet) {
        self.0.push(Forward::To(port, packet));
    }

    /// Ends a packet's way, so that the driver can count it as lost.
    pub fn discard(&mut self, packet: Packet) {
        self.0.push(Forward::Dropped(packet));
    }

    /// Whether nothing was put in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is in it, in order; it stays there.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Forward> + '_ {
        self.0.iter_mut()
    }

    /// Takes out all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What was put in, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Forward> + '_ {
        self.0.drain(..)
    }
}

/// A machine in the path. It owns no clock: after each call the driver asks for the deadline.
pub trait Forwarder: Send {
    /// A packet came in by `port`.
    fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox);

    /// The deadline has come; afterwards it is in the future.
    fn on_timer(&mut self, now: Instant, out: &mut Outbox);

    /// When [`Forwarder::on_timer`] is due; [`None`]: not before the next packet.
    fn deadline(&self) -> Option<Instant>;
}
