//! What flows measure that ask for it: the set-up of a connection, the delays of packets.

use std::collections::BTreeMap;

use crate::series::columns;
use crate::support::{OUTAGE, bytes, edited, result, scenario, with};
use handfast_core::Instant;
use handfast_net::{Forwarder, Outbox, Port};
use handfast_scenario::{Agent, AgentKind, Scenario};
use handfast_sim::series::Collected;
use handfast_sim::{Control, Options, Plugins, RunResult, run_with};
use handfast_tcp::PROFILES;
use handfast_wire::{Body, Packet, Payload};

/// 60 ms one way, and a write of one full segment every 15 ms: the paper's path ([sdtp] §V).
const PATH: &str = r#"
duration = "4s"
[nodes]
a = {kind = "host"}
s = {kind = "switch"}
b = {kind = "host"}
[[links]]
between = ["a", "s"]
rate = "1Gbit/s"
delay = "20ms"
[[links]]
between = ["s", "b"]
rate = "1Gbit/s"
delay = "40ms"
[tcp]
mss = 1000
timestamps = false
[[flows]]
from = "a"
to = "b"
app = {paced = {size = "1000B", interval = "15ms"}}
stop = "3s"
measure = ["connect", "delay"]
"#;

/// What two links add to a full segment: 1,040 bytes at 1 Gbit/s, twice.
const SERIALISATION: f64 = 2.0 * 8320e-9;

fn sampled() -> Options {
    Options { seed: 1, series: true, ..Options::default() }
}

/// The packets of a run.
fn packets(scenario: &Scenario, scheme: &str) -> BTreeMap<&'static str, Vec<f64>> {
    columns(&bytes(scenario, scheme, &sampled()).1, "packets")
}

#[track_caller]
fn assert_near(value: Option<f64>, wanted: f64, within: f64) {
    assert!(value.is_some_and(|value| (value - wanted).abs() <= within), "{value:?}, not {wanted}");
}

#[test]
fn without_loss_each_packet_takes_the_path_s_delay() {
    for profile in PROFILES {
        let (scheme, scenario) = (profile.name, scenario(PATH));
        let flow = &result(&scenario, scheme, 1).flows[0].metrics;
        // SYN, SYN-ACK, and a segment that acknowledges it: 60 ms each.
        assert_near(flow.connect_s(), 0.180 + SERIALISATION, 5e-6);
        assert_near(flow.send_to_arrival_p50_s(), 0.060 + SERIALISATION, 1e-9);
        assert_near(flow.send_to_delivery_p50_s(), 0.060 + SERIALISATION, 1e-9);
        // What was written during the handshake leaves in bursts, which wait for each other on the first link.
        assert_near(flow.send_to_delivery_p999_s(), 0.060 + SERIALISATION, 10.0 * 8320e-9);
        assert_eq!(flow.send_to_arrival_mean_s(), flow.send_to_delivery_mean_s(), "{scheme}");
        // The median was written when the window was large enough.
        assert_near(flow.write_to_arrival_p50_s(), 0.060 + SERIALISATION, 1e-9);
        let counts = [flow.measured_packets(), flow.arrived_packets(), flow.delivered_packets()];
        assert_eq!((counts, flow.unmeasured_packets()), ([Some(200); 3], Some(0)), "{scheme}");
        let table = packets(&scenario, scheme);
        assert!(table["packet"].iter().copied().eq((0..200).map(f64::from)), "{scheme}");
        // The first write waits for the SYN-ACK.
        assert_near(Some(table["arrived_s"][0]), 0.180 + SERIALISATION, 5e-6);
        for (k, &written) in table["written_s"].iter().enumerate() {
            assert_near(Some(written), k as f64 * 0.015, 1e-9);
            // From a second on each window is large enough.
            if k > 70 {
                assert_near(Some(table["sent_s"][k]), written, 1e-9);
                assert_near(Some(table["arrived_s"][k]), written + 0.060 + SERIALISATION, 1e-9);
            }
            assert_eq!(table["arrived_s"][k].to_bits(), table["delivered_s"][k].to_bits(), "{scheme}");
        }
    }
}

/// Loses the write with that number, once.
struct LosesOne(Option<u64>);

impl Forwarder for LosesOne {
    fn on_packet(&mut self, _: Instant, _: Port, packet: Packet, out: &mut Outbox) {
        let number = match &packet.body {
            Body::Tcp(segment) => match segment.payload {
                Payload::Synthetic { offset, len, .. } if len > 0 => Some(offset / 1000),
                _ => None,
            },
            _ => None,
        };
        if number.is_some() && number == self.0 {
            self.0 = None;
            out.discard(packet);
        } else {
            out.forward(packet);
        }
    }

