//! The machine that chooses.

use handfast_core::{Bytes, Duration, Instant, Stream};

use super::probes::Probes;
use super::stats::Stats;
use crate::aggregation::{AggregateExchange, Aggregation};
use crate::airtime::{Mcs, McsSet};

/// From one update of the averages to the next.
const INTERVAL: Duration = Duration::from_millis(100);
/// From one probe to the next, at least: 50 a second (2021).
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
/// What rates are compared by: an IP packet as most are.
const PACKET: Bytes = Bytes(1_500);
/// Of the average length of A-MPDUs the part that stays with each of them.
const KEPT: f64 = 0.75;
/// From this probability on the fastest is the surest.
const SURE_ENOUGH: f64 = 0.75;
/// So many exchanges in a row that nobody answers, and the next rate of the chain is taken.
const TRIES: u32 = 2;

/// What the next PPDU is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The rate.
    pub mcs: Mcs,
    /// Whether it is a probe: a single MPDU.
    pub probe: bool,
}

/// The rate control of one transmit queue.
#[derive(Clone, Debug)]
pub struct Minstrel {
    aggregation: Aggregation,
    rates: Vec<Stats>,
    /// The retry chain: most throughput, second most, highest probability.
    chain: [usize; 3],
    probes: Probes,
    update_at: Instant,
    probe_at: Instant,
    /// MPDUs of an A-MPDU, on average.
    mpdus: f64,
    stream: Stream,
}

impl Minstrel {
    /// One that knows nothing yet, and begins with the slowest rate.
    pub fn new(set: McsSet, aggregation: Aggregation, stream: Stream) -> Self {
        let mut this = Self {
            aggregation,
            rates: set.all().map(Stats::new).collect(),
            chain: [0; 3],
            probes: Probes::default(),
            update_at: Instant::ZERO,
            probe_at: Instant::ZERO,
            mpdus: 1.0,
            stream,
        };
        this.average();
        this
    }

    /// The station has gone: nothing that was learnt holds for the next association.
    pub fn reset(&mut self) {
        for rate in &mut self.rates {
            *rate = Stats::new(rate.mcs);
        }
        (self.chain, self.probes, self.mpdus) = ([0; 3], Probes::default(), 1.0);
        self.average();
    }

    /// What the next PPDU is sent with, after so many exchanges in a row that nobody has answered.
    pub fn choose(&mut self, now: Instant, failures: u32) -> Choice {
        if now >= self.update_at {
            self.update_at = now + INTERVAL;
            self.average();
            self.rank();
        }
        let at = self.chain[(failures / TRIES).min(2) as usize];
        let usual = Choice { mcs: self.rates[at].mcs, probe: false };
        // What has failed is not risked once more.
        if failures > 0 || now < self.probe_at {
            return usual;
        }
        self.probe_at = now + PROBE_INTERVAL;
        let [best, _, surest] = self.chain;
        let probe = self.probes.next(&self.rates, best, surest, &mut self.stream);
        probe.map_or(usual, |at| Choice { mcs: self.rates[at].mcs, probe: true })
    }

    /// Of `sent` MPDUs of a PPDU so many have been acknowledged.
    pub fn on_result(&mut self, choice: Choice, sent: u32, acknowledged: u32) {
        if let Some(rate) = self.rates.iter_mut().find(|rate| rate.mcs == choice.mcs) {
            rate.count(sent, acknowledged);
        }
        if !choice.probe {
            self.mpdus = KEPT * self.mpdus + (1.0 - KEPT) * f64::from(sent);
        }
    }

    /// The rate with the most throughput, as far as known.
    pub fn best(&self) -> Mcs {
        self.rates[self.chain[0]].mcs
    }

    /// Updates the averages, and what an MPDU takes in an A-MPDU of average length.
    fn average(&mut self) {
        let (how, mpdus) = (self.aggregation, libm::round(self.mpdus).max(1.0) as u64);
        for rate in &mut self.rates {
            let mut psdu = how.psdu(rate.mcs);
            while psdu.mpdus() < mpdus && psdu.push(PACKET) {}
            let took = AggregateExchange::new(how, rate.mcs, &psdu).duration(0, true, false);
            rate.update(Duration::from_nanos(took.as_nanos() / psdu.mpdus()));
        }
    }

    /// Chooses the chain anew. Of equals the slower one.
    fn rank(&mut self) {
        let (mut best, mut second, mut surest) = (0, 0, 0);
        for at in 1..self.rates.len() {
            let throughput = |at: usize| self.rates[at].throughput();
            if throughput(at) > throughput(best) {
                (best, second) = (at, best);
            } else if throughput(at) > throughput(second) || second == best {
                second = at;
            }
            if is_surer(&self.rates[at], &self.rates[surest]) {
                surest = at;
            }
        }
        if self.rates[second].throughput() <= 0.0 {
            second = surest;
        }
        self.chain = [best, second, surest];
    }
}

/// The higher probability; of those that are sure enough the higher throughput.
fn is_surer(one: &Stats, other: &Stats) -> bool {
    if one.probability() > SURE_ENOUGH && other.probability() > SURE_ENOUGH {
        return one.throughput() > other.throughput();
    }
    one.probability() > other.probability()
}

#[cfg(test)]
mod tests;
