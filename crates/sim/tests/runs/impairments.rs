//! What links do to packets besides losing them, as whole runs show it.

use handfast_sim::{Options, RunResult};

use crate::support::{bytes, result, scenario};

/// A transfer over a router; `radio` is added to the link on its far side, `more` to the file.
fn text(radio: &str, more: &str) -> String {
    format!(
        r#"
duration = "60s"
[nodes]
a = {{kind = "host"}}
r = {{kind = "switch"}}
b = {{kind = "host"}}
[[links]]
between = ["a", "r"]
rate = "100Mbit/s"
delay = "5ms"
[[links]]
name = "radio"
between = ["r", "b"]
rate = "8Mbit/s"
delay = "15ms"
queue = "1000pkt"
{radio}
[[flows]]
from = "a"
to = "b"
app = {{transfer = "2MB"}}
[schemes.sack]
sender = "sack"
receiver = "sack"
{more}
"#
    )
}

fn run(radio: &str, more: &str) -> RunResult {
    let run = result(&scenario(&text(radio, more)), "sack", 1);
    assert_eq!((run.flows[0].delivered_bytes, run.flows[0].outcome), (2_000_000, "closed"), "{radio}{more}");
    run
}

fn outage(mode: &str) -> String {
    format!(
        "[[events]]\nlink = \"radio\"\nat = \"500ms\"\ndo = \"outage\"\ngap = \"600ms\"\nmode = \"{mode}\""
    )
}

#[test]
fn a_link_without_impairments_loses_and_repeats_nothing() {
    let flow = &run("", "").flows[0];
    assert_eq!((flow.lost_segments, flow.retransmitted_segments), (Some(0), Some(0)));
}

#[test]
fn segments_with_wrong_bits_never_reach_the_endpoint() {
    // RFC 9293 §3.1: the checksum. A packet of 12,000 bits is hit with a probability of 1 - (1 - 1e-6)^12000 = 1.2 %.
    let flow = &run("loss = {bit = 1e-6}", "").flows[0];
    let lost = flow.lost_segments.unwrap();
    assert!((4..40).contains(&lost), "{lost} of {:?}", flow.data_segments_sent);
    assert!(flow.retransmitted_segments >= Some(lost));
}

#[test]
fn a_burst_of_losses_is_repaired() {
    let bursts = "loss = {gilbert-elliott = {good_to_bad = 0.002, bad_to_good = 0.2}}";
    let flow = &run(bursts, "").flows[0];
    assert!(flow.lost_segments > Some(0) && flow.retransmitted_segments >= flow.lost_segments, "{flow:?}");
}

#[test]
fn a_duplicate_arrives_as_a_packet_of_its_own() {
    let (plain, twice) = (run("", ""), run("duplicate = 0.1", ""));
    let [plain, twice] = [plain, twice].map(|run| run.packets.unwrap());
    // Of some 1,400 segments and 700 acknowledgments a tenth, and the receiver answers each.
    assert!((plain + 150..plain + 600).contains(&twice), "{twice} instead of {plain}");
}

#[test]
fn what_is_held_back_is_overtaken() {
    let flow = &run("reorder = {probability = 0.02, by = \"20ms\"}", "").flows[0];
    // Three segments take 4.5 ms: a sender without RACK takes it for a loss (RFC 5681 §3.2).
    assert_eq!(flow.lost_segments, Some(0));
    assert!(flow.retransmitted_segments > Some(5), "{flow:?}");
}

#[test]
fn the_kernel_s_sender_learns_that_a_path_reorders() {
    // Packets come 8 ms late, and RACK waits for a quarter of 36 ms once it has seen that (RFC 8985 §6.2). Before it heeded what
    // timestamps show (`tcp_try_undo_partial`), `linux` repeated 554 to 586 segments; the kernel repeats 7 to 57.
    let text = |scheme: &str| {
        format!(
            r#"
duration = "20s"
[nodes]
a = {{kind = "host"}}
b = {{kind = "host"}}
[[links]]
between = ["a", "b"]
rate = "12Mbit/s"
delay = "18ms"
queue = "60pkt"
reorder = {{probability = 0.03, by = "8ms"}}
[[flows]]
from = "a"
to = "b"
[schemes.{scheme}]
sender = "{scheme}"
"#
        )
    };
    for scheme in ["linux", "linux-reno"] {
        let scenario = scenario(&text(scheme));
        for seed in 1..=6 {
            let run = result(&scenario, scheme, seed);
            let flow = &run.flows[0];
            let (again, lost) = (flow.retransmitted_segments.unwrap(), flow.lost_segments.unwrap());
            // What the queue dropped, and the few that taught it: without reordering there are none of these.
            assert!(
                lost < again && again <= lost + 20 && again <= 160,
                "{scheme}, seed {seed}: {again} again, {lost} lost"
            );
        }
    }
}

#[test]
fn what_an_outage_holds_arrives_after_it() {
    let lost = |mode: &str| run("", &outage(mode)).flows[0].lost_segments;
    assert!(lost("drop") > Some(10), "{:?}", lost("drop"));
    assert_eq!(lost("hold"), Some(0));
}

#[test]
fn a_delay_that_rises_is_in_the_round_trip() {
    // A window that leaves the queue empty.
    let slow = "\n[[events]]\nlink = \"radio\"\nat = \"1s\"\ndo = \"delay\"\ndelay = \"115ms\"";
    let [before, after] = ["", slow].map(|event| {
        let more = format!("[tcp]\nreceive_buffer = \"20kB\"\n{event}");
        run("", &more).flows[0].srtt_s.unwrap()
    });
    // 5 + 15 ms each way, then 5 + 115 ms, and up to 20 segments of 1.5 ms.
    assert!((0.04..0.08).contains(&before) && (0.24..0.28).contains(&after), "{after} after {before}");
}

#[test]
fn a_rate_of_one_direction_leaves_the_other() {
    let event = |way: &str| {
        format!(
            "[[events]]\nlink = \"radio\"\nat = \"100ms\"\ndo = \"rate\"\nrate = \"2Mbit/s\"\ndirection = \"{way}\""
        )
    };
    let end = |more: &str| run("", more).flows[0].end_s.unwrap();
    let plain = end("");
    // Data goes forward; acknowledgments need some 100 kbit/s.
    assert!(end(&event("forward")) > 3.0 * plain);
    assert!(end(&event("backward")) < 1.1 * plain);
}

#[test]
fn impaired_packets_cross_a_real_wire_as_well() {
    for radio in [
        "loss = {bit = 1e-6}",
        "duplicate = 0.1",
        "reorder = {probability = 0.02, by = \"20ms\"}",
        "loss = [0.01, {bit = 1e-6}]\nduplicate = 0.05\nreorder = {probability = 0.02, by = \"20ms\"}",
    ] {
        let scenario = scenario(&text(radio, &outage("hold")));
        let options = Options { seed: 3, series: true, ..Options::default() };
        let verified = Options { verify_wire: true, ..options.clone() };
        assert!(bytes(&scenario, "sack", &options) == bytes(&scenario, "sack", &verified), "{radio}");
    }
}
