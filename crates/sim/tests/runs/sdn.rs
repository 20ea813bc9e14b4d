//! A station that roams between two access points whose switch obeys the SDN controller.

use std::fmt::Write;

use crate::roams::{ROAM, row};
use crate::support::{assert_golden, bytes, result, set};
use handfast_scenario::Scenario;
use handfast_sim::Options;

/// As in an access point: what is released at once must find room at the radio.
pub(crate) const ROOM: [(&str, &str); 2] =
    [("links.ap1-mn.queue", "100pkt"), ("links.ap2-mn.queue", "100pkt")];

/// The roam of the plain switches, with a controller, and a transfer that comes to its end.
fn roam(flow: &str) -> Scenario {
    roam_with(flow, &[])
}

fn roam_with(flow: &str, changes: &[(&str, &str)]) -> Scenario {
    let mut schemes = String::new();
    let agents = [
        ("bare", "policy = \"bare\""),
        ("spurious", "policy = \"spurious\""),
        ("unpaced", "policy = \"spurious\", release = \"unpaced\""),
        ("zwa", "policy = \"zwa\""),
    ];
    for (name, policy) in agents {
        for (suffix, notification) in [("", "2ms"), ("-late", "70ms")] {
            for (end, sender) in [("", "\"linux\""), ("-no-ts", "{profile = \"linux\", timestamps = false}")]
            {
                write!(
                    schemes,
                    "[schemes.{name}{suffix}{end}]\nsender = {sender}\n\
                     agents = [{{kind = \"sdn\", at = \"role:controller\", {policy}, notification = \"{notification}\"}}]\n"
                )
                .unwrap();
            }
        }
    }
    let controller = [("nodes.ctl", "{kind = \"controller\", role = \"controller\"}")];
    set(&format!("{ROAM}{flow}\n{schemes}"), &[&controller[..], &ROOM, changes].concat())
}

/// Retransmitted, timeouts and lost; milliseconds.
#[test]
fn golden_rows() {
    let (scenario, mut out) = (roam(""), String::new());
    for scheme in &scenario.schemes {
        row(&mut out, &scheme.name, &result(&scenario, &scheme.name, 1));
    }
    assert_golden("sdn.txt", &out);
}

#[test]
fn held_segments_make_the_timeouts_spurious_and_the_stall_a_round_trip() {
    let scenario = roam("");
    for seed in 1..=5 {
        let [bare, spurious] = ["bare", "spurious"].map(|scheme| result(&scenario, scheme, seed));
        let stall = |run: &handfast_sim::RunResult| run.handovers[0].stall_s.unwrap();
        // 40 ms of round trip, 2 ms of notification, and what the channel and the radio take.
        assert!(stall(&spurious) < 0.06, "seed {seed}: {}", stall(&spurious));
        assert!(spurious.aggregate.spurious_timeouts >= Some(1));
        assert!(spurious.aggregate.goodput_bps > bare.aggregate.goodput_bps, "seed {seed}");
        assert!(spurious.aggregate.retransmitted_segments < bare.aggregate.retransmitted_segments);
    }
}

#[test]
fn what_the_controller_has_counted_is_in_the_result() {
    let scenario = roam("");
    let counted = |scheme| result(&scenario, scheme, 1).controller;
    let spurious = counted("spurious").unwrap();
    assert!(spurious["held"] > 100 && spurious["released"] == spurious["held"], "{spurious:?}");
    assert_eq!((spurious["expired"], spurious["evicted"]), (0, 0));
    assert_eq!(counted("bare").unwrap()["held"], 0);
    assert_eq!(counted("linux"), None, "nobody counts where there is no controller");
}

#[test]
fn a_hole_before_the_roam_costs_no_more_than_a_hole() {
    // The captured repetition of a segment lost just before the roam has a newer timestamp than all that is held.
    let hole = roam_with("", &[("links.cn-s1.loss", "{list = [6500]}")]);
    let whole = roam("");
    for scheme in ["spurious", "spurious-no-ts"] {
        let run = result(&hole, scheme, 1).aggregate;
        assert_ne!(run, result(&whole, scheme, 1).aggregate, "{scheme}: the hole is not there");
        let needless = run.retransmitted_segments.unwrap() - run.lost_segments.unwrap();
        assert!(needless <= 20, "{scheme}: {run:?}");
    }
}

#[test]
fn every_transfer_ends_whatever_the_policy_and_however_often_the_station_roams() {
    let mut events = String::new();
    // Roams that follow one another closely: during slow start, during a release, back and forth.
    for (at, gap) in [(300, 0), (700, 150), (1500, 400), (2000, 30), (2040, 900), (3100, 1)] {
        let to = if events.matches("at =").count().is_multiple_of(2) { "ap2" } else { "ap1" };
        write!(
            events,
            "[[events]]\nat = \"{at}ms\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"{to}\"\ngap = \"{gap}ms\"\nphase = \"10ms\"\n"
        )
        .unwrap();
    }
    let flows = "[[flows]]\nfrom = \"cn\"\nto = \"mn\"\napp = {transfer = \"3MB\"}\n\
                 [[flows]]\nfrom = \"mn\"\nto = \"cn\"\napp = {transfer = \"1MB\"}\n";
    let scenario = roam(&(flows.to_owned() + &events));
    for scheme in &scenario.schemes {
        for seed in 1..=3 {
            let run = result(&scenario, &scheme.name, seed);
            for flow in &run.flows[1..] {
                assert_eq!(flow.outcome, "closed", "{} seed {seed}: {flow:?}", scheme.name);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_through_the_wire_as_well() {
    let scenario = roam("");
    for scheme in ["spurious", "unpaced-late"] {
        let plain = Options { seed: 3, ..Options::default() };
        let wired = Options { verify_wire: true, ..plain.clone() };
        assert!(bytes(&scenario, scheme, &plain) == bytes(&scenario, scheme, &wired), "{scheme}");
    }
}
