//! Flows of datagrams: what is lost, how late the rest comes.

use crate::support::{bytes, edited, result, scenario, with};
use handfast_scenario::Scenario;
use handfast_sim::{FlowResult, Options};

/// A caller, a relay and a callee. What the links are like is added.
const CALL: &str = r#"
duration = "10s"
[nodes]
a = {kind = "host"}
r = {kind = "ap", role = "base-station"}
b = {kind = "station"}
[[links]]
between = ["a", "r"]
rate = "8Mbit/s"
delay = "10ms"
queue = "100pkt"
[[flows]]
name = "call"
from = "a"
to = "b"
app = {datagrams = {size = "160B", interval = "20ms"}}
[[links]]
between = ["r", "b"]
rate = "8Mbit/s"
delay = "5ms"
queue = "100pkt"
"#;

fn call(more: &str) -> Scenario {
    with(CALL, more)
}

/// A figure of the flow's result, as it is written.
pub(crate) fn figure(flow: &FlowResult, key: &str) -> f64 {
    let json = serde_json::to_value(flow).unwrap();
    json[key].as_f64().unwrap_or_else(|| panic!("{key} of {json}"))
}

#[test]
fn on_an_idle_path_every_datagram_takes_as_long() {
    let flow = &result(&call(""), "sack", 1).flows[0];
    let count = |key| figure(flow, key) as u64;
    assert_eq!((count("sent_datagrams"), count("received_datagrams")), (500, 500));
    assert_eq!((count("lost_datagrams"), count("reordered_datagrams")), (0, 0));
    // 188 octets with both headers at 8 Mbit/s, twice.
    for key in ["delay_min_s", "delay_p50_s", "delay_p99_s"] {
        assert!((figure(flow, key) - 0.015_376).abs() < 1e-9, "{key}: {flow:?}");
    }
    assert!(figure(flow, "jitter_s").abs() < 1e-12);
    assert_eq!(
        (flow.outcome, flow.metrics.delivered_bytes().unwrap(), flow.metrics.lost_segments()),
        ("open", 500 * 160, Some(0))
    );
    assert_eq!((flow.metrics.retransmitted_segments(), flow.metrics.srtt_s()), (Some(0), None));
}

#[test]
fn a_stop_ends_it() {
    let text = edited(CALL, "name = \"call\"", "name = \"call\"\nstart = \"1s\"\nstop = \"2s\"");
    let flow = &result(&scenario(&text), "sack", 1).flows[0];
    assert_eq!((flow.start_s, flow.end_s, flow.outcome), (Some(1.0), Some(2.0), "closed"));
    assert_eq!(figure(flow, "received_datagrams") as u64, 50);
}

#[test]
fn losses_are_counted_by_the_receiver_and_by_the_network_alike() {
    for scheme in ["sack", "snooped"] {
        let more = "loss = 0.1\n[schemes.sack]\nsender = \"sack\"\n[schemes.snooped]\nsender = \"sack\"\nagents = [{kind = \"snoop\", at = \"role:base-station\"}]";
        let flow = &result(&call(more), scheme, 1).flows[0];
        let [sent, received, lost] =
            ["sent_datagrams", "received_datagrams", "lost_datagrams"].map(|key| figure(flow, key));
        assert!((30.0..75.0).contains(&lost), "{scheme}: {flow:?}");
        let lost_on_the_way = flow.metrics.lost_segments().unwrap() as f64;
        // The last few may be lost without the receiver knowing, or be on their way.
        assert!(lost <= lost_on_the_way && sent - received - lost_on_the_way <= 1.0, "{scheme}: {flow:?}");
    }
}

#[test]
fn a_transfer_beside_it_makes_it_wait_and_has_no_such_figures() {
    let flows = "[[flows]]\nfrom = \"a\"\nto = \"b\"";
    let run = result(&call(flows), "cubic", 1);
    let call = &run.flows[0];
    assert!(figure(call, "delay_p99_s") > 0.05, "it waits behind up to 100 packets: {call:?}");
    assert!(figure(call, "delay_min_s") < figure(call, "delay_p50_s"), "{call:?}");
    assert!(figure(call, "jitter_s") > 1e-4, "{call:?}");
    let transfer = serde_json::to_value(&run.flows[1]).unwrap();
    assert!(transfer.get("jitter_s").is_none() && transfer.get("connections").is_none());
    assert!(run.aggregate.retransmitted_segments().is_some(), "sums include it");
}

#[test]
fn datagrams_survive_the_wire() {
    let scenario = call("loss = 0.05\nduplicate = 0.05");
    let (plain, wired) = (Options { seed: 3, ..Options::default() }, true);
    let (result, _) = bytes(&scenario, "sack", &plain);
    let (again, _) = bytes(&scenario, "sack", &Options { verify_wire: wired, ..plain });
    assert_eq!(result, again);
}

#[test]
fn datagrams_follow_a_station_that_roams() {
    let more = r#"
[nodes.w]
kind = "switch"
[nodes.s]
kind = "ap"
[[links]]
between = ["w", "r"]
rate = "8Mbit/s"
delay = "5ms"
[[links]]
between = ["w", "s"]
rate = "8Mbit/s"
delay = "5ms"
[[links]]
between = ["s", "b"]
rate = "8Mbit/s"
delay = "5ms"
[[events]]
at = "5s"
do = "handover"
station = "b"
to = "s"
gap = "1s"
"#;
    let text = edited(CALL, "b = {kind = \"station\"}", "b = {kind = \"station\", ap = \"r\"}");
    let text = edited(&text, "between = [\"a\", \"r\"]", "between = [\"a\", \"w\"]");
    let run = result(&with(&text, more), "sack", 1);
    let flow = &run.flows[0];
    assert!((45.0..55.0).contains(&figure(flow, "lost_datagrams")), "a second of them: {flow:?}");
    assert!(run.handovers[0].stall_s.unwrap() < 0.04, "{:?}", run.handovers);
}
