//! A link to which nothing happens: when a packet arrives follows from when it enters.

use handfast_core::{Bytes, Duration, Instant, ShortQueue};

use crate::counters::Cause;
use crate::fifo::clamp;
use crate::line::{Line, NANOBITS_PER_BYTE};
use crate::queue::drop_tail::is_full;

/// What a [`crate::Link`] does to packets while it loses none on the way and nothing is done to it, for a driver that keeps
/// them itself: it says of each when it arrives.
///
/// What each packet touches comes first; the rest only those that find others before them.
#[derive(Debug)]
#[repr(C)]
pub struct Foreseen {
    line: Line,
    delay: Duration,
    /// How many packets it holds at most: that in serialisation, and those that wait. Not 0.
    most: u32,
    /// When those leave that were accepted before the last one, as far as it held them when it was last busy.
    departures: ShortQueue<Instant>,
}

impl Foreseen {
    /// `most` packets, at least one, or any number.
    pub(crate) fn new(line: Line, delay: Duration, most: Option<u32>) -> Self {
        Self { line, delay, most: most.unwrap_or(u32::MAX), departures: ShortQueue::new() }
    }

    /// Whether no two packets of at least that length arrive at the same time: each takes a nanosecond or more.
    pub fn separates(&self, least: Bytes) -> bool {
        self.line.rate().as_bps() <= least.0.saturating_mul(NANOBITS_PER_BYTE)
    }

    /// Takes a packet in, and says when it arrives. `now` must not go back from call to call.
    ///
    /// # Errors
    /// [`Cause::QueueFull`]: it was not accepted.
    #[inline]
    pub fn enter(&mut self, now: Instant, size: Bytes) -> Result<Instant, Cause> {
        if self.line.is_busy(now) {
            self.wait(now)?;
        }
        Ok(self.line.serve(now, clamp(size)) + self.delay)
    }

    /// Makes room for one more behind the last, or says that there is none.
    #[inline]
    fn wait(&mut self, now: Instant) -> Result<(), Cause> {
        // A packet whose last bit leaves at this very moment has left.
        while self.departures.front().is_some_and(|&departure| departure <= now) {
            self.departures.pop_front();
        }
        // With the last one, which the line is busy with or will be.
        if is_full(self.departures.len() + 1, self.most) {
            return Err(Cause::QueueFull);
        }
        self.departures.push_back(self.line.free_at());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, DownMode, Link, Loss, Queue};
    use handfast_core::{BitRate, Stream};

    fn direction() -> Direction {
        Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(5))
    }

    fn link(direction: &Direction) -> Link<u32> {
        Link::new(direction, Stream::new(1, "link"))
    }

    #[test]
    fn a_queue_is_full_until_a_last_bit_has_left() {
        let direction = Direction { queue: Queue::packets(2), ..direction() };
        let mut link = link(&direction).foreseen().unwrap();
        let mut enter = |us: u64| link.enter(Instant::from_nanos(us * 1000), Bytes(1000));
        // 1 ms each to serialise, 5 ms to propagate.
        assert_eq!(enter(0), Ok(Instant::from_millis(6)));
        assert_eq!(enter(0), Ok(Instant::from_millis(7)));
        assert_eq!(enter(999), Err(Cause::QueueFull));
        assert_eq!(enter(1000), Ok(Instant::from_millis(8)), "the first leaves at this very moment");
        assert_eq!(enter(1000), Err(Cause::QueueFull));
        assert_eq!(enter(9000), Ok(Instant::from_millis(15)), "idle again");
    }

    #[test]
    fn where_only_one_fits_the_next_comes_when_it_has_left() {
        let direction = Direction { queue: Queue::packets(1), ..direction() };
        let mut link = link(&direction).foreseen().unwrap();
        let mut enter = |us: u64| link.enter(Instant::from_nanos(us * 1000), Bytes(1000));
        assert_eq!(enter(0), Ok(Instant::from_millis(6)));
        assert_eq!(enter(999), Err(Cause::QueueFull));
        assert_eq!(enter(1000), Ok(Instant::from_millis(7)), "at this very moment");
    }

    #[test]
    fn packets_arrive_one_by_one_as_long_as_each_takes_a_nanosecond() {
        for (gbps, separates) in [(1, true), (100, true), (160, true), (161, false), (1000, false)] {
            let rate = BitRate::from_bps(gbps * 1_000_000_000);
            let mut link = link(&Direction { rate, ..direction() }).foreseen().unwrap();
            assert_eq!(link.separates(Bytes(20)), separates, "{gbps} Gbit/s");
            let arrivals: Vec<_> = (0..1000).map(|_| link.enter(Instant::ZERO, Bytes(20)).unwrap()).collect();
            assert_eq!(arrivals.windows(2).all(|pair| pair[0] < pair[1]), separates, "{gbps} Gbit/s");
        }
    }

    #[test]
    fn what_has_left_is_forgotten() {
        let mut link = link(&direction()).foreseen().unwrap();
        for k in 0..10_000 {
            // Always two there.
            link.enter(Instant::from_millis(k), Bytes(1000)).unwrap();
            if k == 0 {
                link.enter(Instant::from_millis(k), Bytes(1000)).unwrap();
            }
        }
        assert_eq!(link.departures.len(), 1);
    }

    #[test]
    fn what_may_be_lost_or_changed_is_not_foreseen() {
        let plain = direction();
        assert!(link(&plain).foreseen().is_some());
        for unforeseen in [
            Direction { losses: vec![Loss::Packet(0.1)], ..plain.clone() },
            Direction { rate: BitRate::default(), ..plain.clone() },
            Direction { queue: Queue::packets(0), ..plain.clone() },
            Direction { queue: Queue::bytes(9000), ..plain.clone() },
        ] {
            assert!(link(&unforeseen).foreseen().is_none(), "{unforeseen:?}");
        }
        for mode in [DownMode::Drop, DownMode::Hold] {
            let mut down = link(&plain);
            down.down(Instant::ZERO, mode);
            assert!(down.foreseen().is_none(), "{mode:?}");
        }
        let mut busy = link(&plain);
        busy.enqueue(Instant::ZERO, 1, Bytes(1), true).unwrap();
        assert!(busy.foreseen().is_none());
    }
}
