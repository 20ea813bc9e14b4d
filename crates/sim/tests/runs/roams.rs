//! A station that roams between two access points of plain switches.

use std::fmt::Write;

use crate::support::{assert_golden, bytes, result, scenario, set};
use handfast_scenario::Scenario;
use handfast_sim::{Options, RunResult};

/// Host, switch, two access points, a station that goes to the second one and back.
pub(crate) const ROAM: &str = r#"
duration = "16s"
[nodes]
cn = {kind = "host"}
s1 = {kind = "switch"}
ap1 = {kind = "ap"}
ap2 = {kind = "ap"}
mn = {kind = "station"}
[[links]]
between = ["cn", "s1"]
rate = "20Mbit/s"
delay = "18ms"
queue = "100pkt"
[[links]]
between = ["s1", "ap1"]
rate = "1Gbit/s"
delay = "1ms"
[[links]]
between = ["s1", "ap2"]
rate = "1Gbit/s"
delay = "1ms"
[[links]]
between = ["ap1", "mn"]
rate = "54Mbit/s"
delay = "1ms"
[[links]]
between = ["ap2", "mn"]
rate = "54Mbit/s"
delay = "1ms"
[[flows]]
from = "cn"
to = "mn"
[[events]]
at = "4s"
do = "handover"
station = "mn"
to = "ap2"
gap = "1s"
phase = "40ms"
[[events]]
at = "9s"
do = "handover"
station = "mn"
to = "ap1"
gap = "0s"
"#;

fn roam() -> Scenario {
    scenario(ROAM)
}

/// The same with the flow the other way.
fn upload() -> Scenario {
    set(ROAM, &[("flows.0.from", "mn"), ("flows.0.to", "cn")])
}

pub(crate) fn row(out: &mut String, name: &str, run: &RunResult) {
    let all = &run.aggregate;
    let millis = |s: Option<f64>| s.map_or(-1, |s| (s * 1000.0) as i64);
    let counts = [all.retransmitted_segments, all.timeouts, all.lost_segments].map(|n| n.unwrap());
    let stalls: Vec<_> = run.handovers.iter().map(|handover| millis(handover.stall_s)).collect();
    let kilobytes = all.delivered_bytes / 1000;
    writeln!(out, "{name:<16} {kilobytes} kB, {counts:?}, idle {}, stalls {stalls:?}", millis(all.idle_s))
        .unwrap();
}

/// Retransmitted, timeouts and lost; milliseconds.
#[test]
fn golden_rows() {
    let mut out = String::new();
    for scheme in ["reno", "sack", "linux", "rto-max"] {
        row(&mut out, &format!("{scheme} down"), &result(&roam(), scheme, 1));
        row(&mut out, &format!("{scheme} up"), &result(&upload(), scheme, 1));
    }
    assert_golden("roams.txt", &out);
}

#[test]
fn a_roam_through_the_wire_at_every_hop_changes_nothing() {
    for scenario in [roam(), upload()] {
        for scheme in ["sack", "linux"] {
            let plain = Options { seed: 3, ..Options::default() };
            let wired = Options { verify_wire: true, ..plain.clone() };
            assert!(bytes(&scenario, scheme, &plain) == bytes(&scenario, scheme, &wired), "{scheme}");
        }
    }
}

#[test]
fn the_result_names_who_roamed_where_and_when() {
    let run = result(&roam(), "linux", 7);
    let [first, second] = &run.handovers[..] else { panic!("{:?}", run.handovers) };
    let told = |h: &handfast_sim::HandoverResult| (h.station.clone(), h.link.clone(), h.to.clone());
    let named = |link: &str, to: &str| ("mn".to_owned(), link.to_owned(), Some(to.to_owned()));
    assert_eq!(told(first), named("ap1-mn", "ap2"));
    assert_eq!(told(second), named("ap2-mn", "ap1"));
    let gap = first.up_s.unwrap() - first.down_s;
    assert!((gap - 1.0).abs() < 1e-9 && (4.0..4.04).contains(&first.down_s), "{first:?}");
    assert_eq!(second.up_s, Some(second.down_s));
}

#[test]
fn without_a_gap_only_what_is_behind_the_switch_is_lost() {
    let at_once = [("events.0.gap", "0s"), ("events.0.phase", "0s")];
    // So few segments in flight that the queue loses none.
    let scenario = set(ROAM, &[&at_once[..], &[("tcp.cwnd_clamp", "60pkt")]].concat());
    let run = result(&scenario, "linux", 1);
    // Two milliseconds of 1500 bytes at 20 Mbit/s are three or four segments, at each of two roams.
    assert!((6..=8).contains(&run.aggregate.lost_segments.unwrap()), "{:?}", run.aggregate);
    assert_eq!(run.aggregate.timeouts, Some(0));
    assert!(run.aggregate.idle_s.unwrap() < 0.1, "{:?}", run.aggregate);
}

#[test]
fn nothing_passes_during_the_gap() {
    for scenario in [roam(), upload()] {
        let run = result(&scenario, "linux", 1);
        let handover = &run.handovers[0];
        let gap = handover.up_s.unwrap() - handover.down_s;
        assert!(run.aggregate.idle_s.unwrap() >= gap, "{run:?}");
        // Goodput stays below the limit, which knows the gap.
        assert!(run.aggregate.goodput_bps < run.aggregate.limit_bps, "{run:?}");
    }
}

#[test]
fn a_station_that_starts_elsewhere_is_found_there() {
    let still = ROAM.split("[[events]]").next().unwrap();
    let goodput = |at: &str| {
        let dead = set(still, &[("nodes.mn.ap", at), ("links.s1-ap1.rate", "1kbit/s")]);
        result(&dead, "linux", 1).aggregate.goodput_bps
    };
    assert!(goodput("ap2") > Some(18e6), "{:?}", goodput("ap2"));
    assert!(goodput("ap1") < Some(1e3), "the control: {:?}", goodput("ap1"));
}
