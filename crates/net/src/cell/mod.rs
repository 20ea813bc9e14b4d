//! A cellular radio, LTE or 5G NR, as one direction of a link.
//!
//! In each slot the scheduler makes one transport block of the packets that wait: parts of packets and whole ones
//! (`schedule.rs`). HARQ repeats a block that is not decoded (`harq.rs`); what it gives up RLC finds missing and sends again
//! (`rlc`). Packets go up in order, so that what is above sees delay and bursts in place of losses.
//!
//! The machine has both ends of the direction. What waits stands in the link's queue discipline until a block has room for it.

mod harq;
mod profile;
mod rlc;
mod schedule;

use std::collections::VecDeque;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};

use crate::queue::{Occupancy, PacketMeta};
use harq::{Harq, Transmission};
pub use profile::{HarqProfile, Profile, RequestProfile, RlcProfile};
use rlc::{Block, Receiver, Status, Transmitter};
use schedule::{Budget, Grants, Slots};

/// One packet that has left the queue.
#[derive(Debug)]
struct Sdu<H> {
    packet: PacketMeta<H>,
    /// RLC has given up a block with a part of it.
    lost: bool,
}

/// What comes up at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival<H> {
    /// A packet, in order.
    Complete(PacketMeta<H>),
    /// RLC has given it up.
    GivenUp(PacketMeta<H>),
}

/// A block that is being filled.
#[derive(Debug)]
struct Filling {
    slot: u64,
    room: u64,
    block: Block,
}

/// One direction. The link calls [`Cell::step`] at [`Cell::next`], then fills the block that [`Cell::open`] may give.
#[derive(Debug)]
pub(crate) struct Cell<H> {
    profile: Profile,
    slots: Slots,
    budget: Budget,
    grants: Grants,
    harq: Harq,
    transmitter: Transmitter,
    receiver: Receiver,
    /// The packets that have left the queue and not come up; `first` is the number of the first.
    sdus: VecDeque<Sdu<H>>,
    first: u64,
    /// The number of the packet that is cut next, and how many of its bytes are in blocks.
    cut: (u64, u64),
    /// Bytes of the packets from that one on, each whole.
    uncut: Bytes,
    filling: Option<Filling>,
    /// Blocks on their way to being decoded.
    decoding: VecDeque<(Instant, u64, bool)>,
    /// Status reports on their way back.
    reports: VecDeque<(Instant, Status)>,
    /// The first slot that is free.
    free: u64,
    /// Nothing that is decided from now on concerns a slot that begins before this.
    driven: Instant,
}

impl<H: Copy> Cell<H> {
    pub(crate) fn new(profile: &Profile, rate: BitRate, mut random: Stream) -> Self {
        let phase = Duration::from_nanos(random.below(profile.slot.as_nanos()));
        let slots = Slots::new(profile.slot, phase);
        let grants = Grants::new(profile, &slots, |period| random.below(period));
        let harq = Harq::new(profile.harq.clone(), slots.count(profile.harq.round_trip), random);
        Self {
            budget: Budget::new(rate, profile.slot),
            grants,
            slots,
            harq,
            transmitter: Transmitter::new(profile.rlc.clone()),
            receiver: Receiver::new(&profile.rlc),
            sdus: VecDeque::new(),
            first: 0,
            cut: (0, 0),
            uncut: Bytes::ZERO,
            filling: None,
            decoding: VecDeque::new(),
            reports: VecDeque::new(),
            free: 0,
            driven: Instant::ZERO,
            profile: profile.clone(),
        }
    }

    /// What it carries of new data in the mean at that rate.
    pub(crate) fn carries(&self, rate: BitRate) -> BitRate {
        self.profile.carries(rate)
    }

    /// When [`Cell::step`] has something to do. `waits`: since when the queue has something; [`Instant::MAX`]: nothing.
    pub(crate) fn next(&self, waits: Instant) -> Instant {
        let decoded = self.decoding.front().map_or(Instant::MAX, |&(at, ..)| at);
        let reported = self.reports.front().map_or(Instant::MAX, |&(at, _)| at);
        let timers = self.receiver.deadline().min(self.transmitter.deadline());
        let slot = self.next_slot(waits).map_or(Instant::MAX, |slot| self.slots.begin(slot));
        decoded.min(reported).min(timers).min(slot)
    }

