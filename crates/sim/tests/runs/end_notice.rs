//! The controller hears late of the end of an association, or never.

use crate::roams::ROAM;
use crate::sdn::ROOM;
use crate::support::{result, set};
use handfast_scenario::Scenario;
use handfast_sim::RunResult;

/// The roam of the plain switches with a gap, and a scheme for each of these keys of the controller's agent.
fn roam(gap: &str, schemes: &[(&str, &str)]) -> Scenario {
    let schemes = schemes.iter().map(|(name, keys)| {
        let fixed = "kind = \"sdn\", at = \"role:controller\", policy = \"spurious\", notification = \"2ms\"";
        format!("[schemes.{name}]\nsender = \"linux\"\nagents = [{{{fixed}{keys}}}]\n")
    });
    let controller = [("nodes.ctl", "{kind = \"controller\", role = \"controller\"}"), ("events.0.gap", gap)];
    set(&format!("{ROAM}{}", schemes.collect::<String>()), &[&controller[..], &ROOM].concat())
}

const KINDS: &[(&str, &str)] = &[
    ("announced", ""),
    ("late", ", end_notice = \"late\", late_by = \"500ms\""),
    ("too-late", ", end_notice = \"late\", late_by = \"20s\""),
    ("after", ", end_notice = \"after-arrival\", late_by = \"0s\""),
    ("never", ", end_notice = \"never\""),
    ("five", ", end_notice = \"never\", tx_failures = 5, tx_silence = \"0s\""),
    ("fifty", ", end_notice = \"never\", tx_failures = 50"),
];

fn lost(run: &RunResult) -> u64 {
    run.aggregate.lost_segments().unwrap()
}

#[test]
fn a_late_end_costs_segments_and_one_after_the_arrival_is_ignored() {
    let scenario = roam("3s", KINDS);
    for seed in 1..=3 {
        let [announced, late, too_late, after, never] =
            ["announced", "late", "too-late", "after", "never"].map(|name| result(&scenario, name, seed));
        assert!(lost(&announced) < lost(&late) && lost(&late) <= lost(&never), "seed {seed}");
        let stall = |run: &RunResult| run.handovers[0].stall_s.unwrap();
        assert!(stall(&announced) < stall(&never), "seed {seed}");
        // The controller has learnt the same from the arrival.
        for other in [&too_late, &after] {
            assert_eq!((lost(other), stall(other)), (lost(&never), stall(&never)), "seed {seed}");
        }
    }
}

#[test]
fn frames_without_acknowledgment_tell_of_the_absence() {
    let scenario = roam("3s", KINDS);
    for seed in 1..=3 {
        let [announced, five, fifty, never] =
            ["announced", "five", "fifty", "never"].map(|name| result(&scenario, name, seed));
        let stall = |run: &RunResult| run.handovers[0].stall_s.unwrap();
        // The retransmissions of three seconds are held and released as if the roam had been announced; what fills the first
        // hole comes at the release's beginning or, by its timestamp, at its end.
        let release = 0.04;
        assert!((stall(&five) - stall(&announced)).abs() < release, "seed {seed}: {}", stall(&five));
        assert!((stall(&fifty) - stall(&announced)).abs() < release, "seed {seed}: {}", stall(&fifty));
        assert!(stall(&never) > 10.0 * stall(&five), "seed {seed}: {}", stall(&never));
        assert!(lost(&announced) < lost(&five) && lost(&five) <= lost(&fifty), "seed {seed}");
    }
}

#[test]
fn a_roam_that_is_over_before_the_frames_have_failed_is_an_arrival_only() {
    // Five frames of seven attempts take more than 50 ms.
    let scenario = roam("50ms", KINDS);
    for seed in 1..=3 {
        let [five, never] = ["five", "never"].map(|name| result(&scenario, name, seed));
        assert_eq!(five.aggregate, never.aggregate, "seed {seed}");
    }
}
