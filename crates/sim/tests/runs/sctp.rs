//! Flows of SCTP, to stations with an address in each of two networks.

use std::fmt::Write;

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunResult, run};

use crate::series::columns;
use crate::support::{assert_golden, bytes, counted, result, set};

/// A phone with a radio in a cell and one in a wireless LAN; 44 ms there and back. The cell goes.
const BOTH: &str = r#"
duration = "16s"
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
transport = "sctp"
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

fn both(scheme: &str, changes: &[(&str, &str)]) -> RunResult {
    result(&set(BOTH, changes), scheme, 0)
}

fn delivered(run: &RunResult) -> u64 {
    run.flows[0].metrics.delivered_bytes().unwrap()
}

const NO_OUTAGE: (&str, &str) = ("events", "[]");

#[test]
fn a_transfer_over_one_path_uses_it() {
    for changes in [&[NO_OUTAGE][..], &[NO_OUTAGE, UPLOAD[0], UPLOAD[1]]] {
        let run = both("plain", changes);
        let flow = &run.flows[0];
        assert_eq!((flow.outcome, delivered(&run)), ("closed", 16_000_000), "{changes:?}");
        let goodput = flow.metrics.goodput_bps().unwrap();
        assert!((17e6..19.3e6).contains(&goodput), "{goodput}");
    }
}

#[test]
fn a_path_that_fails_costs_a_timeout_a_step_until_it_is_given_up() {
    for changes in [&[][..], &UPLOAD] {
        let run = both("plain", changes);
        let (flow, sent) = (&run.flows[0], &run.flows[0].metrics);
        // 1, 3 and 7 s after the cut, and the next after 15 s: only after the sixth error is the path down (RFC 9260 §8.2).
        assert_eq!((flow.outcome, sent.timeouts()), ("open", Some(3)), "{changes:?}");
        let before = 3.0 * 18.5e6 / 8.0;
        let got = delivered(&run) as f64;
        assert!(got > 0.8 * before && got < 1.2 * before, "{got} {before} {changes:?}");
    }
}

#[test]
fn a_path_that_is_given_up_makes_room_for_the_other() {
    let long = [("duration", "145s"), ("events.0.gap", "142s"), ("flows.transfer.app", "bulk")];
    let run = both("plain", &long);
    // Path.Max.Retrans is 5. What had arrived and was not acknowledged at the cut clears the first error: 1 + 2 + … + 32 + 60 s.
    let seconds = delivered(&run) as f64 / (18.5e6 / 8.0);
    assert!((21.0..22.8).contains(&seconds), "3 s of the first path, and 19 s of the second: {seconds}");
}

