//! The packets under way: a slab, and beside it the few bytes of each that a hop looks at.

use handfast_core::Bytes;
use handfast_measure::topology::Goal;
use handfast_wire::{Body, Packet};
use prefetch_index::prefetch_index;

/// A packet in the slab.
pub(crate) type Handle = u32;

/// What a hop needs to know of a packet: a few bytes that stay in the cache while the packet itself, and tables by
/// destination, need not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Where it goes.
    pub(crate) goal: Goal,
    /// Bytes of the IP packet.
    pub(crate) len: u32,
    /// Which end of a flow sent it.
    pub(crate) origin: u32,
    /// Whether it carries payload.
    pub(crate) has_payload: bool,
}

impl Label {
    fn of(packet: &Packet, origin: u32, goal: Goal) -> Self {
        let has_payload = match &packet.body {
            Body::Tcp(segment) => !segment.payload.is_empty(),
            Body::Other { payload, .. } => !payload.is_empty(),
        };
        Self { goal, len: packet.ip_len() as u32, origin, has_payload }
    }

    pub(crate) fn size(self) -> Bytes {
        Bytes(u64::from(self.len))
    }
}

/// A slab of packets. The slot freed last is used first: it is still in the cache.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Packet>,
    labels: Vec<Label>,
    free: Vec<Handle>,
}

impl Packets {
    /// Takes in a packet that side `origin` has sent.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet, origin: u32, goal: Goal) -> Handle {
        let label = Label::of(&packet, origin, goal);
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = packet;
            self.labels[handle as usize] = label;
            return handle;
        }
        self.slots.push(packet);
        self.labels.push(label);
        (self.slots.len() - 1) as Handle
    }

    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        &self.slots[handle as usize]
    }

    pub(crate) fn label(&self, handle: Handle) -> Label {
        self.labels[handle as usize]
    }

    /// Asks for the packet, which will be looked at soon: its first, middle and last cache line.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        prefetch_index(&self.slots, handle as usize);
        prefetch_index(std::slice::from_ref(&self.slots[handle as usize].body), 0);
        prefetch_index(&self.slots, handle as usize + 1);
    }

    /// Marks bit errors.
    pub(crate) fn corrupt(&mut self, handle: Handle) {
        self.slots[handle as usize].corrupted = true;
    }

    /// A second packet like the first.
    pub(crate) fn duplicate(&mut self, handle: Handle) -> Handle {
        let copy = self.get(handle).clone();
        let Label { origin, goal, .. } = self.label(handle);
        self.insert(copy, origin, goal)
    }

    /// Puts a packet in the place of one that went the same way.
    pub(crate) fn replace(&mut self, handle: Handle, packet: Packet) {
        let Label { origin, goal, .. } = self.label(handle);
        self.labels[handle as usize] = Label::of(&packet, origin, goal);
        self.slots[handle as usize] = packet;
    }

    /// The place is free; the value stays in it until the next packet takes it.
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// Packets under way.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_measure::address::address_of;
    use handfast_wire::Payload;
    use handfast_wire::tcp::Segment;

    fn packet(len: u32) -> Packet {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len };
        Packet::tcp(address_of(0), address_of(3), Segment { payload, ..Segment::EMPTY })
    }

    #[test]
    fn labels_follow_the_packet() {
        let (mut packets, goal) = (Packets::default(), Goal::nowhere());
        let handle = packets.insert(packet(100), 5, goal);
        assert_eq!(packets.label(handle), Label { goal, len: 140, origin: 5, has_payload: true });
        packets.replace(handle, packet(0));
        assert_eq!(packets.label(handle), Label { goal, len: 40, origin: 5, has_payload: false });
    }

    #[test]
    fn freed_places_are_used_again() {
        let mut packets = Packets::default();
        let [a, b] = [1, 2].map(|len| packets.insert(packet(len), 0, Goal::nowhere()));
        packets.free(a);
        let copy = packets.duplicate(b);
        assert_eq!((copy, packets.len()), (a, 2));
        assert_eq!(packets.get(copy), packets.get(b));
    }
}
