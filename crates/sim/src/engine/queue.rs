//! The event queue: when does which machine act next?

use handfast_core::Instant;

use crate::engine::deadlines::Deadlines;
use crate::engine::entry::{Entry, Key, Machine, Rank};
use crate::engine::fast_path::arrival_fifos::{ArrivalFifos, FifoId};
use crate::engine::fast_path::flight::Flight;
use crate::engine::heap::Heap;
use crate::engine::ids::ConnectionId;
use crate::engine::overflow::Overflow;
use crate::engine::wheel::Wheel;

/// What a machine keeps of its entry in the queue: the key, and the time.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Timer {
    key: Key,
    /// When the queue will wake the machine; [`Instant::MAX`]: it has no entry.
    armed: Instant,
}

impl Timer {
    /// An unarmed timer.
    pub(crate) fn new(rank: Rank, machine: Machine) -> Self {
        Self { key: Key::new(rank, machine), armed: Instant::MAX }
    }

    #[inline]
    pub(crate) fn rank(&self) -> Rank {
        self.key.rank()
    }

    #[inline]
    fn is_link(&self) -> bool {
        self.key.is_link()
    }
}

/// When does which machine act next? At most one entry a machine.
///
/// Arming is lazy: a deadline that moves later leaves the entry where it is. The driver compares with the machine's real
/// deadline when the entry comes up ([`EventQueue::settle`]; for connections the queue knows it), so that a retransmission
/// timer that every acknowledgement restarts costs one comparison a segment.
///
/// Packets in flight mostly land in the order in which they were sent: those are in FIFOs. Links act all the time and soon:
/// they, and what fits no FIFO, are kept in a wheel, as far as that reaches. Endpoints keep an entry each for a timer that
/// hardly ever comes up: those are in a heap.
#[derive(Debug)]
pub(crate) struct EventQueue {
    fifos: ArrivalFifos,
    wheel: Wheel,
    heap: Heap,
    overflow: Overflow,
    deadlines: Deadlines,
}

impl EventQueue {
    /// A queue for machines of ranks below `machines`, `connections` of them connections.
    pub(crate) fn new(machines: usize, connections: usize) -> Self {
        Self {
            fifos: ArrivalFifos::default(),
            wheel: Wheel::default(),
            heap: Heap::new(machines),
            overflow: Overflow::default(),
            deadlines: Deadlines::new(connections),
        }
    }

    /// Makes room for one more connection. At equal times it acts after all machines that were there before.
    pub(crate) fn add_connection(&mut self, id: ConnectionId) -> Key {
        self.deadlines.add();
        Key::new(self.heap.add_rank(), Machine::Connection(id.0))
    }

    /// Sees to it that a connection is woken at `deadline`, and not before.
    #[inline]
    pub(crate) fn arm_connection(&mut self, id: ConnectionId, key: Key, deadline: Option<Instant>) {
        let at = deadline.unwrap_or(Instant::MAX);
        if let Some(old) = self.deadlines.want(id, at) {
            let old = (old < Instant::MAX).then(|| Entry::new(old, key));
            self.settle_other(old, Some(Entry::new(at, key)));
        }
    }

    /// Whether the connection whose entry has come up has something to do.
    #[inline]
    pub(crate) fn is_due(&self, id: ConnectionId, now: Instant) -> bool {
        self.deadlines.is_due(id, now)
    }

    /// Puts entries of connections whose deadlines have moved later where they belong, until the next is not one of these.
    pub(crate) fn clear_front(&mut self) {
        while let Some(Machine::Connection(id)) = self.next_timer()
            && let Some(at) = self.deadlines.postpone(ConnectionId(id))
        {
            let first = self.heap.first();
            self.settle_other(Some(first), (at < Instant::MAX).then(|| first.moved_to(at)));
        }
    }

    /// Prefetches what will soon be the first of the packets in flight.
    #[inline]
    pub(crate) fn prefetch_ahead(&self) {
        self.fifos.prefetch_ahead();
    }

