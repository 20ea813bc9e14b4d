//! A node of SDTP that begins anew in the middle of a transfer. The receiver checks each byte.

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunResult, SegmentResult, run as simulate};

use crate::support::{counted, result, scenario};

/// Two hosts and three switches; each link between these loses 1 packet in 100. At 1.5 s a node begins anew.
fn line(node: &str) -> String {
    format!(
        r#"
duration = "60s"
[nodes]
a = {{kind = "host"}}
b = {{kind = "host"}}
s1 = {{kind = "switch"}}
s2 = {{kind = "ap", role = "middle"}}
s3 = {{kind = "switch"}}
ctl = {{kind = "controller", role = "controller"}}
[[links]]
between = ["a", "s1"]
rate = "10Mbit/s"
delay = "10ms"
[[links]]
between = ["s1", "s2"]
rate = "10Mbit/s"
delay = "5ms"
loss = 0.01
[[links]]
between = ["s2", "s3"]
rate = "10Mbit/s"
delay = "5ms"
loss = 0.01
[[links]]
between = ["s3", "b"]
rate = "10Mbit/s"
delay = "10ms"
[[flows]]
from = "a"
to = "b"
app = {{transfer = "3MB"}}
[[events]]
at = "1500ms"
do = "restart"
node = "{node}"
[schemes.linux]
sender = "linux"
[schemes.sdtp]
sender = "linux"
agents = [{{kind = "sdtp", at = "role:controller", placement = "every-switch"}}]
[schemes.ack-filter]
sender = "linux"
agents = [{{kind = "ack-filter", at = "role:middle"}}]
"#
    )
}

fn run(node: &str, scheme: &str) -> RunResult {
    let run = result(&scenario(&line(node)), scheme, 1);
    assert_eq!(
        (run.flows[0].outcome, run.flows[0].metrics.delivered_bytes()),
        ("closed", Some(3_000_000)),
        "{node}"
    );
    run
}

#[test]
fn every_byte_comes_whichever_node_begins_anew() {
    let repeats = |node| counted(&run(node, "sdtp"), "repeats");
    let undisturbed = repeats("a");
    // An edge that has forgotten the connection makes it plain TCP, and the rest is not repaired in the path. A node between the
    // edges gets its functions again.
    let (first, middle, last) = (repeats("s1"), repeats("s2"), repeats("s3"));
    assert!(4 * first.max(last) < 3 * undisturbed, "{first} {last} of {undisturbed}");
    assert!(4 * middle > 3 * undisturbed, "{middle} of {undisturbed}");
    assert!(
        counted(&run("s2", "sdtp"), "controller_orders") > counted(&run("a", "sdtp"), "controller_orders")
    );
}

#[test]
fn plain_tcp_notices_nothing() {
    let took = |node| run(node, "linux").flows[0].metrics.last_byte_s();
    assert_eq!(took("s2"), took("a"));
}

#[test]
fn who_cannot_begin_anew_says_so() {
    let network = scenario(&line("s2"));
    let why = simulate(
        &network,
        network.scheme("ack-filter").unwrap(),
        &Options::default(),
        &Control::new(),
        &mut NoSeries,
    )
    .unwrap_err()
    .to_string();
    assert!(why.contains("node `s2` begins anew, and an agent there cannot"), "{why}");
}

#[test]
fn segments_are_in_the_result() {
    let found = run("a", "sdtp").segments.unwrap();
    let names: Vec<_> = found.iter().map(|one| [&one.from[..], &one.to, &one.at]).collect();
    assert!(names.contains(&["s1", "s3", "s3"]), "{names:?}");
    for one in &found {
        assert!(one.repaired + one.given_up <= one.noticed, "{one:?}");
        assert_eq!(one.repair_mean_s.is_some(), one.repaired > 0);
    }
    let sum = |of: fn(&SegmentResult) -> u64| found.iter().map(of).sum::<u64>();
    assert!(sum(|one| one.repaired) > 20);
    assert_eq!(run("a", "linux").segments, None);
}
