//! A FIFO of packets that knows its bytes: what most disciplines are built of.

use std::collections::VecDeque;

use handfast_core::Bytes;

use super::{Occupancy, PacketMeta};

/// Packets in the order in which they came.
#[derive(Debug)]
pub struct Backlog<H> {
    packets: VecDeque<PacketMeta<H>>,
    bytes: Bytes,
}

impl<H> Default for Backlog<H> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO }
    }
}

impl<H> Backlog<H> {
    /// Appends a packet.
    pub fn push(&mut self, packet: PacketMeta<H>) {
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    /// Removes the packet that came first.
    pub fn pop(&mut self) -> Option<PacketMeta<H>> {
        let packet = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.size;
        Some(packet)
    }

    /// The packet that came first.
    pub fn first(&self) -> Option<&PacketMeta<H>> {
        self.packets.front()
    }

    /// Packets and bytes in it.
    pub fn occupancy(&self) -> Occupancy {
        Occupancy { packets: self.packets.len(), bytes: self.bytes }
    }

    /// Removes all, in order.
    pub fn clear(&mut self) -> Vec<PacketMeta<H>> {
        self.bytes = Bytes::ZERO;
        self.packets.drain(..).collect()
    }
}
