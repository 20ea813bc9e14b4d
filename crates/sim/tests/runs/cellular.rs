//! Links with a cellular radio: what TCP sees of it. The table is in integers; a change of any number is a "results changed"
//! entry in the CHANGELOG.

use std::fmt::Write;

use handfast_sim::RunResult;

use crate::datagrams::figure;
use crate::support::{assert_golden, result, set};

/// A download over 30 ms each way, and half-way two handovers.
const DOWNLOAD: &str = r#"
duration = "12s"
[nodes]
server = {kind = "host"}
cell = {kind = "ap", role = "base-station"}
phone = {kind = "station"}
[[links]]
between = ["server", "cell"]
rate = "1Gbit/s"
delay = "15ms"
[[links]]
name = "radio"
between = ["cell", "phone"]
rate = "20Mbit/s"
delay = "5ms"
access = "lte"
[[flows]]
name = "download"
from = "server"
to = "phone"
[[events]]
at = "5s"
do = "outage"
link = "radio"
gap = "40ms"
mode = "hold"
every = "3s"
"#;

const RADIOS: [(&str, &[(&str, &str)]); 6] = [
    ("lte", &[]),
    ("lte clean", &[("links.radio.access", "{profile = \"lte\", bler = 0.0}")]),
    ("lte rlc", &[("links.radio.access", "{profile = \"lte\", nack_to_ack = 0.1}")]),
    ("lte codel", &[("links.radio.queue", "codel")]),
    ("lte drop", &[("events.0.mode", "drop")]),
    ("nr", &[("links.radio.access", "nr")]),
];

fn row(table: &mut String, radio: &str, scheme: &str, run: &RunResult) {
    let all = &run.aggregate;
    let known = |n: Option<u64>| n.expect("a simulation knows");
    let micros = |s: Option<f64>| s.map_or(-1, |s| (s * 1e6).round() as i64);
    writeln!(
        table,
        "{radio:<9} {scheme:<10} {:>12} {:>13} {:>8} {:>4} {:>7}",
        all.delivered_bytes().unwrap() / 1000,
        known(all.retransmitted_segments()),
        known(all.timeouts()),
        known(all.lost_segments()),
        micros(run.flows[0].metrics.srtt_s()),
    )
    .unwrap();
}

/// Small datagrams both ways over the radio alone, one every 37.3 ms.
const UNLOADED: &str = r#"
duration = "120s"
[nodes]
cell = {kind = "ap"}
phone = {kind = "station"}
server = {kind = "host"}
[[links]]
between = ["server", "cell"]
rate = "1000000Gbit/s"
delay = "0s"
[[links]]
name = "radio"
between = ["cell", "phone"]
rate = "20Mbit/s"
delay = "0s"
access = "lte"
[[flows]]
name = "down"
from = "server"
to = "phone"
app = {datagrams = {size = "60B", interval = "37300us"}}
[[flows]]
name = "up"
from = "phone"
to = "server"
app = {datagrams = {size = "60B", interval = "37300us"}}
"#;

#[test]
fn an_unloaded_radio_delays_as_its_profile_says() {
    let mut table = String::from("radio          flow min_us  p50_us  p99_us  jitter_us\n");
    for (radio, access) in [
        ("lte", "lte"),
        ("nr 15 kHz", "{profile = \"nr\", slot = \"1ms\"}"),
        ("nr 30 kHz", "nr"),
        ("nr 60 kHz", "{profile = \"nr\", slot = \"0.25ms\"}"),
        ("nr 120 kHz", "{profile = \"nr\", slot = \"0.125ms\"}"),
    ] {
        let run = result(&set(UNLOADED, &[("links.radio.access", access)]), "linux", 1);
        for flow in &run.flows {
            assert!(figure(flow, "lost_datagrams").abs() < 0.5, "delay in place of loss");
            let micros = |key| (figure(flow, key) * 1e6).round() as u64;
            let [min, p50, p99] = ["delay_min_s", "delay_p50_s", "delay_p99_s"].map(micros);
            let jitter = micros("jitter_s");
            writeln!(table, "{radio:<14} {:<4} {min:>6} {p50:>7} {p99:>7} {jitter:>10}", flow.flow).unwrap();
        }
    }
    assert_golden("cellular_delays.txt", &table);
}

#[test]
fn the_table_is_as_it_was() {
    let mut table = String::from("radio     profile    delivered_kB retransmitted timeouts lost srtt_us\n");
    for (radio, changes) in RADIOS {
        let scenario = set(DOWNLOAD, changes);
        for scheme in ["linux", "linux-reno", "linux-bbr"] {
            row(&mut table, radio, scheme, &result(&scenario, scheme, 1));
        }
    }
    assert_golden("cellular.txt", &table);
}
