//! Split connections in whole runs: what is shorter is repaired and filled sooner.

use handfast_sim::{Options, RunResult};

use crate::series::columns;
use crate::support::{bytes, counted, result, scenario, set};

/// A short way, a long one, and a short one. A proxy may be at either end of the long one.
const WAY: &str = r#"
duration = "60s"
sample_interval = "100ms"
[nodes]
a = {kind = "host"}
near = {kind = "switch", role = "near"}
far = {kind = "switch", role = "far"}
b = {kind = "host"}
[[links]]
name = "first"
between = ["a", "near"]
rate = "20Mbit/s"
delay = "10ms"
[[links]]
name = "long"
between = ["near", "far"]
rate = "20Mbit/s"
delay = "100ms"
queue = "200pkt"
[[links]]
name = "last"
between = ["far", "b"]
rate = "20Mbit/s"
delay = "10ms"
[[flows]]
from = "a"
to = "b"
app = {transfer = "4MB"}
[schemes.linux]
sender = "linux"
[schemes.near]
sender = "linux"
agents = [{kind = "proxy", at = "role:near"}]
[schemes.far]
sender = "linux"
agents = [{kind = "proxy", at = "role:far"}]
[schemes.both]
sender = "linux"
agents = [{kind = "proxy", at = "role:near"}, {kind = "proxy", at = "role:far"}]
"#;

const SCHEMES: [&str; 4] = ["linux", "near", "far", "both"];

/// How long the receiver waits for all of it, in milliseconds from the start.
fn took(run: &RunResult) -> u64 {
    let metrics = &run.flows[0].metrics;
    assert_eq!(metrics.delivered_bytes(), Some(4_000_000));
    (metrics.last_byte_s().unwrap() * 1e3).round() as u64
}

/// A snapshot: milliseconds until the last of 4 MB is delivered, without losses, and with 1 % lost on one of the three links.
#[test]
fn each_takes_as_long_as_it_took() {
    let found = ["", "first", "long", "last"].map(|lossy| {
        let changes = [(format!("links.{lossy}.loss"), "0.01")];
        let changes: Vec<_> = changes.iter().map(|(path, loss)| (path.as_str(), *loss)).collect();
        let network = set(WAY, if lossy.is_empty() { &[] } else { &changes });
        (lossy, SCHEMES.map(|scheme| took(&result(&network, scheme, 1))))
    });
    let expected = [
        ("", [3_094, 3_150, 2_951, 3_136]),
        ("first", [27_698, 3_989, 26_723, 3_989]),
        ("long", [37_821, 36_912, 36_941, 34_879]),
        ("last", [16_442, 15_391, 5_509, 5_546]),
    ];
    assert_eq!(found, expected);
}

/// By how many bytes what is acknowledged to the sender is ahead of what the receiver has got, at most.
fn ahead(scheme: &str, buffer: &str) -> f64 {
    let text = WAY.replace("at = \"role:far\"}]", &format!("at = \"role:far\", buffer = \"{buffer}\"}}]"));
    let slow = set(&text, &[("links.last.rate", "2Mbit/s")]);
    let flow = columns(&bytes(&slow, scheme, &Options { series: true, ..Options::default() }).1, "flows");
    let pairs = flow["acknowledged_bytes"].iter().zip(&flow["delivered_bytes"]);
    pairs.map(|(acknowledged, delivered)| acknowledged - delivered).fold(f64::NEG_INFINITY, f64::max)
}

/// RFC 3135 §4.1.3: an acknowledgment says no longer that the receiver has it. The buffers are the bound of how much it lacks.
#[test]
fn the_sender_is_told_of_bytes_that_the_receiver_does_not_have() {
    assert!(ahead("linux", "4MB") <= 0.0);
    let (large, small) = (ahead("far", "4MB"), ahead("far", "200kB"));
    assert!(large > 1e6, "{large}");
    assert!((200e3..=400e3).contains(&small), "{small}");
}

/// Several connections at once, and a bound below their number: all arrive, and two of them are not split.
#[test]
fn connections_beyond_the_bound_are_not_split() {
    let text = WAY.replace("role:far\"}]", "role:far\", connections = 3}]");
    let text = text.replace("app = {transfer = \"4MB\"}", "app = {transfer = \"1MB\"}\nconnections = 5");
    let run = result(&scenario(&text), "far", 1);
    assert_eq!(run.aggregate.delivered_bytes(), Some(1_000_000));
    assert_eq!([counted(&run, "connections_split"), counted(&run, "connections_unsplit")], [3, 2]);
}

/// Both directions, and several hosts on one proxy.
#[test]
fn uploads_and_downloads_pass_one_proxy() {
    let more = "[[flows]]\nfrom = \"b\"\nto = \"a\"\napp = {transfer = \"4MB\"}\nstart = \"10ms\"";
    let run =
        result(&scenario(&WAY.replace("[schemes.linux]", &format!("{more}\n[schemes.linux]"))), "both", 1);
    for flow in &run.flows {
        assert_eq!(flow.metrics.delivered_bytes(), Some(4_000_000));
    }
    assert_eq!(counted(&run, "relayed_bytes"), 2 * 8_000_000);
}
