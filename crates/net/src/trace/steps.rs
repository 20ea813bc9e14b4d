//! Steps in time: values that hold until the next step.

use handfast_core::{BitRate, Duration, Instant};

use super::AtEnd;

/// What holds from one moment on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// From when, counted from the beginning.
    pub at: Duration,
    /// The rate of serialisation; zero: nothing leaves.
    pub rate: BitRate,
    /// The propagation delay of what leaves.
    pub delay: Duration,
    /// The probability that a packet that leaves is lost.
    pub loss: f64,
}

/// Steps in order of time. The first is at the beginning; the last is the end, and counts only where it is held.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    list: Vec<Step>,
    at_end: AtEnd,
    pub(super) has_rate: bool,
    pub(super) has_delay: bool,
    pub(super) has_loss: bool,
    /// For each step the nanobits that pass before it.
    before: Vec<u128>,
}

impl Steps {
    /// The fastest that a step may be, which keeps sums exact: 1 Tbit/s.
    pub const FASTEST: BitRate = BitRate::from_bps(1_000_000_000_000);
    /// The longest trace: a week.
    pub const LONGEST: Duration = Duration::from_secs(7 * 86_400);

    /// `has` says of rate, delay and loss whether the steps mean something by it.
    ///
    /// # Errors
    /// Which step is wrong, and why.
    pub fn new(steps: Vec<Step>, has: [bool; 3], at_end: AtEnd) -> Result<Self, (usize, &'static str)> {
        let [has_rate, has_delay, has_loss] = has;
        if steps.first().is_none_or(|first| first.at > Duration::ZERO) {
            return Err((0, "the first step is not at time 0"));
        }
        for (index, pair) in steps.windows(2).enumerate() {
            if pair[0].at >= pair[1].at {
                return Err((index + 1, "not later than the step before"));
            }
        }
        let last = steps.len() - 1;
        let wrong = |step: &Step| step.rate > Self::FASTEST || !(0.0..=1.0).contains(&step.loss);
        if let Some(index) = steps.iter().position(wrong) {
            return Err((index, "faster than 1 Tbit/s, or a loss that is no probability"));
        }
        if steps[last].at > Self::LONGEST {
            return Err((last, "longer than a week"));
        }
        let at_end = if last == 0 { AtEnd::Hold } else { at_end };
        if has_rate && meant(&steps, at_end).iter().all(|step| step.rate == BitRate::default()) {
            return Err((last, "nothing ever leaves: each rate is zero"));
        }
        let before = sums(&steps);
        Ok(Self { list: steps, at_end, has_rate, has_delay, has_loss, before })
    }

    /// One step without end at 1 bit/s.
    pub(super) fn still() -> Self {
        let list = vec![Step { rate: BitRate::from_bps(1), ..Step::default() }];
        Self { list, at_end: AtEnd::Hold, has_rate: true, has_delay: true, has_loss: true, before: vec![0] }
    }

    /// How long each step lasts in one round.
    pub(super) fn spells(&self) -> impl Iterator<Item = (&Step, Duration)> {
        let pairs = self.list.windows(2).map(|pair| (&pair[0], pair[1].at.saturating_sub(pair[0].at)));
        // One line alone holds for ever: any time stands for that.
        let only = self.list.first().filter(|_| self.list.len() == 1).map(|step| (step, super::WINDOW));
        pairs.chain(only)
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.list
    }

    /// The steps that hold at some time: the last only where it is held.
    pub(super) fn meant(&self) -> &[Step] {
        meant(&self.list, self.at_end)
    }

    pub(super) fn length(&self) -> Duration {
        self.list.last().map_or(Duration::ZERO, |last| last.at)
    }

    /// The step that holds at a moment.
    pub(super) fn at(&self, now: Instant) -> &Step {
        &self.list[self.position(now).1]
    }

    /// How many rounds are over at a moment, and which step holds.
    fn position(&self, now: Instant) -> (u64, usize) {
        let (round, into) = self.split(now);
        (round, self.list.partition_point(|step| step.at <= into).saturating_sub(1))
    }

    fn split(&self, now: Instant) -> (u64, Duration) {
        let length = self.length().as_nanos();
        if self.at_end == AtEnd::Hold {
            return (0, Duration::from_nanos(now.as_nanos()));
        }
        (now.as_nanos() / length, Duration::from_nanos(now.as_nanos() % length))
    }

    /// The step at a moment: its rate, and when it ends.
    pub(super) fn spell(&self, now: Instant) -> (BitRate, Instant) {
        let (round, index) = self.position(now);
        let end = self
            .list
            .get(index + 1)
            .map_or(Instant::MAX, |next| Instant::ZERO + self.length().saturating_mul(round) + next.at);
        (self.list[index].rate, end)
    }

