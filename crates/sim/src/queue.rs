//! The event queue: when does which machine act next?

use handfast_core::Instant;

/// A machine's place in the order of events at equal times: first by node, then by the machine's number in that node.
pub(crate) type Rank = u32;

/// What acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// One direction of a link.
    Channel(u32),
    /// One end of a flow: application and endpoint.
    Side(u32),
    /// A forwarder that a scheme attached.
    Agent(u32),
}

/// A machine's own side of its entry in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    rank: Rank,
    machine: Packed,
    /// When the queue will wake the machine; [`Instant::MAX`]: it has no entry.
    armed: Instant,
}

/// A [`Machine`] in four bytes, so that an entry takes sixteen and four of them share a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed(u32);

impl Packed {
    const KIND_SHIFT: u32 = 30;

    fn new(machine: Machine) -> Self {
        let (kind, index) = match machine {
            Machine::Channel(index) => (0, index),
            Machine::Side(index) => (1, index),
            Machine::Agent(index) => (2, index),
        };
        assert!(index >> Self::KIND_SHIFT == 0, "no scenario has 2^30 machines of a kind");
        Self(kind << Self::KIND_SHIFT | index)
    }

    fn is_link(self) -> bool {
        self.0 >> Self::KIND_SHIFT == 0
    }

    fn machine(self) -> Machine {
        let index = self.0 & ((1 << Self::KIND_SHIFT) - 1);
        match self.0 >> Self::KIND_SHIFT {
            0 => Machine::Channel(index),
            1 => Machine::Side(index),
            _ => Machine::Agent(index),
        }
    }
}

impl Timer {
    /// An unarmed timer.
    pub(crate) fn new(rank: Rank, machine: Machine) -> Self {
        Self { rank, machine: Packed::new(machine), armed: Instant::MAX }
    }
}

/// (time, rank, machine) as one number: entries compare without branches, which a heap's random order would mispredict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    /// After every entry that there can be.
    const NEVER: Self = Self(u128::MAX);

    fn new(at: Instant, timer: &Timer) -> Self {
        Self(u128::from(at.as_nanos()) << 64 | u128::from(timer.rank) << 32 | u128::from(timer.machine.0))
    }

    fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    fn rank(self) -> usize {
        (self.0 >> 32) as u32 as usize
    }

    fn machine(self) -> Machine {
        Packed(self.0 as u32).machine()
    }
}

/// When does which machine act next? At most one entry a machine.
///
/// Arming is lazy: a deadline that moves later leaves the entry where it is. The driver compares with the machine's real
/// deadline when the entry comes up ([`EventQueue::settle`]), so that a retransmission timer that every acknowledgement
/// restarts costs one comparison a segment.
///
/// Links have a heap of their own: they act all the time, and few of them are under way at once, while each endpoint keeps
/// an entry for a timer that hardly ever comes up. Apart, the busy heap stays small.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    links: Heap,
    others: Heap,
}

impl EventQueue {
    /// A queue for machines of ranks below `machines`.
    pub(crate) fn new(machines: usize) -> Self {
        Self { links: Heap::new(machines), others: Heap::new(machines) }
    }

    /// The next entry: when, and which machine.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(Instant, Machine)> {
        let first = self.links.first().min(self.others.first());
        (first < Entry::NEVER).then(|| (first.at(), first.machine()))
    }

    /// Sees to it that the machine is woken by `deadline`, perhaps earlier.
    #[inline]
    pub(crate) fn arm(&mut self, timer: &mut Timer, deadline: Option<Instant>) {
        let at = deadline.unwrap_or(Instant::MAX);
        if at < timer.armed {
            self.heap_of(timer).wake_by(timer, at);
        }
    }

    /// Puts the machine's entry exactly at `deadline`, or takes it out.
    #[inline]
    pub(crate) fn settle(&mut self, timer: &mut Timer, deadline: Option<Instant>) {
        self.heap_of(timer).settle(timer, deadline.unwrap_or(Instant::MAX));
    }

    fn heap_of(&mut self, timer: &Timer) -> &mut Heap {
        if timer.machine.is_link() { &mut self.links } else { &mut self.others }
    }
}

/// A 4-ary heap that knows where its entries stand.
#[derive(Debug, Default)]
struct Heap {
    heap: Vec<Entry>,
    /// Where in `heap` the entry of each rank stands; meaningless without one.
    place: Vec<u32>,
}

const ARITY: usize = 4;

impl Heap {
    fn new(machines: usize) -> Self {
        Self { heap: Vec::new(), place: vec![0; machines] }
    }

    fn first(&self) -> Entry {
        self.heap.first().copied().unwrap_or(Entry::NEVER)
    }

    fn wake_by(&mut self, timer: &mut Timer, at: Instant) {
        let entry = Entry::new(at, timer);
        let place = if timer.armed == Instant::MAX {
            self.heap.push(entry);
            self.heap.len() - 1
        } else {
            self.place[timer.rank as usize] as usize
        };
        timer.armed = at;
        self.rise(place, entry);
    }

