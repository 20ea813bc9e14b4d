//! The answer to a request (`[sdtp]` §III-C 4).

use handfast_core::SeqNum;
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Expected, Information, Outcome, Request, Stream};

use super::config::{Config, Counters};
use super::output::{Output, Repeated, Served};
use crate::ranges::Ranges;
use crate::sdtp::cache::{Cache, Cacheable, Cached};

/// An answer in the making.
pub(super) struct Answer<'a, P> {
    pub(super) stream: &'a Stream,
    pub(super) request: &'a Request,
    pub(super) config: &'a Config,
    pub(super) counters: &'a mut Counters,
    pub(super) out: &'a mut Vec<Output<P>>,
    /// What the own queue has dropped.
    pub(super) dropped: &'a Ranges,
    /// Packets that were sent.
    pub(super) sent: u32,
    /// Whether something was here.
    pub(super) found: bool,
    /// The end of the last that is not here.
    pub(super) missing: Option<SeqNum>,
}

impl<P: Cacheable> Answer<'_, P> {
    /// Answers with what is in the cache.
    pub(super) fn from(mut self, cache: &mut Cache<P>) -> Served {
        let Some((start, end)) = self.span(cache) else { return Served::None };
        if !end.after(start) {
            self.counters.invalid += 1;
            return Served::All;
        }
        let mut at = start;
        for cached in cache.within(start, end) {
            self.gap(at, cached.seq);
            self.packet(cached);
            at = cached.end();
        }
        self.gap(at, end);
        self.outcome()
    }

    /// What is asked for: where the end is not known, the packet that `StartNum` counts (`[sdtp]` §III-C 3).
    fn span(&self, cache: &Cache<P>) -> Option<(SeqNum, SeqNum)> {
        let Expected { start, end, start_num } = self.request.expected;
        match end {
            Some(end) => Some((start, end)),
            None => cache.nth(start, start_num),
        }
    }

    fn outcome(self) -> Served {
        match self.missing {
            None => Served::All,
            Some(end) if self.found => {
                let expected = Expected { end: Some(end), ..self.request.expected };
                Served::Some(Request { expected, ..*self.request })
            }
            Some(_) => Served::None,
        }
    }

    fn packet(&mut self, cached: &mut Cached<P>) {
        self.found = true;
        let is_dropped = self.dropped.touch(cached.seq, cached.end());
        if !cached.is_asked_first(self.request.trigger) {
            self.counters.suppressed += 1;
        } else if is_dropped && cached.packet.ecn() == Ecn::NotCapable {
            self.never(cached.seq, cached.end());
        } else if cached.copies >= self.config.copies || self.sent >= self.config.burst {
            self.counters.refused += 1;
        } else {
            self.repeat(cached, is_dropped);
        }
    }

    fn repeat(&mut self, cached: &mut Cached<P>, mark: bool) {
        let mut packet = cached.packet.clone();
        if mark {
            packet.mark();
            self.counters.marked += 1;
        }
        let &Request { trigger, timestamp, expected: Expected { start, start_num, .. } } = self.request;
        let (stream, seq) = (*self.stream, cached.seq);
        self.out.push(Output::Repeat(Repeated { stream, seq, trigger, start, start_num, timestamp, packet }));
        self.counters.repeated += 1;
        cached.copies += 1;
        self.sent += 1;
    }

    /// These are not in the cache. Of those that the own queue has dropped the hosts learn.
    fn gap(&mut self, mut at: SeqNum, end: SeqNum) {
        while at.before(end) {
            match self.dropped.beyond(at) {
                Some((start, _)) if start.after(at) && start.before(end) => {
                    self.missing = Some(start);
                    at = start;
                }
                Some((start, to)) if start.before(end) => {
                    let to = if to.before(end) { to } else { end };
                    self.found = true;
                    self.never(at, to);
                    at = to;
                }
                _ => {
                    self.missing = Some(end);
                    at = end;
                }
            }
        }
    }

    /// RI: these will not come. One says it of all that follow each other.
    fn never(&mut self, start: SeqNum, end: SeqNum) {
        if let Some(Output::Information(stream, Information { expected, outcome: Outcome::Never, .. })) =
            self.out.last_mut()
            && (*stream, expected.end) == (*self.stream, Some(start))
        {
            expected.end = Some(end);
            return;
        }
        let expected = Expected { start, end: Some(end), start_num: 0 };
        let (trigger, outcome) = (self.request.trigger, Outcome::Never);
        self.out.push(Output::Information(*self.stream, Information { trigger, expected, outcome }));
        self.counters.never += 1;
    }
}
