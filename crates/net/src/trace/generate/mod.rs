//! Traces that are drawn: of radios that move, from cited parameters. docs/explanation/traces.md names the sources.

mod mmwave;
mod starlink;
mod train;

use handfast_core::{BitRate, Duration, Stream};

use super::{AtEnd, Step, Steps, Trace};

/// What draws a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// A path over satellites in low orbit, reassigned every 15 s.
    Starlink,
    /// A 5G cell at millimetre waves whose line of sight is blocked by people.
    Mmwave,
    /// A phone in a train at 300 km/h along cells of LTE.
    Train,
}

/// In which direction packets go. Both directions of a link have the same reassignments, blockages and handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the user.
    Down,
    /// From the user.
    Up,
}

impl Generator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Starlink, Self::Mmwave, Self::Train];
    /// The longest trace that is drawn: a day.
    pub const LONGEST: Duration = Duration::from_secs(86_400);

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starlink => "starlink",
            Self::Mmwave => "mmwave",
            Self::Train => "train",
        }
    }

    /// One line about it.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Starlink => {
                "satellites in low orbit: reassigned every 15 s, rates as measured in Germany in 2024"
            }
            Self::Mmwave => "5G at millimetre waves: people block the line of sight for some 100 ms",
            Self::Train => "LTE in a train at 300 km/h: a handover every kilometre, some of which fail",
        }
    }

    /// A rate that no trace of it exceeds, whatever is drawn.
    pub fn fastest(self, way: Way) -> BitRate {
        let mbps = match self {
            Self::Starlink => starlink::fastest(way),
            Self::Mmwave => mmwave::fastest(way),
            Self::Train => train::fastest(way),
        };
        rate(mbps)
    }

    /// Draws a trace of that length, [`Generator::LONGEST`] at most. The same numbers give both directions of a link.
    pub fn draw(self, way: Way, length: Duration, random: Stream) -> Trace {
        let length = length.clamp(Duration::from_millis(1), Self::LONGEST);
        let course = Course { steps: Vec::new(), length };
        let course = match self {
            Self::Starlink => starlink::draw(way, course, random),
            Self::Mmwave => mmwave::draw(way, course, random),
            Self::Train => train::draw(way, course, random),
        };
        course.trace()
    }
}

/// A trace that grows.
struct Course {
    steps: Vec<Step>,
    length: Duration,
}

impl Course {
    /// From `at` on: Mbit/s, milliseconds one way, the probability of a loss.
    fn step(&mut self, at: Duration, mbps: f64, delay_ms: f64, loss: f64) {
        let rate = rate(mbps);
        let delay = Duration::from_nanos(libm::round(delay_ms * 1e6) as u64);
        // What is drawn for no time at all is overwritten.
        if self.steps.last().is_some_and(|last| last.at >= at) {
            self.steps.pop();
        }
        self.steps.push(Step { at, rate, delay, loss });
    }

    /// Cut at its length, where the last values end it.
    fn trace(mut self) -> Trace {
        self.steps.retain(|step| step.at < self.length);
        let last = self.steps.last().copied().unwrap_or_default();
        self.steps.push(Step { at: self.length, ..last });
        // A generator begins at 0, and its steps follow each other. In a trace that is nothing but a gap the rate is 1 bit/s.
        if self.steps.iter().all(|step| step.rate == BitRate::default()) {
            self.steps.iter_mut().for_each(|step| step.rate = BitRate::from_bps(1));
        }
        let steps = Steps::new(self.steps, [true; 3], AtEnd::Repeat);
        Trace::Steps(steps.unwrap_or_else(|_| Steps::still()))
    }
}

fn rate(mbps: f64) -> BitRate {
    BitRate::from_bps(libm::round(mbps * 1e6) as u64)
}

/// A value of a distribution that is known by some of its quantiles, straight between them.
fn quantile(quantiles: &[(f64, f64)], share: f64) -> f64 {
    let above = quantiles.partition_point(|&(at, _)| at <= share).clamp(1, quantiles.len() - 1);
    let ((from, low), (to, high)) = (quantiles[above - 1], quantiles[above]);
    low + (high - low) * ((share - from) / (to - from)).clamp(0.0, 1.0)
}

/// Exponentially distributed, in seconds.
fn exponential(mean: f64, random: &mut Stream) -> f64 {
    -mean * libm::log1p(-random.unit())
}

