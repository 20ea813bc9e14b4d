//! Flows of SCTP, to stations with an address in each of two networks.

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunResult, run};

use crate::support::{bytes, result, set};

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
