//! Flows of Multipath TCP, to stations with an address in each of two networks.

use std::fmt::Write;

use handfast_sim::{Options, RunResult};

use crate::support::{assert_golden, bytes, counted, result, set};

/// A phone with a radio in a cell and one in a wireless LAN; 44 ms there and back. The cell goes.
const BOTH: &str = r#"
duration = "16s"
[tcp]
# No overshoot of slow start: what stands still does so because the cell goes.
initial_ssthresh = "100000B"
[nodes]
server = {kind = "host", role = "server"}
core = {kind = "switch"}
cell = {kind = "ap", network = "5g"}
wifi = {kind = "ap", network = "wifi"}
phone = {kind = "station", role = "mobile", ap = ["cell", "wifi"]}
[[links]]
name = "wire"
between = ["server", "core"]
rate = "100Mbit/s"
delay = "20ms"
[[links]]
between = ["core", "cell"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
between = ["core", "wifi"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
name = "5g"
between = ["cell", "phone"]
rate = "20Mbit/s"
delay = "2ms"
queue = "100pkt"
[[links]]
name = "wlan"
between = ["wifi", "phone"]
rate = "20Mbit/s"
delay = "2ms"
queue = "100pkt"
[[flows]]
name = "transfer"
from = "server"
to = "phone"
transport = "mptcp"
app = {transfer = "16MB"}
[[events]]
at = "3s"
do = "outage"
link = "5g"
gap = "60s"
[schemes.plain]
sender = "cubic"
[schemes.one-end]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile"}]
[schemes.moved]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile", peers = "server", restore = false}]
[schemes.iosl]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile", peers = "server"}]
[schemes.vho]
sender = "cubic"
agents = [{kind = "vho", at = "role:mobile"}]
"#;

const UPLOAD: [(&str, &str); 2] = [("flows.transfer.from", "phone"), ("flows.transfer.to", "server")];

const NO_OUTAGE: (&str, &str) = ("events", "[]");

fn both(scheme: &str, changes: &[(&str, &str)]) -> RunResult {
    result(&set(BOTH, changes), scheme, 0)
}

fn delivered(run: &RunResult) -> u64 {
    run.flows[0].metrics.delivered_bytes().unwrap()
}

/// How long nothing arrived at most, ms.
fn idle_ms(run: &RunResult) -> u64 {
    (run.flows[0].metrics.idle_s().unwrap() * 1e3).round() as u64
}

#[test]
fn a_transfer_uses_both_radios() {
    for changes in [&[NO_OUTAGE][..], &[NO_OUTAGE, UPLOAD[0], UPLOAD[1]]] {
        let run = both("plain", changes);
        let flow = &run.flows[0];
        assert_eq!((flow.outcome, delivered(&run)), ("closed", 16_000_000), "{changes:?}");
        let goodput = flow.metrics.goodput_bps().unwrap();
        assert!((30e6..38.5e6).contains(&goodput), "of 20 Mbit/s each: {goodput}");
    }
}

/// Slow start overshoots both queues by thousands of segments, of which every other one is lost: each that comes is a run of data of
/// its own, and the one that is missing has to find room among them.
#[test]
fn an_overshoot_of_thousands_of_segments_is_repaired() {
    let far = [
        NO_OUTAGE,
        ("duration", "60s"),
        ("tcp.initial_ssthresh", "100MB"),
        ("links.wire.rate", "1Gbit/s"),
        ("links.wire.delay", "95ms"),
        ("links.wire.queue", "10000pkt"),
        ("links.5g.rate", "50Mbit/s"),
        ("links.5g.queue", "840pkt"),
        ("links.wlan.rate", "50Mbit/s"),
        ("links.wlan.queue", "840pkt"),
        ("flows.transfer.app", r#"{transfer = "40MB"}"#),
    ];
    for changes in [far.to_vec(), [&far[..], &UPLOAD].concat()] {
        let run = both("plain", &changes);
        assert_eq!((run.flows[0].outcome, delivered(&run)), ("closed", 40_000_000), "{changes:?}");
        assert!(idle_ms(&run) < 5_000, "{}", idle_ms(&run));
    }
}

#[test]
fn a_radio_that_goes_costs_a_timeout_and_with_the_layer_none_of_the_connection() {
    for changes in [&[][..], &UPLOAD] {
        let [plain, layer] = ["plain", "iosl"].map(|scheme| both(scheme, changes));
        for run in [&plain, &layer] {
            let outcome = (run.flows[0].outcome, delivered(run));
            assert_eq!(outcome, ("closed", 16_000_000), "{} {changes:?}", run.scheme);
        }
        assert!(plain.flows[0].metrics.timeouts() > Some(0), "{changes:?}");
        assert_eq!((layer.flows[0].metrics.timeouts(), counted(&layer, "path_moves")), (Some(0), 1));
        // What the cell lost waits for a retransmission timeout of 200 ms and more, or leaves by the other radio at once.
        assert!(
            idle_ms(&layer) + 100 < idle_ms(&plain),
            "{} {} {changes:?}",
            idle_ms(&layer),
            idle_ms(&plain)
        );
    }
}

#[test]
fn a_radio_that_comes_back_serves_again() {
    for changes in [&[][..], &UPLOAD] {
        let long = [&[("flows.transfer.app", r#"{transfer = "32MB"}"#)], changes].concat();
        let back = [&[("events.0.gap", "1s")], &long[..]].concat();
        for scheme in ["plain", "iosl"] {
            let runs = [both(scheme, &back), both(scheme, &long)];
            assert!(runs.iter().all(|run| delivered(run) == 32_000_000), "{scheme} {changes:?}");
            let [end, without] = runs.map(|run| run.flows[0].end_s.unwrap());
            assert!(end + 1.0 < without, "{scheme}: {end} {without} {changes:?}");
        }
    }
}

#[test]
fn every_packet_of_multipath_tcp_is_one_on_the_wire() {
    let scenario = set(BOTH, &[("duration", "5s"), ("flows.transfer.app", r#"{transfer = "5MB"}"#)]);
    let options = Options::default();
    let plain = bytes(&scenario, "plain", &options);
    assert_eq!(plain, bytes(&scenario, "plain", &options));
    assert_eq!(plain.0, bytes(&scenario, "plain", &Options { verify_wire: true, ..options }).0);
}

/// What happened, in whole numbers: a changed line is a changed behaviour.
#[test]
fn one_failure_of_a_radio_is_as_it_was() {
    let mut text = String::new();
    for (direction, changes) in [("down", &[][..]), ("up", &UPLOAD)] {
        for scheme in ["plain", "one-end", "moved", "iosl"] {
            let run = both(scheme, changes);
            let (flow, sent) = (&run.flows[0], &run.flows[0].metrics);
            let end = flow.end_s.map(|end| (end * 1e3).round());
            let count = [
                sent.data_segments_sent(),
                sent.retransmitted_segments(),
                sent.timeouts(),
                sent.lost_segments(),
            ]
            .map(Option::unwrap);
            let (got, idle) = (delivered(&run), idle_ms(&run));
            writeln!(
                text,
                "{direction} {scheme}: {} at {end:?} ms, {got} B, idle {idle} ms, segments {count:?}",
                flow.outcome
            )
            .unwrap();
        }
    }
    assert_golden("mptcp.txt", &text);
}