#[test]
fn every_packet_of_sctp_is_one_on_the_wire() {
    let scenario = set(BOTH, &[("duration", "5s"), ("flows.transfer.app", r#"{transfer = "5MB"}"#)]);
    let options = Options::default();
    let plain = bytes(&scenario, "plain", &options);
    assert_eq!(plain, bytes(&scenario, "plain", &options));
    assert_eq!(plain.0, bytes(&scenario, "plain", &Options { verify_wire: true, ..options }).0);
}

/// In an upload the layer's own message is the first that its association sends.
#[test]
fn a_series_has_what_was_acknowledged() {
    let shape = [("duration", "2s"), ("sample_interval", "10ms"), ("events", "[]")];
    let options = Options { series: true, ..Options::default() };
    for (changes, scheme) in [(&[][..], "plain"), (&[], "iosl"), (&UPLOAD, "plain"), (&UPLOAD, "iosl")] {
        let scenario = set(BOTH, &[&shape[..], changes].concat());
        let (_, series) = bytes(&scenario, scheme, &options);
        let acknowledged = &columns(&series, "flows")["acknowledged_bytes"];
        let rises = acknowledged.is_sorted() && acknowledged.last() > Some(&3e6);
        assert!(rises, "{scheme} {changes:?} {:?}", acknowledged.last());
    }
}

#[test]
fn helpers_of_tcp_are_refused() {
    let error = |changes: &[(&str, &str)]| {
        let scenario = set(BOTH, changes);
        let scheme = scenario.scheme("vho").unwrap();
        run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err().to_string()
    };
    assert!(
        error(&[]).contains("`vho` helps TCP, and flow `transfer` has another `transport`"),
        "{}",
        error(&[])
    );
    let tcp = error(&[("flows.transfer.transport", "tcp")]);
    assert!(tcp.contains("knows one address of a station, and `phone` has several"), "{tcp}");
}

/// How long nothing arrived at most, ms.
fn idle_ms(run: &RunResult) -> u64 {
    (run.flows[0].metrics.idle_s().unwrap() * 1e3).round() as u64
}

#[test]
fn a_layer_moves_the_association_to_the_other_radio() {
    for (changes, schemes) in [(&[][..], &["moved", "iosl"][..]), (&UPLOAD, &["one-end", "moved", "iosl"])] {
        for &scheme in schemes {
            let run = both(scheme, changes);
            let flow = &run.flows[0];
            assert_eq!((flow.outcome, delivered(&run)), ("closed", 16_000_000), "{scheme} {changes:?}");
            let timeouts = flow.metrics.timeouts();
            assert_eq!((timeouts, counted(&run, "path_moves")), (Some(0), 1), "{scheme} {changes:?}");
            // As long as slow start's first overshoot: without the layer it is a timeout of 1 s, and more.
            assert!(idle_ms(&run) <= 106, "{scheme} {changes:?} {}", idle_ms(&run));
        }
        let end = |scheme| both(scheme, changes).flows[0].end_s.unwrap();
        assert!(end("iosl") < end("moved"), "the window is there at once: {changes:?}");
    }
}

#[test]
fn a_layer_at_the_receiver_alone_does_not_move_the_sender() {
    let run = both("one-end", &[]);
    let flow = &run.flows[0];
    assert_eq!((flow.outcome, flow.metrics.timeouts()), ("open", Some(3)));
    assert!(idle_ms(&run) > 5_000, "{}", idle_ms(&run));
}

#[test]
fn data_stays_where_it_is_when_the_first_radio_is_back() {
    let back = [("events.0.gap", "2s")];
    let run = both("iosl", &back);
    assert_eq!((run.flows[0].outcome, counted(&run, "path_moves")), ("closed", 1));
    // The second one goes then, and data moves back.
    let twice = [("events.0.gap", "1s"), ("duration", "20s")];
    let mut scenario = set(BOTH, &twice);
    let mut second = scenario.events[0].clone();
    second.at += handfast_core::Duration::from_secs(2);
    if let handfast_scenario::Action::Outage { link, .. } = &mut second.action {
        *link += 1;
    }
    scenario.events.push(second);
    let run = result(&scenario, "iosl", 0);
    assert_eq!((run.flows[0].outcome, counted(&run, "path_moves")), ("closed", 2));
    assert_eq!((delivered(&run), run.flows[0].metrics.timeouts()), (16_000_000, Some(0)));
}

#[test]
fn a_layer_waits_where_no_other_radio_is_there() {
    let alone =
        [("nodes.phone.ap", "cell"), ("events.0.gap", "3s"), ("duration", "25s"), UPLOAD[0], UPLOAD[1]];
    let (plain, layer) = (both("plain", &alone), both("one-end", &alone));
    for run in [&plain, &layer] {
        assert_eq!((run.flows[0].outcome, delivered(run)), ("closed", 16_000_000), "{}", run.scheme);
    }
    assert_eq!(layer.flows[0].metrics.timeouts(), Some(0));
    let end = |run: &RunResult| run.flows[0].end_s.unwrap();
    assert!(plain.flows[0].metrics.timeouts() >= Some(2) && end(&layer) + 0.5 < end(&plain));
}

/// What happened, in whole numbers: a changed line is a changed behaviour.
#[test]
fn one_failure_of_the_primary_path_is_as_it_was() {
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
                "{direction} {scheme}: {} at {end:?} ms, {got} B, idle {idle} ms, packets {count:?}",
                flow.outcome
            )
            .unwrap();
        }
    }
    assert_golden("sctp.txt", &text);
}

#[test]
fn an_association_does_not_follow_a_station_to_another_address() {
    let scenario = set(
        BOTH,
        &[
            ("nodes.phone.ap", "cell"),
            ("events", r#"[{at = "3s", do = "handover", station = "phone", to = "wifi", gap = "100ms"}]"#),
        ],
    );
    let scheme = scenario.scheme("plain").unwrap();
    let error = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
    assert!(error.to_string().contains("gets another address"), "{error}");
}
