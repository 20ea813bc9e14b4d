//! Applications with several connections at once.

use std::fmt::Write;

use proptest::prelude::*;

use crate::reconnect::{LONG_OUTAGE, connections};
use crate::roams::ROAM;
use crate::support::{OUTAGE, assert_golden, bytes, edited, result, scenario, set, with};
use handfast_sim::Options;

/// How many connections at once.
const CONNECTIONS: [u32; 4] = [1, 2, 4, 16];

fn table() -> String {
    let mut table = String::from(
        "app      profile connections opened delivered_kB retransmitted timeouts lost stall_ms cwnd_mean_millipkt cwnd_min_millipkt\n",
    );
    for (word, app) in [("bulk", "\"bulk\""), ("transfer", "{transfer = \"8MB\"}")] {
        for profile in ["reno", "sack", "cubic", "linux"] {
            for count in CONNECTIONS.map(|count| count.to_string()) {
                let changes = [("flows.0.app", app), ("flows.0.connections", count.as_str())];
                let run = result(&set(OUTAGE, &changes), profile, 1);
                let (flow, millis) = (&run.flows[0], |x: Option<f64>| x.map_or(-1, |x| (x * 1000.0) as i64));
                let known = |n: Option<u64>| n.expect("a simulation knows");
                writeln!(
                    table,
                    "{word:<8} {profile:<7} {count:>11} {:>6} {:>12} {:>13} {:>8} {:>4} {:>8} {:>18} {:>17}",
                    connections(flow).unwrap_or(1),
                    known(flow.metrics.delivered_bytes()) / 1000,
                    known(flow.metrics.retransmitted_segments()),
                    known(flow.metrics.timeouts()),
                    known(flow.metrics.lost_segments()),
                    millis(flow.metrics.stall_s()),
                    millis(flow.metrics.cwnd_mean_pkt()),
                    millis(flow.metrics.cwnd_min_pkt()),
                )
                .unwrap();
            }
        }
    }
    table
}

#[test]
fn the_table_is_as_it_was() {
    assert_golden("parallel.txt", &table());
}

/// A transfer over a bad link.
const BAD_LINK: &str = r#"
duration = "300s"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
[[links]]
name = "bad"
between = ["a", "b"]
rate = "8Mbit/s"
delay = "10ms"
queue = "20pkt"
[[flows]]
from = "a"
to = "b"
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A wrong, repeated or misdirected byte is an error of the run.
    #[test]
    fn all_connections_together_deliver_each_byte_once(
        size in 0_u64..1_000_000,
        connections in 1_u32..=24,
        (loss, duplicate, seed) in (0.0_f64..0.03, 0.0_f64..0.03, 0_u64..1000),
        scheme in prop::sample::select(vec!["reno", "sack", "linux"]),
    ) {
        let (size_text, count) = (format!("{}B", size.max(1)), connections.to_string());
        let changes = [
            ("flows.0.app", format!("{{transfer = \"{size_text}\"}}")),
            ("flows.0.connections", count),
            ("links.bad.loss", loss.to_string()),
            ("links.bad.duplicate", duplicate.to_string()),
        ];
        let changes: Vec<_> = changes.iter().map(|(path, value)| (*path, value.as_str())).collect();
        let flow = &result(&set(BAD_LINK, &changes), scheme, seed).flows[0];
        prop_assert_eq!(flow.outcome, "closed");
        prop_assert_eq!(flow.metrics.delivered_bytes(), Some(size.max(1)));
    }
}

#[test]
fn each_connection_gets_a_share_of_a_full_link() {
    let text = edited(BAD_LINK, "300s", "60s");
    let run = result(&with(&text, "connections = 4\n[[flows]]\nfrom = \"a\"\nto = \"b\""), "sack", 1);
    let [four, one] = [0, 1].map(|id| run.flows[id].metrics.goodput_bps().unwrap());
    assert!((2.5..5.5).contains(&(four / one)), "{four} {one}");
    let [limit_of_four, limit_of_one] = [0, 1].map(|id| run.flows[id].metrics.limit_bps().unwrap());
    assert!((limit_of_four / limit_of_one - 4.0).abs() < 1e-6, "{limit_of_four} {limit_of_one}");
}

