//! What would have helped: the same gap on the same path, in the simulator.

use handfast_core::Duration;
use handfast_results::Control;
use handfast_results::series::NoSeries;
use handfast_scenario::Scenario;
use handfast_sim::Options;
use handfast_watch::{Cause, Direction, Stall};

/// The moments of the cut within a round trip, each a seed.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// The gap's beginning in `stall.toml`: bulk data before, so that the window is where it was.
const BEFORE_S: u64 = 8;
/// And after: twice Linux's longest wait that follows a gap of a minute.
const AFTER_S: u64 = 30;
/// Faster paths are replayed as if they were this fast: a replay must not take longer than the stall.
const FASTEST_BPS: u64 = 50_000_000;
const SLOWEST_BPS: u64 = 200_000;
/// The path of wires and air besides the one whose delay is set.
const SHORT_PATHS: Duration = Duration::from_micros(1_100);

/// The scenario, as it is before the stall's own values come in.
const SCENARIO: &str = include_str!("stall.toml");
/// Its first scheme: as the machine is now.
const AS_IT_IS: &str = "as-it-is";

/// What can be done about a path that is gone for a while and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remedy {
    /// In `stall.toml`.
    pub(super) scheme: &'static str,
    pub(super) text: &'static str,
    /// Only where this machine sends.
    at_sender: bool,
}

pub(super) const REMEDIES: [Remedy; 3] = [
    Remedy { scheme: "rto-max", text: "sender's timer at most 1 s", at_sender: false },
    Remedy { scheme: "sdn", text: "network holds and releases", at_sender: false },
    Remedy { scheme: "iosl", text: "sender freezes and restores", at_sender: true },
];

/// What a replay found. All times are from the path's return to the first new data, in seconds; simulated ones are medians.
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
    let gone = gone(stall)?;
    let scenario = Scenario::parse(SCENARIO, "stall.toml", &values(stall, gone)).ok()?;
    let as_it_is = after(&scenario, AS_IT_IS)?;
    let applies = |remedy: &&Remedy| !remedy.at_sender || stall.direction == Direction::Sending;
    let with = REMEDIES.iter().filter(applies);
    let with =
        with.filter_map(|&remedy| after(&scenario, remedy.scheme).map(|after| (remedy, after))).collect();
    Some(Replay { measured: stall.of(Cause::TimerBackoff).as_secs_f64(), as_it_is, with })
}

/// How long nothing could come through, if that was a part of it and a connection was there.
fn gone(stall: &Stall) -> Option<Duration> {
    let gone: Duration = [Cause::RadioGone, Cause::AddressGone, Cause::PathGone]
        .into_iter()
        .map(|cause| stall.of(cause))
        .sum();
    // Where it went on at once nothing can be saved.
    let waited = stall.of(Cause::TimerBackoff) > Duration::ZERO;
    let moves = matches!(stall.direction, Direction::Sending | Direction::Receiving);
    let came_back = stall.end == handfast_watch::End::WentOn && moves;
    (waited && gone > Duration::ZERO && gone < Duration::from_secs(120) && came_back).then_some(gone)
}

/// A roam as long as the gap, on a path like the stall's, with data all the time.
fn values(stall: &Stall, gone: Duration) -> Vec<(String, String)> {
    let rtt = stall.path.min_rtt.unwrap_or(Duration::from_millis(40)).max(Duration::from_millis(4));
    let rate = stall.path.rate.map_or(20_000_000, |octets| octets.saturating_mul(8));
    let rate = rate.clamp(SLOWEST_BPS, FASTEST_BPS);
    let delay = Duration::from_nanos(rtt.as_nanos() / 2).saturating_sub(SHORT_PATHS);
    let queue = (rate as f64 * rtt.as_secs_f64() / 8.0 / 1500.0).ceil().max(20.0);
    let (from, to) = if stall.direction == Direction::Sending { ("mn", "cn") } else { ("cn", "mn") };
    let set = |path: &str, value: String| (path.to_owned(), value);
    vec![
        set("duration", format!("{}ms", (BEFORE_S + AFTER_S) * 1000 + gone.as_millis() * 2)),
        set("links.path.rate", format!("{rate}bit/s")),
        set("links.path.delay", format!("{}us", delay.as_nanos() / 1000)),
        set("links.path.queue", format!("{queue}pkt")),
        set("flows.0.from", from.to_owned()),
        set("flows.0.to", to.to_owned()),
        set("events.0.gap", format!("{}ms", gone.as_millis().max(1))),
    ]
}

/// From the path's return to the first new data, the median; [`None`]: it cannot be run, or never went on.
fn after(scenario: &Scenario, scheme: &str) -> Option<f64> {
    let scheme = scenario.scheme(scheme).ok()?;
    let mut stalls = Vec::new();
    for seed in SEEDS {
        let options = Options { seed, ..Options::default() };
        let result = handfast_sim::run(scenario, scheme, &options, &Control::new(), &mut NoSeries).ok()?;
        stalls.push(result.handovers.first()?.stall_s?);
    }
    stalls.sort_by(f64::total_cmp);
    Some(stalls[stalls.len() / 2])
}

#[cfg(test)]
mod tests {
    use handfast_core::Instant;
    use handfast_watch::{ConnectionId, End, Path, Phase};

    use super::*;

    fn stall(direction: Direction, cause: Cause, millis: u64) -> Stall {
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
            path: Path { min_rtt: Some(Duration::from_millis(40)), rate: Some(2_500_000) },
        }
    }

    #[test]
    fn a_radio_that_was_gone_is_replayed_in_both_directions() {
        let found = replay(&stall(Direction::Receiving, Cause::RadioGone, 3000)).unwrap();
        let names: Vec<_> = found.with.iter().map(|(remedy, _)| remedy.scheme).collect();
        assert_eq!(names, ["rto-max", "sdn"]);
        let sdn = found.saved().find(|(remedy, _)| remedy.scheme == "sdn").unwrap().1;
        assert!(sdn > 0.1, "{found:?}");
        let found = replay(&stall(Direction::Sending, Cause::RadioGone, 3000)).unwrap();
        assert_eq!(found.with.last().unwrap().0.scheme, "iosl");
    }

    #[test]
    fn any_path_can_be_replayed() {
        for (rtt, rate, gap) in [(0, 1, 1), (1, u64::MAX, 250), (900, 100, 5000), (30, 3_000_000, 1500)] {
            let mut one = stall(Direction::Sending, Cause::PathGone, gap);
            one.path = Path { min_rtt: Some(Duration::from_millis(rtt)), rate: Some(rate) };
            let values = values(&one, Duration::from_millis(gap));
            let scenario = Scenario::parse(SCENARIO, "stall.toml", &values);
            let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.message));
            for remedy in REMEDIES {
                assert!(scenario.scheme(remedy.scheme).is_ok());
            }
        }
    }

    #[test]
    fn what_is_no_gap_is_not_replayed() {
        assert_eq!(replay(&stall(Direction::Sending, Cause::PeerWindow, 3000)), None);
        assert_eq!(
            replay(&Stall { end: End::Broke, ..stall(Direction::Sending, Cause::AddressGone, 3000) }),
            None
        );
        assert_eq!(replay(&stall(Direction::Opening, Cause::RadioGone, 3000)), None);
    }
}
