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

    /// The next packet will come late, after `add_l` expected interarrival times: it is not asked for before.
    pub(super) fn comes_late(&mut self, add_l: u16) {
        self.steps = self.steps.max(add_l.into());
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

    /// ΔT: the sending interval, as it is given or as the node measures it.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.given.or(self.measured)
    }

    /// `ΔT_E`, equation (1): a = 0.875 and b = 0.375.
    fn expected(&self) -> Option<Duration> {
        let interval = self.interval()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    fn interarrival(change: impl FnOnce(&mut Thresholds)) -> Interarrival {
        let mut config = Thresholds::new(Duration::from_millis(10));
        change(&mut config);
        Interarrival::new(&config)
    }

    fn expected_us(interarrival: &Interarrival) -> Option<u64> {
        interarrival.expected().map(|expected| expected.as_nanos() / 1_000)
    }

    #[test]
    fn equation_1() {
        let mut interarrival = interarrival(|_| {});
        interarrival.front(us(0), true);
        assert_eq!(expected_us(&interarrival), None);
        interarrival.front(us(8_000), true);
        assert_eq!(expected_us(&interarrival), Some(7_000 + 3_000));
        interarrival.front(us(24_000), true);
        // ΔT = (7 * 8 + 16) / 8 = 9 ms, ΔT_S = 16 ms.
        assert_eq!(expected_us(&interarrival), Some(14_000 + 3_375));
        interarrival.front(us(25_000), true);
        // ΔT = (7 * 9 + 1) / 8 = 8 ms is more than 0.875 * 1 + 0.375 * 8.
        assert_eq!(expected_us(&interarrival), Some(8_000));
    }

    #[test]
    fn a_given_sending_interval_takes_the_place_of_the_measured_one() {
        let mut interarrival =
            interarrival(|config| config.sending_interval = Some(Duration::from_millis(16)));
        assert_eq!(expected_us(&interarrival), Some(14_000 + 6_000));
        interarrival.front(us(0), true);
        interarrival.front(us(1_000), true);
        assert_eq!(expected_us(&interarrival), Some(16_000));
    }

    #[test]
    fn what_is_no_sample() {
        let mut interarrival = interarrival(|_| {});
        interarrival.front(us(0), true);
        interarrival.front(us(9_000), false);
        assert_eq!(expected_us(&interarrival), None, "a gap");
        interarrival.front_was_repeated();
        interarrival.front(us(12_000), true);
        assert_eq!(expected_us(&interarrival), None, "after an RD");
        interarrival.front(us(212_000), true);
        assert_eq!(expected_us(&interarrival), None, "a pause as long as the persistence");
        interarrival.front(us(213_000), true);
        assert_eq!(expected_us(&interarrival), Some(1_250));
    }

    #[test]
    fn it_has_a_floor() {
        for (least, floor) in [(Duration::from_millis(2), 2_000), (Duration::ZERO, 1)] {
            let mut interarrival = interarrival(|config| config.least_interval = least);
            interarrival.front(us(5), true);
            interarrival.front(us(5), true);
            assert_eq!(expected_us(&interarrival), Some(floor));
        }
    }

    #[test]
    fn it_is_due_at_each_multiple_once() {
        let mut interarrival =
            interarrival(|config| config.sending_interval = Some(Duration::from_millis(8)));
        assert_eq!(interarrival.deadline(), None, "nothing has come");
        interarrival.reset(us(0));
        assert!(!interarrival.is_due(us(9_999)));
        assert!(interarrival.is_due(us(10_000)) && !interarrival.is_due(us(10_000)));
        assert_eq!(interarrival.deadline(), Some(us(20_000)));
        assert!(interarrival.is_due(us(45_000)));
        assert_eq!(interarrival.deadline(), Some(us(50_000)));
        interarrival.reset(us(46_000));
        assert_eq!(interarrival.deadline(), Some(us(56_000)));
    }

    #[test]
    fn patience_doubles_up_to_the_persistence_and_comes_back() {
        let mut interarrival =
            interarrival(|config| config.sending_interval = Some(Duration::from_millis(8)));
        interarrival.reset(us(0));
        let mut deadlines = Vec::new();
        for _ in 0..5 {
            interarrival.was_needless();
            deadlines.extend(interarrival.deadline());
        }
        assert_eq!(
            deadlines,
            [20, 40, 80, 160].map(|ms| us(ms * 1_000)),
            "320 ms are longer than the persistence"
        );
        interarrival.loss_shown();
        assert_eq!(interarrival.deadline(), Some(us(160_000)));
        interarrival.was_useful();
        assert_eq!(interarrival.deadline(), Some(us(10_000)));
        interarrival.loss_shown();
        assert_eq!(interarrival.deadline(), Some(us(10_000)));
    }

    #[test]
    fn a_step_as_long_as_the_persistence_is_too_long() {
        for (persistence, is_asked) in [(20, false), (21, true)] {
            let mut interarrival = interarrival(|config| {
                config.sending_interval = Some(Duration::from_millis(16));
                config.persistence = Duration::from_millis(persistence);
            });
            interarrival.reset(us(0));
            assert_eq!(interarrival.deadline().is_some(), is_asked);
        }
    }

    #[test]
    fn patience_has_an_end() {
        let mut interarrival = interarrival(|_| {});
        (0..100).for_each(|_| interarrival.was_needless());
        assert_eq!(interarrival.patience, 1 << 16);
    }
}
