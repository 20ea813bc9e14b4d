//! The rivals of SDTP in whole runs: nodes that duplicate, code or repeat what they send to each other, or split connections.

use handfast_sim::{Options, RunResult};

use crate::support::{bytes, result, scenario, set};

/// Two hosts, and four switches between them, of which the first and the last play the role; one link loses packets, and a burst
/// now and then.
const LINE: &str = r#"
duration = "20s"
[nodes]
a = {kind = "host"}
s1 = {kind = "switch", role = "end"}
s2 = {kind = "switch"}
s3 = {kind = "switch"}
s4 = {kind = "switch", role = "end"}
b = {kind = "host"}
[[links]]
between = ["a", "s1"]
rate = "20Mbit/s"
delay = "10ms"
[[links]]
between = ["s1", "s2"]
rate = "20Mbit/s"
delay = "5ms"
[[links]]
name = "lossy"
between = ["s2", "s3"]
rate = "20Mbit/s"
delay = "5ms"
[[links]]
between = ["s3", "s4"]
rate = "20Mbit/s"
delay = "5ms"
[[links]]
between = ["s4", "b"]
rate = "20Mbit/s"
delay = "10ms"
[[flows]]
from = "a"
to = "b"
app = {paced = {size = "1000B", interval = "5ms"}}
stop = "15s"
measure = ["delay"]
[tcp]
mss = 1012
[schemes.linux]
sender = "linux"
[schemes.duplicate]
sender = "linux"
agents = [{kind = "duplicate", at = "role:end"}]
[schemes.fec]
sender = "linux"
agents = [{kind = "fec", at = "role:end"}]
[schemes.fec-brief]
sender = "linux"
agents = [{kind = "fec", at = "role:end", packets = 2, wait = "40ms", hold = "100ms"}]
[schemes.fec-spread]
sender = "linux"
agents = [{kind = "fec", at = "role:end", packets = 2, interleave = 4, wait = "40ms", hold = "100ms"}]
[schemes.link-arq]
sender = "linux"
agents = [{kind = "link-arq", at = "role:end"}]
[schemes.proxy]
sender = "linux"
agents = [{kind = "proxy", at = "role:end"}]
"#;

const RIVALS: [&str; 4] = ["duplicate", "fec", "link-arq", "proxy"];

fn counted(run: &RunResult, name: &str) -> u64 {
    run.controller.as_ref().and_then(|counters| counters.get(name)).copied().unwrap_or_default()
}

/// What hosts see of a run.
fn seen(run: &RunResult) -> (u64, u64, u64) {
    let all = &run.aggregate;
    (all.delivered_bytes().unwrap(), all.retransmitted_segments().unwrap(), all.timeouts().unwrap())
}

#[test]
fn without_losses_hosts_see_nothing_of_them() {
    let network = scenario(LINE);
    for rival in RIVALS {
        let run = result(&network, rival, 1);
        assert_eq!(seen(&run), seen(&result(&network, "linux", 1)), "{rival}");
        for name in ["malformed", "shim_refused", "given_up", "frames_repeated"] {
            assert_eq!(counted(&run, name), 0, "{rival}: {name}");
        }
    }
}

/// A snapshot: delivered bytes, segments that the sender sends again, time-outs, and what nodes count.
#[test]
fn each_does_what_it_did() {
    let network = set(LINE, &[("links.lossy.loss", "0.02")]);
    let counts: [(&str, &[&str]); 5] = [
        ("linux", &[]),
        ("duplicate", &["copies", "repeated", "given_up", "shim_bytes", "protected_bytes"]),
        ("fec", &["blocks", "repair_symbols", "recovered", "loss_reports", "shim_bytes", "protected_bytes"]),
        (
            "link-arq",
            &["frames", "frames_repeated", "frame_timeouts", "statuses", "shim_bytes", "protected_bytes"],
        ),
        ("proxy", &["connections_split", "relayed_bytes", "proxy_retransmitted_segments", "proxy_timeouts"]),
    ];
    let found = counts.map(|(scheme, names)| {
        let run = result(&network, scheme, 1);
        (scheme, seen(&run), names.iter().map(|name| counted(&run, name)).collect::<Vec<_>>())
    });
    let expected: [(&str, _, &[u64]); 5] = [
        ("linux", (2_631_000, 36, 0), &[]),
        ("duplicate", (3_000_000, 2, 0), &[5_943, 5_736, 2, 6_955_704, 3_311_448]),
        ("fec", (3_000_000, 0, 0), &[605, 1_422, 101, 298, 4_318_132, 3_312_068]),
        ("link-arq", (3_000_000, 0, 0), &[6_000, 102, 2, 4_119, 3_686_550, 3_312_016]),
        ("proxy", (3_000_000, 0, 0), &[2, 6_000_000, 40, 0]),
    ];
    assert_eq!(found, expected.map(|(scheme, seen, counts)| (scheme, seen, counts.to_vec())));
}

