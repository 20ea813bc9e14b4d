//! Capacity estimation at the receiver: a train's rates from when its segments left and arrived ([vho] §3, figure 1).

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::tcp::{Estimate, Probe, TrainKind};

/// Segments of the pair train, and so the pairs in it.
const MOST_PAIRS: usize = 3;
/// A queueing delay rises where it does by more than this part of the gap between departures: departures and arrivals are whole
/// nanoseconds here, and clocks elsewhere are worse.
const TOLERANCE: u64 = 20;

/// The train that is arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measure {
    train: Option<Train>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    number: u8,
    last: Arrival,
    found: Found,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    index: u16,
    offset: Duration,
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Found {
    /// Gaps between neighbours that were sent back to back, and the bytes of the second.
    Pairs([(Duration, Bytes); MOST_PAIRS], usize),
    /// The rate of the last gap, and whether the queueing delay has begun to rise: then it is the one at which it did.
    Chirp(Option<BitRate>, bool),
}

impl Measure {
    /// A segment of a train arrives with `payload`; the train's result, where it is the last of them.
    pub(crate) fn on_probe(&mut self, now: Instant, probe: &Probe, payload: Bytes) -> Option<Estimate> {
        let arrival = Arrival { index: probe.index, offset: probe.offset(), at: now };
        let train = match &mut self.train {
            Some(train) if train.number == probe.train && train.found.is(probe.kind) => {
                if arrival.index <= train.last.index {
                    // Out of order, or twice.
                    return None;
                }
                train.found.take(train.last, arrival, payload);
                train.last = arrival;
                train
            }
            _ => {
                self.train.insert(Train { number: probe.train, last: arrival, found: Found::new(probe.kind) })
            }
        };
        if arrival.index.saturating_add(1) < probe.count {
            return None;
        }
        let rate = train.found.rate();
        self.train = None;
        let bytes_per_s = Estimate::field(rate?);
        Some(Estimate { kind: probe.kind, train: probe.train, bytes_per_s })
    }
}

impl Found {
    fn new(kind: TrainKind) -> Self {
        match kind {
            TrainKind::Pair => Self::Pairs(Default::default(), 0),
            TrainKind::Chirp => Self::Chirp(None, false),
        }
    }

    fn is(&self, kind: TrainKind) -> bool {
        matches!((self, kind), (Self::Pairs(..), TrainKind::Pair) | (Self::Chirp(..), TrainKind::Chirp))
    }

    fn take(&mut self, before: Arrival, arrival: Arrival, payload: Bytes) {
        let neighbours = before.index + 1 == arrival.index;
        let arrived = arrival.at.since(before.at);
        match self {
            Self::Pairs(pairs, count) => {
                if neighbours && *count < MOST_PAIRS {
                    pairs[*count] = (arrived, payload);
                    *count += 1;
                }
            }
            Self::Chirp(rate, risen) => {
                let left = arrival.offset.saturating_sub(before.offset);
                if *risen || !neighbours {
                    return;
                }
                // [vho] §3.1: "the TCP receiver checks the difference in queueing delay of two packets".
                *rate = Some(rate_of(payload, left));
                *risen = arrived.saturating_sub(left) > left / TOLERANCE;
            }
        }
    }

    /// What the train says.
    fn rate(&mut self) -> Option<BitRate> {
        match self {
            Self::Pairs(pairs, count) => {
                // The middle one: cross traffic tears one pair apart and squeezes another.
                let pairs = &mut pairs[..*count];
                pairs.sort_unstable();
                // [vho] figure 1: bbw = MSS / (p2 - p1).
                pairs.get(pairs.len() / 2).map(|&(gap, payload)| rate_of(payload, gap))
            }
            Self::Chirp(rate, _) => *rate,
        }
    }
}

