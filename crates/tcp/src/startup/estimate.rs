//! Capacity estimation at the data sender ([vho] §3, figure 1): a train of packet pairs for the bottleneck's capacity, then
//! chirps for what of it is available, which sets ssthresh.
//!
//! [vho]: Daniel and Kojo, "Enhancing TCP with Cross-layer Notifications and Capacity Estimation in Heterogeneous Access
//! Networks", 2012. Rates are of payload, in bit/s; docs/explanation/deviations.md has what the figure leaves open.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::Notification;
use handfast_wire::notification::Kind;
use handfast_wire::tcp::{Estimate, Probe, TrainKind};

use super::PROBE_LEN;
use crate::Estimation;
use crate::cc::pacer::Schedule;
use crate::cc::{Controlled, Request, Window};

/// [vho] figure 1: `pkt_count` = min (4, …).
const MOST_PAIRED: u64 = 4;
/// [vho] §3: "the cwnd at the end of the capacity estimation cycle will be from 6-8", which is how long a first chirp is.
const FIRST_CHIRP: u64 = 2 * MOST_PAIRED;
/// Two segments have a gap between them.
const LEAST: u64 = 2;

/// The state of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    how: Estimation,
    /// What it was told of before the handshake was done.
    told: Option<Access>,
    stage: Stage,
    /// Trains so far.
    train: u8,
    /// The smallest of this estimation's trains.
    rtt: Option<Duration>,
    /// It is the connection's first: nothing else is under way.
    initial: bool,
}

/// The access link's rate and the flows that share it.
#[derive(Clone, Copy, Debug)]
struct Access {
    rate: u64,
    flows: u64,
    /// The bandwidth-delay product of a round trip over it, in bytes.
    bdp: u64,
}

#[derive(Clone, Debug)]
enum Stage {
    Idle,
    /// The next train waits until its segments fit into the window together.
    Waiting(Cycle),
    Leaving(Flight),
    /// It has left; its result is on the way.
    Left(Flight),
}

/// A train to send.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    access: Access,
    /// [vho]: the pair train is 0, the abest cycles are counted from 1.
    number: u32,
    /// Segments at most.
    count: u64,
    /// Rates of the chirp.
    low: u64,
    high: u64,
    /// The bottleneck's capacity.
    bbw: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    cycle: Cycle,
    /// Segments of it.
    count: u16,
    start: u64,
    /// One past its last octet.
    end: u64,
    left_at: Option<Instant>,
}

/// What of the path a decision needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) window: Window,
    pub(crate) srtt: Duration,
}

/// New data that could leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fresh {
    pub(crate) now: Instant,
    /// Where it begins.
    pub(crate) start: u64,
    /// Octets that both windows take.
    pub(crate) room: u64,
    /// Octets that wait.
    pub(crate) unsent: u64,
    /// Nothing is under way: no acknowledgement will make more room.
    pub(crate) idle: bool,
}

/// Whether new data may leave.
#[derive(Debug)]
pub(crate) enum Hold {
    No,
    Yes,
    /// By this schedule.
    Begin(Schedule),
}

impl Estimator {
    pub(crate) fn new(how: Estimation) -> Self {
        Self { how, told: None, stage: Stage::Idle, train: 0, rtt: None, initial: false }
    }

    /// [vho] figure 1: "Algorithm is invoked when a notification from the mobile node arrives at the TCP sender at the beginning of
    /// a TCP connection or after a handoff".
    pub(crate) fn on_notification(&mut self, told: &Notification) {
        let round_trip = told.new.delay.saturating_mul(2);
        let flows = u64::from(told.flows).max(1);
        // BDP_link = Bandwidth_link * Delay_link: table 1's products are those of a round trip.
        let bdp = told.new.rate.bytes_in(round_trip).get();
        self.told = Some(Access { rate: told.new.rate.as_bps(), flows, bdp });
        self.initial = told.kind == Kind::Start;
        self.stage = Stage::Idle;
    }

    /// Begins the estimation that it was told to, on an established connection with segments of `packet` bytes.
    /// `first`: it has sent nothing yet.
    pub(crate) fn begin(&mut self, mut window: Controlled<'_>, packet: u64, first: bool) {
        let Some(access) = self.told.take() else { return };
        self.rtt = None;
        let count = (access.bdp / packet.max(1) / access.flows).min(MOST_PAIRED);
        if self.initial && first {
            // [vho] figure 1 sends pkt_count segments whatever the initial window is; with less than two §3 "sets the initial cwnd
            // as 1 and follows the baseline".
            let cwnd = count * window.smss;
            window.request(Request::FirstTrain { cwnd });
        }
        if count >= LEAST {
            self.stage =
                Stage::Waiting(Cycle { access, number: 0, count, low: 0, high: 0, bbw: access.rate });
        }
    }

