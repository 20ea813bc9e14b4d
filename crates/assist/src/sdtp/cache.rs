//! The caching buffer of one connection in one direction (`[sdtp]` §II-B).

use std::collections::VecDeque;

use handfast_core::SeqNum;
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Data, Trigger};

/// What a caching node can keep and send again.
pub trait Cacheable: Clone {
    /// The congestion marks of the host's packet.
    fn ecn(&self) -> Ecn;

    /// The packet says from now on that it met congestion.
    fn mark(&mut self);
}

impl Cacheable for Data {
    fn ecn(&self) -> Ecn {
        Ecn::of(self.ip.traffic_class)
    }

    fn mark(&mut self) {
        self.ip.traffic_class = Ecn::Congested.within(self.ip.traffic_class);
    }
}

/// What a packet costs besides its bytes: what a node keeps of it beside them.
pub const PACKET_COST: u64 = 256;

const _: () = assert!(size_of::<Cached<Data>>() <= PACKET_COST as usize);

/// A packet that is kept.
#[derive(Clone, Debug)]
pub(super) struct Cached<P> {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    /// Bytes on the wire.
    pub(super) bytes: u32,
    pub(super) packet: P,
    served_count: bool,
    served_time: bool,
    /// How often it was sent again.
    pub(super) copies: u32,
}

impl<P> Cached<P> {
    pub(super) fn new(seq: SeqNum, len: u32, bytes: u32, packet: P) -> Self {
        Self { seq, len, bytes, packet, served_count: false, served_time: false, copies: 0 }
    }

    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len
    }

    pub(super) fn cost(&self) -> u64 {
        u64::from(self.bytes) + PACKET_COST
    }

    /// Whether a request because of this trigger is the first (`[sdtp]` §III-C 4: "not triggered by the same condition"). One
    /// because of a timeout always is: what was sent before is lost.
    pub(super) fn is_asked_first(&mut self, trigger: Trigger) -> bool {
        match trigger {
            Trigger::Count => !std::mem::replace(&mut self.served_count, true),
            Trigger::Time => !std::mem::replace(&mut self.served_time, true),
            Trigger::Timeout => true,
        }
    }
}

/// The packets are in order of their first numbers, and of their last ones: none lies within another.
#[derive(Clone, Debug)]
pub(super) struct Cache<P> {
    packets: VecDeque<Cached<P>>,
    cost: u64,
}

