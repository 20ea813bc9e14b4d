//! A link whose rate, delay and loss follow a trace: recorded, or drawn by a [`Generator`].
//!
//! A trace is known beforehand. So a packet's departure still follows from its arrival, and a link that follows a trace has
//! the one deadline that any link has: nothing happens at a step, nor at an opportunity that finds no packet.

mod csv;
mod generate;
mod import;
mod mahimahi;
mod opportunities;
mod parse;
mod rate;
mod served;
mod steps;
mod summary;
mod text;

use handfast_core::{BitRate, Bytes, Duration, Instant};

pub use csv::{Columns, DelayKind, TimeUnit};
pub use generate::{Generator, Way};
pub use import::Recording;
pub use opportunities::{OPPORTUNITY, Opportunities};
pub(crate) use served::Served;
pub use steps::{Step, Steps};
pub use summary::Summary;
pub use text::TraceError;

/// What comes after the end of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// It begins anew.
    #[default]
    Repeat,
    /// Its last line holds: steps keep their values, and there are no more opportunities.
    Hold,
}

/// The course of one direction of a link. It begins with the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// Moments at which a packet may leave.
    Opportunities(Opportunities),
    /// Values that hold until the next step.
    Steps(Steps),
}

/// Traces that carry something are looked at in windows of this length.
pub const WINDOW: Duration = Duration::from_millis(100);

impl Trace {
    /// The longest text that is read, in bytes.
    pub const LONGEST_TEXT: usize = 32 << 20;
    /// The most lines of a text.
    pub const MOST_LINES: usize = 2_000_000;

    /// How long it is: from its beginning to its last line.
    pub fn length(&self) -> Duration {
        match self {
            Self::Opportunities(opportunities) => opportunities.length(),
            Self::Steps(steps) => steps.length(),
        }
    }

    /// Whether it says when packets leave: the link's own rate then means nothing.
    pub fn has_rate(&self) -> bool {
        matches!(self, Self::Opportunities(_)) || self.steps().is_some_and(|steps| steps.has_rate)
    }

    /// Whether it says how long they take from there.
    pub fn has_delay(&self) -> bool {
        self.steps().is_some_and(|steps| steps.has_delay)
    }

    /// Whether it says how many are lost.
    pub fn has_loss(&self) -> bool {
        self.steps().is_some_and(|steps| steps.has_loss)
    }

    fn steps(&self) -> Option<&Steps> {
        match self {
            Self::Opportunities(_) => None,
            Self::Steps(steps) => Some(steps),
        }
    }

    /// The delay of what leaves at `at`.
    pub fn delay(&self, at: Instant) -> Option<Duration> {
        self.steps().filter(|steps| steps.has_delay).map(|steps| steps.at(at).delay)
    }

    /// The probability that what leaves at `at` is lost.
    pub fn loss(&self, at: Instant) -> Option<f64> {
        self.steps().filter(|steps| steps.has_loss).map(|steps| steps.at(at).loss)
    }

    /// Bytes of full packets that it carries from the beginning of the run to `until`, if it has a rate. A packet that
    /// leaves in the last instant counts.
    pub fn carried(&self, until: Instant) -> Option<Bytes> {
        match self {
            Self::Opportunities(opportunities) => Some(opportunities.carried(until)),
            Self::Steps(steps) => {
                steps.has_rate.then(|| Bytes((steps.nanobits(until) / 8_000_000_000) as u64))
            }
        }
    }

    /// The mean rate over a run of that length.
    pub fn mean_rate(&self, run: Duration) -> Option<BitRate> {
        let bits = u128::from(self.carried(Instant::ZERO + run)?.get()) * 8;
        let rate = bits * 1_000_000_000 / u128::from(run.as_nanos().max(1));
        Some(BitRate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// The mean rate of each window of a run, from its beginning on; nothing where the trace has no rate.
    pub fn rates(&self, run: Duration, window: Duration) -> impl Iterator<Item = (Instant, BitRate)> + '_ {
        let windows = if self.has_rate() { run.as_nanos().div_ceil(window.as_nanos().max(1)) } else { 0 };
        let carried = |at: Instant| self.carried(at).unwrap_or_default().get();
        (0..windows).scan(0, move |before, index| {
            let from = Instant::ZERO + window * index;
            let until = carried(from + window);
            // What leaves at the very beginning leaves in the first window: a clock has no instant before it.
            let bits = u128::from(until - std::mem::replace(before, until)) * 8;
            let bps = bits * 1_000_000_000 / u128::from(window.as_nanos());
            Some((from, BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))))
        })
    }

    /// As steps: of opportunities the mean rate of each [`WINDOW`].
    pub fn to_steps(&self) -> Steps {
        let once = match self {
            Self::Steps(steps) => return steps.clone(),
            Self::Opportunities(opportunities) => Self::Opportunities(opportunities.once()),
        };
        // Whole windows: what the last one lacks of its time would change its rate.
        let windows = self.length().as_nanos().div_ceil(WINDOW.as_nanos()).max(1);
        let rates = once.rates(WINDOW * windows, WINDOW);
        let mut steps: Vec<Step> = Vec::new();
        for (at, rate) in rates {
            if steps.last().is_none_or(|last| last.rate != rate) {
                steps.push(Step { at: at.since(Instant::ZERO), rate, ..Step::default() });
            }
        }
        let last = steps.last().copied().unwrap_or_default();
        steps.push(Step { at: WINDOW * windows, ..last });
        Steps::new(steps, [true, false, false], AtEnd::Repeat).unwrap_or_else(|_| Steps::still())
    }

    /// The highest rate of any [`WINDOW`] of the trace.
    pub fn peak_rate(&self) -> Option<BitRate> {
        // One window more: what is held after the last line counts too.
        let run = self.length() + WINDOW;
        self.rates(run, WINDOW).map(|(_, rate)| rate).max()
    }

    /// The shortest of its delays.
    pub fn least_delay(&self) -> Option<Duration> {
        let steps = self.steps().filter(|steps| steps.has_delay)?;
        steps.meant().iter().map(|step| step.delay).min()
    }
}
