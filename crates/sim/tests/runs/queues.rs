//! Queue disciplines: what they do to the delay that a full queue adds.

use handfast_results::result::RunResult;
use handfast_sim::Options;
use handfast_sim::series::Collected;

use crate::series::columns;
use crate::support::{OUTAGE, bytes, edited, result, scenario, set};

/// Two downloads over a link of 20 Mbit/s with this queue; 20 ms each way.
fn downloads(queue: &str) -> String {
    format!(
        r#"
duration = "30s"
[nodes]
server = {{kind = "host"}}
router = {{kind = "switch"}}
client = {{kind = "host"}}
[[links]]
between = ["server", "router"]
rate = "1Gbit/s"
delay = "5ms"
[[links]]
between = ["router", "client"]
rate = "20Mbit/s"
delay = "15ms"
queue = {queue}
[[flows]]
from = "server"
to = "client"
[[flows]]
from = "server"
to = "client"
"#
    )
}

/// Two downloads over the air at 54 Mbit/s with this queue.
fn on_the_air(queue: &str) -> String {
    let text = edited(&downloads(queue), "router = {kind = \"switch\"}", "router = {kind = \"ap\"}");
    let text = edited(&text, "client = {kind = \"host\"}", "client = {kind = \"station\"}");
    edited(&text, "rate = \"20Mbit/s\"", "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\"}")
}

const DROP_TAIL: &str = "\"1000pkt\"";
const CODEL: &str = "{discipline = \"codel\", limit = \"1000pkt\"}";

/// Bytes in the queue towards the client in the last two thirds of the run: their median, over `bps` as milliseconds.
fn median_delay_ms(series: &Collected, bps: f64) -> f64 {
    let queues = columns(series, "queues");
    let rows = queues["queue"].iter().zip(&queues["time_s"]).zip(&queues["queue_bytes"]);
    // The second link's first direction.
    let held = rows.filter(|((queue, at), _)| **queue as u32 == 2 && **at > 10.0).map(|(_, &bytes)| bytes);
    let mut held: Vec<f64> = held.collect();
    assert!(held.len() > 500, "{}", held.len());
    held.sort_by(f64::total_cmp);
    held[held.len() / 2] * 8e3 / bps
}

fn delay_and_goodput(text: &str, bps: f64) -> (f64, f64) {
    let options = Options { seed: 1, series: true, ..Options::default() };
    let (_, series) = bytes(&scenario(text), "linux", &options);
    let run = result(&scenario(text), "linux", 1);
    (median_delay_ms(&series, bps), goodput(&run))
}

fn goodput(run: &RunResult) -> f64 {
    run.flows.iter().map(|flow| flow.metrics.goodput_bps().unwrap()).sum::<f64>() / 1e6
}

/// Drop-tail fills its queue; `CoDel` keeps the delay near its target of 5 ms at nearly the same goodput.
fn compare(way: impl Fn(&str) -> String) {
    // On the air too about 20 Mbit/s of packets leave (`air.rs`).
    let (bloated, full) = delay_and_goodput(&way(DROP_TAIL), 20e6);
    let (controlled, most) = delay_and_goodput(&way(CODEL), 20e6);
    assert!(bloated > 200.0, "{bloated} ms");
    assert!((1.0..15.0).contains(&controlled), "{controlled} ms");
    assert!(most > 0.9 * full, "{most} of {full} Mbit/s");
}

#[test]
fn codel_keeps_the_delay_low_on_a_link() {
    compare(downloads);
}

#[test]
fn codel_keeps_the_delay_low_on_the_air() {
    compare(on_the_air);
}

#[test]
fn what_codel_drops_is_lost_and_sent_again() {
    let run = result(&scenario(&downloads(CODEL)), "linux", 1);
    for flow in &run.flows {
        assert!(flow.metrics.lost_segments() > Some(10), "{:?}", flow.metrics.lost_segments());
        assert!(
            flow.metrics.retransmitted_segments() > Some(10),
            "{:?}",
            flow.metrics.retransmitted_segments()
        );
    }
}

#[test]
fn an_outage_of_a_link_under_codel_ends() {
    let run = |queue: &str| {
        result(&set(OUTAGE, &[("links.radio.queue", queue)]), "linux", 1).flows[0]
            .metrics
            .goodput_bps()
            .unwrap()
            / 1e6
    };
    let (drop_tail, codel) = (run("\"50pkt\""), run("\"codel\""));
    // 10 of 12 s of 10 Mbit/s, with losses; drop-tail has 7.6, CoDel with fewer packets under way 5.0.
    assert!(codel > 3.0 && drop_tail > 3.0, "{codel} {drop_tail}");
}