    fn on_timer(&mut self, _: Instant, _: &mut Outbox) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// A run in which the switch loses one write once.
fn with_one_loss(number: u64, scheme: &str) -> (RunResult, Collected) {
    let mut scenario = scenario(PATH);
    let mut scheme = scenario.scheme(scheme).unwrap().clone();
    scheme.agents = vec![Agent { kind: AgentKind::Plugin("loses-one".to_owned()), at: vec![1] }];
    scenario.schemes = vec![scheme];
    let maker = move |_: &Scenario, _: &_, _, _| -> Box<dyn handfast_assist::Agent> {
        Box::new(LosesOne(Some(number)))
    };
    let plugins = Plugins::new().with("loses-one", Box::new(maker));
    let (control, mut series) = (Control::new(), Collected::default());
    let result = run_with(&plugins, &scenario, &scenario.schemes[0], &sampled(), &control, &mut series);
    (result.unwrap(), series)
}

#[test]
fn a_lost_segment_delays_itself_and_holds_up_those_behind_it() {
    let (result, series) = with_one_loss(100, "sack");
    let (table, flow) = (columns(&series, "packets"), &result.flows[0].metrics);
    assert_eq!((flow.lost_segments(), flow.retransmitted_segments()), (Some(1), Some(1)));
    // Number 100 is sent at 1.5 s. The three behind it arrive 15 ms apart; the third duplicate ACK is back 45 ms + 120 ms after it
    // was sent, and the retransmission takes 60 ms.
    assert_near(Some(table["arrived_s"][100] - table["sent_s"][100]), 0.225, 5e-5);
    for behind in 1..11 {
        let (sent, number) = (1.5 + 0.015 * f64::from(behind), 100 + behind as usize);
        assert_near(Some(table["arrived_s"][number] - sent), 0.060, 5e-5);
        assert_near(Some(table["delivered_s"][number]), 1.725, 5e-5);
    }
    assert_near(flow.send_to_arrival_mean_s(), 0.060 + 0.165 / 200.0, 5e-5);
    assert_near(flow.send_to_arrival_p999_s(), 0.225, 5e-5);
    assert_near(flow.send_to_arrival_deviation_s(), 0.165 * 199.0_f64.sqrt() / 200.0, 5e-5);
    // 165, 150, … and 15 ms more.
    assert_near(flow.send_to_delivery_mean_s(), 0.060 + 0.990 / 200.0, 5e-5);
    assert_near(flow.send_to_delivery_p99_s(), 0.225 - 0.030, 5e-5);
    assert_near(flow.send_to_delivery_p50_s(), 0.060, 5e-5);
}

#[test]
fn what_is_measured_changes_nothing_else() {
    let asking =
        edited(OUTAGE, "name = \"download\"", "name = \"download\"\nmeasure = [\"connect\", \"delay\"]");
    for scheme in ["reno", "linux"] {
        let (plain, measured) = (result(&scenario(OUTAGE), scheme, 1), result(&scenario(&asking), scheme, 1));
        let json = |run: &RunResult| serde_json::from_str::<serde_json::Value>(&run.to_json()).unwrap();
        let (plain, measured) = (json(&plain), json(&measured));
        for (key, value) in plain["flows"][0].as_object().unwrap() {
            assert_eq!(measured["flows"][0][key], *value, "{scheme}: {key}");
        }
        assert!(
            plain["flows"][0].get("connect_s").is_none()
                && plain["flows"][0].get("measured_packets").is_none()
        );
        assert!(measured["flows"][0]["connect_s"].is_number());
        assert!(measured["flows"][0]["write_to_arrival_mean_s"].is_null(), "bulk");
        let verified = Options { verify_wire: true, ..sampled() };
        assert!(
            bytes(&scenario(&asking), scheme, &verified) == bytes(&scenario(&asking), scheme, &sampled())
        );
    }
    assert!(packets(&scenario(OUTAGE), "sack").values().all(Vec::is_empty));
}

#[test]
fn a_flow_with_several_connections_has_the_packets_of_all() {
    let flow = "[[flows]]\nfrom = \"a\"\nto = \"b\"\nconnections = 3\napp = {transfer = \"300kB\"}\nmeasure = [\"connect\", \"delay\"]";
    let text = edited(PATH, "measure = [\"connect\", \"delay\"]", "");
    let scenario = with(&text, flow);
    let run = result(&scenario, "linux", 1);
    let [paced, transfer] = &run.flows[..] else { panic!("{:?}", run.flows) };
    assert_eq!((paced.metrics.connect_s(), paced.metrics.measured_packets()), (None, None));
    assert_near(transfer.metrics.connect_s(), 0.180, 5e-4);
    assert_eq!(transfer.metrics.delivered_packets(), Some(300));
    let table = packets(&scenario, "linux");
    for connection in 0..3 {
        let of_it = table["connection"].iter().filter(|&&of| of as u32 == connection);
        assert_eq!(of_it.count(), 100, "{connection}");
    }
    assert!(
        table["flow"].iter().all(|&flow| flow as u32 == 1) && table["written_s"].iter().all(|at| at.is_nan())
    );
}

#[test]
fn a_slow_reader_gets_packets_after_they_have_arrived() {
    let text = edited(PATH, "stop = \"3s\"", "stop = \"3s\"\nread_rate = \"400kbit/s\"");
    let flow = &result(&scenario(&text), "linux", 1).flows[0].metrics;
    // 200 packets are written in 3 s; the reader takes 20 ms for each, and is done with 191 of them by the end.
    assert_near(flow.send_to_arrival_p50_s(), 0.060 + SERIALISATION, 1e-4);
    assert!(flow.send_to_delivery_p99_s() > Some(0.8), "{flow:?}");
    assert!(flow.delivered_packets() < flow.arrived_packets(), "{flow:?}");
}

#[test]
fn an_agent_that_sends_again_is_seen_to_deliver() {
    let help = "[schemes.help]\nsender = \"reno\"\nagents = [{kind = \"snoop\", at = \"role:base-station\"}]";
    let measured = edited(OUTAGE, "name = \"download\"", "name = \"download\"\nmeasure = [\"delay\"]");
    let flow = &result(&with(&measured, help), "help", 1).flows[0].metrics;
    let segments = flow.delivered_bytes().map(|bytes| bytes / 1448);
    assert!(
        flow.delivered_packets() >= segments && flow.arrived_packets() >= flow.delivered_packets(),
        "{flow:?}"
    );
}