    /// Whether a train is on its way out: its segments carry their place in it.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving(_))
    }

    /// The result of the train that has left is overdue: it is lost, or nobody measures.
    pub(crate) fn give_up_waiting(&mut self) {
        if matches!(self.stage, Stage::Left(_)) {
            self.stage = Stage::Idle;
        }
    }

    /// Whether new data waits for the result of a train.
    pub(crate) fn holds(&self) -> bool {
        self.initial && matches!(self.stage, Stage::Left(_))
    }

    /// What begins at `una` is lost. A train that it is part of measures the loss. One that waits does so until it is repaired, and
    /// one that left after it has nothing to do with it: after a handoff segments overtake others, which then seem lost.
    pub(crate) fn on_loss(&mut self, una: u64) {
        if matches!(&self.stage, Stage::Leaving(flight) | Stage::Left(flight) if una >= flight.start) {
            self.stage = Stage::Idle;
        }
    }

    /// New data could leave.
    pub(crate) fn on_fresh(&mut self, path: &Path, fresh: &Fresh) -> Hold {
        match &self.stage {
            Stage::Idle | Stage::Leaving(_) => Hold::No,
            // A chirp of a connection that begins is all that it sends in a round trip ([vho] §3: "the growth rate of the window is
            // similar to that of regular TCP"); after a handoff the window is what it was.
            Stage::Left(_) => {
                if self.holds() {
                    Hold::Yes
                } else {
                    Hold::No
                }
            }
            &Stage::Waiting(cycle) => self.on_turn(cycle, path, fresh),
        }
    }

    fn on_turn(&mut self, cycle: Cycle, path: &Path, fresh: &Fresh) -> Hold {
        let payload = payload(path);
        // The last of what there is to send may be a part of a segment.
        let mut there = fresh.unsent / payload;
        if fresh.idle {
            there = there.min(fresh.room / payload);
        }
        let count = cycle.count.min(self.longest()).min(path.window.cwnd() / payload).min(there);
        if count < LEAST {
            // After a timeout cwnd grows to it; where there is nothing to send, nothing is measured.
            if there.min(cycle.count) < LEAST {
                self.stage = Stage::Idle;
            }
            return Hold::No;
        }
        if fresh.room < count * payload {
            return Hold::Yes;
        }
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        let offsets = if cycle.number == 0 {
            vec![Duration::ZERO; usize::from(count)].into()
        } else {
            chirp(count, Bytes(payload), BitRate::from_bps(cycle.low), BitRate::from_bps(cycle.high))
        };
        self.train = self.train.wrapping_add(1);
        self.stage =
            Stage::Leaving(Flight { cycle, count, start: fresh.start, end: fresh.start, left_at: None });
        Hold::Begin(Schedule::train(fresh.now, offsets))
    }

    /// How long a train may be.
    fn longest(&self) -> u64 {
        if self.how == Estimation::PairChirpShort && !self.initial { FIRST_CHIRP } else { u64::MAX }
    }

    /// The segment of the train with this number leaves, up to `end`; its place in it.
    pub(crate) fn on_sent(&mut self, now: Instant, index: usize, end: u64) -> Option<Probe> {
        let Stage::Leaving(flight) = &mut self.stage else { return None };
        let left_at = *flight.left_at.get_or_insert(now);
        flight.end = end;
        let kind = if flight.cycle.number == 0 { TrainKind::Pair } else { TrainKind::Chirp };
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        let offset_ns = u32::try_from(now.since(left_at).as_nanos()).unwrap_or(u32::MAX);
        let probe = Probe { kind, train: self.train, index, count: flight.count, offset_ns };
        if index.saturating_add(1) >= flight.count {
            self.stage = Stage::Left(*flight);
        }
        Some(probe)
    }

    /// An acknowledgement of `una`, perhaps with a result.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        una: u64,
        result: Option<Estimate>,
        path: &Path,
    ) -> Option<u64> {
        let (Stage::Leaving(flight) | Stage::Left(flight)) = self.stage else { return None };
        if una > flight.start
            && let Some(left_at) = flight.left_at
        {
            // [vho] §3: "RTT is calculated using the timestamps", which are too coarse for 4 ms: the same, exactly.
            let sample = now.since(left_at);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        let result = result.filter(|result| result.train == self.train);
        if let (Some(result), Stage::Left(_)) = (result, &self.stage) {
            return self.on_result(&flight.cycle, result.rate().as_bps(), path);
        }
        if una >= flight.end && matches!(self.stage, Stage::Left(_)) {
            // Whoever is at the other end does not measure, or its answer was lost.
            self.stage = Stage::Idle;
        }
        None
    }

    /// What a train has measured; the new ssthresh.
    fn on_result(&mut self, cycle: &Cycle, rate: u64, path: &Path) -> Option<u64> {
        let rtt = self.rtt.unwrap_or(path.srtt);
        if cycle.number == 0 {
            self.stage = Stage::Waiting(first_cycle(cycle, rate, rtt, path));
            return None;
        }
        // [vho] figure 1: (abest > bbw), abest <- bbw; ssthresh = abest * RTT / MSS.
        let abest = rate.min(cycle.bbw);
        let ssthresh = octets(abest, rtt).max(2 * path.window.smss);
        // "The estimation at any abest cycle stops when abest < highrate or 2 * cwnd > ssthresh". Rates come back in whole bytes a
        // second, of gaps in whole nanoseconds: less than 1 % below is not below.
        let below = u128::from(abest) * 100 < u128::from(cycle.high) * 99;
        self.stage = if below || 2 * path.window.cwnd() > ssthresh {
            Stage::Idle
        } else {
            Stage::Waiting(next_cycle(self.how, cycle, abest, rtt, path))
        };
        Some(ssthresh)
    }
}

