//! Delivery opportunities: the milliseconds at which a packet may leave (Winstein, Sivaraman, Balakrishnan: "Stochastic
//! Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013; the files of mahimahi's `mm-link`).

use handfast_core::{Bytes, Duration, Instant};

use super::AtEnd;

/// What one opportunity carries in `mm-link`: a full packet of 1,500 bytes and the header of its TUN device.
pub const OPPORTUNITY: Bytes = Bytes(FULL_PACKET + TUN_HEADER);
const FULL_PACKET: u64 = 1500;
/// `mm-link` counts the four bytes that its TUN device puts before each packet.
const TUN_HEADER: u64 = 4;

/// All opportunities of one millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Milliseconds from the beginning.
    pub(super) at: u32,
    /// How many there are up to here, these included.
    pub(super) through: u32,
}

/// The opportunities of a trace, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    slots: Vec<Slot>,
    at_end: AtEnd,
}

impl Opportunities {
    /// Opportunities at these milliseconds, which do not fall; [`None`] where there are none, or none after the beginning.
    pub(super) fn new(moments: impl Iterator<Item = u32>, at_end: AtEnd) -> Option<Self> {
        let mut slots: Vec<Slot> = Vec::new();
        for (before, at) in (0..).zip(moments) {
            match slots.last_mut() {
                Some(last) if last.at == at => last.through += 1,
                _ => slots.push(Slot { at, through: before + 1 }),
            }
        }
        slots.last().is_some_and(|last| last.at > 0).then_some(Self { slots, at_end })
    }

    /// The same, without repetition.
    pub(super) fn once(&self) -> Self {
        Self { slots: self.slots.clone(), at_end: AtEnd::Hold }
    }

    /// When the last opportunity is: then the first comes again.
    pub(super) fn length(&self) -> Duration {
        Duration::from_millis(u64::from(self.slots.last().map_or(0, |last| last.at)))
    }

    /// How many opportunities there are in one round.
    pub(super) fn number(&self) -> u64 {
        self.slots.last().map_or(0, |last| u64::from(last.through))
    }

    /// Their milliseconds, each as often as it has opportunities.
    pub fn moments(&self) -> impl Iterator<Item = u32> + '_ {
        let before = |index: usize| index.checked_sub(1).map_or(0, |before| self.slots[before].through);
        let slots = self.slots.iter().enumerate();
        slots.flat_map(move |(index, slot)| (before(index)..slot.through).map(|_| slot.at))
    }

    pub(super) fn carried(&self, until: Instant) -> Bytes {
        let (round, into) = self.split(until);
        let passed = self.slots.partition_point(|slot| u64::from(slot.at) * NANOS_PER_MS <= into);
        let in_round = passed.checked_sub(1).map_or(0, |last| u64::from(self.slots[last].through));
        let rounds = match self.at_end {
            AtEnd::Repeat => round,
            AtEnd::Hold if round > 0 => return Bytes(self.number() * FULL_PACKET),
            AtEnd::Hold => 0,
        };
        // At the end of a round its last opportunities and the first of the next are there together.
        Bytes((rounds * self.number() + in_round) * FULL_PACKET)
    }

    /// The round that a moment is in, and how many nanoseconds it is in there.
    fn split(&self, at: Instant) -> (u64, u64) {
        let length = self.length().as_nanos();
        (at.as_nanos() / length, at.as_nanos() % length)
    }

    /// The first slot after `at`, or at it where `including`.
    fn first(&self, at: Instant, including: bool) -> Position {
        let (mut round, mut into) = self.split(at);
        // The end of a round belongs to it.
        if into == 0 && round > 0 && including {
            (round, into) = (round - 1, self.length().as_nanos());
        }
        let passed = |slot: &Slot| {
            let at = u64::from(slot.at) * NANOS_PER_MS;
            if including { at < into } else { at <= into }
        };
        self.normal(Position { round, index: self.slots.partition_point(passed) })
    }

    /// The same, where the index may be past the end of its round.
    fn normal(&self, position: Position) -> Position {
        if position.index < self.slots.len() {
            return position;
        }
        Position { round: position.round + 1, index: 0 }
    }

    /// When a slot is; [`Instant::MAX`] after the end.
    fn time(&self, Position { round, index }: Position) -> Instant {
        if round > 0 && self.at_end == AtEnd::Hold {
            return Instant::MAX;
        }
        let at = Duration::from_millis(u64::from(self.slots[index].at));
        Instant::ZERO + self.length().saturating_mul(round) + at
    }

    /// What a slot carries, in bytes with TUN headers.
    fn bytes(&self, index: usize) -> u64 {
        let before = index.checked_sub(1).map_or(0, |before| self.slots[before].through);
        u64::from(self.slots[index].through - before) * OPPORTUNITY.get()
    }
}

const NANOS_PER_MS: u64 = 1_000_000;

/// Which slot of which round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    round: u64,
    index: usize,
}

/// Uses the opportunities one after another, as `mm-link` does.
#[derive(Debug)]
pub(super) struct Server {
    /// The slot that is not begun.
    next: Position,
    /// When the slot is that was begun last.
    at: Instant,
    /// What is left of it. Worth something at that very moment, for packets that were there before it.
    left: u64,
}

