//! The network of the SDN paper: random roams under every policy, and what they must not break.

use std::fmt::Write;

use handfast_core::Stream;

use crate::support::{result, scenario};

/// How many random sequences are run; `HANDFAST_SEQUENCES` asks for more.
const SEQUENCES: u64 = 200;

const POLICIES: [&str; 5] = [
    "policy = \"bare\"",
    "policy = \"spurious\"",
    "policy = \"spurious\", release = \"unpaced\"",
    "policy = \"spurious\", hold_per_connection = \"20kB\"",
    "policy = \"zwa\"",
];
/// From an end to the next beginning: overlapping with what went before in every way there is.
const GAPS_MS: [u64; 8] = [0, 1, 20, 70, 140, 400, 1200, 3000];
const NOTIFICATIONS_MS: [u64; 4] = [0, 2, 30, 70];

/// A sequence of roams, and flows that begin at any moment, also while their station is away.
fn sequence(number: u64) -> String {
    let mut stream = Stream::new(number, "roams of the paper's network");
    let mut pick = |n: usize| stream.below(n as u64) as usize;
    let mut text = format!(
        "duration = \"90s\"\n[generate.wlan]\nstations = 2\nlink = {{rate = \"100Mbit/s\", delay = \"{}ms\"}}\n\
         radio = {{rate = \"20Mbit/s\", delay = \"1ms\", queue = \"100pkt\"}}\n\
         flows = {{app = {{transfer = \"400kB\"}}}}\nconnections = 2\n",
        [1, 5, 20][pick(3)],
    );
    for _ in 0..4 {
        let (host, station) = (pick(2) + 1, pick(2) + 1);
        let ends = [format!("cn{host}"), format!("mn{station}")];
        let [from, to] = if pick(2) == 0 { [&ends[0], &ends[1]] } else { [&ends[1], &ends[0]] };
        let start = pick(6000);
        writeln!(
            text,
            "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}ms\"\napp = {{transfer = \"100kB\"}}"
        )
        .unwrap();
    }
    for station in 1..=2 {
        let mut at = 50;
        for _ in 0..pick(6) {
            at += pick(2000) as u64 + 1;
            let (to, gap) = (pick(3) + 1, GAPS_MS[pick(GAPS_MS.len())]);
            writeln!(
                text,
                "[[events]]\nat = \"{at}ms\"\ndo = \"handover\"\nstation = \"mn{station}\"\nto = \"ap{to}\"\ngap = \"{gap}ms\""
            )
            .unwrap();
            at += gap;
        }
    }
    let (policy, timestamps) = (POLICIES[pick(POLICIES.len())], pick(2) == 0);
    let sender = ["linux", "linux-reno", "sack"][pick(3)];
    writeln!(
        text,
        "[schemes.s]\nsender = {{profile = \"{sender}\", timestamps = {timestamps}}}\n\
         agents = [{{kind = \"sdn\", at = \"role:controller\", notification = \"{}ms\", {policy}}}]",
        NOTIFICATIONS_MS[pick(NOTIFICATIONS_MS.len())],
    )
    .unwrap();
    text
}

#[test]
fn every_transfer_ends_with_every_byte_whatever_the_roams_and_the_policy() {
    let asked = std::env::var("HANDFAST_SEQUENCES").ok().and_then(|number| number.parse().ok());
    for number in 0..asked.unwrap_or(SEQUENCES) {
        let text = sequence(number);
        // A byte that is not the one sent is an error of the run.
        let run = result(&scenario(&text), "s", number);
        let mut broken = 0;
        for flow in &run.flows {
            let expected = if flow.flow.starts_with("flow") { 400_000 } else { 100_000 };
            let ended = flow.metrics.delivered_bytes().unwrap() == expected && flow.outcome == "closed";
            broken += u64::from(!ended);
            // `[sdn]` §3.2: what zwa has acknowledged and the radio then loses is gone. Each such connection has to be counted.
            assert!(ended || text.contains("\"zwa\""), "sequence {number}, flow {}: {text}", flow.flow);
        }
        let known = run.controller.as_ref().map_or(0, |counters| counters["given_up"]);
        assert!(broken <= known, "sequence {number}: {broken} broken, {known} given up: {text}");
    }
}

/// Under `policy` one roam in a quiet moment, between two transfers.
fn roam(policy: &str, gap_ms: u64) -> handfast_sim::RunResult {
    let text = format!(
        "duration = \"40s\"\n[generate.wlan]\nstations = 1\nlink = {{rate = \"100Mbit/s\", delay = \"20ms\"}}\n\
         radio = {{rate = \"54Mbit/s\", delay = \"1ms\", queue = \"100pkt\"}}\n\
         roams = {{at = \"10s\", gap = \"{gap_ms}ms\", phase = \"random\"}}\n\
         [schemes.s]\nsender = \"linux-reno\"\n\
         agents = [{{kind = \"sdn\", at = \"role:controller\", notification = \"2ms\", {policy}}}]\n\
         [tcp]\nreceive_buffer = \"30kB\"\nreceive_autotuning = false\n"
    );
    result(&scenario(&text), "s", 3)
}

#[test]
fn the_sender_freezes_under_zero_windows_and_goes_on_as_it_was() {
    let [bare, zwa] = ["policy = \"bare\"", "policy = \"zwa\""].map(|policy| roam(policy, 3000));
    assert!(bare.aggregate.timeouts() > Some(0), "the control: without help it times out");
    assert_eq!((zwa.aggregate.timeouts(), zwa.aggregate.retransmitted_segments()), (Some(0), Some(0)));
    let stall = |run: &handfast_sim::RunResult| run.handovers[0].stall_s.unwrap();
    assert!(stall(&zwa) < 0.2 && stall(&bare) > 0.5, "{} {}", stall(&zwa), stall(&bare));
}