/// [vho] figure 1, abest cycle 1, from what the pairs have measured.
fn first_cycle(pairs: &Cycle, measured: u64, rtt: Duration, path: &Path) -> Cycle {
    // If (bbw > BDP_link), bbw <- BDP_link: the link's bandwidth is meant.
    let bbw = measured.min(pairs.access.rate);
    let share = bbw / pairs.access.flows;
    Cycle { number: 1, count: count(share, rtt, path), low: share / 2, high: share, bbw, ..*pairs }
}

/// Abest cycles 2 and n.
fn next_cycle(how: Estimation, last: &Cycle, abest: u64, rtt: Duration, path: &Path) -> Cycle {
    let (low, high) = match (last.number, how) {
        // lowrate = 2 / RTT, in segments.
        (1, Estimation::PairChirpText) => (segments_a_round_trip(2, rtt, path), abest),
        (1, _) => (segments_a_round_trip(2, rtt, path), abest.saturating_mul(2)),
        _ => (last.low.saturating_mul(2), last.high.saturating_mul(2)),
    };
    let number = last.number.saturating_add(1);
    Cycle { number, count: count(abest, rtt, path), low: low.min(high), high, ..*last }
}

/// `pkt_count` = min (cwnd, rate * RTT / MSS).
fn count(rate: u64, rtt: Duration, path: &Path) -> u64 {
    octets(rate, rtt).min(path.window.cwnd()) / payload(path)
}

/// Payload of a segment that carries its place in a train: MSS of figure 1.
fn payload(path: &Path) -> u64 {
    path.window.smss.saturating_sub(PROBE_LEN).max(1)
}

fn octets(rate: u64, rtt: Duration) -> u64 {
    BitRate::from_bps(rate).bytes_in(rtt).get()
}

fn segments_a_round_trip(segments: u64, rtt: Duration, path: &Path) -> u64 {
    let nanobits = u128::from(segments * payload(path)) * 8 * 1_000_000_000;
    u64::try_from(nanobits / u128::from(rtt.as_nanos().max(1))).unwrap_or(u64::MAX)
}

/// The departures of a chirp: rates rise from `low` to `high` by the same factor from segment to segment, the last gap is that of
/// `high`. [vho] figure 1: sf = exp (log (highrate / lowrate) / `pkt_count`), but over the gaps, of which there is one less.
fn chirp(count: u16, payload: Bytes, low: BitRate, high: BitRate) -> Box<[Duration]> {
    let gaps = f64::from(count.saturating_sub(1).max(1));
    let ratio = high.as_bps() as f64 / low.as_bps().max(1) as f64;
    let last = high.serialisation(payload).map_or(Duration::ZERO, |(time, _)| time);
    let mut at = Duration::ZERO;
    let mut departures = Vec::with_capacity(usize::from(count));
    departures.push(at);
    for gap in 1..count {
        // Counted from the last one, whose gap is exact.
        let slower = libm::pow(ratio, f64::from(count - 1 - gap) / gaps);
        at += Duration::from_nanos(libm::round(last.as_nanos() as f64 * slower) as u64);
        departures.push(at);
    }
    departures.into()
}

#[cfg(test)]
mod tests;