    fn settle(&mut self, timer: &mut Timer, at: Instant) {
        if at < timer.armed {
            return self.wake_by(timer, at);
        }
        if timer.armed == Instant::MAX {
            return;
        }
        let place = self.place[timer.rank as usize] as usize;
        timer.armed = at;
        if at < Instant::MAX {
            self.sink(place, Entry::new(at, timer));
        } else {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: usize) {
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            // The last entry may belong above as well as below the gap, if that is in another branch.
            self.sink(place, last);
            let settled = self.place[last.rank()] as usize;
            self.rise(settled, last);
        }
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.rank()] = place as u32;
    }

    /// Moves `entry`, which is to stand at `place`, towards the root as far as it belongs.
    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] < entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves `entry`, which is to stand at `place`, towards the leaves as far as it belongs.
    fn sink(&mut self, mut place: usize, entry: Entry) {
        while let Some(child) = self.first_child(place) {
            if entry < self.heap[child] {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    /// The earliest of the children of `place`.
    #[inline]
    fn first_child(&self, place: usize) -> Option<usize> {
        let first = place * ARITY + 1;
        if let Some(&[a, b, c, d]) = self.heap.get(first..first + ARITY) {
            let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
            let last_wins = usize::from(c.min(d) < a.min(b));
            return Some(first + left + (right - left) * last_wins);
        }
        let (offset, _) = self.heap.get(first..)?.iter().enumerate().min_by_key(|(_, entry)| **entry)?;
        Some(first + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::{Duration, Stream};

    /// Machines of all kinds, each with its number as its rank.
    fn timers(n: u32) -> Vec<Timer> {
        let machine = |i| match i % 3 {
            0 => Machine::Side(i),
            1 => Machine::Channel(i),
            _ => Machine::Agent(i),
        };
        (0..n).map(|i| Timer::new(i, machine(i))).collect()
    }

    fn pop(queue: &mut EventQueue, timers: &mut [Timer]) -> Option<(u64, u32)> {
        let (at, machine) = queue.peek()?;
        let (Machine::Side(index) | Machine::Channel(index) | Machine::Agent(index)) = machine;
        queue.settle(&mut timers[index as usize], None);
        Some((at.as_nanos(), index))
    }

    #[test]
    fn entries_come_out_by_time_then_rank() {
        let (mut queue, mut timers) = (EventQueue::new(5), timers(5));
        for (index, at) in [(3, 7), (1, 7), (4, 2), (0, 9), (2, 7)] {
            queue.arm(&mut timers[index], Some(Instant::from_nanos(at)));
        }
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut queue, &mut timers)).collect();
        assert_eq!(order, [(2, 4), (7, 1), (7, 2), (7, 3), (9, 0)]);
    }

    #[test]
    fn a_deadline_that_moves_later_does_not_touch_the_heap() {
        let (mut queue, mut timers) = (EventQueue::new(1), timers(1));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(5)));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(50)));
        queue.arm(&mut timers[0], None);
        assert_eq!(queue.peek(), Some((Instant::from_nanos(5), Machine::Side(0))));
        queue.settle(&mut timers[0], Some(Instant::from_nanos(50)));
        assert_eq!(queue.peek(), Some((Instant::from_nanos(50), Machine::Side(0))));
        queue.arm(&mut timers[0], Some(Instant::from_nanos(20)));
        assert_eq!(queue.peek(), Some((Instant::from_nanos(20), Machine::Side(0))));
        assert_eq!(queue.others.heap.len(), 1);
    }

    #[test]
    fn it_agrees_with_a_sorted_set_over_random_operations() {
        const MACHINES: u32 = 60;
        let (mut queue, mut timers) = (EventQueue::new(MACHINES as usize), timers(MACHINES));
        let mut model = std::collections::BTreeSet::new();
        let mut random = Stream::new(7, "queue");
        let mut now = Instant::ZERO;
        for _ in 0..20_000 {
            let index = random.below(u64::from(MACHINES)) as u32;
            let timer = &mut timers[index as usize];
            let old = timer.armed;
            let at = now + Duration::from_nanos(random.below(1000));
            let settle = random.chance(0.5);
            let wanted = (!random.chance(0.1)).then_some(at);
            if settle {
                queue.settle(timer, wanted);
            } else {
                queue.arm(timer, wanted);
            }
            let moved = settle || wanted.is_some_and(|at| at < old);
            if moved {
                model.remove(&(old, index));
                model.extend(wanted.map(|at| (at, index)));
            }
            let first = queue.peek().map(|(at, _)| at);
            assert_eq!(first, model.first().map(|&(at, _)| at));
            now = first.unwrap_or(now).max(now);
        }
        let drained: Vec<_> = std::iter::from_fn(|| pop(&mut queue, &mut timers)).collect();
        let expected: Vec<_> = model.iter().map(|&(at, index)| (at.as_nanos(), index)).collect();
        assert_eq!(drained, expected);
    }

    #[test]
    fn a_machine_keeps_its_kind() {
        for machine in [Machine::Channel(7), Machine::Side(0), Machine::Agent(12)] {
            assert_eq!(Packed::new(machine).machine(), machine);
        }
    }
}