/// `payload` every `gap`.
fn rate_of(payload: Bytes, gap: Duration) -> BitRate {
    let nanobits = u128::from(payload.get()) * 8 * 1_000_000_000;
    let bps = nanobits / u128::from(gap.as_nanos().max(1));
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A train of segments of 1000 bytes that left and arrived at these microseconds; the estimate in bytes a second.
    fn measured(kind: TrainKind, times: &[(u32, u64)]) -> Option<u32> {
        let mut measure = Measure::default();
        let results: Vec<_> = (0..)
            .zip(times)
            .map(|(index, &(left, arrived))| {
                let count = times.len() as u16;
                let probe = Probe { kind, train: 9, index, count, offset_ns: left * 1000 };
                measure.on_probe(Instant::from_nanos(arrived * 1000), &probe, Bytes(1000))
            })
            .collect();
        let (last, before) = results.split_last().expect("a train");
        assert!(before.iter().all(Option::is_none), "only the last segment has a result");
        last.map(|estimate| estimate.bytes_per_s)
    }

    #[test]
    fn a_pair_s_gap_is_the_bottleneck_s_time_for_one() {
        use TrainKind::Pair;
        // 1000 bytes in 500 us are 2 MB/s.
        assert_eq!(measured(Pair, &[(0, 0), (0, 500)]), Some(2_000_000));
        // The middle of three.
        assert_eq!(measured(Pair, &[(0, 0), (0, 500), (0, 2500), (0, 2600)]), Some(2_000_000));
        // At the same moment: as much as the field holds.
        assert_eq!(measured(Pair, &[(0, 7), (0, 7)]), Some(u32::MAX));
        assert_eq!(measured(Pair, &[(0, 0)]), None);
    }

    #[test]
    fn a_chirp_that_no_queue_delays_has_the_rate_of_its_last_gap() {
        let chirp = [(0, 50), (1000, 1050), (1500, 1550), (1750, 1800)];
        assert_eq!(measured(TrainKind::Chirp, &chirp), Some(4_000_000));
    }

    #[test]
    fn the_gap_at_which_a_queue_begins_counts() {
        // The bottleneck takes 600 us for each: the third waits 100 us, the fourth more.
        let chirp = [(0, 50), (1000, 1050), (1500, 1650), (1750, 2250)];
        assert_eq!(measured(TrainKind::Chirp, &chirp), Some(2_000_000));
        // A queue that goes away again does not raise it ([vho] §3: "a conservative bound").
        let transient = [(0, 50), (1000, 1200), (1500, 1550), (1750, 1800)];
        assert_eq!(measured(TrainKind::Chirp, &transient), Some(1_000_000));
        // A nanosecond is no queue: 5 % of the gap is the least.
        let jittered = [(0, 50), (1000, 1100), (1500, 1550)];
        assert_eq!(measured(TrainKind::Chirp, &jittered), Some(2_000_000));
    }

    #[test]
    fn a_longer_pair_train_than_ours_counts_with_its_first_pairs() {
        let gaps_grow = [(0, 0), (0, 500), (0, 1500), (0, 3500), (0, 3501), (0, 3502)];
        assert_eq!(
            measured(TrainKind::Pair, &gaps_grow),
            Some(1_000_000),
            "the middle of 500, 1000 and 2000 us"
        );
    }

    #[test]
    fn segments_of_two_trains_make_no_pair() {
        let pair = Probe { kind: TrainKind::Pair, train: 1, index: 0, count: 2, offset_ns: 0 };
        for other in [Probe { train: 2, ..pair }, Probe { kind: TrainKind::Chirp, ..pair }] {
            let mut measure = Measure::default();
            let mut at =
                |probe, nanos| measure.on_probe(Instant::from_nanos(nanos), &probe, Bytes(1000)).is_some();
            let second = |first| Probe { index: 1, offset_ns: 500, ..first };
            assert!(!at(pair, 0) && !at(second(other), 500), "the first of another train was lost");
            assert!(!at(pair, 1000) && !at(other, 1500) && at(second(other), 2000), "a train begins");
        }
    }

    #[test]
    fn what_is_missing_or_late_measures_nothing() {
        let mut measure = Measure::default();
        let probe = |index| Probe { kind: TrainKind::Pair, train: 1, index, count: 4, offset_ns: 0 };
        let mut at = |index, micros: u64| {
            measure.on_probe(Instant::from_nanos(micros * 1000), &probe(index), Bytes(1000))
        };
        // The second is lost, the first comes again: one pair is left.
        assert_eq!((at(0, 0), at(2, 100), at(0, 150)), (None, None, None));
        assert_eq!(at(3, 350).map(|estimate| estimate.bytes_per_s), Some(4_000_000));
        // After the end of a train its segments begin another.
        assert_eq!(at(3, 360), None);
    }
}
