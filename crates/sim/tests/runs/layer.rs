//! Stations with a socket layer: [iosl] in the network.

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunError, RunResult, run};

use crate::support::{OUTAGE, counted, edited, result, set};

/// [`OUTAGE`] the other way round: the phone uploads, its signal falls for 200 ms before the link goes.
fn upload(scheme: &str, changes: &[(&str, &str)]) -> RunResult {
    let fading = [
        ("flows.download.from", "phone"),
        ("flows.download.to", "server"),
        ("events.0.fade", "200ms"),
        ("links.radio.loss", "0"),
        ("nodes.phone.role", "mobile"),
        ("schemes.plain.sender", "cubic"),
        ("schemes.layer", r#"{sender = "cubic", agents = [{kind = "iosl", at = "role:mobile"}]}"#),
    ];
    let scenario = set(OUTAGE, &[&fading[..], changes].concat());
    result(&scenario, scheme, 0)
}

fn timeouts(result: &RunResult) -> u64 {
    result.flows[0].metrics.timeouts().unwrap()
}

#[test]
fn a_layer_spares_the_timeouts_of_an_outage() {
    let (plain, layer) = (upload("plain", &[]), upload("layer", &[]));
    assert!(timeouts(&plain) >= 1);
    assert_eq!(timeouts(&layer), 0);
    assert_eq!((counted(&layer, "predictions_true"), counted(&layer, "links_missed")), (1, 0));
}

#[test]
fn what_has_waited_is_not_sent_again() {
    let held = [("events.0.mode", "hold"), ("schemes.layer.agents.0.predict", "false")];
    let layer = upload("layer", &held);
    assert_eq!(layer.flows[0].metrics.retransmitted_segments(), Some(0));
    assert_eq!(counted(&layer, "links_missed"), 1);
}

#[test]
fn a_connection_that_is_opened_while_the_link_is_gone_opens_when_it_is_back() {
    // The link is gone from 4 s to 6 s, with a phase of its own.
    let later =
        [("events.0.phase", "0s"), ("flows.download.start", "4500ms"), ("flows.download.jitter", "0s")];
    let (plain, layer) = (upload("plain", &later), upload("layer", &later));
    let first = |result: &RunResult| result.flows[0].metrics.first_byte_s().unwrap();
    assert!(first(&layer) < 6.1, "{}", first(&layer));
    assert!(first(&plain) > 7.0, "{}", first(&plain));
}

/// Two access points; the far one is 50 ms further away, and as fast.
const ROAM: &str = r#"
duration = "12s"
[nodes]
server = {kind = "host"}
s1 = {kind = "switch"}
near = {kind = "ap"}
far = {kind = "ap"}
phone = {kind = "station", role = "mobile", ap = "near"}
[[links]]
between = ["server", "s1"]
rate = "100Mbit/s"
delay = "2ms"
[[links]]
between = ["s1", "near"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
between = ["s1", "far"]
rate = "1Gbit/s"
delay = "50ms"
[[links]]
between = ["near", "phone"]
rate = "20Mbit/s"
delay = "1ms"
queue = "100pkt"
[[links]]
between = ["far", "phone"]
rate = "20Mbit/s"
delay = "1ms"
queue = "100pkt"
[[flows]]
from = "phone"
to = "server"
[[events]]
at = "4s"
do = "handover"
station = "phone"
to = "far"
gap = "200ms"
fade = "200ms"
[schemes.layer]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile"}]
"#;

#[test]
fn the_window_is_that_of_the_link_that_the_station_is_on() {
    let result = result(&set(ROAM, &[]), "layer", 0);
    // A seventeenth of the link, if the least round-trip time of the near one still counted.
    let goodput = result.flows[0].metrics.goodput_bps().unwrap();
    assert!(goodput > 15e6, "{goodput}");
    assert_eq!(timeouts(&result), 0);
}

#[test]
fn connections_share_what_the_radio_carries() {
    // The second begins later, in a steady signal: the first hears of it as well.
    let more = r#"{name = "late", from = "phone", to = "server", start = "2s"}"#;
    let scenario = set(
        ROAM,
        &[
            ("events", "[]"),
            ("flows", &format!(r#"[{{name = "early", from = "phone", to = "server"}}, {more}]"#)),
        ],
    );
    let result = result(&scenario, "layer", 0);
    // Twice the bandwidth-delay product would stand in the queue for 6 ms more, 13 in all.
    let longest = result.flows.iter().map(|flow| flow.metrics.srtt_s().unwrap()).fold(0.0, f64::max);
    assert!(longest < 12e-3, "{longest}");
}

#[test]
fn a_layer_and_shared_airtime_are_refused() {
    let text = edited(
        OUTAGE,
        "rate = \"10Mbit/s\"\ndelay = \"15ms\"\nqueue = \"50pkt\"\nloss = 1e-3",
        "delay = \"1us\"\nrate = \"54Mbit/s\"\nair = {standard = \"802.11g\"}",
    );
    let changes = [
        ("nodes.phone.role", "mobile"),
        ("schemes.layer", r#"{sender = "cubic", agents = [{kind = "iosl", at = "role:mobile"}]}"#),
    ];
    let scenario = set(&text, &changes);
    let scheme = scenario.scheme("layer").unwrap();
    let refused = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
    assert!(matches!(&refused, RunError::Scenario(why) if why.contains("shares airtime")), "{refused}");
}
