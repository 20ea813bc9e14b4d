//! Which octets of a sub-flow are which data (RFC 8684 §3.3.1). Positions count from 0 in both.

use std::collections::VecDeque;

/// Of so many octets of the receive buffer a sub-flow keeps one mapping: less than a segment has, for where two sub-flows take turns
/// each segment needs one.
const OCTETS_A_MAPPING: u64 = 512;

/// Mappings of octets that have not been read, with a receive buffer of so many octets, at most: beyond that a sub-flow's segment
/// counts as lost, unless it is the next one.
pub(crate) fn most_mappings(buffer: u64) -> usize {
    (buffer / OCTETS_A_MAPPING).max(1_024) as usize
}

/// `len` octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) sub: u64,
    pub(crate) data: u64,
    pub(crate) len: u64,
    pub(crate) checksum: Option<u16>,
}

impl Run {
    pub(crate) fn end(&self) -> u64 {
        self.sub + self.len
    }

    /// Whether it lies within `whole`, and says the same.
    fn is_part_of(&self, whole: &Self) -> bool {
        let within = whole.sub <= self.sub && self.end() <= whole.end();
        within && self.data == whole.data + (self.sub - whole.sub)
    }

    /// From `start` to `end`; a checksum is only for the whole.
    fn part(&self, start: u64, end: u64) -> Self {
        let is_whole = (start, end) == (self.sub, self.end());
        let checksum = self.checksum.filter(|_| is_whole);
        Self { sub: start, data: self.data + (start - self.sub), len: end - start, checksum }
    }

    /// Whether `next` goes on where it ends, in both.
    fn joins(&self, next: &Self) -> bool {
        let unchecked = self.checksum.is_none() && next.checksum.is_none();
        unchecked && self.end() == next.sub && self.data + self.len == next.data
    }
}

/// What we have given a sub-flow, until it is acknowledged there.
#[derive(Debug, Default)]
pub(crate) struct Sent(VecDeque<Run>);

impl Sent {
    /// The sub-flow was given what follows.
    pub(crate) fn push(&mut self, sub: u64, data: u64, len: u64) {
        let run = Run { sub, data, len, checksum: None };
        match self.0.back_mut() {
            Some(last) if last.joins(&run) => last.len += len,
            _ => self.0.push_back(run),
        }
    }

    /// The data at `sub`.
    pub(crate) fn data_at(&self, sub: u64) -> Option<u64> {
        let at = self.0.partition_point(|run| run.end() <= sub);
        let run = self.0.get(at).filter(|run| run.sub <= sub)?;
        Some(run.data + (sub - run.sub))
    }

    /// Everything before `sub` is acknowledged.
    pub(crate) fn release(&mut self, sub: u64) {
        while self.0.front().is_some_and(|run| run.end() <= sub) {
            self.0.pop_front();
        }
        if let Some(front) = self.0.front_mut()
            && front.sub < sub
        {
            let cut = sub - front.sub;
            *front = Run { sub, data: front.data + cut, len: front.len - cut, checksum: None };
        }
    }

    /// Whether the octet of data at `data` is out on it.
    pub(crate) fn has(&self, data: u64) -> bool {
        self.0.iter().any(|run| (run.data..run.data + run.len).contains(&data))
    }

    /// Ranges of data that are not acknowledged.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|run| (run.data, run.data + run.len))
    }
}

/// What the peer has said of octets that we have not read.
#[derive(Debug, Default)]
pub(crate) struct Come(Vec<Run>);

impl Come {
    /// The peer maps `run`; what was mapped before stays as it is. False: there is no room for it beside `most` others. For what is
    /// read next there always is: the others wait for it.
    pub(crate) fn insert(&mut self, run: Run, read: u64, most: usize) -> bool {
        self.0.retain(|known| known.end() > read);
        if self.at(run.sub).is_some_and(|known| known.end() >= run.end()) {
            return true;
        }
        if run.checksum.is_some() {
            // A checksum is for the whole: it takes the place of those for parts of it.
            self.0.retain(|known| !known.is_part_of(&run));
        }
        let mut at = self.0.partition_point(|known| known.end() <= run.sub);
        let mut start = run.sub;
        while start < run.end() {
            let next = self.0.get(at).copied();
            let end = next.map_or(run.end(), |next| next.sub.clamp(start, run.end()));
            let most = most + usize::from(start <= read);
            if start < end && !self.insert_at(&mut at, run.part(start, end), most) {
                return false;
            }
            start = next.map_or(end, |next| next.end());
            at += 1;
        }
        true
    }