impl Server {
    pub(super) fn new() -> Self {
        Self { next: Position { round: 0, index: 0 }, at: Instant::ZERO, left: 0 }
    }

    /// When a packet that is there since `since` may begin to leave: an opportunity at the moment of its arrival is past.
    pub(super) fn ready(&self, opportunities: &Opportunities, since: Instant) -> Instant {
        if self.left > 0 && self.at > since {
            return self.at;
        }
        let next = opportunities.time(self.next);
        if next > since { next } else { opportunities.time(opportunities.first(since, false)) }
    }

    /// When a packet of `size` bytes has left that begins at `begin`; `waited`: it was there before.
    pub(super) fn serve(
        &mut self,
        opportunities: &Opportunities,
        begin: Instant,
        waited: bool,
        size: u32,
    ) -> Instant {
        let missed = self.at < begin || (self.at == begin && !waited);
        if missed {
            self.left = 0;
            let next = opportunities.time(self.next);
            if next < begin || (next == begin && !waited) {
                self.next = opportunities.first(begin, waited);
            }
        }
        let mut work = u64::from(size) + TUN_HEADER;
        while work > self.left {
            work -= self.left;
            self.at = opportunities.time(self.next);
            if self.at == Instant::MAX {
                self.left = 0;
                return Instant::MAX;
            }
            self.left = opportunities.bytes(self.next.index);
            self.next = opportunities.normal(Position { index: self.next.index + 1, round: self.next.round });
        }
        self.left -= work;
        self.at
    }

    /// When the last packet has left.
    pub(super) fn free_at(&self) -> Instant {
        self.at
    }

    /// Nothing is being served at `now`, and what was left is lost.
    pub(super) fn restart(&mut self, opportunities: &Opportunities, now: Instant) {
        *self = Self { next: opportunities.first(now, false), at: now, left: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn trace(moments: &[u32]) -> Opportunities {
        Opportunities::new(moments.iter().copied(), AtEnd::Repeat).unwrap()
    }

    #[test]
    fn an_opportunity_without_a_packet_is_wasted() {
        let trace = trace(&[1, 2, 3, 10]);
        let mut server = Server::new();
        assert_eq!(server.serve(&trace, Instant::from_nanos(2_500_000), false, 1500), ms(3));
        assert_eq!(server.serve(&trace, ms(3), true, 1500), ms(10), "one packet each");
    }

    #[test]
    fn who_comes_at_the_moment_of_an_opportunity_is_late() {
        let trace = trace(&[5, 9]);
        assert_eq!(Server::new().serve(&trace, ms(5), false, 100), ms(9));
        assert_eq!(Server::new().ready(&trace, ms(5)), ms(9));
        assert_eq!(Server::new().ready(&trace, ms(4)), ms(5));
    }

    #[test]
    fn bytes_left_over_serve_who_waits_and_nobody_else() {
        let trace = trace(&[5, 9, 20]);
        let mut server = Server::new();
        assert_eq!(server.serve(&trace, ms(1), false, 500), ms(5));
        assert_eq!(server.ready(&trace, ms(2)), ms(5));
        assert_eq!(server.serve(&trace, ms(5), true, 500), ms(5));
        // 1504 - 2 x 504 = 496 bytes are left of the first opportunity, which the next packet begins with.
        assert_eq!(server.serve(&trace, ms(5), true, 1500), ms(9));
        assert_eq!(server.serve(&trace, ms(9), true, 492), ms(9), "with its header exactly what was left");
        assert_eq!(server.serve(&trace, ms(9), true, 1), ms(20));
        let mut server = Server::new();
        assert_eq!(server.serve(&trace, ms(1), false, 500), ms(5));
        assert_eq!(server.serve(&trace, ms(6), false, 100), ms(9), "what was left at 5 ms is gone");
    }

    #[test]
    fn a_large_packet_takes_several() {
        let trace = trace(&[5, 5, 9]);
        assert_eq!(Server::new().serve(&trace, ms(1), false, 3004), ms(5));
        assert_eq!(Server::new().serve(&trace, ms(1), false, 3005), ms(9));
    }

    #[test]
    fn the_end_of_a_round_and_the_beginning_of_the_next_are_one_moment() {
        let trace = trace(&[0, 4, 10]);
        let mut server = Server::new();
        let leave: Vec<_> = (0..5).map(|_| server.serve(&trace, ms(5), true, 1500)).collect();
        assert_eq!(leave, [ms(10), ms(10), ms(14), ms(20), ms(20)]);
        assert_eq!(trace.carried(ms(10)), Bytes(4 * 1500));
        assert_eq!(trace.carried(ms(9)), Bytes(2 * 1500));
        assert_eq!(Server::new().serve(&trace, ms(1_000_004), false, 1500), ms(1_000_010));
        assert_eq!(trace.moments().collect::<Vec<_>>(), [0, 4, 10]);
    }

    #[test]
    fn without_repetition_it_ends() {
        let trace = Opportunities::new([3, 7].into_iter(), AtEnd::Hold).unwrap();
        let mut server = Server::new();
        assert_eq!(server.serve(&trace, ms(3), false, 10), ms(7));
        assert_eq!(server.serve(&trace, ms(7), false, 10), Instant::MAX);
        assert_eq!(trace.carried(ms(100)), Bytes(3000));
    }
}
