//! The packets under way: a slab, and beside it the few bytes of each that a hop looks at.

use std::collections::BTreeMap;

use handfast_core::Bytes;
use handfast_measure::topology::Goal;
use handfast_wire::tcp::Segment;
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
    /// Bit errors that a checksum would reveal.
    pub(crate) corrupted: bool,
    /// It is not a segment of `origin` to the other end of its flow under a plain IP header: all of it is kept.
    pub(crate) whole: bool,
}

impl Label {
    pub(crate) fn size(self) -> Bytes {
        Bytes(u64::from(self.len))
    }
}

/// In lines of its own, so that a packet touches as few as can be.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot(Segment);

/// A slab of packets. The slot freed last is used first: it is still in the cache.
///
/// Nearly all packets are segments from one end of a flow to the other: what stands around such a segment follows from
/// its origin, and is not kept.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Slot>,
    labels: Vec<Label>,
    free: Vec<Handle>,
    /// The others.
    whole: BTreeMap<Handle, Packet>,
}

impl Packets {
    /// Takes in a segment from side `origin` to the other end of its flow; `len`: bytes of the IP packet.
    #[inline]
    pub(crate) fn insert(&mut self, segment: Segment, len: usize, origin: u32, goal: Goal) -> Handle {
        let has_payload = !segment.payload.is_empty();
        let label = Label { goal, len: len as u32, origin, has_payload, corrupted: false, whole: false };
        self.store(Slot(segment), label)
    }

    /// Takes in any packet.
    pub(crate) fn insert_whole(&mut self, packet: Packet, origin: u32, goal: Goal) -> Handle {
        let handle = self.store(Slot(Segment::EMPTY), Self::label_of_whole(&packet, origin, goal));
        self.whole.insert(handle, packet);
        handle
    }

    fn label_of_whole(packet: &Packet, origin: u32, goal: Goal) -> Label {
        let has_payload = !packet.body.payload().is_empty();
        let (len, corrupted) = (packet.ip_len() as u32, packet.corrupted);
        Label { goal, len, origin, has_payload, corrupted, whole: true }
    }

    #[inline]
    fn store(&mut self, slot: Slot, label: Label) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = slot;
            self.labels[handle as usize] = label;
            return handle;
        }
        self.slots.push(slot);
        self.labels.push(label);
        (self.slots.len() - 1) as Handle
    }

    /// The segment; of a packet that is kept whole there is none.
    #[inline]
    pub(crate) fn segment(&self, handle: Handle) -> &Segment {
        &self.slots[handle as usize].0
    }

    /// The packet that is kept whole.
    pub(crate) fn whole(&self, handle: Handle) -> Option<&Packet> {
        self.whole.get(&handle)
    }

    #[inline]
    pub(crate) fn label(&self, handle: Handle) -> Label {
        self.labels[handle as usize]
    }

    /// Asks for the label, which will be looked at soon.
    #[inline]
    pub(crate) fn prefetch_label(&self, handle: Handle) {
        prefetch_index(&self.labels, handle as usize);
    }

    /// Asks for the packet, which will be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        prefetch_index(&self.slots, handle as usize);
        prefetch_index(std::slice::from_ref(&self.slots[handle as usize].0.payload), 0);
    }

    /// Marks bit errors.
    pub(crate) fn corrupt(&mut self, handle: Handle) {
        self.labels[handle as usize].corrupted = true;
        if let Some(packet) = self.whole.get_mut(&handle) {
            packet.corrupted = true;
        }
    }

    /// A second packet like the first.
    pub(crate) fn duplicate(&mut self, handle: Handle) -> Handle {
        let (slot, label) = (self.slots[handle as usize].clone(), self.label(handle));
        let copy = self.store(slot, label);
        if let Some(packet) = self.whole.get(&handle) {
            self.whole.insert(copy, packet.clone());
        }
        copy
    }

    /// Puts a packet in the place of one that went the same way.
    pub(crate) fn replace(&mut self, handle: Handle, packet: Packet) {
        let Label { origin, goal, whole, .. } = self.label(handle);
        let label = Self::label_of_whole(&packet, origin, goal);
        self.labels[handle as usize] = Label { whole, ..label };
        match packet.body {
            Body::Tcp(segment) if !whole => self.slots[handle as usize] = Slot(segment),
            _ => drop(self.whole.insert(handle, packet)),
        }
    }

    /// The place is free; a segment stays in it until the next one takes it.
    #[inline]
    pub(crate) fn free(&mut self, handle: Handle) {
        if self.labels[handle as usize].whole {
            self.whole.remove(&handle);
        }
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

    fn segment(len: u32) -> Segment {
        Segment { payload: Payload::Synthetic { stream: 0, offset: 0, len }, ..Segment::EMPTY }
    }

    fn packet(len: u32) -> Packet {
        Packet::tcp(address_of(0), address_of(3), segment(len))
    }

    #[test]
    fn labels_follow_the_packet() {
        let (mut packets, goal) = (Packets::default(), Goal::nowhere());
        let handle = packets.insert(segment(100), 140, 5, goal);
        let label = Label { goal, len: 140, origin: 5, has_payload: true, corrupted: false, whole: false };
        assert_eq!(packets.label(handle), label);
        packets.corrupt(handle);
        assert_eq!(packets.label(handle), Label { corrupted: true, ..label });
        packets.replace(handle, packet(0));
        assert_eq!(packets.label(handle), Label { len: 40, has_payload: false, ..label });
        assert_eq!(packets.segment(handle), &segment(0));
        let whole = packets.insert_whole(packet(7), 6, goal);
        assert_eq!(packets.label(whole), Label { len: 47, origin: 6, whole: true, ..label });
        packets.replace(whole, packet(100));
        assert_eq!(packets.label(whole), Label { origin: 6, whole: true, ..label });
        packets.corrupt(whole);
        assert_eq!(packets.whole(whole), Some(&Packet { corrupted: true, ..packet(100) }));
    }

    #[test]
    fn freed_places_are_used_again() {
        let mut packets = Packets::default();
        let [a, b] = [1, 2].map(|len| packets.insert_whole(packet(len), 0, Goal::nowhere()));
        packets.free(a);
        let copy = packets.duplicate(b);
        assert_eq!((copy, packets.len()), (a, 2));
        assert_eq!(packets.whole(copy), Some(&packet(2)));
        packets.free(b);
        packets.free(copy);
        assert_eq!((packets.whole.len(), packets.len()), (0, 0));
        assert_eq!(packets.insert(segment(1), 41, 0, Goal::nowhere()), copy);
        assert_eq!(packets.whole(copy), None);
    }
}