#[test]
fn they_follow_a_station_that_roams() {
    for scheme in ["sack", "linux"] {
        let run = result(&set(ROAM, &[("flows.0.connections", "3")]), scheme, 1);
        let flow = &run.flows[0];
        assert_eq!((flow.outcome, connections(flow)), ("open", Some(3)));
        assert!(run.handovers.iter().all(|roam| roam.stall_s.is_some()), "{:?}", run.handovers);
        // A second of silence and a stall, then all three go on.
        assert!(flow.metrics.timeouts().unwrap() >= 3, "{flow:?}");
        assert!(flow.metrics.goodput_bps() > flow.metrics.limit_bps().map(|limit| 0.6 * limit), "{flow:?}");
    }
}

#[test]
fn agents_help_all_of_them() {
    let text = include_str!("../../../../scenarios/wifi-roam.toml");
    let changes = [("flows.0.connections", "4")];
    let [bare, helped] = ["bare", "spurious"].map(|scheme| result(&set(text, &changes), scheme, 1));
    let timeouts = |run: &handfast_sim::RunResult| run.aggregate.timeouts().unwrap();
    assert!(timeouts(&bare) >= 4, "{bare:?}");
    assert!(helped.aggregate.stall_s() < bare.aggregate.stall_s(), "{helped:?} {bare:?}");
    assert!(helped.aggregate.lost_segments() < bare.aggregate.lost_segments(), "{helped:?} {bare:?}");
}

#[test]
fn looking_and_a_real_wire_change_nothing() {
    for more in ["connections = 4", "connections = 4\nreconnect = \"1s\""] {
        let scenario = with(LONG_OUTAGE, more);
        let options = Options { seed: 3, ..Options::default() };
        let (plain, _) = bytes(&scenario, "sack", &options);
        let (wired, _) = bytes(&scenario, "sack", &Options { verify_wire: true, ..options.clone() });
        let (sampled, series) = bytes(&scenario, "sack", &Options { series: true, ..options });
        assert!(plain == wired && plain == sampled, "{more}");
        let (_, columns) = series.tables().next().unwrap();
        for name in ["sent_bytes", "acknowledged_bytes"] {
            let (_, _, octets) = columns.iter().find(|column| column.0 == name).unwrap();
            let values = octets.chunks_exact(8).map(|octets| f64::from_le_bytes(octets.try_into().unwrap()));
            let fall = values.clone().zip(values.skip(1)).find(|(before, after)| after < before);
            // What was sent in vain by a dead connection is sent again by the next.
            assert!(name == "sent_bytes" && more.contains("reconnect") || fall.is_none(), "{name}: {fall:?}");
        }
    }
}

#[test]
fn each_of_them_reconnects_for_itself() {
    let app = "app = {transfer = \"4MB\"}\nconnections = 3\nreconnect = \"1s\"";
    let flow = &result(&with(LONG_OUTAGE, app), "sack", 1).flows[0];
    assert_eq!((flow.outcome, flow.metrics.delivered_bytes()), ("closed", Some(4_000_000)), "{flow:?}");
    // As one does, three times.
    assert!((9..=15).contains(&connections(flow).unwrap()), "{flow:?}");
    let plain = &result(&with(LONG_OUTAGE, &edited(app, "\nreconnect = \"1s\"", "")), "sack", 1).flows[0];
    assert_eq!((plain.outcome, connections(plain)), ("user-timeout", Some(3)), "{plain:?}");
}

#[test]
fn more_connections_than_ports_are_an_error() {
    let mut scenario = scenario(BAD_LINK);
    scenario.flows = vec![handfast_scenario::Flow { connections: 128, ..scenario.flows[0].clone() }; 500];
    let scheme = scenario.scheme("sack").unwrap();
    let (options, control) = (Options::default(), handfast_sim::Control::new());
    let error = handfast_sim::run(&scenario, scheme, &options, &control, &mut handfast_sim::series::NoSeries);
    assert_eq!(error.unwrap_err().to_string(), "node `a` has more connections than ports");
}
