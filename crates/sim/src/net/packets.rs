//! The packets under way: a slab, a cache line a packet, and what travels over the links in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use handfast_core::{Bytes, SeqNum};
use handfast_net::queue::{Class, Ecn};
use handfast_plan::topology::Goal;
use handfast_wire::tcp::{Flags, SackBlocks, Segment, Timestamps};
use handfast_wire::{Packet, Payload};
use prefetch_index::prefetch_index;

use crate::engine::ids::{ConnectionId, Handle};

/// What stands in a link's queue for a packet: all that a node where it just passes needs to know, so that the packet itself is
/// touched at its ends only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Passing {
    pub(crate) handle: Handle,
    /// Bytes of the IP packet, twice, and one where it carries payload.
    size: NonZeroU32,
    /// Where it goes.
    pub(crate) goal: Goal,
}

impl Passing {
    #[inline]
    fn new(handle: Handle, label: &Label) -> Self {
        // No IP packet is empty.
        let size = NonZeroU32::new(label.len << 1 | u32::from(label.has_payload)).unwrap_or(NonZeroU32::MIN);
        Self { handle, size, goal: label.goal }
    }

    #[inline]
    pub(crate) fn size(&self) -> Bytes {
        Bytes(u64::from(self.size.get() >> 1))
    }

    #[inline]
    pub(crate) fn has_payload(&self) -> bool {
        self.size.get() & 1 != 0
    }
}

/// What its end needs to know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Where it goes.
    pub(crate) goal: Goal,
    /// Bytes of the IP packet.
    len: u32,
    /// Which connection sent it; [`ConnectionId::NONE`]: none did. Of a free place: the next free one.
    pub(crate) origin: ConnectionId,
    /// Whether it carries payload.
    pub(crate) has_payload: bool,
    /// Bit errors that a checksum would reveal.
    pub(crate) corrupted: bool,
    /// It is not a plain segment of `origin` to its peer: all of it is kept beside the slab.
    pub(crate) whole: bool,
    /// It has SACK blocks, which are kept beside the slab.
    sacks: bool,
}

impl Label {
    /// Bytes of the IP packet.
    #[inline]
    pub(crate) fn ip_len(&self) -> usize {
        self.len as usize
    }
}

/// A segment without what hardly any has. Its ports are those of the connection.
#[derive(Clone, Copy, Debug)]
struct Plain {
    seq: SeqNum,
    ack: SeqNum,
    flags: Flags,
    window: u16,
    timestamps: Option<Timestamps>,
    /// Of the synthetic payload.
    len: u32,
    stream: u32,
    offset: u64,
}

impl Plain {
    const EMPTY: Self = Self {
        seq: SeqNum(0),
        ack: SeqNum(0),
        flags: Flags::NONE,
        window: 0,
        timestamps: None,
        len: 0,
        stream: 0,
        offset: 0,
    };

    /// What is left of a segment without its ports and SACK blocks; [`None`] where that is not all.
    #[inline]
    fn of(segment: &Segment) -> Option<Self> {
        let &Payload::Synthetic { stream, offset, len } = &segment.payload else { return None };
        let rare = segment.mss.is_some()
            || segment.window_scale.is_some()
            || segment.sack_permitted
            || segment.rare.is_some()
            || segment.urgent != 0;
        let &Segment { seq, ack, flags, window, timestamps, .. } = segment;
        (!rare).then_some(Self { seq, ack, flags, window, timestamps, len, stream, offset })
    }
}

/// A cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Slot {
    label: Label,
    plain: Plain,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// A slab of packets. The slot freed last is used first: it is still in the cache.
///
/// Nearly all packets are plain segments of a connection. What is around such a segment follows from its origin, and is not kept.
#[derive(Debug)]
pub(crate) struct Packets {
    slots: Vec<Slot>,
    /// The first free place; [`NO_PLACE`]: there is none.
    free: Handle,
    /// For each slot the segment's SACK blocks, where [`Label::sacks`] says that it has any.
    sacks: Vec<SackBlocks>,
    /// The others.
    whole: BTreeMap<Handle, Packet>,
}

