//! Applications that open a new connection after an error.

use crate::support::{bytes, edited, result, with};
use handfast_scenario::Scenario;
use handfast_sim::{FlowResult, Options};

/// A download with an outage that lasts longer than the sender waits for an acknowledgement.
pub(crate) const LONG_OUTAGE: &str = r#"
duration = "60s"
[tcp]
user_timeout = "5s"
[nodes]
server = {kind = "host"}
phone = {kind = "host"}
[[links]]
name = "radio"
between = ["server", "phone"]
rate = "8Mbit/s"
delay = "20ms"
queue = "50pkt"
loss = 1e-3
[[events]]
at = "1s"
do = "outage"
link = "radio"
gap = "20s"
[[flows]]
from = "server"
to = "phone"
"#;

fn download(more: &str) -> Scenario {
    with(LONG_OUTAGE, more)
}

/// How many connections a flow has opened, if its result says so.
pub(crate) fn connections(flow: &FlowResult) -> Option<u64> {
    serde_json::to_value(flow).unwrap().get("connections")?.as_u64()
}

#[test]
fn a_transfer_outlives_its_connection() {
    for scheme in ["sack", "linux"] {
        let plain = &result(&download("app = {transfer = \"4MB\"}"), scheme, 1).flows[0];
        assert_eq!((plain.outcome, connections(plain)), ("user-timeout", None), "{scheme}: {plain:?}");
        assert!(plain.metrics.delivered_bytes().unwrap() < 1_000_000, "{scheme}: {plain:?}");
        let app = "app = {transfer = \"4MB\"}\nreconnect = \"1s\"";
        let again = &result(&download(app), scheme, 1).flows[0];
        assert_eq!(
            (again.outcome, again.metrics.delivered_bytes().unwrap()),
            ("closed", 4_000_000),
            "{scheme}: {again:?}"
        );
        // Each waits five seconds in vain: four end within the outage of twenty.
        assert!((3..=5).contains(&connections(again).unwrap()), "{scheme}: {again:?}");
        assert!(
            again.end_s.unwrap() > 21.0
                && again.metrics.timeouts().unwrap() > plain.metrics.timeouts().unwrap(),
            "{again:?}"
        );
    }
}

#[test]
fn bulk_goes_on_and_its_curve_never_falls() {
    let scenario = download("reconnect = \"500ms\"");
    let options = Options { seed: 2, series: true, ..Options::default() };
    let (result, series) = bytes(&scenario, "sack", &options);
    let (wired, _) = bytes(&scenario, "sack", &Options { verify_wire: true, ..options.clone() });
    assert_eq!(result, wired);
    let (_, columns) = series.tables().next().unwrap();
    let (_, _, octets) = columns.iter().find(|(name, ..)| *name == "acknowledged_bytes").unwrap();
    let acknowledged: Vec<_> =
        octets.chunks_exact(8).map(|octets| f64::from_le_bytes(octets.try_into().unwrap())).collect();
    assert!(acknowledged.is_sorted(), "a new connection goes on where the old one ended");
    assert!(acknowledged.last().unwrap() > &20e6, "half a minute at 8 Mbit/s");
}

#[test]
fn a_flow_without_errors_has_one_connection() {
    let text = edited(LONG_OUTAGE, "20s", "1s");
    let flow = &result(&with(&text, "app = {transfer = \"1MB\"}\nreconnect = \"1s\""), "sack", 1).flows[0];
    assert_eq!((flow.outcome, connections(flow)), ("closed", Some(1)));
}
