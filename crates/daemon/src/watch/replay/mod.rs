//! What would have helped: the same stall on the same path, in the simulator.

mod gap;
mod loss;

use handfast_core::Duration;
use handfast_results::Control;
use handfast_results::result::RunResult;
use handfast_results::series::NoSeries;
use handfast_scenario::Scenario;
use handfast_sim::Options;
use handfast_watch::Stall;

/// Each run has one: the moments of what happens differ.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// Faster paths are replayed as if they were this fast: a replay must not take longer than the stall.
const FASTEST_BPS: u64 = 50_000_000;
const SLOWEST_BPS: u64 = 200_000;
/// The path of wires and air besides the one whose delay is set, in both scenarios.
const SHORT_PATHS: Duration = Duration::from_micros(1_100);

/// The first scheme of each scenario: as the machine is now.
const AS_IT_IS: &str = "as-it-is";

/// What a remedy helps against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// A path that was gone.
    Gap,
    /// The same, where this machine sends.
    GapAtSender,
    /// A loss, where this machine sends.
    Loss,
}

/// What can be done about a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remedy {
    /// In the scenario.
    pub(super) scheme: &'static str,
    pub(super) text: &'static str,
    against: Against,
}

pub(super) const REMEDIES: [Remedy; 5] = [
    Remedy { scheme: "rto-max", text: "sender's timer at most 1 s", against: Against::Gap },
    Remedy { scheme: "sdn", text: "network holds and releases", against: Against::Gap },
    Remedy { scheme: "iosl", text: "sender freezes and restores", against: Against::GapAtSender },
    Remedy { scheme: "link-arq", text: "the lossy link repeats", against: Against::Loss },
    Remedy { scheme: "sdtp", text: "nodes repair within the path", against: Against::Loss },
];

/// What a replay found, in seconds: what was waited after the path's return, or for what was lost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Replay {
    /// As it was.
    pub(super) measured: f64,
    /// As it is in the simulator.
    pub(super) as_it_is: f64,
    /// The same with each remedy that applies.
    pub(super) with: Vec<(Remedy, f64)>,
}

impl Replay {
    /// What a remedy saves of what was measured, seconds. One that is slower in the simulator than what was measured saves
    /// nothing.
    pub(super) fn saved(&self) -> impl Iterator<Item = (Remedy, f64)> + '_ {
        self.with.iter().map(|&(remedy, after)| (remedy, (self.measured - after).max(0.0)))
    }
}

/// Replays a stall; [`None`]: it is none that a replay can say anything of.
pub(super) fn replay(stall: &Stall) -> Option<Replay> {
    gap::replay(stall).or_else(|| loss::replay(stall))
}

/// Of one figure of five runs the median; [`None`]: a run cannot be made, or one does not have it.
fn median(scenario: &Scenario, scheme: &str, figure: impl Fn(&RunResult) -> Option<f64>) -> Option<f64> {
    let scheme = scenario.scheme(scheme).ok()?;
    let mut found = Vec::new();
    for seed in SEEDS {
        let options = Options { seed, ..Options::default() };
        let result = handfast_sim::run(scenario, scheme, &options, &Control::new(), &mut NoSeries).ok()?;
        found.push(figure(&result)?);
    }
    found.sort_by(f64::total_cmp);
    Some(found[found.len() / 2])
}

/// A path as the stall's was: its rate in bit/s, and its round trip.
fn path(stall: &Stall) -> (u64, Duration) {
    let rtt = stall.path.min_rtt.unwrap_or(Duration::from_millis(40)).max(Duration::from_millis(4));
    let rate = stall.path.rate.map_or(20_000_000, |octets| octets.saturating_mul(8));
    (rate.clamp(SLOWEST_BPS, FASTEST_BPS), rtt)
}

/// The delay of the one wire that is set.
fn delay(rtt: Duration) -> String {
    let delay = Duration::from_nanos(rtt.as_nanos() / 2).saturating_sub(SHORT_PATHS);
    format!("{}us", delay.as_nanos() / 1000)
}

fn set(path: &str, value: impl Into<String>) -> (String, String) {
    (path.to_owned(), value.into())
}

#[cfg(test)]
pub(super) mod testing {
    use handfast_core::{Duration, Instant};
    use handfast_watch::{Cause, ConnectionId, Direction, End, Path, Phase, Stall};

    /// A cause for so long, and then the timer for 1 s.
    pub(in super::super) fn stall(direction: Direction, cause: Cause, millis: u64) -> Stall {
        let phase =
            |cause, from, to| Phase { cause, from: Instant::from_millis(from), to: Instant::from_millis(to) };
        Stall {
            connection: ConnectionId(1),
            local: "10.0.0.2:40000".parse().unwrap(),
            remote: "192.0.2.1:443".parse().unwrap(),
            direction,
            phases: vec![phase(cause, 0, millis), phase(Cause::TimerBackoff, millis, millis + 1000)],
            end: End::WentOn,
            retransmitted: 4,
            longest_rto: Duration::from_secs(2),
            path: Path {
                min_rtt: Some(Duration::from_millis(40)),
                rate: Some(2_500_000),
                repeated_permille: Some(20),
            },
        }
    }
}