    fn insert_at(&mut self, at: &mut usize, run: Run, most: usize) -> bool {
        if *at > 0 && self.0[*at - 1].joins(&run) {
            self.0[*at - 1].len += run.len;
            return true;
        }
        let has_room = self.0.len() < most;
        if has_room {
            self.0.insert(*at, run);
            *at += 1;
        }
        has_room
    }

    /// The mapping of the octet at `sub`.
    pub(crate) fn at(&self, sub: u64) -> Option<Run> {
        let at = self.0.partition_point(|run| run.end() <= sub);
        self.0.get(at).copied().filter(|run| run.sub <= sub)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1_024;

    fn run(sub: u64, data: u64, len: u64) -> Run {
        Run { sub, data, len, checksum: None }
    }

    #[test]
    fn what_goes_on_in_both_is_one_run() {
        let mut sent = Sent::default();
        sent.push(0, 100, 10);
        sent.push(10, 110, 10);
        sent.push(20, 500, 10);
        assert_eq!(sent.0.len(), 2);
        assert_eq!([5, 19, 20, 30].map(|sub| sent.data_at(sub)), [Some(105), Some(119), Some(500), None]);
        sent.release(15);
        assert_eq!(sent.outstanding().collect::<Vec<_>>(), [(115, 120), (500, 510)]);
        assert_eq!(sent.data_at(14), None);
    }

    #[test]
    fn the_first_word_on_an_octet_stands() {
        let mut come = Come::default();
        assert!(come.insert(run(10, 1000, 10), 0, MOST));
        assert!(come.insert(run(10, 7, 10), 0, MOST));
        assert!(come.insert(run(5, 900, 20), 0, MOST));
        assert!(come.insert(run(15, 2000, 10), 0, MOST));
        let data = |come: &Come, sub| come.at(sub).map(|run| run.data + sub - run.sub);
        assert_eq!(
            [4, 5, 9, 10, 19, 20, 24, 25].map(|sub| data(&come, sub)),
            [None, Some(900), Some(904), Some(1000), Some(1009), Some(915), Some(919), None]
        );
        // Every gap is mapped.
        assert!(come.insert(run(0, 100, 40), 0, MOST));
        assert_eq!(
            [4, 9, 19, 24, 25, 39].map(|sub| data(&come, sub)),
            [Some(104), Some(904), Some(1009), Some(919), Some(125), Some(139)]
        );
    }

    #[test]
    fn a_checksum_for_the_whole_takes_the_place_of_those_for_parts() {
        let checked = |sub, data, len, sum| Run { checksum: Some(sum), ..run(sub, data, len) };
        let mut come = Come::default();
        assert!(come.insert(checked(10, 100, 5, 1), 0, MOST));
        assert!(come.insert(checked(0, 90, 20, 2), 0, MOST));
        assert_eq!((come.at(12), come.len()), (Some(checked(0, 90, 20, 2)), 1));
        // One that says something else stands, and the rest cannot be verified.
        assert!(come.insert(checked(15, 0, 10, 3), 0, MOST));
        assert_eq!(come.at(20), Some(run(20, 5, 5)));
    }

    #[test]
    fn a_peer_cannot_make_it_grow() {
        let mut come = Come::default();
        let took = (1..4000).filter(|n| come.insert(run(10 * n, 0, 1), 0, MOST)).count();
        assert_eq!((took, come.len()), (MOST, MOST));
        assert!(come.insert(run(0, 0, 1), 0, MOST), "all others wait for what is read next");
        assert_eq!(come.len(), MOST + 1);
        assert!(come.insert(run(50_000, 0, 1), 100, MOST), "what is read is forgotten");
    }
}
