//! The kernel's BBR over whole paths, beside the kernel's CUBIC.

use handfast_results::result::RunResult;
use handfast_sim::Options;

use crate::series::columns;
use crate::support::{bytes, result, scenario};

/// The pipe of the path below: 20 Mbit/s times 40 ms, bytes.
const BDP: f64 = 100_000.0;

/// A download over the path below.
pub(crate) const FLOW: &str = "[[flows]]\nfrom = \"server\"\nto = \"client\"\n";

/// A path of 20 Mbit/s, 20 ms each way, with more to say of the link: 67 segments fill it.
pub(crate) fn network(seconds: u64, link: &str) -> String {
    format!(
        r#"
duration = "{seconds}s"
[nodes]
server = {{kind = "host"}}
client = {{kind = "host"}}
[[links]]
name = "path"
between = ["server", "client"]
rate = "20Mbit/s"
delay = "20ms"
{link}
"#
    )
}

/// So many downloads over it.
fn path(seconds: u64, link: &str, flows: usize) -> String {
    network(seconds, link) + &FLOW.repeat(flows)
}

/// What each flow got, Mbit/s.
pub(crate) fn goodputs(run: &RunResult) -> Vec<f64> {
    run.flows.iter().map(|flow| flow.metrics.goodput_bps().unwrap() / 1e6).collect()
}

/// Mbit/s of a download by these two.
fn beside_cubic(text: &str, seed: u64) -> [f64; 2] {
    ["linux-bbr", "linux"].map(|scheme| goodputs(&result(&scenario(text), scheme, seed))[0])
}

#[test]
fn one_loss_in_a_hundred_leaves_it_the_link() {
    for seed in 1..=3 {
        let [bbr, cubic] = beside_cubic(&path(20, "queue = \"100pkt\"\nloss = 0.01", 1), seed);
        assert!(bbr > 0.75 * 20.0, "{bbr} Mbit/s");
        assert!(cubic < 0.4 * 20.0, "{cubic} Mbit/s");
    }
}

/// Bytes in the queue towards the client: their median, 5 s into the run.
fn queued(text: &str, scheme: &str) -> f64 {
    let options = Options { seed: 1, series: true, ..Options::default() };
    let (_, series) = bytes(&scenario(text), scheme, &options);
    let queues = columns(&series, "queues");
    let rows = queues["queue"].iter().zip(&queues["time_s"]).zip(&queues["queue_bytes"]);
    let held = rows.filter(|((queue, at), _)| **queue as u32 == 0 && **at > 5.0).map(|(_, &bytes)| bytes);
    let mut held: Vec<f64> = held.collect();
    held.sort_by(f64::total_cmp);
    held[held.len() / 2]
}

#[test]
fn a_deep_queue_stays_nearly_empty() {
    let text = path(20, "queue = \"1000pkt\"", 1);
    let [bbr, cubic] = ["linux-bbr", "linux"].map(|scheme| queued(&text, scheme));
    assert!(bbr < 1.5 * BDP, "{bbr} bytes");
    assert!(cubic > 5.0 * BDP, "{cubic} bytes");
    let [bbr, cubic] = beside_cubic(&text, 1);
    assert!(bbr > 0.93 * cubic, "{bbr} of {cubic} Mbit/s");
}

#[test]
fn every_ten_seconds_four_segments_show_the_shortest_round_trip() {
    // The handshake's segments are short, so that none with payload takes as little time.
    let text = path(35, "queue = \"200pkt\"", 1);
    let options = Options { seed: 1, series: true, ..Options::default() };
    let (_, series) = bytes(&scenario(&text), "linux-bbr", &options);
    let flow = columns(&series, "flows");
    let small = flow["cwnd_pkt"].iter().zip(&flow["time_s"]).filter(|(cwnd, at)| **at > 1.0 && **cwnd <= 4.0);
    let small: Vec<f64> = small.map(|(_, at)| *at).collect();
    let spells: Vec<&[f64]> = small.chunk_by(|a, b| b - a < 1.0).collect();
    assert_eq!(spells.len(), 3, "{small:?}");
    for (spell, begins) in spells.iter().zip([10.0, 20.4, 30.8]) {
        let lasts = spell[spell.len() - 1] - spell[0];
        assert!((begins..begins + 0.2).contains(&spell[0]) && (0.2..0.35).contains(&lasts), "{spell:?}");
    }
}

#[test]
fn two_share_a_link() {
    for (queue, seed) in [("30pkt", 1), ("100pkt", 2), ("1000pkt", 3)] {
        let text = path(60, &format!("queue = \"{queue}\""), 2) + "start = \"3s\"\n";
        let shares = goodputs(&result(&scenario(&text), "linux-bbr", seed));
        let sum: f64 = shares.iter().sum();
        assert!(
            sum > 18.0 && shares.iter().all(|share| (0.3..0.7).contains(&(share / sum))),
            "{queue}: {shares:?}"
        );
    }
}

#[test]
fn a_short_queue_costs_repetitions_and_no_throughput() {
    let of = |queue, scheme| {
        let run = result(&scenario(&path(20, &format!("queue = \"{queue}pkt\""), 1)), scheme, 1);
        (goodputs(&run)[0], run.aggregate.retransmitted_segments().unwrap())
    };
    // Cycles that probe a quarter above the rate do not fit into it.
    for queue in [4, 12] {
        let [(bbr, again), (cubic, few)] = ["linux-bbr", "linux"].map(|scheme| of(queue, scheme));
        assert!(bbr > 18.0 && bbr > 1.05 * cubic, "{queue}: {bbr} and {cubic} Mbit/s");
        assert!(again > 10 * few, "{queue}: {again} and {few} segments");
    }
    // Bursts of two segments do not fit into one.
    let (bbr, again) = of(2, "linux-bbr");
    assert!(bbr > 15.0 && again > 1000, "{bbr} Mbit/s, {again} segments");
}

#[test]
fn it_comes_back_from_three_seconds_without_a_link() {
    let outage = "[[events]]\nat = \"6s\"\ndo = \"outage\"\nlink = \"path\"\ngap = \"3s\"\n";
    let run = result(&scenario(&(path(20, "queue = \"100pkt\"", 1) + outage)), "linux-bbr", 1);
    let all = &run.aggregate;
    // Seventeen of twenty seconds, less the timer's last doubling: the kernel had four timeouts and 1.0 s.
    let [goodput, stall, full] =
        [goodputs(&run)[0], all.stall_s().unwrap(), all.time_to_full_rate_s().unwrap()];
    assert!(goodput > 14.5 && stall < 1.2 && full - stall < 0.5, "{goodput} Mbit/s, {stall} s, {full} s");
    assert_eq!(all.timeouts(), Some(4));
}

#[test]
fn the_seed_draws_where_a_cycle_begins() {
    // `bbr_reset_probe_bw_mode`: any of seven phases. Nothing else is chance on this path: CUBIC has one run for all seeds.
    let network = scenario(&path(8, "queue = \"100pkt\"", 1));
    let kinds = |scheme: &str| {
        let of = |seed| result(&network, scheme, seed).flows[0].metrics.cwnd_mean_pkt().unwrap().to_bits();
        (1..=12).map(of).collect::<std::collections::BTreeSet<u64>>().len()
    };
    assert_eq!(kinds("linux"), 1);
    assert!((4..=7).contains(&kinds("linux-bbr")), "{}", kinds("linux-bbr"));
}
