//! What a trace holds, in figures.

use handfast_core::{BitRate, Duration};

use super::{Trace, WINDOW};

/// A trace in figures. What it does not say is [`None`].
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// From its beginning to its last line.
    pub length: Duration,
    /// Steps, or opportunities.
    pub entries: usize,
    /// Over its whole length.
    pub mean_rate: Option<BitRate>,
    /// Of its best window.
    pub peak_rate: Option<BitRate>,
    /// How often nothing leaves for a window or longer.
    pub outages: Option<usize>,
    /// The longest of these times.
    pub longest_outage: Option<Duration>,
    /// The least, the median and the 99th percentile over time.
    pub delay: Option<[Duration; 3]>,
    /// The mean over time.
    pub loss: Option<f64>,
}

impl Trace {
    /// The trace in figures.
    pub fn summary(&self) -> Summary {
        let outages = self.outages();
        Summary {
            length: self.length(),
            entries: self.entries(),
            mean_rate: self.mean_rate(self.length().max(WINDOW)),
            peak_rate: self.peak_rate(),
            outages: outages.as_ref().map(Vec::len),
            longest_outage: outages.and_then(|outages| outages.into_iter().max()),
            delay: self.delays(),
            loss: self.mean_loss(),
        }
    }

    fn entries(&self) -> usize {
        match self {
            Self::Opportunities(opportunities) => opportunities.number() as usize,
            Self::Steps(steps) => steps.steps().len(),
        }
    }

    /// How long each time is in which nothing leaves.
    fn outages(&self) -> Option<Vec<Duration>> {
        let mut gaps = match self {
            Self::Opportunities(opportunities) => {
                let moments: Vec<u32> = std::iter::once(0).chain(opportunities.moments()).collect();
                let gap = |pair: &[u32]| Duration::from_millis(u64::from(pair[1] - pair[0]));
                moments.windows(2).map(gap).collect()
            }
            Self::Steps(_) if !self.has_rate() => return None,
            Self::Steps(steps) => {
                still(&steps.spells().map(|(step, time)| (step.rate.as_bps() == 0, time)).collect::<Vec<_>>())
            }
        };
        gaps.retain(|&gap| gap >= WINDOW);
        Some(gaps)
    }

    fn delays(&self) -> Option<[Duration; 3]> {
        let steps = self.steps().filter(|steps| steps.has_delay)?;
        let mut spells: Vec<_> = steps.spells().map(|(step, time)| (step.delay, time)).collect();
        spells.sort();
        let whole: u64 = spells.iter().map(|(_, time)| time.as_nanos()).sum();
        let at = |percent: u64| {
            let mut left = u128::from(whole) * u128::from(percent) / 100;
            let reached = spells.iter().find(|(_, time)| {
                let here = u128::from(time.as_nanos()) > left;
                left = left.saturating_sub(u128::from(time.as_nanos()));
                here
            });
            reached.or(spells.last()).map_or(Duration::ZERO, |&(delay, _)| delay)
        };
        Some([at(0), at(50), at(99)])
    }

    fn mean_loss(&self) -> Option<f64> {
        let steps = self.steps().filter(|steps| steps.has_loss)?;
        let (mut lost, mut whole) = (0.0, 0.0);
        for (step, time) in steps.spells() {
            lost += step.loss * time.as_secs_f64();
            whole += time.as_secs_f64();
        }
        Some(lost / whole)
    }
}

/// The lengths of the times in which it is still.
fn still(spells: &[(bool, Duration)]) -> Vec<Duration> {
    let alike = spells.chunk_by(|one, next| one.0 == next.0);
    alike.filter(|run| run[0].0).map(|run| run.iter().map(|&(_, time)| time).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::AtEnd;

    fn summary(text: &str) -> Summary {
        Trace::parse(text, AtEnd::Repeat).unwrap().summary()
    }

    #[test]
    fn one_line_says_what_always_holds() {
        let of_one =
            Trace::parse("time_s,rate_mbps,delay_ms,loss\n0,8,5,0.1\n", AtEnd::Hold).unwrap().summary();
        let five = Duration::from_millis(5);
        assert_eq!(of_one.delay, Some([five; 3]));
        assert!(of_one.loss.is_some_and(|loss| (loss - 0.1).abs() < 1e-9));
        assert_eq!(of_one.mean_rate, Some(handfast_core::BitRate::from_bps(8_000_000)));
    }

    #[test]
    fn what_is_held_at_the_end_is_part_of_the_peak() {
        let held = Trace::parse("time_s,rate_mbps\n0,1\n1,100\n", AtEnd::Hold).unwrap();
        assert_eq!(held.peak_rate(), Some(handfast_core::BitRate::from_bps(100_000_000)));
    }

    #[test]
    fn steps_count_by_how_long_they_last() {
        let text = "time_s,rate_mbps,delay_ms,loss\n0,8,10,0\n1,0,20,0\n1.5,0,30,0.5\n2,4,40,0\n4,0,0,1\n";
        let ms = Duration::from_millis;
        let expected = Summary {
            length: ms(4000),
            entries: 5,
            mean_rate: Some(BitRate::from_bps(4_000_000)),
            peak_rate: Some(BitRate::from_bps(8_000_000)),
            outages: Some(1),
            longest_outage: Some(ms(1000)),
            delay: Some([ms(10), ms(40), ms(40)]),
            loss: Some(0.0625),
        };
        assert_eq!(summary(text), expected);
    }

    #[test]
    fn between_opportunities_nothing_leaves() {
        let seen = summary("50\n50\n149\n250\n1000");
        assert_eq!(
            (seen.entries, seen.outages, seen.longest_outage),
            (5, Some(2), Some(Duration::from_millis(750)))
        );
        assert_eq!(seen.mean_rate, Some(BitRate::from_bps(60_000)));
        assert_eq!((seen.peak_rate, seen.delay), (Some(BitRate::from_bps(240_000)), None));
    }
}