/// Bursts take four packets in a row (15 ms, and what was on the wire for 5 ms), which are in two blocks of two, or one each in
/// four. A snapshot: segments that the sender sends again, packets that a code has recovered, and delays from the first
/// transmission to the delivery: the mean and 99 % of them, in tenths of a millisecond. Interleaving recovers all, and delays a
/// lost packet by eight packets of 5 ms at most.
#[test]
fn interleaved_blocks_outlive_bursts() {
    let bursts = "[[events]]\nlink = \"lossy\"\ndo = \"outage\"\nat = \"1s\"\nevery = \"1s\"\ntimes = 13\ngap = \"15ms\"\nphase = \"900ms\"\n";
    let network = scenario(&LINE.replace("[tcp]", &format!("{bursts}[tcp]")));
    let found = ["linux", "fec-brief", "fec-spread"].map(|scheme| {
        let run = result(&network, scheme, 1);
        let delays = &run.flows[0].metrics;
        let tenths = |seconds: Option<f64>| (seconds.unwrap() * 1e4).round() as u64;
        let times = [tenths(delays.send_to_delivery_mean_s()), tenths(delays.send_to_delivery_p99_s())];
        (scheme, run.aggregate.retransmitted_segments().unwrap(), counted(&run, "recovered"), times)
    });
    let expected = [
        ("linux", 42, 0, [418, 1_367]),
        ("fec-brief", 29, 12, [453, 2_227]),
        ("fec-spread", 0, 105, [383, 730]),
    ];
    assert_eq!(found, expected);
}

/// Each packet that is counted is delayed by what the repair takes: a copy, the end of a block, a round trip between the nodes.
#[test]
fn a_loss_takes_as_long_as_its_repair() {
    // Of 800 packets 99.9 % are all.
    let brief = LINE.replace("stop = \"15s\"", "stop = \"4s\"");
    let lost = |scheme: &str, number| {
        let network = set(&brief, &[("links.lossy.forward.loss", &format!("{{list = [{number}]}}"))]);
        let run = result(&network, scheme, 1);
        assert_eq!(run.aggregate.retransmitted_segments(), Some(u64::from(scheme == "linux")), "{scheme}");
        let delays = &run.flows[0].metrics;
        delays.send_to_delivery_p999_s().unwrap() - delays.send_to_delivery_p50_s().unwrap()
    };
    // Copies, repair symbols and statuses are packets as well, and their loss delays nothing. A block of ten packets, one each
    // 5 ms, ends 45 ms after its first.
    for (scheme, from, to) in
        [("duplicate", 0.0095, 0.0105), ("fec", 0.044, 0.051), ("link-arq", 0.030, 0.040)]
    {
        let took: Vec<_> = (500..511).map(|number| lost(scheme, number)).collect();
        let most = took.iter().copied().fold(0.0, f64::max);
        assert!((from..to).contains(&most), "{scheme}: {took:?}");
    }
}

#[test]
fn with_the_emitted_bytes_on_every_hop_the_results_are_the_same() {
    let network = set(LINE, &[("links.lossy.loss", "0.05")]);
    for rival in RIVALS {
        let of =
            |verify_wire| bytes(&network, rival, &Options { seed: 3, verify_wire, ..Options::default() }).0;
        assert_eq!(of(true), of(false), "{rival}");
    }
}

/// Every switch plays the role: each link is protected by itself.
#[test]
fn each_link_may_be_protected_by_itself() {
    let text = LINE.replace("s2 = {kind = \"switch\"}", "s2 = {kind = \"switch\", role = \"end\"}");
    let text = text.replace("s3 = {kind = \"switch\"}", "s3 = {kind = \"switch\", role = \"end\"}");
    let run = result(&set(&text, &[("links.lossy.loss", "0.05")]), "link-arq", 1);
    assert!(counted(&run, "frames_repeated") > 100);
    assert_eq!(run.aggregate.retransmitted_segments(), Some(0));
    let whole = result(&set(LINE, &[("links.lossy.loss", "0.05")]), "link-arq", 1);
    let mean = |run: &RunResult| run.flows[0].metrics.send_to_delivery_mean_s().unwrap();
    assert!(mean(&run) < mean(&whole), "a repair takes a round trip of one link, not of three");
}