const NO_PLACE: Handle = Handle::MAX;

impl Default for Packets {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NO_PLACE, sacks: Vec::new(), whole: BTreeMap::new() }
    }
}

impl Packets {
    /// Takes in a packet from connection `origin` to its peer. `around` makes the packet of its segment.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment, which would be copied once more")]
    pub(crate) fn insert(
        &mut self,
        segment: Segment,
        len: usize,
        origin: ConnectionId,
        goal: Goal,
        around: impl FnOnce(Segment) -> Packet,
    ) -> Passing {
        let Some(plain) = Plain::of(&segment) else {
            return self.insert_whole(around(segment), origin, goal);
        };
        let label = Self::label_of_plain(&segment, len, origin, goal);
        let handle = self.store(Slot { label, plain });
        if label.sacks {
            self.sacks[handle as usize] = segment.sack;
        }
        Passing::new(handle, &label)
    }

    #[inline]
    fn label_of_plain(segment: &Segment, len: usize, origin: ConnectionId, goal: Goal) -> Label {
        let (has_payload, sacks) = (!segment.payload.is_empty(), !segment.sack.is_empty());
        Label { goal, len: len as u32, origin, has_payload, corrupted: false, whole: false, sacks }
    }

    /// Takes in any packet.
    #[cold]
    pub(crate) fn insert_whole(&mut self, packet: Packet, origin: ConnectionId, goal: Goal) -> Passing {
        let label = Self::label_of_whole(&packet, origin, goal);
        let handle = self.store(Slot { label, plain: Plain::EMPTY });
        self.whole.insert(handle, packet);
        self.passing(handle)
    }

    fn label_of_whole(packet: &Packet, origin: ConnectionId, goal: Goal) -> Label {
        let has_payload = !packet.body.payload().is_empty();
        let (len, corrupted) = (packet.ip_len() as u32, packet.corrupted);
        Label { goal, len, origin, has_payload, corrupted, whole: true, sacks: false }
    }

    #[inline]
    fn store(&mut self, slot: Slot) -> Handle {
        let handle = self.free;
        let Some(place) = self.slots.get_mut(handle as usize) else { return self.store_anew(slot) };
        self.free = place.label.origin.0;
        *place = slot;
        handle
    }

    #[cold]
    fn store_anew(&mut self, slot: Slot) -> Handle {
        self.slots.push(slot);
        self.sacks.push(SackBlocks::NONE);
        (self.slots.len() - 1) as Handle
    }

    /// The segment, which went from the first of the ports to the second; of a packet that is kept whole there is none.
    #[inline]
    pub(crate) fn segment(&self, handle: Handle, (src_port, dst_port): (u16, u16)) -> Segment {
        let Slot { label, plain } = &self.slots[handle as usize];
        let &Plain { seq, ack, flags, window, timestamps, len, stream, offset } = plain;
        let sack = if label.sacks { self.sacks[handle as usize] } else { SackBlocks::NONE };
        let payload = Payload::Synthetic { stream, offset, len };
        Segment { src_port, dst_port, seq, ack, flags, window, timestamps, sack, payload, ..Segment::EMPTY }
    }

    /// The packet that is kept whole.
    pub(crate) fn whole(&self, handle: Handle) -> Option<&Packet> {
        self.whole.get(&handle)
    }

    #[inline]
    pub(crate) fn label(&self, handle: Handle) -> &Label {
        &self.slots[handle as usize].label
    }

    /// What stands for it on a link.
    #[inline]
    pub(crate) fn passing(&self, handle: Handle) -> Passing {
        Passing::new(handle, self.label(handle))
    }

