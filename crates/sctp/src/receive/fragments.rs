//! Fragments of messages that are not whole (§6.9).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use handfast_wire::sctp::Data;

use crate::tsn::Tsn;

/// Fragments by TSN, and the runs of them that belong to one message. A fragment finds its run in logarithmic time, in whatever order
/// a peer sends them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragments {
    parts: BTreeMap<Tsn, Data>,
    /// The first and the last TSN of each run.
    runs: BTreeMap<Tsn, Tsn>,
}

impl Fragments {
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Takes a fragment with a TSN that is new: the fragments of its message and their TSNs, if all are there.
    pub(crate) fn insert(&mut self, tsn: Tsn, data: Data) -> Option<(RangeInclusive<Tsn>, Vec<Data>)> {
        self.parts.insert(tsn, data);
        let before = self.runs.range(..tsn).next_back().map(|(&first, &last)| (first, last));
        let first = match before {
            Some((first, last)) if last + 1 == tsn && self.follows(last) => first,
            _ => tsn,
        };
        let after = self.runs.get(&(tsn + 1)).copied().filter(|_| self.follows(tsn));
        if after.is_some() {
            self.runs.remove(&(tsn + 1));
        }
        let last = after.unwrap_or(tsn);
        self.runs.insert(first, last);
        (self.parts[&first].begin && self.parts[&last].end).then(|| (first..=last, self.take(first, last)))
    }

    /// Whether the fragment behind `tsn` goes on with its message. One that begins or ends inside another message breaks §6.9: that
    /// message is never whole.
    fn follows(&self, tsn: Tsn) -> bool {
        let (Some(one), Some(next)) = (self.parts.get(&tsn), self.parts.get(&(tsn + 1))) else {
            return false;
        };
        let same = (one.stream, one.unordered) == (next.stream, next.unordered)
            && (one.unordered || one.ssn == next.ssn);
        same && !one.end && !next.begin
    }

    fn take(&mut self, first: Tsn, last: Tsn) -> Vec<Data> {
        self.runs.remove(&first);
        (first..=last).filter_map(|tsn| self.parts.remove(&tsn)).collect()
    }

    /// The highest TSN.
    pub(crate) fn last(&self) -> Option<Tsn> {
        self.parts.last_key_value().map(|(&tsn, _)| tsn)
    }

    /// Drops the fragment with the highest TSN.
    pub(crate) fn pop_last(&mut self) -> Option<Data> {
        let (tsn, dropped) = self.parts.pop_last()?;
        if let Some((first, _)) = self.runs.pop_last()
            && first < tsn
        {
            self.runs.insert(first, tsn - 1);
        }
        Some(dropped)
    }
}