    /// The next slot that is used.
    fn next_slot(&self, waits: Instant) -> Option<u64> {
        if self.budget.is_nothing() {
            return None;
        }
        let earliest = self.free.max(self.slots.from(self.driven));
        let repetition = self.harq.due().map(|due| due.max(earliest));
        let fresh = waits < Instant::MAX && self.transmitter.has_room();
        let new = (self.has_work() || fresh).then(|| {
            let since = if self.has_work() { self.driven } else { self.driven.max(waits) };
            Some(earliest.max(self.slots.from(since)).max(self.grants.from()?))
        });
        repetition.into_iter().chain(new.flatten()).min()
    }

    /// Whether RLC has something to send besides what waits in the queue.
    fn has_work(&self) -> bool {
        self.transmitter.repeats() || (self.unsent() > 0 && self.transmitter.has_room())
    }

    /// Packets that have left the queue and are not wholly in blocks.
    fn unsent(&self) -> usize {
        self.sdus.len() - (self.cut.0 - self.first) as usize
    }

    /// Something waits in the queue since `now`.
    pub(crate) fn notice(&mut self, now: Instant) {
        self.grants.request(self.free.max(self.slots.from(now)));
    }

    /// Does what is due at `now`; `waits` says whether the queue has something.
    pub(crate) fn step(&mut self, now: Instant, waits: bool) {
        self.driven = now;
        while let Some(&(_, sn, poll)) = self.decoding.front().filter(|&&(at, ..)| at <= now) {
            self.decoding.pop_front();
            self.receiver.receive(now, sn, poll);
        }
        if let Some(status) = self.receiver.on_timer(now) {
            self.reports.push_back((now + self.profile.harq.round_trip, status));
        }
        let mut lost = Vec::new();
        while self.reports.front().is_some_and(|&(at, _)| at <= now) {
            let status = self.reports.pop_front();
            status.inspect(|(_, status)| self.transmitter.on_status(status, &mut lost));
        }
        lost.extend(self.transmitter.on_timer(now, waits || self.unsent() > 0));
        for sn in lost {
            self.give_up(sn);
        }
        if self.has_work() {
            self.notice(now);
        }
    }

    /// maxRetxThreshold is reached: the packets of which the block has a part are lost, and nothing waits for it.
    fn give_up(&mut self, sn: u64) {
        let Some(block) = self.transmitter.block(sn) else { return };
        for number in block.packets.clone() {
            if let Some(sdu) = number.checked_sub(self.first).and_then(|at| self.sdus.get_mut(at as usize)) {
                sdu.lost = true;
            }
        }
        self.receiver.fill(sn);
    }

    /// The next packet that comes up, or is lost: to be called after [`Cell::step`] until it gives nothing.
    pub(crate) fn arrival(&mut self) -> Option<Arrival<H>> {
        let last = self.receiver.in_order().checked_sub(1);
        let complete = last.and_then(|sn| self.transmitter.block(sn)).map_or(0, |block| block.complete);
        if self.first >= complete {
            self.transmitter.release();
            return None;
        }
        self.first += 1;
        self.sdus.pop_front().map(
            |Sdu { packet, lost }| {
                if lost { Arrival::GivenUp(packet) } else { Arrival::Complete(packet) }
            },
        )
    }

    /// A slot may begin at `now`: whether it makes a block of new packets, which is then to be filled by [`Cell::wants`] and
    /// [`Cell::put`], and sent by [`Cell::send`].
    pub(crate) fn open(&mut self, now: Instant, waits: bool) -> bool {
        let since = if waits { now } else { Instant::MAX };
        let Some(slot) = self.next_slot(since).filter(|&slot| self.slots.begin(slot) <= now) else {
            return false;
        };
        self.free = slot + 1;
        if let Some(repetition) = self.harq.repetition(slot) {
            self.budget.skip(slot);
            self.transmit(slot, repetition);
            return false;
        }
        if let Some((sn, poll)) = self.transmitter.repeat(now, waits || self.unsent() > 0) {
            self.budget.skip(slot);
            self.transmit(slot, Transmission::first(sn, poll));
            self.rest(waits);
            return false;
        }
        let number = self.cut.0;
        let block = Block { packets: number..number, complete: number, bytes: 0 };
        self.filling = Some(Filling { slot, room: self.budget.take(slot), block });
        self.fill();
        true
    }