impl<P> Cache<P> {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), cost: 0 }
    }

    /// What its packets cost.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// Packets.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Keeps a packet, instead of those that lie within it. One that lies within another is not kept: the bytes are here.
    pub(super) fn insert(&mut self, new: Cached<P>) {
        let place = self.place(new.seq);
        let (mut from, mut to) = (place, place);
        if let Some(before) = place.checked_sub(1) {
            let one = &self.packets[before];
            if one.end().after(new.end()) || (one.end() == new.end() && one.seq != new.seq) {
                return;
            }
            from -= usize::from(one.seq == new.seq);
        }
        while self.packets.get(to).is_some_and(|one| !one.end().after(new.end())) {
            to += 1;
        }
        self.put(from, to, new);
    }

    /// Puts a packet in place of those from `from` to `to`.
    fn put(&mut self, from: usize, to: usize, new: Cached<P>) {
        self.cost += new.cost();
        if from == to {
            self.packets.insert(from, new);
            return;
        }
        self.cost -= self.packets.range(from..to).map(Cached::cost).sum::<u64>();
        self.packets[from] = new;
        self.packets.drain(from + 1..to);
    }

    /// Behind all that begin at `seq` or before.
    fn place(&self, seq: SeqNum) -> usize {
        match self.packets.back() {
            Some(last) if last.seq.after(seq) => self.packets.partition_point(|one| !one.seq.after(seq)),
            _ => self.packets.len(),
        }
    }

    /// Lets go of the oldest packet: the one with the lowest number.
    pub(super) fn drop_first(&mut self) -> bool {
        let first = self.packets.pop_front();
        self.cost -= first.as_ref().map_or(0, Cached::cost);
        first.is_some()
    }

    /// Lets go of what ends at or before `until`; says how many packets.
    pub(super) fn release(&mut self, until: SeqNum) -> u64 {
        let released = self.packets.partition_point(|one| !one.end().after(until));
        self.cost -= self.packets.range(..released).map(Cached::cost).sum::<u64>();
        self.packets.drain(..released);
        released as u64
    }

    /// The packets with something from `start` to `end`, in order.
    pub(super) fn within(&mut self, start: SeqNum, end: SeqNum) -> impl Iterator<Item = &mut Cached<P>> {
        let from = self.packets.partition_point(|one| !one.end().after(start));
        self.packets.range_mut(from..).take_while(move |one| one.seq.before(end))
    }

    /// The packets from the one on that begins at `start`, as far as each begins where the one before ends.
    pub(super) fn from(&self, start: SeqNum) -> impl Iterator<Item = &Cached<P>> {
        let at = self.packets.partition_point(|one| one.seq.before(start));
        let mut next = start;
        self.packets.range(at..).take_while(move |one| {
            let follows = one.seq == next;
            next = one.end();
            follows
        })
    }

    /// Where the packet lies that begins so many packets after the one at `start`: only if all between are here, because what
    /// is missing cannot be counted.
    pub(super) fn nth(&self, start: SeqNum, number: u16) -> Option<(SeqNum, SeqNum)> {
        let from = self.packets.partition_point(|one| one.seq.before(start));
        let mut next = start;
        for (place, one) in self.packets.range(from..).enumerate() {
            if one.seq != next {
                return None;
            }
            if place == usize::from(number) {
                return Some((one.seq, one.end()));
            }
            next = one.end();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISN: SeqNum = SeqNum(u32::MAX - 25);

    fn cache(packets: &[(u32, u32)]) -> Cache<()> {
        let mut cache = Cache::new();
        for &(from, len) in packets {
            cache.insert(Cached::new(ISN + from, len, len, ()));
        }
        let cost: u64 = cache.packets.iter().map(Cached::cost).sum();
        assert_eq!(cache.cost(), cost);
        cache
    }

    fn spans(cache: &Cache<()>) -> Vec<(u32, u32)> {
        cache.packets.iter().map(|one| ((one.seq.distance(ISN)) as u32, one.len)).collect()
    }

    #[test]
    fn a_packet_takes_the_place_of_those_within_it() {
        for (packets, kept) in [
            (&[(0, 10), (20, 10), (10, 10)][..], &[(0, 10), (10, 10), (20, 10)][..]),
            (&[(0, 10), (10, 10), (20, 10), (5, 20)], &[(0, 10), (5, 20), (20, 10)]),
            (&[(0, 10), (10, 10), (20, 10), (0, 25)], &[(0, 25), (20, 10)]),
            (&[(0, 10), (10, 10), (0, 30)], &[(0, 30)]),
            (&[(0, 10), (0, 10)], &[(0, 10)]),
            (&[(0, 10), (0, 5)], &[(0, 10)]),
            (&[(0, 10), (5, 5)], &[(0, 10)]),
            (&[(0, 10), (2, 3)], &[(0, 10)]),
            (&[(0, 10), (5, 6)], &[(0, 10), (5, 6)]),
            (&[(5, 5), (0, 10)], &[(0, 10)]),
            (&[(5, 6), (0, 10)], &[(0, 10), (5, 6)]),
        ] {
            assert_eq!(spans(&cache(packets)), kept, "{packets:?}");
        }
    }

    #[test]
    fn what_begins_anew_counts_as_not_served() {
        let mut cache = cache(&[(0, 10)]);
        for first in [true, false] {
            assert_eq!(cache.within(ISN, ISN + 1).next().unwrap().is_asked_first(Trigger::Count), first);
        }
        cache.insert(Cached::new(ISN, 10, 10, ()));
        assert!(cache.within(ISN, ISN + 1).next().unwrap().is_asked_first(Trigger::Count));
    }

    #[test]
    fn each_trigger_counts_by_itself_and_a_timeout_always() {
        let mut one = Cached::new(ISN, 10, 10, ());
        let asked = [
            Trigger::Count,
            Trigger::Timeout,
            Trigger::Time,
            Trigger::Count,
            Trigger::Time,
            Trigger::Timeout,
        ];
        assert_eq!(asked.map(|trigger| one.is_asked_first(trigger)), [true, true, true, false, false, true]);
    }

    #[test]
    fn all_that_ends_before_is_released() {
        let mut cache = cache(&[(0, 10), (10, 10), (20, 10)]);
        assert_eq!((cache.release(ISN + 9), cache.release(ISN + 29)), (0, 2));
        assert_eq!((spans(&cache), cache.cost()), (vec![(20, 10)], 10 + PACKET_COST));
        assert_eq!((cache.drop_first(), cache.drop_first(), cache.cost()), (true, false, 0));
    }

    #[test]
    fn those_with_a_part_in_the_range_are_within_it() {
        let mut cache = cache(&[(0, 10), (10, 10), (30, 10), (40, 10)]);
        let mut within = |from, to| cache.within(ISN + from, ISN + to).map(|one| one.len).sum::<u32>();
        assert_eq!((within(0, 10), within(9, 11), within(20, 30), within(15, 41)), (10, 20, 0, 30));
    }

    #[test]
    fn packets_are_counted_only_where_none_is_missing() {
        let cache = cache(&[(0, 10), (10, 15), (25, 5), (40, 10)]);
        let nth = |from, number| cache.nth(ISN + from, number).map(|span| span.0.distance(ISN));
        assert_eq!([0, 1, 2, 3].map(|number| nth(0, number)), [Some(0), Some(10), Some(25), None]);
        assert_eq!((nth(10, 1), nth(5, 0), nth(40, 0), nth(40, 1)), (Some(25), None, Some(40), None));
    }

    #[test]
    fn a_mark_leaves_the_rest_of_the_traffic_class() {
        let content = handfast_wire::sdtp::Content::Segment(handfast_wire::tcp::Segment::EMPTY);
        let ip = handfast_wire::sdtp::InnerIp { traffic_class: 0b1010_1010, ..Default::default() };
        let mut data = Data { ip, since_start: 0, host: 0, content };
        assert_eq!(data.ecn(), Ecn::Capable0);
        data.mark();
        assert_eq!((data.ecn(), data.ip.traffic_class), (Ecn::Congested, 0b1010_1011));
    }
}
