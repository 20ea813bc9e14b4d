//! One connection's waits.

use std::num::NonZero;

use handfast_core::{Duration, Instant};

use crate::sample::{Sample, State};
use crate::stall::{Direction, Path};

/// What is known of a wait besides its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Segments sent again.
    pub(crate) retransmitted: u32,
    /// The longest timeout.
    pub(crate) longest_rto: Duration,
    /// How often the timer was doubled, at most.
    pub(crate) backoff: u8,
    /// When the timer expired last and something was sent again, and the time before.
    pub(crate) expiries: [Option<Instant>; 2],
    /// Probes of a closed window.
    pub(crate) probes: u8,
    /// How long the peer's window was the limit.
    pub(crate) window_limited: Duration,
    /// Segments that came out of order when it ended.
    pub(crate) out_of_order: u32,
    /// The smoothed round-trip time before.
    pub(crate) srtt: Option<Duration>,
    /// Between the two samples at its end: so much too long the wait may seem.
    pub(crate) sampled: Duration,
}

/// A connection waited from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) direction: Direction,
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) evidence: Evidence,
    pub(crate) path: Path,
}

/// How long a wait must be to count, besides a multiple of the round trip.
const ROUND_TRIPS: u64 = 2;

/// One connection over time.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    last: Sample,
    at: Instant,
    /// Since when it waits for an acknowledgment.
    waits_from: Option<Instant>,
    /// When the last data came.
    data_at: Option<Instant>,
    evidence: Evidence,
    /// Before the wait.
    path: Path,
    best_rate: u64,
    came: Option<Instant>,
}

impl Connection {
    pub(crate) fn new(at: Instant, first: &Sample) -> Self {
        let mut new = Self {
            at,
            waits_from: None,
            data_at: (first.received > 0).then(|| before(at, first.since_received)),
            evidence: Evidence::default(),
            path: Path::default(),
            best_rate: first.delivery_rate,
            came: None,
            last: first.clone(),
        };
        new.begin(at, first);
        new
    }

    /// Its last sample.
    pub(crate) fn sample(&self) -> &Sample {
        &self.last
    }

    /// Since when it has waited, if it waits for an acknowledgment.
    pub(crate) fn waits_from(&self) -> Option<Instant> {
        self.waits_from
    }

    /// When something came for it, if something has come between its last two samples.
    pub(crate) fn came(&self) -> Option<Instant> {
        self.came
    }

    /// The next sample: the waits that have ended with it, if they were at least that long. An end is known as exactly as
    /// samples follow each other: of several answers since the sample before the last one counts.
    pub(crate) fn on_sample(&mut self, at: Instant, sample: Sample, least: Duration) -> Vec<Wait> {
        let mut waits = Vec::new();
        self.came = None;
        let opened = self.last.state == State::Opening && sample.state == State::Open;
        if sample.acknowledged > self.last.acknowledged || opened {
            let came = before(at, sample.since_acknowledged).max(self.at);
            self.came = Some(came);
            self.evidence.sampled = at.since(self.at);
            waits.extend(self.end_wait(came, &sample, least));
        } else {
            self.note(at, &sample);
        }
        waits.extend(self.received(at, &sample, least));
        self.best_rate = self.best_rate.max(sample.delivery_rate);
        if self.waits_from.is_none() {
            self.begin(at, &sample);
        } else if !sample.awaits_acknowledgment() {
            self.waits_from = None;
        }
        self.last = sample;
        self.at = at;
        waits
    }

    /// It is over, or the watch is: the wait that has not ended.
    pub(crate) fn close(&mut self, at: Instant, least: Duration) -> Option<Wait> {
        let last = self.last.clone();
        self.end_wait(at, &last, least)
    }

    fn begin(&mut self, at: Instant, sample: &Sample) {
        if !sample.awaits_acknowledgment() {
            return;
        }
        // What was sent since the last acknowledgment waits; it was sent at once, or when there was something to send.
        let sent = before(at, sample.since_sent);
        let acknowledged = before(at, sample.since_acknowledged);
        self.waits_from = Some(match sample.state {
            State::Opening => at,
            State::Open if sample.backoff > 0 || sample.in_flight == 0 => acknowledged,
            State::Open => sent.max(acknowledged),
        });
        self.evidence = Evidence { srtt: sample.srtt, ..Evidence::default() };
        self.path = Path {
            min_rtt: sample.min_rtt.or(sample.srtt),
            rate: Some(self.best_rate.max(sample.delivery_rate)).filter(|&rate| rate > 0),
            repeated_permille: None,
        };
        self.note_timer(sample);
    }

    fn note(&mut self, at: Instant, sample: &Sample) {
        let evidence = &mut self.evidence;
        evidence.retransmitted += sample.retransmitted.wrapping_sub(self.last.retransmitted);
        evidence.window_limited += sample.window_limited.saturating_sub(self.last.window_limited);
        if sample.backoff > evidence.backoff {
            evidence.expiries = [Some(before(at, sample.since_sent)), evidence.expiries[0]];
        }
        self.note_timer(sample);
    }

    fn note_timer(&mut self, sample: &Sample) {
        let evidence = &mut self.evidence;
        evidence.longest_rto = evidence.longest_rto.max(sample.rto);
        evidence.backoff = evidence.backoff.max(sample.backoff);
        evidence.probes = evidence.probes.max(sample.probes);
    }

    fn end_wait(&mut self, to: Instant, sample: &Sample, least: Duration) -> Option<Wait> {
        let from = self.waits_from.take()?;
        // What was sent again is acknowledged by now. The timer is set anew: it says nothing of the wait.
        self.evidence.retransmitted += sample.retransmitted.wrapping_sub(self.last.retransmitted);
        self.evidence.window_limited += sample.window_limited.saturating_sub(self.last.window_limited);
        let direction =
            if self.last.state == State::Opening { Direction::Opening } else { Direction::Sending };
        let path = Path { repeated_permille: repeated_permille(sample), ..self.path };
        let wait = Wait { direction, from, to, evidence: self.evidence, path };
        (to.since(from) >= self.threshold(least)).then_some(wait)
    }

    /// A gap in what comes. An application that asked for nothing has such gaps too: the diagnosis wants evidence.
    fn received(&mut self, at: Instant, sample: &Sample, least: Duration) -> Option<Wait> {
        if sample.received <= self.last.received {
            return None;
        }
        let to = before(at, sample.since_received).max(self.at);
        self.came = self.came.max(Some(to));
        let from = self.data_at.replace(to)?;
        let evidence = Evidence {
            out_of_order: sample.out_of_order.wrapping_sub(self.last.out_of_order),
            srtt: sample.srtt,
            ..Evidence::default()
        };
        let path = Path { min_rtt: sample.min_rtt.or(sample.srtt), rate: None, repeated_permille: None };
        let wait = Wait { direction: Direction::Receiving, from, to, evidence, path };
        (self.waits_from.is_none() && to.since(from) >= self.threshold(least)).then_some(wait)
    }

    fn threshold(&self, least: Duration) -> Duration {
        self.evidence
            .srtt
            .or(self.last.srtt)
            .map_or(least, |srtt| least.max(srtt.saturating_mul(ROUND_TRIPS)))
    }
}

fn repeated_permille(sample: &Sample) -> Option<u16> {
    let share = u64::from(sample.retransmitted) * 1000 / u64::from(NonZero::new(sample.data_segments)?.get());
    u16::try_from(share.min(1000)).ok()
}

fn before(at: Instant, span: Duration) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(span.as_nanos()))
}
