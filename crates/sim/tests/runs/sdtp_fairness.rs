//! A transfer across SDTP beside a plain one: what a queue drops is not masked.

use crate::support::{result, scenario};

/// Two pairs of hosts over three switches; 10 Mbit/s between the last two, and a queue of a bandwidth-delay product. Only `ours` has
/// its packets protected.
fn shared(agent: &str, queue: &str) -> String {
    format!(
        r#"
duration = "40s"
[nodes]
a = {{kind = "host", role = "ours"}}
b = {{kind = "host", role = "ours"}}
c = {{kind = "host"}}
d = {{kind = "host"}}
s1 = {{kind = "switch"}}
s2 = {{kind = "switch"}}
s3 = {{kind = "switch"}}
ctl = {{kind = "controller", role = "controller"}}
[[links]]
between = ["a", "s1"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["c", "s1"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["s1", "s2"]
rate = "100Mbit/s"
delay = "5ms"
[[links]]
between = ["s2", "s3"]
rate = "10Mbit/s"
delay = "5ms"
queue = {queue}
[[links]]
between = ["s3", "b"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["s3", "d"]
rate = "100Mbit/s"
delay = "10ms"
[[flows]]
name = "ours"
from = "a"
to = "b"
count = 4
jitter = "1s"
[[flows]]
name = "theirs"
from = "c"
to = "d"
count = 4
jitter = "1s"
[schemes.plain]
sender = "linux"
[schemes.sdtp]
sender = "linux"
agents = [{{kind = "sdtp", at = "role:controller", protected = "ours"{agent}}}]
"#
    )
}

/// What the protected flows get for each byte of the plain ones, over all seeds.
fn advantage(text: &str, scheme: &str) -> f64 {
    let network = scenario(text);
    let mut got = [0.0, 0.0];
    for seed in 1..=5 {
        for flow in &result(&network, scheme, seed).flows {
            got[usize::from(flow.flow.starts_with("theirs"))] +=
                flow.metrics.delivered_bytes().unwrap() as f64;
        }
    }
    let [ours, theirs] = got;
    ours / theirs
}

#[test]
fn across_sdtp_a_flow_takes_a_tenth_more_at_most() {
    for queue in ["\"50pkt\"", "\"codel\""] {
        let plain = advantage(&shared("", queue), "plain");
        // With caches at the edges alone the switch that drops has no function; with the other placement it has a copy.
        for placement in [
            "",
            ", placement = \"every-switch\"",
            ", congestion = \"cache\"",
            ", congestion = \"cache\", placement = \"every-switch\"",
        ] {
            let sdtp = advantage(&shared(placement, queue), "sdtp");
            assert!(sdtp <= 1.1 * plain, "{queue}{placement}: {sdtp}, and {plain} without SDTP");
        }
    }
}

#[test]
fn what_masks_congestion_takes_nearly_all() {
    // The control: as in the paper, every drop is repaired.
    let masked = advantage(&shared(", congestion = \"mask\"", "\"50pkt\""), "sdtp");
    assert!(masked > 4.0, "{masked}");
}
