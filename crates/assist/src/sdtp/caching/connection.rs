//! What a caching node knows of one connection in one direction.

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Notification, Parity, Request, Stream};

use super::config::{Config, Counters};
use super::output::{Output, Served};
use super::serve::Answer;
use crate::ranges::Ranges;
use crate::sdtp::arrivals::Arrivals;
use crate::sdtp::cache::{Cache, Cacheable, Cached};

/// Ranges that are remembered of what the own queue has dropped.
const MOST_DROPPED: usize = 64;

/// What a caching node must know of a packet of data that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The number of its first byte.
    pub seq: SeqNum,
    /// The numbers that it takes.
    pub len: u32,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// Bytes from the first of the connection up to here; [`u16::MAX`]: as many or more.
    pub since_start: u16,
    /// The host that sent it, by its number at the sending edge; 0: of no single one.
    pub host: u16,
}

impl Passing {
    fn end(&self) -> SeqNum {
        self.seq + self.len
    }

    /// Where the connection begins for a node that sees this packet first.
    fn start(&self) -> SeqNum {
        if self.since_start == u16::MAX { self.seq } else { self.seq - u32::from(self.since_start) }
    }
}

#[derive(Debug)]
pub(super) struct Connection<P> {
    /// The host that sends, by its number.
    pub(super) host: u16,
    cache: Cache<P>,
    arrivals: Arrivals,
    /// The node downstream has all before this.
    released: SeqNum,
    /// What the own queue has dropped, and nobody has sent anew.
    dropped: Ranges,
    /// When it is to be asked for a CN.
    pub(super) due: Option<Instant>,
    told: Option<SeqNum>,
    /// CNs that are left to repeat what was told.
    again: u32,
}

impl<P: Cacheable> Connection<P> {
    pub(super) fn new(now: Instant, first: &Passing) -> Self {
        let start = first.start();
        Self {
            host: first.host,
            cache: Cache::new(),
            arrivals: Arrivals::new(now, start),
            released: start,
            dropped: Ranges::default(),
            due: None,
            told: None,
            again: 0,
        }
    }

    /// What its packets cost.
    pub(super) fn cost(&self) -> u64 {
        self.cache.cost()
    }

    pub(super) fn packets(&self) -> usize {
        self.cache.len()
    }

    pub(super) fn is_far(&self, seq: SeqNum) -> bool {
        self.arrivals.is_far(seq)
    }

    /// Data passes, or data that is sent again. Whether it is kept: not what the node downstream has.
    pub(super) fn on_data(&mut self, now: Instant, passing: &Passing, packet: Option<&P>) -> bool {
        let &Passing { seq, len, bytes, .. } = passing;
        self.arrivals.take(now, seq, passing.end());
        if !self.dropped.is_empty() {
            self.dropped.remove(seq, passing.end(), MOST_DROPPED);
        }
        let Some(packet) = packet.filter(|_| passing.end().after(self.released)) else { return false };
        self.cache.insert(Cached::new(seq, len, bytes, packet.clone()));
        true
    }

    pub(super) fn on_request(
        &mut self,
        stream: &Stream,
        request: &Request,
        config: &Config,
        counters: &mut Counters,
        out: &mut Vec<Output<P>>,
    ) -> Served {
        let dropped = &self.dropped;
        let answer =
            Answer { stream, request, config, counters, out, dropped, sent: 0, found: false, missing: None };
        let served = answer.from(&mut self.cache);
        if config.parity {
            self.accompany(stream, request, counters, out);
        }
        served
    }

    /// Parity over the first packet that is sent again and those behind it, as far as they are here and the own queue has dropped
    /// none: of what that has dropped the sender learns.
    fn accompany(
        &self,
        stream: &Stream,
        request: &Request,
        counters: &mut Counters,
        out: &mut Vec<Output<P>>,
    ) {
        let repeated = out.iter().filter_map(|output| match output {
            Output::Repeat(repeated) if repeated.stream == *stream => Some(repeated.seq),
            _ => None,
        });
        let Some(first) = repeated.min_by_key(|seq| seq.distance(request.expected.start)) else { return };
        let kept = self.cache.from(first).take_while(|cached| !self.dropped.touch(cached.seq, cached.end()));
        let packets: Vec<_> =
            kept.take(Parity::MOST).map(|cached| (cached.seq, cached.packet.clone())).collect();
        if !packets.is_empty() {
            counters.parities += 1;
            out.push(Output::Parity(*stream, request.trigger, request.timestamp, packets));
        }
    }

    /// The node downstream has all before `until`; says how many packets are released. More than has come here cannot be there.
    pub(super) fn on_notification(&mut self, now: Instant, until: SeqNum) -> u64 {
        let highest = self.arrivals.highest();
        let until = if until.after(highest) { highest } else { until };
        if !until.after(self.released) {
            return 0;
        }
        self.released = until;
        self.dropped.forget_below(until);
        self.arrivals.take(now, self.arrivals.edge(), until);
        self.cache.release(until)
    }

    /// These will not come.
    pub(super) fn on_never(&mut self, now: Instant, start: SeqNum, end: SeqNum) {
        if end.after(start) && !self.is_far(start) && !self.is_far(end) {
            self.arrivals.take(now, start, end);
        }
    }

    pub(super) fn on_own_drop(&mut self, start: SeqNum, end: SeqNum) {
        let start = if start.before(self.released) { self.released } else { start };
        if end.after(start) && !self.is_far(start) {
            self.dropped.insert(start, end, MOST_DROPPED);
        }
    }

    pub(super) fn drop_first(&mut self) -> bool {
        self.cache.drop_first()
    }

    /// The CN that is due, if there is something to say: where it has moved, and then so many times more.
    pub(super) fn notification(&mut self, now: Instant, config: &Config) -> Option<Notification> {
        self.arrivals.give_up_hole(now, config.patience);
        let until = self.arrivals.edge();
        if self.told.replace(until) != Some(until) {
            self.again = config.repetitions;
        } else if self.again > 0 {
            self.again -= 1;
        } else {
            return None;
        }
        Some(Notification { until })
    }

    /// Whether there may be something to say later.
    pub(super) fn has_news(&self) -> bool {
        self.again > 0 || self.arrivals.has_hole() || self.told != Some(self.arrivals.edge())
    }
}
