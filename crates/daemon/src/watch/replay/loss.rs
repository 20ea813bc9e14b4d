//! A message that was lost, and whose sender waited for its timer: many such messages over the same path.

use handfast_results::result::RunResult;
use handfast_scenario::Scenario;
use handfast_watch::{Cause, Direction, End, Stall};

use super::{AS_IT_IS, Against, REMEDIES, Remedy, Replay, delay, median, path, set};

const SCENARIO: &str = include_str!("loss.toml");
/// Losses of the path, of a thousand: of fewer the replay has too few, and of more not even half of the messages arrive at once.
const LOSSES: std::ops::RangeInclusive<u16> = 20..=200;

/// Replays what was lost; [`None`]: nothing was, or this machine did not send it.
pub(super) fn replay(stall: &Stall) -> Option<Replay> {
    let measured = stall.of(Cause::Loss).as_secs_f64();
    if measured == 0.0 || stall.direction != Direction::Sending || stall.end != End::WentOn {
        return None;
    }
    let permille = stall.path.repeated_permille?.clamp(*LOSSES.start(), *LOSSES.end());
    let scenario = Scenario::parse(SCENARIO, "loss.toml", &values(stall, permille)).ok()?;
    let share = f64::from(permille) / 1000.0;
    let waited = |scheme: &str| median(&scenario, scheme, |result| waited(result, share));
    let as_it_is = waited(AS_IT_IS)?;
    let of = |remedy: Remedy| waited(remedy.scheme).map(|waited| (remedy, waited));
    let applies = REMEDIES.into_iter().filter(|remedy| remedy.against == Against::Loss);
    Some(Replay { measured, as_it_is, with: applies.filter_map(of).collect() })
}

fn values(stall: &Stall, permille: u16) -> Vec<(String, String)> {
    let (rate, rtt) = path(stall);
    vec![
        set("links.path.rate", format!("{rate}bit/s")),
        set("links.path.delay", delay(rtt)),
        set("links.air.loss", (f64::from(permille) / 1000.0).to_string()),
    ]
}

/// How long a message that was lost took longer than others: half of the messages or more are not lost, and take what the path takes.
fn waited(result: &RunResult, share: f64) -> Option<f64> {
    let metrics = &result.flows.first()?.metrics;
    let extra = metrics.write_to_delivery_mean_s()? - metrics.write_to_delivery_p50_s()?;
    Some(extra.max(0.0) / share)
}

#[cfg(test)]
mod tests {
    use super::super::testing::stall;
    use super::*;
    use handfast_core::Duration;
    use handfast_watch::Path;

    fn lost(path: Path) -> Stall {
        let stall = stall(Direction::Sending, Cause::Loss, 300);
        Stall { phases: stall.phases[..1].to_vec(), path, ..stall }
    }

    #[test]
    fn a_link_s_own_repetition_is_faster_than_a_timer() {
        let path = stall(Direction::Sending, Cause::Loss, 300).path;
        let found = replay(&lost(path)).unwrap();
        // Linux waits for 200 ms at least, and what it repeats may be lost again.
        assert!((0.2..0.5).contains(&found.as_it_is), "{found:?}");
        let [(arq, by_arq), (sdtp, by_sdtp)] = found.with[..] else { panic!("{found:?}") };
        assert_eq!((arq.scheme, sdtp.scheme), ("link-arq", "sdtp"));
        assert!(by_arq < found.as_it_is / 4.0, "{found:?}");
        // Its nodes notice a loss by what comes after it, and nothing does.
        assert!((0.8..1.2).contains(&(by_sdtp / found.as_it_is)), "{found:?}");
    }

    #[test]
    fn any_path_can_be_replayed() {
        for (rtt, rate, repeated_permille) in
            [(0, 1, Some(0)), (900, u64::MAX, Some(1000)), (30, 100, Some(7))]
        {
            let path =
                Path { min_rtt: Some(Duration::from_millis(rtt)), rate: Some(rate), repeated_permille };
            assert!(replay(&lost(path)).is_some(), "{path:?}");
        }
    }

    #[test]
    fn what_was_not_lost_here_is_not_replayed() {
        let path = stall(Direction::Sending, Cause::Loss, 300).path;
        assert_eq!(replay(&Stall { direction: Direction::Receiving, ..lost(path) }), None);
        assert_eq!(replay(&Stall { end: End::Broke, ..lost(path) }), None);
        assert_eq!(replay(&lost(Path { repeated_permille: None, ..path })), None);
        assert_eq!(replay(&stall(Direction::Sending, Cause::PeerWindow, 300)), None);
    }
}