/// Seconds as a span.
fn span(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Instant;

    fn drawn(generator: Generator, way: Way, seed: u64) -> Trace {
        generator.draw(way, Duration::from_secs(600), Stream::new(seed, "trace"))
    }

    fn steps(trace: &Trace) -> &Steps {
        let Trace::Steps(steps) = trace else { panic!("steps") };
        steps
    }

    #[test]
    fn a_seed_draws_one_trace_and_another_another() {
        for generator in Generator::ALL {
            let [first, again, other] = [1, 1, 2].map(|seed| drawn(generator, Way::Down, seed));
            assert!(first == again && first != other, "{}", generator.name());
            assert_eq!(first.length(), Duration::from_secs(600));
            assert_ne!(drawn(generator, Way::Up, 1), first);
            let short = generator.draw(Way::Up, Duration::ZERO, Stream::new(1, "trace"));
            assert_eq!(short.length(), Duration::from_millis(1));
        }
    }

    #[test]
    fn what_is_drawn_is_what_the_file_says() {
        for generator in Generator::ALL {
            let trace = drawn(generator, Way::Down, 3);
            assert_eq!(Trace::parse(&steps(&trace).to_csv(), AtEnd::Repeat).unwrap(), trace);
        }
    }

    /// In Mbit/s: the mean of 20 traces of ten minutes.
    fn mean(generator: Generator, way: Way) -> f64 {
        let rate =
            |seed| drawn(generator, way, seed).mean_rate(Duration::from_secs(600)).unwrap().as_bps() as f64;
        (0..20).map(rate).sum::<f64>() / 20.0 / 1e6
    }

    #[test]
    fn starlink_has_the_rates_that_were_measured() {
        // The recording: means of 281 and 19.0 Mbit/s while the car stood.
        let (down, up) = (mean(Generator::Starlink, Way::Down), mean(Generator::Starlink, Way::Up));
        assert!((265.0..297.0).contains(&down) && (17.0..21.0).contains(&up), "{down} {up}");
    }

    #[test]
    fn starlink_is_reassigned_every_15_seconds() {
        let trace = drawn(Generator::Starlink, Way::Down, 1);
        let bursts: Vec<_> =
            steps(&trace).steps().iter().filter(|step| step.loss > 0.0).map(|step| step.at).collect();
        assert!(bursts.windows(2).all(|pair| pair[1].saturating_sub(pair[0]) == Duration::from_secs(15)));
        assert_eq!(bursts.len(), 40);
        // The delay changes with each of them, and only then.
        let delay = |at: Duration| trace.delay(Instant::ZERO + at).unwrap();
        let ms = Duration::from_millis(1);
        assert!(
            bursts[1..39]
                .iter()
                .all(|&at| delay(at) != delay(at.saturating_sub(ms)) && delay(at) == delay(at + ms * 14_999))
        );
    }

    #[test]
    fn people_block_one_part_in_eleven() {
        let (mut blocked, mut number, mut longest) = (0.0, 0, 0.0_f64);
        for seed in 0..20 {
            let trace = drawn(Generator::Mmwave, Way::Down, seed);
            for pair in steps(&trace).steps().windows(2).filter(|pair| pair[0].rate.as_bps() < 200_000_000) {
                let lasts = pair[1].at.saturating_sub(pair[0].at).as_secs_f64();
                (blocked, number, longest) =
                    (blocked + lasts, number + usize::from(pair[0].loss > 0.0), longest.max(lasts));
            }
        }
        // 0.5 s in 5.5 s: 1,091 s of 12,000; a spell has a standard deviation of 0.3 s, the time between of 5 s.
        assert!((960.0..1220.0).contains(&blocked) && (1950..2410).contains(&number), "{blocked} {number}");
        assert!(longest > 1.0);
    }

    #[test]
    fn a_train_is_handed_over_every_kilometre() {
        let trace = drawn(Generator::Train, Way::Down, 1);
        let steps = steps(&trace).steps();
        let gaps: Vec<_> = steps.windows(2).filter(|pair| pair[0].rate.as_bps() == 0).collect();
        assert_eq!(gaps.len(), 50, "12 s each");
        let lasts = |pair: &&[Step]| pair[1].at.saturating_sub(pair[0].at).as_millis();
        assert!(
            gaps.iter().all(|pair| (20..=50).contains(&lasts(pair)) || (1000..=3000).contains(&lasts(pair)))
        );
        let failed = (0..40).map(|seed| {
            let trace = drawn(Generator::Train, Way::Down, seed);
            let steps = self::steps(&trace).steps();
            steps.windows(2).filter(|pair| pair[0].rate.as_bps() == 0 && lasts(pair) > 50).count()
        });
        // 2,000 handovers at one in ten: standard deviation 13.4; five of them either way.
        assert!((133..=267).contains(&failed.sum::<usize>()));
        let fastest = steps.iter().map(|step| step.rate.as_bps()).max().unwrap();
        assert_eq!(fastest, 44_000_000, "4.4 bit/s/Hz of 10 MHz");
    }

    #[test]
    fn quantiles_are_straight_between_what_is_known() {
        let quantiles = [(0.1, 10.0), (0.5, 20.0), (0.9, 40.0)];
        let seen = [0.0, 0.1, 0.3, 0.7, 0.99].map(|share| libm::round(quantile(&quantiles, share)) as u64);
        assert_eq!(seen, [10, 10, 15, 30, 40]);
    }

    #[test]
    fn no_trace_is_faster_than_the_fastest_and_some_come_near() {
        for generator in Generator::ALL {
            for way in [Way::Down, Way::Up] {
                let peaks = (0..40).filter_map(|seed| drawn(generator, way, seed).peak_rate());
                let (peak, most) =
                    (peaks.max().unwrap().as_bps() as f64, generator.fastest(way).as_bps() as f64);
                assert!((0.9 * most..=most).contains(&peak), "{generator:?} {way:?}: {peak} of {most}");
            }
        }
    }
}
