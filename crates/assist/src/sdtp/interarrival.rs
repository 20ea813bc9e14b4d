//! `InterTime` and the expected interarrival time (`[sdtp]` §III-C 1 and 2, equation (1)).

use handfast_core::{Duration, Instant};

use super::thresholds::Thresholds;

/// `ΔT_E` is no shorter, whatever the configuration says: a deadline has to be in the future.
const SHORTEST: Duration = Duration::from_micros(1);

/// At most so many expected interarrival times are one step.
const MOST_PATIENCE: u64 = 1 << 16;

/// Whether a packet is missed because none has come for some time.
///
/// A sender that has nothing to send, or that waits for its window, looks like a loss. So after each pause that was none
/// requests begin twice as late: at multiples of `patience` `ΔT_E`. A request that helped undoes it, and a loss that
/// `InterCnt` has shown halves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interarrival {
    given: Option<Duration>,
    floor: Duration,
    /// A pause as long as this is not asked about: the hosts have noticed a loss by then.
    longest: Duration,
    /// ΔT as measured: the smoothed time between packets in sequence.
    measured: Option<Duration>,
    /// `ΔT_S`: the last such time.
    sample: Option<Duration>,
    /// When the last packet came that was sent for the first time, if it is the last in sequence.
    front_at: Option<Instant>,
    /// When `InterTime` was 0.
    reset_at: Option<Instant>,
    /// How many steps of this pause are past.
    steps: u64,
    patience: u64,
}

impl Interarrival {
    pub(super) fn new(config: &Thresholds) -> Self {
        Self {
            given: config.sending_interval,
            floor: config.least_interval.max(SHORTEST),
            longest: config.persistence,
            measured: None,
            sample: None,
            front_at: None,
            reset_at: None,
            steps: 0,
            patience: 1,
        }
    }

    /// §III-C 1: `InterTime` is "reset to 0 whenever a new packet is received".
    #[inline]
    pub(super) fn reset(&mut self, now: Instant) {
        self.reset_at = Some(now);
        self.steps = 0;
    }

    /// A packet that was sent for the first time is the new last one. `in_sequence`: it follows the last one at once, so that the
    /// time between them is a sample, unless it is a pause.
    #[inline]
    pub(super) fn front(&mut self, now: Instant, in_sequence: bool) {
        let took = self.front_at.filter(|_| in_sequence).map(|at| now.since(at));
        if let Some(took) = took.filter(|&took| took < self.longest) {
            // The gain of equation (3), ξ = 1/8.
            self.measured = Some(self.measured.map_or(took, |measured| (measured * 7 + took) / 8));
            self.sample = Some(took);
        }
        self.front_at = Some(now);
    }

    /// The last packet in sequence is now one that was sent again: the time until the next is no sample.
    pub(super) fn front_was_repeated(&mut self) {
        self.front_at = None;
    }

    /// `ΔT_E`, equation (1): a = 0.875 and b = 0.375.
    pub(super) fn expected(&self) -> Option<Duration> {
        let interval = self.given.or(self.measured)?;
        let sample = self.sample.unwrap_or(interval);
        Some(interval.max((sample * 7 + interval * 3) / 8).max(self.floor))
    }

    fn step(&self) -> Option<Duration> {
        self.expected().map(|expected| expected * self.patience).filter(|&step| step < self.longest)
    }

    /// When `InterTime` will be the next multiple of the step.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.reset_at? + self.step()? * (self.steps + 1))
    }

    /// Whether `InterTime` has become a multiple of the step. A late call counts once.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.deadline().is_some_and(|at| at <= now);
        if let (true, Some(from), Some(step)) = (due, self.reset_at, self.step()) {
            self.steps = now.since(from).as_nanos() / step.as_nanos();
        }
        due
    }

    /// What was asked for by time came by itself, or was never sent.
    pub(super) fn was_needless(&mut self) {
        self.patience = (self.patience * 2).min(MOST_PATIENCE);
    }

    /// A request by time brought what was missing.
    pub(super) fn was_useful(&mut self) {
        self.patience = 1;
    }

    /// `InterCnt` has shown a loss: then the last packets before a pause get lost as well.
    pub(super) fn loss_shown(&mut self) {
        self.patience = (self.patience / 2).max(1);
    }
}