    /// The next entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        let near = self.fifos.first().min(self.wheel.first()).min(self.heap.first());
        // Where a packet in the wheel has the same order, the one in the overflow list came earlier.
        if near.is_after(self.overflow.first()) { self.overflow.first() } else { near }
    }

    /// Enters a packet's landing. `fifo` is that of the link by which it comes: it is changed to the one it is in now.
    #[inline]
    pub(crate) fn fly(&mut self, entry: Entry, flight: Flight, fifo: &mut FifoId) {
        if self.fifos.insert(entry, flight, fifo) {
            return;
        }
        if !self.wheel.insert(entry, flight) {
            self.overflow.insert(entry, flight);
        }
        if self.wheel.is_due() {
            self.judge_wheel();
        }
    }

    /// Takes out the first entry, which is this packet's, and shows another that will come soon.
    #[inline]
    pub(crate) fn pop_packet(&mut self, entry: Entry) -> (Flight, Entry, Flight) {
        if entry == self.fifos.first() {
            return self.fifos.pop();
        }
        let flight = self.pop_stray(entry);
        let (next, its) = self.next();
        (flight, next, its)
    }

    /// [`EventQueue::pop_packet`] for one that is in no FIFO.
    #[inline(never)]
    fn pop_stray(&mut self, entry: Entry) -> Flight {
        if entry == self.wheel.first() {
            self.wheel.pop()
        } else {
            self.overflow.pop().unwrap_or(Flight::NONE)
        }
    }

    /// Takes out the first entry, which is this link's: it is woken.
    #[inline]
    pub(crate) fn pop_link(&mut self, timer: &mut Timer, entry: Entry) {
        timer.armed = Instant::MAX;
        if entry == self.wheel.first() {
            self.wheel.pop();
        } else {
            self.heap.remove(entry);
        }
    }

    /// Sees to it that a link is woken by `at`: one that has an entry has none later.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each event; a call would be a fifth of it")]
    pub(crate) fn arm_link(&mut self, timer: &mut Timer, at: Instant) {
        if at >= timer.armed {
            return;
        }
        if timer.armed < Instant::MAX {
            return self.settle(timer, Some(at));
        }
        timer.armed = at;
        let entry = Entry::new(at, timer.key);
        if !self.wheel.insert(entry, Flight::NONE) {
            self.heap.insert(entry);
        }
        if self.wheel.is_due() {
            self.judge_wheel();
        }
    }

    #[cold]
    fn judge_wheel(&mut self) {
        for (entry, flight) in self.wheel.judge() {
            match entry.machine() {
                Machine::Packet(_) => self.overflow.insert(entry, flight),
                _ => self.heap.insert(entry),
            }
        }
    }

    /// The link that is likely to be woken next, or the packet that is likely to land next and what it will need.
    #[inline]
    pub(crate) fn next(&self) -> (Entry, Flight) {
        (self.wheel.first(), self.wheel.first_flight())
    }

    /// The machine other than a link that is likely to be woken next.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Machine> {
        let first = self.heap.first();
        (first < Entry::NEVER).then(|| first.machine())
    }

    /// Sees to it that the machine is woken by `deadline`, perhaps earlier.
    #[inline]
    pub(crate) fn arm(&mut self, timer: &mut Timer, deadline: Option<Instant>) {
        if deadline.is_some_and(|at| at < timer.armed) {
            self.settle(timer, deadline);
        }
    }

    /// Puts the machine's entry exactly at `deadline`, or takes it out.
    pub(crate) fn settle(&mut self, timer: &mut Timer, deadline: Option<Instant>) {
        let at = deadline.unwrap_or(Instant::MAX);
        let (old, new) = (Entry::new(timer.armed, timer.key), Entry::new(at, timer.key));
        let (was, is) = (timer.armed < Instant::MAX, at < Instant::MAX);
        timer.armed = at;
        if timer.is_link() {
            self.settle_link(was.then_some(old), is.then_some(new));
        } else {
            self.settle_other(was.then_some(old), is.then_some(new));
        }
    }

    fn settle_link(&mut self, old: Option<Entry>, new: Option<Entry>) {
        if let Some(old) = old.filter(|&old| !self.wheel.remove(old)) {
            self.heap.remove(old);
        }
        if let Some(new) = new.filter(|&new| !self.wheel.insert(new, Flight::NONE)) {
            self.heap.insert(new);
        }
        if self.wheel.is_due() {
            self.judge_wheel();
        }
    }

    fn settle_other(&mut self, old: Option<Entry>, new: Option<Entry>) {
        match (old, new) {
            (Some(old), Some(new)) => self.heap.replace(old, new),
            (None, Some(new)) => self.heap.insert(new),
            (Some(old), None) => self.heap.remove(old),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::{Duration, Stream};

    /// Machines of all kinds, each with its number as its rank.
    fn timers(n: u32) -> Vec<Timer> {
        let machine = |i| match i % 3 {
            0 => Machine::Air(i),
            1 => Machine::Channel(i),
            _ => Machine::Agent(i),
        };
        (0..n).map(|i| Timer::new(i, machine(i))).collect()
    }

    fn peek(queue: &EventQueue) -> Option<(Instant, Machine)> {
        let first = queue.first();
        (first < Entry::NEVER).then(|| (first.at(), first.machine()))
    }

    fn pop(queue: &mut EventQueue, timers: &mut [Timer]) -> Option<(u64, u32)> {
        let (at, machine) = peek(queue)?;
        let (Machine::Connection(index)
        | Machine::Channel(index)
        | Machine::Agent(index)
        | Machine::Air(index)
        | Machine::Packet(index)
        | Machine::Transport(index)) = machine;
        let timer = &mut timers[index as usize];
        if timer.is_link() {
            queue.pop_link(timer, queue.first());
        } else {
            queue.settle(timer, None);
        }
        Some((at.as_nanos(), index))
    }

    #[test]
    fn entries_come_out_by_time_then_rank() {
        let (mut queue, mut timers) = (EventQueue::new(5, 0), timers(5));
        for (index, at) in [(3, 7), (1, 7), (4, 2), (0, 9), (2, 7)] {
            queue.arm(&mut timers[index], Some(Instant::from_nanos(at)));
        }
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut queue, &mut timers)).collect();
        assert_eq!(order, [(2, 4), (7, 1), (7, 2), (7, 3), (9, 0)]);
    }

    #[test]
    fn a_deadline_that_moves_later_does_not_touch_the_heap() {
        let (mut queue, mut timers) = (EventQueue::new(1, 0), timers(1));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(5)));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(50)));
        queue.arm(&mut timers[0], None);
        assert_eq!(peek(&queue), Some((Instant::from_nanos(5), Machine::Air(0))));
        queue.settle(&mut timers[0], Some(Instant::from_nanos(50)));
        assert_eq!(peek(&queue), Some((Instant::from_nanos(50), Machine::Air(0))));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(20)));
        assert_eq!(peek(&queue), Some((Instant::from_nanos(20), Machine::Air(0))));
        assert_eq!(pop(&mut queue, &mut timers), Some((20, 0)));
        assert_eq!(peek(&queue), None);
    }

    #[test]
    fn it_agrees_with_a_sorted_set_over_random_operations() {
        const MACHINES: u32 = 60;
        let (mut queue, mut timers) = (EventQueue::new(MACHINES as usize, 0), timers(MACHINES));
        let mut model = std::collections::BTreeSet::new();
        let mut random = Stream::new(7, "queue");
        let mut now = Instant::ZERO;
        for _ in 0..200_000 {
            let index = random.below(u64::from(MACHINES)) as u32;
            let timer = &mut timers[index as usize];
            let old = timer.armed;
            // From one slot of the wheel to far beyond its end.
            let scale = 1 << random.below(34);
            let at = now + Duration::from_nanos(random.below(scale));
            let settle = random.chance(0.5);
            let wanted = (!random.chance(0.1)).then_some(at);
            if settle {
                queue.settle(timer, wanted);
            } else if let (true, Some(at)) = (timer.is_link(), wanted) {
                queue.arm_link(timer, at);
            } else {
                queue.arm(timer, wanted);
            }
            let moved = settle || wanted.is_some_and(|at| at < old);
            if moved {
                model.remove(&(old, index));
                model.extend(wanted.map(|at| (at, index)));
            }
            let first = peek(&queue).map(|(at, _)| at);
            assert_eq!(first, model.first().map(|&(at, _)| at));
            now = first.unwrap_or(now).max(now);
            if random.chance(0.3) {
                let expected = model.pop_first().map(|(at, index)| (at.as_nanos(), index));
                assert_eq!(pop(&mut queue, &mut timers), expected);
            }
        }
        let drained: Vec<_> = std::iter::from_fn(|| pop(&mut queue, &mut timers)).collect();
        let expected: Vec<_> = model.iter().map(|&(at, index)| (at.as_nanos(), index)).collect();
        assert_eq!(drained, expected);
    }

    /// Ends of flows with their deadlines, as a machine of the network has them.
    struct Ends {
        queue: EventQueue,
        wanted: Vec<Option<Instant>>,
        random: Stream,
    }

    impl Ends {
        /// One of them wants to be woken soon, or not at all any more.
        fn arm(&mut self, id: usize, now: Instant) {
            let at = now + Duration::from_nanos(1 + self.random.below(100));
            self.wanted[id] = (!self.random.chance(0.1)).then_some(at);
            let key = Key::new(id as u32, Machine::Connection(id as u32));
            self.queue.arm_connection(ConnectionId(id as u32), key, self.wanted[id]);
        }

        /// The entry that comes up next: when, and whose.
        fn next(&self) -> Option<(Instant, usize)> {
            let (at, machine) = peek(&self.queue)?;
            let Machine::Connection(id) = machine else { panic!("{machine:?}") };
            Some((at, id as usize))
        }
    }

    #[test]
    fn ends_of_flows_are_woken_when_they_are_due_and_others_go_back() {
        const CONNECTIONS: usize = 20;
        let (queue, random) = (EventQueue::new(CONNECTIONS, CONNECTIONS), Stream::new(3, "deadlines"));
        let mut ends = Ends { queue, wanted: vec![None; CONNECTIONS], random };
        let (mut now, mut woken, mut put_back) = (Instant::ZERO, 0, 0);
        for _ in 0..100_000 {
            let id = ends.random.below(CONNECTIONS as u64) as usize;
            ends.arm(id, now);
            let Some((at, id)) = ends.next().filter(|_| ends.random.chance(0.3)) else { continue };
            now = at;
            let earliest = ends.wanted.iter().flatten().min();
            if ends.queue.is_due(ConnectionId(id as u32), now) {
                assert_eq!((ends.wanted[id], earliest), (Some(now), Some(&now)));
                woken += 1;
                ends.arm(id, now);
            } else {
                assert!(ends.wanted[id].is_none_or(|at| at > now));
                put_back += 1;
            }
            ends.queue.clear_front();
            let earliest = ends.wanted.iter().flatten().min().copied();
            assert_eq!(ends.next().map(|(at, _)| at), earliest, "in front stands one that is due then");
        }
        assert!(woken > 1000 && put_back > 1000, "{woken} {put_back}");
    }

    /// Packets land in order of time, then of the link's rank, then as they came, however far that is, among the links and
    /// endpoints that wake.
    #[test]
    fn packets_land_in_the_order_in_which_they_were_sent() {
        let (mut queue, mut timers) = (EventQueue::new(16, 0), timers(6));
        let mut random = Stream::new(1, "landings");
        let (mut now, mut count, mut handle) = (0, 0_u64, 0_u32);
        // Packets by the links of the second half never land at the same time: they have FIFOs.
        let mut fifos = [[FifoId::NONE; 4], [FifoId::ANY; 4]].concat();
        let mut model = std::collections::BTreeMap::<(u64, u32, u64), _>::new();
        for round in 0..60_000 {
            // Few times, so that many are equal; some beyond the end of the wheel.
            let far = if random.chance(0.1) { 1 << 26 } else { 1 << 14 };
            let at = now + 1000 * (1 + random.below(far) / 1000);
            // As in the network a link's packets land in the order in which they enter.
            let link = random.below(8) as usize;
            let rank = 6 + link as u32;
            let last = model.keys().filter(|&&(_, r, _)| r == rank).map(|&(at, ..)| at).max();
            let step = if fifos[link] == FifoId::NONE { 0 } else { 1000 };
            let at = at.max(last.map_or(0, |last| last + step));
            count += 1;
            if random.chance(0.7) {
                // The slab's handles come in any order.
                handle = handle.wrapping_mul(5).wrapping_add(12_345) % (1 << 20);
                let flight = Flight { next: round, ..Flight::NONE };
                queue.fly(Entry::of_packet(Instant::from_nanos(at), rank, handle), flight, &mut fifos[link]);
                model.insert((at, rank, count), Some((handle, round)));
            } else {
                let index = random.below(6) as usize;
                if timers[index].armed == Instant::MAX {
                    queue.settle(&mut timers[index], Some(Instant::from_nanos(at)));
                    model.insert((at, index as u32, count), None);
                }
            }
            while model.len() > 40 {
                let ((at, rank, _), packet) = model.pop_first().unwrap();
                let first = queue.first();
                assert_eq!(first.at().as_nanos(), at);
                now = at;
                match packet {
                    Some((handle, next)) => {
                        assert_eq!(first.machine(), Machine::Packet(handle));
                        assert_eq!(queue.pop_packet(first).0, Flight { next, ..Flight::NONE });
                    }
                    None => assert_eq!(pop(&mut queue, &mut timers), Some((at, rank))),
                }
            }
        }
        assert!(fifos[..4].iter().all(|&fifo| fifo == FifoId::NONE));
        assert!(fifos[4..].iter().any(|&fifo| fifo != FifoId::ANY), "some have found others");
    }

    #[test]
    fn what_is_shown_with_a_packet_is_one_to_come() {
        let mut queue = EventQueue::new(2, 0);
        let entry = |at: u64| Entry::of_packet(Instant::from_nanos(at), 0, at as u32);
        let flight = |at: u64| Flight { next: at as u32, ..Flight::NONE };
        let mut fifo = FifoId::ANY;
        // The third is in the wheel: it comes before the last in the FIFO.
        for at in [10, 30, 20, 40] {
            let mut none = FifoId::NONE;
            queue.fly(entry(at), flight(at), if at == 20 { &mut none } else { &mut fifo });
        }
        let mut pop = |at| queue.pop_packet(entry(at));
        assert_eq!(pop(10), (flight(10), entry(30), flight(30)));
        assert_eq!(pop(20), (flight(20), Entry::NEVER, Flight::NONE), "nothing in the wheel");
        assert_eq!(pop(30), (flight(30), entry(40), flight(40)));
        assert_eq!(pop(40), (flight(40), Entry::NEVER, Flight::NONE));
        assert_eq!(queue.first(), Entry::NEVER);
    }
}
