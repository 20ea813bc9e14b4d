//! The dials of a session: when the next one is due, and which ones are under way.
//!
//! A dial from before the address changed, or the link came back, may lead nowhere for long. So a new one does not wait for it. Of
//! all that are answered the highest epoch wins.

use handfast_core::{Duration, Instant};

use crate::iosl::frame::varint;

/// At most so many are under way: a new one, and those before two changes.
const MOST: usize = 3;

/// An attempt to get a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dial {
    pub(super) epoch: u64,
    pub(super) since: Instant,
}

#[derive(Debug)]
pub(super) struct Dials {
    is_opener: bool,
    /// By epoch.
    under_way: Vec<Dial>,
    /// The last that this end has dialled; of its own parity.
    last: Option<Dial>,
    /// Those from before lead to where this end was.
    fresh_from: Instant,
    /// When it was last told to dial at once, and did.
    hurried: Option<Instant>,
    at: Instant,
    wait: Duration,
    range: [Duration; 2],
}

impl Dials {
    pub(super) fn new(now: Instant, is_opener: bool, range: [Duration; 2]) -> Self {
        let (under_way, wait) = (Vec::new(), range[0]);
        Self { is_opener, under_way, last: None, fresh_from: now, hurried: None, at: now, wait, range }
    }

    /// The epoch of the last one; zero: there was none.
    pub(super) fn last(&self) -> u64 {
        self.last.map_or(0, |dial| dial.epoch)
    }

    pub(super) fn restore(&mut self, now: Instant, last: u64) {
        self.last = (last > 0).then_some(Dial { epoch: last, since: now });
    }

    /// Whether one is under way that may lead somewhere.
    pub(super) fn is_fresh(&self) -> bool {
        self.under_way.iter().any(|dial| self.fresh_from <= dial.since)
    }

    /// When to dial next, where there is a reason to. Who has a path since `candidate` that the other end is about to use waits for
    /// that, but not as long as somebody could make it wait with a copy of what the other end has said.
    pub(super) fn at(&self, candidate: Option<Instant>) -> Instant {
        let candidate = candidate.filter(|&since| self.fresh_from <= since);
        candidate.map_or(self.at, |since| self.at.max(since + self.range[1]))
    }

    /// Everything below may be new: dials as soon as there is a reason to, but not in a loop where that is said again and again.
    pub(super) fn at_once(&mut self, now: Instant) {
        self.fresh_from = now;
        // A dial that has failed meanwhile was from before: it holds up nothing.
        let least = self.hurried.map_or(now, |before| before + self.range[0]);
        if least <= now {
            self.hurried = Some(now);
        }
        self.at = self.at.min(now).max(least);
        self.wait = self.range[0];
    }

    /// There is a path since then. One that is cut as soon as it is there is not dialled again in a loop.
    pub(super) fn on_path(&mut self, since: Instant) {
        (self.wait, self.at) = (self.range[0], since + self.range[0]);
    }

    /// The next epoch of this end's above all that were taken. [`None`]: there is none left, which no honest peer brings about.
    pub(super) fn begin(&mut self, now: Instant, highest: u64) -> Option<u64> {
        let above = highest.max(self.last());
        let epoch = above + 1 + u64::from((above + 1) % 2 != u64::from(self.is_opener));
        if epoch > varint::MAX {
            return None;
        }
        let dial = Dial { epoch, since: now };
        self.last = Some(dial);
        self.under_way.push(dial);
        self.at = now + self.wait;
        self.wait = (self.wait + self.wait).min(self.range[1]);
        Some(epoch)
    }

    /// The oldest, if there are too many.
    pub(super) fn take_surplus(&mut self) -> Option<u64> {
        (self.under_way.len() > MOST).then(|| self.under_way.remove(0).epoch)
    }

    /// This one is no longer under way, if it was.
    pub(super) fn end(&mut self, epoch: u64) -> Option<Dial> {
        let place = self.under_way.iter().position(|dial| dial.epoch == epoch)?;
        Some(self.under_way.remove(place))
    }

    /// Those below an epoch that is in use are no longer.
    pub(super) fn end_below(&mut self, epoch: u64) -> impl Iterator<Item = u64> + '_ {
        let below = self.under_way.partition_point(|dial| dial.epoch < epoch);
        self.under_way.drain(..below).map(|dial| dial.epoch)
    }

    pub(super) fn epochs(&self) -> impl Iterator<Item = u64> + '_ {
        self.under_way.iter().map(|dial| dial.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    #[test]
    fn an_address_that_comes_is_not_held_up_by_dials_that_failed_without_one() {
        for gap in [1, 50, 99, 101, 150, 299] {
            let mut dials = Dials::new(ms(0), true, RANGE);
            for at in [0, 100, 300].into_iter().filter(|&at| at < gap) {
                assert_eq!(dials.at(None), ms(at));
                let epoch = dials.begin(ms(at), 0).unwrap();
                dials.end(epoch);
            }
            dials.at_once(ms(gap));
            assert_eq!(dials.at(None), ms(gap));
        }
    }

    #[test]
    fn one_that_is_told_again_and_again_dials_twice_in_each_interval_at_most() {
        let mut dials = Dials::new(ms(0), true, RANGE);
        let mut begun = 0;
        for at in 0..1000 {
            dials.at_once(ms(at));
            if dials.at(None) <= ms(at) {
                let epoch = dials.begin(ms(at), 0).unwrap();
                dials.end(epoch);
                begun += 1;
            }
        }
        assert!((10..=20).contains(&begun), "{begun}");
    }
}