    /// The time of the whole rounds that `work` nanobits take, which become what the last one does not finish: a trace may be
    /// far shorter than a packet takes.
    pub(super) fn skip_rounds(&self, work: &mut u64) -> Duration {
        let round = self.before.last().copied().unwrap_or(0);
        if self.at_end == AtEnd::Hold || u128::from(*work) <= round {
            return Duration::ZERO;
        }
        // Not zero: something repeats. And less than `work`.
        let round = u64::try_from(round).unwrap_or(u64::MAX);
        let rounds = (*work - 1) / round;
        *work -= rounds * round;
        self.length().saturating_mul(rounds)
    }

    /// The nanobits that pass from the beginning of the run to `until`.
    pub(super) fn nanobits(&self, until: Instant) -> u128 {
        let (round, into) = self.split(until);
        let (_, index) = self.position(until);
        let (step, whole) = (&self.list[index], self.before.last().copied().unwrap_or(0));
        let within = u128::from(into.saturating_sub(step.at).as_nanos()) * u128::from(step.rate.as_bps());
        u128::from(round) * whole + self.before[index] + within
    }
}

fn meant(steps: &[Step], at_end: AtEnd) -> &[Step] {
    let ends = usize::from(at_end == AtEnd::Repeat);
    &steps[..steps.len().saturating_sub(ends)]
}

/// For each step the nanobits that pass before it.
fn sums(steps: &[Step]) -> Vec<u128> {
    let mut passed = 0;
    let mut before = vec![0];
    for pair in steps.windows(2) {
        let span = pair[1].at.saturating_sub(pair[0].at).as_nanos();
        passed += u128::from(span) * u128::from(pair[0].rate.as_bps());
        before.push(passed);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(rates: &[(u64, u64)], at_end: AtEnd) -> Result<Steps, (usize, &'static str)> {
        let step = |&(ms, bps)| Step {
            at: Duration::from_millis(ms),
            rate: BitRate::from_bps(bps),
            ..Step::default()
        };
        Steps::new(rates.iter().map(step).collect(), [true, false, false], at_end)
    }

    #[test]
    fn the_last_line_is_the_end_or_holds() {
        let rates = [(0, 8_000), (1_000, 16_000), (2_000, 24_000)];
        let repeated = steps(&rates, AtEnd::Repeat).unwrap();
        let rate = |steps: &Steps, ms| steps.at(Instant::from_millis(ms)).rate.as_bps();
        assert_eq!([999, 1_000, 2_000, 3_500].map(|ms| rate(&repeated, ms)), [8_000, 16_000, 8_000, 16_000]);
        let held = steps(&rates, AtEnd::Hold).unwrap();
        assert_eq!([999, 1_999, 2_000, 99_000].map(|ms| rate(&held, ms)), [8_000, 16_000, 24_000, 24_000]);
        assert_eq!((repeated.meant().len(), held.meant().len()), (2, 3));
        assert_eq!(repeated.spell(Instant::from_millis(3_500)).1, Instant::from_millis(4_000));
        assert_eq!(held.spell(Instant::from_millis(3_500)).1, Instant::MAX);
    }

    #[test]
    fn what_passes_is_the_sum_of_all_steps() {
        let rates = [(0, 8_000), (1_000, 16_000), (2_000, 0)];
        let bytes = |steps: &Steps, ms| steps.nanobits(Instant::from_millis(ms)) / 8_000_000_000;
        let repeated = steps(&rates, AtEnd::Repeat).unwrap();
        assert_eq!([500, 1_500, 2_000, 4_500].map(|ms| bytes(&repeated, ms)), [500, 2_000, 3_000, 6_500]);
        let held = steps(&rates, AtEnd::Hold).unwrap();
        assert_eq!([2_000, 90_000].map(|ms| bytes(&held, ms)), [3_000, 3_000]);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let why = |rates: &[_]| steps(rates, AtEnd::Repeat).unwrap_err();
        assert!(why(&[]).1.contains("time 0") && why(&[(1, 1)]).1.contains("time 0"));
        assert_eq!(why(&[(0, 1), (5, 1), (5, 2)]).0, 2);
        assert!(why(&[(0, 0), (5, 9)]).1.contains("nothing ever leaves"), "the end is no step");
        assert!(why(&[(0, 2_000_000_000_000), (5, 1)]).1.contains("1 Tbit/s"));
        assert!(why(&[(0, 1), (1_000_000_000, 1)]).1.contains("week"));
        assert!(
            steps(&[(0, 5)], AtEnd::Repeat)
                .is_ok_and(|one| one.at(Instant::from_millis(9)).rate.as_bps() == 5)
        );
    }
}
