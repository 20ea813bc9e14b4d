//! Stations that move: handovers that nobody wrote down.

use crate::support::{result, set};
use handfast_scenario::Scenario;

const WALK: &str = include_str!("../../../../scenarios/wifi-walk.toml");

fn walk(changes: &[(&str, &str)]) -> Scenario {
    set(WALK, changes)
}

#[test]
fn a_walk_between_ranges_is_a_handover_as_long_as_the_walk_and_the_search() {
    let run = result(&walk(&[]), "bare", 1);
    let seen: Vec<_> = run.handovers.iter().map(|h| (h.link.as_str(), h.to.as_deref())).collect();
    // From 15 m out of range at 33 m after 9 s, in range at 37 m after 11 s, back at 55 m after 20 s, and so on.
    let expected = [("ap1-mn", Some("ap2")), ("ap2-mn", Some("ap1"))];
    assert_eq!(seen[..2], expected);
    for (handover, (down, up)) in run.handovers.iter().zip([(9.0, 11.0), (29.0, 31.0), (49.0, 51.0)]) {
        assert!((down..down + 0.103).contains(&handover.down_s), "{handover:?}");
        // The scan of 13 channels may have passed the channel just before, and takes part of the next round.
        let back = handover.up_s.unwrap();
        assert!((up..up + 1.6).contains(&back), "{handover:?}");
        assert!(handover.stall_s.is_some());
    }
    assert_eq!(run.handovers.len(), 3);
}

#[test]
fn held_segments_shorten_the_stall_of_a_walk() {
    let scenario = walk(&[]);
    let stall = |scheme: &str| {
        let run = result(&scenario, scheme, 2);
        run.handovers.iter().map(|handover| handover.stall_s.unwrap()).sum::<f64>()
    };
    let (bare, announced, failures) = (stall("bare"), stall("announced"), stall("failures"));
    assert!(announced < 0.2 && failures < 0.2 && bare > announced, "{bare} {announced} {failures}");
}

#[test]
fn movement_is_drawn_from_the_seed_and_from_nothing_else() {
    let random = "{random-waypoint = {area = [[0, 0], [70, 5]], speed = \"8m/s\", slowest = \"4m/s\"}}";
    let scenario = walk(&[("nodes.mn.mobility", random)]);
    let times = |scheme: &str, seed| -> Vec<_> {
        let run = result(&scenario, scheme, seed);
        run.handovers.iter().map(|handover| (handover.down_s.to_bits(), handover.to.clone())).collect()
    };
    assert!(times("bare", 1).len() >= 3);
    assert_eq!(times("bare", 1), times("announced", 1));
    assert_ne!(times("bare", 1), times("bare", 2));
}