    /// Whether the block has room for a further packet.
    pub(crate) fn wants(&self) -> bool {
        self.transmitter.has_room() && self.filling.as_ref().is_some_and(|filling| filling.room > 0)
    }

    /// A packet has left the queue for the block.
    pub(crate) fn put(&mut self, packet: PacketMeta<H>) {
        self.uncut += packet.size;
        self.sdus.push_back(Sdu { packet, lost: false });
        self.fill();
    }

    /// Segments and concatenates (TS 36.322 §5.1.3.1.1) as far as there is room.
    fn fill(&mut self) {
        let Some(Filling { room, block, .. }) = &mut self.filling else { return };
        while *room > 0
            && let Some(sdu) = self.sdus.get((self.cut.0 - self.first) as usize)
        {
            let size = sdu.packet.size;
            let part = (*room).min(size.get() - self.cut.1);
            *room -= part;
            block.bytes += part;
            block.packets.end = self.cut.0 + 1;
            self.cut.1 += part;
            if self.cut.1 == size.get() {
                self.cut = (self.cut.0 + 1, 0);
                self.uncut = self.uncut - size;
            }
            block.complete = self.cut.0;
        }
    }

    /// The block is as full as it gets; `waits` says whether the queue has something left.
    pub(crate) fn send(&mut self, now: Instant, waits: bool) {
        let Some(Filling { slot, block, .. }) = self.filling.take() else { return };
        if !block.packets.is_empty() {
            let (sn, poll) = self.transmitter.send(now, block, waits || self.unsent() > 0);
            self.transmit(slot, Transmission::first(sn, poll));
        }
        self.rest(waits);
    }

    /// The scheduler learns whether anything is left.
    fn rest(&mut self, waits: bool) {
        if !waits && self.unsent() == 0 && !self.transmitter.repeats() {
            self.grants.end();
        }
    }

    fn transmit(&mut self, slot: u64, transmission: Transmission) {
        if self.harq.send(slot, transmission) {
            let decoded = self.slots.begin(slot + 1) + self.profile.processing;
            self.decoding.push_back((decoded, transmission.sn, transmission.poll));
        }
    }

    /// The rate from now on; at rate zero all waits.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.driven = now;
        self.budget = Budget::new(rate, self.profile.slot);
    }

    /// A handover with data forwarding: MAC is reset and RLC re-established (TS 36.331 §5.3.5.4), and the target cell sends
    /// all that has not come up again, in order (TS 36.300 §10.1.2.3; TS 38.300 §9.2.3.2).
    pub(crate) fn reestablish(&mut self, now: Instant) {
        self.driven = now;
        self.harq.reset();
        self.decoding.clear();
        self.reports.clear();
        self.transmitter = Transmitter::new(self.profile.rlc.clone());
        self.receiver = Receiver::new(&self.profile.rlc);
        self.cut = (self.first, 0);
        self.uncut = self.sdus.iter().map(|sdu| sdu.packet.size).fold(Bytes::ZERO, |sum, size| sum + size);
        self.sdus.iter_mut().for_each(|sdu| sdu.lost = false);
        self.grants.end();
        if !self.sdus.is_empty() {
            self.notice(now);
        }
    }

    /// An outage takes all packets, in order.
    pub(crate) fn clear(&mut self, now: Instant) -> impl Iterator<Item = PacketMeta<H>> {
        let lost = std::mem::take(&mut self.sdus);
        self.first += lost.len() as u64;
        self.reestablish(now);
        lost.into_iter().map(|sdu| sdu.packet)
    }

    /// What has left the queue and is not wholly in blocks: it counts as the packet in serialisation does.
    pub(crate) fn waiting(&self) -> Occupancy {
        Occupancy { packets: self.unsent(), bytes: self.uncut }
    }

    /// Packets in blocks that have not come up.
    pub(crate) fn on_the_way(&self) -> usize {
        self.sdus.len() - self.unsent()
    }
}
