//! Which TSNs have arrived (§6.2).

use handfast_wire::sctp::Gap;

use crate::tsn::Tsn;

/// The most TSNs beyond the cumulative one that a gap block can name (§3.3.4).
const REACH: Tsn = u16::MAX as Tsn;

/// The TSNs that have arrived: all up to the cumulative TSN ack point, and ranges beyond it.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    cumulative: Tsn,
    /// Inclusive, in order, neither touching each other nor the point.
    ranges: Vec<(Tsn, Tsn)>,
}

/// What a TSN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    New,
    Duplicate,
    /// Too far ahead for a gap block.
    Beyond,
}

impl Arrivals {
    /// `first` is the peer's initial TSN.
    pub(crate) const fn new(first: Tsn) -> Self {
        Self { cumulative: first - 1, ranges: Vec::new() }
    }

    pub(crate) const fn cumulative(&self) -> Tsn {
        self.cumulative
    }

    /// How many ranges there are beyond the point.
    pub(crate) const fn ranges(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) const fn has_gaps(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The index of the first range that ends at `tsn` or behind it.
    fn range_at(&self, tsn: Tsn) -> usize {
        self.ranges.partition_point(|&(_, end)| end < tsn)
    }

    pub(crate) fn classify(&self, tsn: Tsn) -> Arrival {
        if tsn <= self.cumulative {
            return Arrival::Duplicate;
        }
        if tsn - self.cumulative > REACH {
            return Arrival::Beyond;
        }
        match self.ranges.get(self.range_at(tsn)) {
            Some(&(start, _)) if start <= tsn => Arrival::Duplicate,
            _ => Arrival::New,
        }
    }

    /// Whether a TSN that is [`Arrival::New`] makes a range of its own.
    pub(crate) fn is_apart(&self, tsn: Tsn) -> bool {
        let at = self.range_at(tsn);
        let joins_next = self.ranges.get(at).is_some_and(|&(start, _)| start == tsn + 1);
        let joins_last = tsn == self.cumulative + 1 || at > 0 && self.ranges[at - 1].1 + 1 == tsn;
        !joins_next && !joins_last
    }

    /// A TSN that is [`Arrival::New`] has arrived.
    pub(crate) fn insert(&mut self, tsn: Tsn) {
        let at = self.range_at(tsn);
        let joins_next = self.ranges.get(at).is_some_and(|&(start, _)| start == tsn + 1);
        let joins_last = at > 0 && self.ranges[at - 1].1 + 1 == tsn;
        match (joins_last, joins_next) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = tsn,
            (false, true) => self.ranges[at].0 = tsn,
            (false, false) => self.ranges.insert(at, (tsn, tsn)),
        }
        if let Some(&(start, end)) = self.ranges.first()
            && start == self.cumulative + 1
        {
            self.cumulative = end;
            self.ranges.remove(0);
        }
    }

    /// A TSN beyond the point is dropped again (§6.2: what gap blocks name may be).
    pub(crate) fn remove(&mut self, tsn: Tsn) {
        let at = self.range_at(tsn);
        let Some(&(start, end)) = self.ranges.get(at) else { return };
        let parts = [(start, tsn.wrapping_sub(1)), (tsn + 1, end)];
        self.ranges.splice(at..=at, parts.into_iter().filter(|(start, end)| start <= end));
    }

    /// Gap blocks, at most so many, the lowest first.
    pub(crate) fn gaps(&self, most: usize) -> Vec<Gap> {
        let offset = |tsn: Tsn| (tsn - self.cumulative) as u16;
        let gap = |&(start, end): &(Tsn, Tsn)| Gap { start: offset(start), end: offset(end) };
        self.ranges.iter().take(most).map(gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use handfast_core::Stream;

    use super::*;

    #[test]
    fn ranges_say_what_a_set_says() {
        let mut random = Stream::new(1, "arrivals");
        for _ in 0..200 {
            let (mut arrivals, mut set) = (Arrivals::new(1000), BTreeSet::new());
            for _ in 0..120 {
                let tsn = 1000 + random.below(40);
                let is_new = !set.contains(&tsn) && tsn > arrivals.cumulative();
                assert_eq!(arrivals.classify(tsn) == Arrival::New, is_new);
                if is_new {
                    arrivals.insert(tsn);
                    set.insert(tsn);
                } else if tsn > arrivals.cumulative() && random.chance(0.3) {
                    arrivals.remove(tsn);
                    set.remove(&tsn);
                }
                let point = (1000..2000).find(|tsn| !set.contains(tsn)).unwrap() - 1;
                assert_eq!(arrivals.cumulative(), point);
                let named: Vec<_> = arrivals
                    .gaps(usize::MAX)
                    .iter()
                    .flat_map(|gap| gap.start..=gap.end)
                    .map(|offset| point + Tsn::from(offset))
                    .collect();
                assert_eq!(named, set.range(point + 1..).copied().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_a_gap_block_cannot_name_is_refused() {
        let arrivals = Arrivals::new(1000);
        assert_eq!(arrivals.classify(999 + 65_535), Arrival::New);
        assert_eq!(arrivals.classify(999 + 65_536), Arrival::Beyond);
        assert_eq!(arrivals.classify(999), Arrival::Duplicate);
    }
}
