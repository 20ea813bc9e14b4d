//! A path that was gone for a while: the same gap, with data all the time.

use handfast_core::Duration;
use handfast_scenario::Scenario;
use handfast_watch::{Cause, Direction, Stall};

use super::{AS_IT_IS, Against, REMEDIES, Remedy, Replay, delay, median, path, set};

/// The gap's beginning in `gap.toml`: bulk data before, so that the window is where it was.
const BEFORE_S: u64 = 8;
/// And after: twice Linux's longest wait that follows a gap of a minute.
const AFTER_S: u64 = 30;

/// The scenario, as it is before the stall's own values come in.
const SCENARIO: &str = include_str!("gap.toml");

/// Replays a gap; [`None`]: there was none that a replay can say anything of.
pub(super) fn replay(stall: &Stall) -> Option<Replay> {
    let gone = gone(stall)?;
    let scenario = Scenario::parse(SCENARIO, "gap.toml", &values(stall, gone)).ok()?;
    let as_it_is = after(&scenario, AS_IT_IS)?;
    let applies = |remedy: &&Remedy| match remedy.against {
        Against::Gap => true,
        Against::GapAtSender => stall.direction == Direction::Sending,
        Against::Loss => false,
    };
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
    let (rate, rtt) = path(stall);
    let queue = (rate as f64 * rtt.as_secs_f64() / 8.0 / 1500.0).ceil().max(20.0);
    let (from, to) = if stall.direction == Direction::Sending { ("mn", "cn") } else { ("cn", "mn") };
    vec![
        set("duration", format!("{}ms", (BEFORE_S + AFTER_S) * 1000 + gone.as_millis() * 2)),
        set("links.path.rate", format!("{rate}bit/s")),
        set("links.path.delay", delay(rtt)),
        set("links.path.queue", format!("{queue}pkt")),
        set("flows.0.from", from),
        set("flows.0.to", to),
        set("events.0.gap", format!("{}ms", gone.as_millis().max(1))),
    ]
}

/// From the path's return to the first new data, the median; [`None`]: it cannot be run, or never went on.
fn after(scenario: &Scenario, scheme: &str) -> Option<f64> {
    median(scenario, scheme, |result| result.handovers.first()?.stall_s)
}

#[cfg(test)]
mod tests {
    use handfast_watch::{End, Path};

    use super::super::testing::stall;
    use super::*;

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
            one.path =
                Path { min_rtt: Some(Duration::from_millis(rtt)), rate: Some(rate), ..Path::default() };
            let values = values(&one, Duration::from_millis(gap));
            let scenario = Scenario::parse(SCENARIO, "gap.toml", &values);
            let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.message));
            for remedy in ["rto-max", "sdn", "iosl"] {
                assert!(scenario.scheme(remedy).is_ok());
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
