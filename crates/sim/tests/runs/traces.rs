//! Downloads over links that follow traces.

use std::fmt::Write;

use crate::support::{assert_golden, result, scenario, set};
use handfast_scenario::Scenario;
use handfast_sim::RunResult;

/// A download over a link that follows no trace yet.
const DOWNLOAD: &str = r#"
duration = "20s"
[nodes]
server = {kind = "host"}
gateway = {kind = "switch"}
client = {kind = "host"}
[[links]]
between = ["server", "gateway"]
rate = "10Gbit/s"
delay = "5ms"
[[links]]
name = "radio"
between = ["gateway", "client"]
rate = "5Mbit/s"
delay = "15ms"
queue = "100pkt"
[[flows]]
from = "server"
to = "client"
"#;

/// 5 Mbit/s in the mean, by turns of a second.
const STEPS: &str = r#"{text = "time_s,rate_mbps\n0,2\n1,8\n2,0\n"}"#;
/// The same, packet by packet: five in a row every 12 ms.
const OPPORTUNITIES: &str = r#"{text = "12\n12\n12\n12\n12\n"}"#;

fn traced(trace: &str) -> Scenario {
    set(DOWNLOAD, &[("links.radio.forward.trace", trace)])
}

fn goodput(run: &RunResult) -> f64 {
    run.flows[0].metrics.goodput_bps().unwrap_or(0.0)
}

#[test]
fn a_download_fills_what_a_trace_carries() {
    let plain = result(&scenario(DOWNLOAD), "cubic", 1);
    for trace in [STEPS, OPPORTUNITIES] {
        let run = result(&traced(trace), "cubic", 1);
        let limit = run.flows[0].metrics.limit_bps().unwrap();
        let (of_limit, of_plain) = (goodput(&run) / limit, goodput(&run) / goodput(&plain));
        assert!(
            (0.93..1.01).contains(&of_limit) && (0.93..1.05).contains(&of_plain),
            "{trace}: {of_limit} {of_plain}"
        );
    }
}

#[test]
fn what_is_drawn_is_drawn_by_the_seed_of_the_run() {
    let drawn = set(DOWNLOAD, &[("links.radio.trace", r#"{generate = "train"}"#)]);
    let seen = |seed| goodput(&result(&drawn, "cubic", seed)) as u64;
    assert!(seen(1) == seen(1) && seen(1) != seen(2));
}

/// What traces do to senders, as whole numbers: a change of any of them shows.
#[test]
fn traces_do_what_they_did() {
    let mut table = "trace sender retransmitted timeouts delivered_kB\n".to_owned();
    let all = [
        ("none", None),
        ("steps", Some(STEPS)),
        ("opportunities", Some(OPPORTUNITIES)),
        ("starlink", Some(r#"{generate = "starlink"}"#)),
        ("mmwave", Some(r#"{generate = "mmwave"}"#)),
        ("train", Some(r#"{generate = "train"}"#)),
    ];
    for (name, trace) in all {
        for sender in ["linux", "linux-bbr"] {
            let scenario = match trace {
                Some(trace) => set(DOWNLOAD, &[("links.radio.trace", trace), ("duration", "10s")]),
                None => set(DOWNLOAD, &[("duration", "10s")]),
            };
            let run = result(&scenario, sender, 1);
            let metrics = &run.flows[0].metrics;
            let counted = |metric: Option<u64>| metric.unwrap_or_default();
            let (again, timeouts) = (counted(metrics.retransmitted_segments()), counted(metrics.timeouts()));
            let _ = writeln!(
                table,
                "{name} {sender} {again} {timeouts} {}",
                counted(metrics.delivered_bytes()) / 1000
            );
        }
    }
    assert_golden("traces.txt", &table);
}