    /// Prefetches the packet, which will be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        prefetch_index(&self.slots, handle as usize);
    }

    /// Prefetches its SACK blocks, if it has any.
    #[inline]
    pub(crate) fn prefetch_sacks(&self, handle: Handle) {
        prefetch_index(&self.sacks, handle as usize);
    }

    /// It goes on to where its destination is now.
    pub(crate) fn readdress(&mut self, handle: Handle, goal: Goal) -> Passing {
        self.slots[handle as usize].label.goal = goal;
        self.passing(handle)
    }

    /// Marks bit errors.
    pub(crate) fn corrupt(&mut self, handle: Handle) {
        self.slots[handle as usize].label.corrupted = true;
        if let Some(packet) = self.whole.get_mut(&handle) {
            packet.corrupted = true;
        }
    }

    /// What these connections have sent arrives nowhere: nobody has its address any more. A free place keeps what it has until it is
    /// taken.
    pub(crate) fn strand(&mut self, of: &BTreeSet<ConnectionId>) {
        for slot in &mut self.slots {
            slot.label.corrupted |= of.contains(&slot.label.origin);
        }
    }

    /// What a queue discipline asks of the packet. A plain segment has an empty traffic class: its sender does no ECN.
    #[cold]
    pub(crate) fn class(&self, handle: Handle) -> Class {
        let ecn =
            self.whole(handle).map_or(Ecn::NotEct, |packet| Ecn::of_traffic_class(packet.traffic_class));
        Class { flow: self.label(handle).origin.0, ecn }
    }

    /// Marks "congestion experienced", as a discipline does that has seen an ECN-capable [`Packets::class`].
    #[cold]
    pub(crate) fn mark(&mut self, handle: Handle) {
        if let Some(packet) = self.whole.get_mut(&handle) {
            packet.traffic_class |= Ecn::CE_BITS;
        }
    }

    /// A second packet like the first.
    pub(crate) fn duplicate(&mut self, handle: Handle) -> Passing {
        let copy = self.store(self.slots[handle as usize]);
        self.sacks[copy as usize] = self.sacks[handle as usize];
        if let Some(packet) = self.whole.get(&handle) {
            self.whole.insert(copy, packet.clone());
        }
        self.passing(copy)
    }

    /// Puts a packet in the place of one that came by the same link. From then on it is kept whole.
    pub(crate) fn replace(&mut self, handle: Handle, packet: Packet) -> Passing {
        let &Label { origin, goal, .. } = self.label(handle);
        self.slots[handle as usize].label = Self::label_of_whole(&packet, origin, goal);
        self.whole.insert(handle, packet);
        self.passing(handle)
    }

    /// The place is free.
    #[inline]
    pub(crate) fn free(&mut self, handle: Handle) {
        let label = &mut self.slots[handle as usize].label;
        label.origin = ConnectionId(std::mem::replace(&mut self.free, handle));
        if label.whole {
            self.forget_whole(handle);
        }
    }

    #[cold]
    fn forget_whole(&mut self, handle: Handle) {
        self.whole.remove(&handle);
    }

    /// Packets under way.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let next = |&at: &Handle| self.slots.get(at as usize).map(|slot| slot.label.origin.0);
        let free = std::iter::successors(Some(self.free), next).count() - 1;
        self.slots.len() - free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::address::Addresses;
    use handfast_wire::tcp::SackBlock;

    fn segment(len: u32) -> Segment {
        Segment { payload: Payload::Synthetic { stream: 0, offset: 0, len }, ..Segment::EMPTY }
    }

    fn packet(len: u32) -> Packet {
        around(segment(len))
    }

    fn around(segment: Segment) -> Packet {
        let addresses = Addresses::new(4);
        Packet::tcp(addresses.ip_of(0), addresses.ip_of(3), segment)
    }

    fn insert(packets: &mut Packets, segment: Segment) -> Handle {
        let len = Packet::tcp_len(Addresses::new(1).ip_of(0), &segment);
        packets.insert(segment, len, ConnectionId(5), Goal::nowhere(), around).handle
    }

    #[test]
    fn labels_follow_the_packet() {
        let (mut packets, goal) = (Packets::default(), Goal::nowhere());
        let handle = insert(&mut packets, segment(100));
        let plain = Label {
            goal,
            len: 140,
            origin: ConnectionId(5),
            has_payload: true,
            corrupted: false,
            whole: false,
            sacks: false,
        };
        assert_eq!(packets.label(handle), &plain);
        packets.corrupt(handle);
        assert_eq!(packets.label(handle), &Label { corrupted: true, ..plain });
        let passing = packets.passing(handle);
        assert_eq!((passing.size(), passing.has_payload()), (Bytes(140), true));
        let replaced = packets.replace(handle, packet(0));
        assert_eq!((replaced.size(), replaced.has_payload()), (Bytes(40), false));
        assert_eq!(packets.label(handle), &Label { len: 40, has_payload: false, whole: true, ..plain });
        assert_eq!(packets.whole(handle), Some(&packet(0)));
        let whole = packets.insert_whole(packet(7), ConnectionId(6), goal).handle;
        assert_eq!(packets.label(whole), &Label { len: 47, origin: ConnectionId(6), whole: true, ..plain });
        packets.corrupt(whole);
        assert_eq!(packets.whole(whole), Some(&Packet { corrupted: true, ..packet(7) }));
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut packets = Packets::default();
        let mut sack = SackBlocks::NONE;
        sack.push(SackBlock { start: SeqNum(7), end: SeqNum(9) });
        let with = Segment {
            src_port: 1,
            dst_port: 2,
            seq: SeqNum(3),
            ack: SeqNum(4),
            flags: Flags::ACK | Flags::PSH,
            window: 5,
            timestamps: Some(Timestamps { val: 6, ecr: 7 }),
            sack,
            payload: Payload::Synthetic { stream: 8, offset: 1 << 40, len: 10 },
            ..Segment::EMPTY
        };
        let without = Segment { sack: SackBlocks::NONE, timestamps: None, ..with.clone() };
        for segment in [&with, &without] {
            let handle = insert(&mut packets, segment.clone());
            assert_eq!(&packets.segment(handle, (1, 2)), segment);
            let copy = packets.duplicate(handle).handle;
            assert_eq!(&packets.segment(copy, (1, 2)), segment);
            packets.free(handle);
            packets.free(copy);
        }
    }

    #[test]
    fn a_segment_with_anything_rare_is_kept_whole() {
        let mut packets = Packets::default();
        for rare in [
            Segment { mss: Some(9), ..segment(1) },
            Segment { window_scale: Some(9), ..segment(1) },
            Segment { sack_permitted: true, ..segment(1) },
            Segment { rare: Some(Box::default()), ..segment(1) },
            Segment { urgent: 9, ..segment(1) },
            Segment { payload: Payload::Bytes(segment(1).payload.to_bytes()), ..segment(1) },
        ] {
            let handle = insert(&mut packets, rare.clone());
            assert_eq!(packets.whole(handle), Some(&around(rare)));
        }
    }

    #[test]
    fn freed_places_are_used_again() {
        let mut packets = Packets::default();
        let [a, b] =
            [1, 2].map(|len| packets.insert_whole(packet(len), ConnectionId(0), Goal::nowhere()).handle);
        packets.free(a);
        let copy = packets.duplicate(b).handle;
        assert_eq!((copy, packets.len()), (a, 2));
        assert_eq!(packets.whole(copy), Some(&packet(2)));
        packets.free(b);
        packets.free(copy);
        assert_eq!((packets.whole.len(), packets.len()), (0, 0));
        assert_eq!(insert(&mut packets, segment(1)), copy);
        assert_eq!(packets.whole(copy), None);
    }
}
