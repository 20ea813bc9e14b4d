//! Links of 802.11n, ac and ax: what A-MPDUs with block acknowledgments carry, and what TCP sees of frames that fail. In
//! integers, beside 802.11 b and g.

use std::fmt::Write;

use handfast_results::result::RunResult;

use crate::air::{cell, shares};
use crate::support::{assert_golden, edited, result, set};

/// Downloads over a wire that is no bottleneck; `stations` are keys of their links.
fn downloads(stations: &[&str], more: &[(&str, &str)]) -> RunResult {
    let text = edited(&cell(stations, false), "rate = \"100Mbit/s\"", "rate = \"4Gbit/s\"");
    let queues: Vec<String> = (0..stations.len()).map(|k| format!("links.ap-mn{k}.queue")).collect();
    let mut changes: Vec<(&str, &str)> = queues.iter().map(|queue| (queue.as_str(), "1000pkt")).collect();
    changes.extend(more);
    result(&set(&text, &changes), "linux", 1)
}

/// One of two seconds, with a window that no queue overflows with; `keys` are those of `air`.
fn air(keys: &str) -> RunResult {
    let window = [("duration", "2s"), ("tcp.receive_buffer", "1MB"), ("tcp.receive_autotuning", "false")];
    downloads(&[&format!("air = {{{keys}}}")], &window)
}

const ROWS: [(&str, &str); 17] = [
    ("b", "rate = \"11Mbit/s\"\nair = {standard = \"802.11b\"}"),
    ("g", "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\"}"),
    ("g, 1e-5", "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\", bit_errors = 1e-5}"),
    ("g, 1e-4", "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\", bit_errors = 1e-4}"),
    ("n", "air = {standard = \"802.11n\"}"),
    ("n, single", "air = {standard = \"802.11n\", aggregation = 1}"),
    ("n, 20 MHz", "air = {standard = \"802.11n\", band = \"2.4GHz\", streams = 1, guard = \"800ns\"}"),
    ("n, 60", "rate = \"60Mbit/s\"\nair = {standard = \"802.11n\"}"),
    ("n, 1e-5", "air = {standard = \"802.11n\", bit_errors = 1e-5}"),
    ("n, 1e-4", "air = {standard = \"802.11n\", bit_errors = 1e-4}"),
    ("n, 1e-4, 30", "air = {standard = \"802.11n\", bit_errors = 1e-4, attempts = 30}"),
    ("ac", "air = {standard = \"802.11ac\"}"),
    ("ac, single", "air = {standard = \"802.11ac\", aggregation = 1}"),
    ("ac, 500 us", "air = {standard = \"802.11ac\", longest = \"500us\"}"),
    ("ac, Minstrel", "air = {standard = \"802.11ac\", rate_control = \"minstrel\", bit_errors = 1e-5}"),
    ("ax", "air = {standard = \"802.11ax\"}"),
    ("ax, single", "air = {standard = \"802.11ax\", aggregation = 1}"),
];

#[test]
fn downloads_are_as_they_were() {
    let mut table = String::from("air             delivered_kB retransmitted timeouts lost  limit_kbps\n");
    for (name, keys) in ROWS {
        let run = downloads(&[keys], &[("duration", "2s")]);
        let (all, known) = (&run.aggregate, |n: Option<u64>| n.expect("a simulation knows"));
        writeln!(
            table,
            "{name:<15} {:>12} {:>13} {:>8} {:>4} {:>11}",
            all.delivered_bytes().unwrap() / 1_000,
            known(all.retransmitted_segments()),
            known(all.timeouts()),
            known(all.lost_segments()),
            (run.flows[0].metrics.limit_bps().unwrap() / 1e3) as u64,
        )
        .unwrap();
    }
    assert_golden("aggregates.txt", &table);
}

#[test]
fn frames_that_fail_are_delay_to_tcp_and_no_loss() {
    // 11.6 % of the frames; one packet in three million after seven attempts. TCP neither sends anything again, nor takes what
    // has been overtaken on the air for lost.
    let [clean, some] = ["0", "1e-5"].map(|p| air(&format!("standard = \"802.11ac\", bit_errors = {p}")));
    let again = |run: &RunResult| run.flows[0].metrics.retransmitted_segments().unwrap();
    let lost = |run: &RunResult| run.flows[0].metrics.lost_segments().unwrap();
    assert_eq!([lost(&clean), lost(&some)], [0, 0]);
    assert_eq!([again(&clean), again(&some)], [0, 0]);
    let ratio = shares(&some)[0] / shares(&clean)[0];
    assert!((0.6..0.9).contains(&ratio), "{ratio}");
    // With 1e-4 it is 71 %: seven attempts lose one packet in eleven, thirty one in 30,000.
    let [seven, thirty] =
        ["7", "30"].map(|n| air(&format!("standard = \"802.11ac\", bit_errors = 1e-4, attempts = {n}")));
    assert!(lost(&seven) > 10 && lost(&thirty) < 5, "{} {}", lost(&seven), lost(&thirty));
    assert!(shares(&thirty)[0] > 10.0 * shares(&seven)[0]);
}

#[test]
fn aggregation_pays_the_more_the_faster_the_rate() {
    let gain = |standard: &str| {
        let with = |more: &str| shares(&air(&format!("standard = \"{standard}\"{more}")))[0];
        with("") / with(", aggregation = 1")
    };
    let [n, ac, ax] = ["802.11n", "802.11ac", "802.11ax"].map(gain);
    assert!(n > 3.0 && ac > 1.5 * n && ax > ac, "{n} {ac} {ax}");
}

#[test]
fn stations_share_turns_and_not_packets() {
    // One at 866.7 Mbit/s and one at 65: turns go round, and a turn is 64 frames of the one and the 28 of the other that 5.484 ms
    // have room for.
    let (fast, slow) =
        ("air = {standard = \"802.11ac\"}", "rate = \"65Mbit/s\"\nair = {standard = \"802.11ac\"}");
    let both = shares(&downloads(&[fast, slow], &[("duration", "5s")]));
    let ratio = both[0] / both[1];
    assert!((1.5..2.6).contains(&ratio), "{both:?}");
}

const WALK: &str = include_str!("../../../../scenarios/wifi-airtime.toml");

#[test]
fn rates_follow_a_signal_and_minstrel_finds_them_by_itself() {
    let with = |keys: &str| {
        let changes = [("radio.air", keys), ("duration", "20s"), ("links.path.rate", "4Gbit/s")];
        let run = result(&set(WALK, &changes), "linux", 1);
        (shares(&run), run.aggregate.limit_bps().unwrap())
    };
    let (signal, signal_limit) = with("{standard = \"802.11ac\"}");
    let (minstrel, limit) = with("{standard = \"802.11ac\", rate_control = \"minstrel\"}");
    // The sensitivities of the standard leave a margin: Minstrel gives the station that stays near more, and the one that walks
    // away less.
    let total = |shares: &[f64]| shares.iter().sum::<f64>();
    let (ratio, near, far) =
        (total(&minstrel) / total(&signal), minstrel[0] / signal[0], minstrel[1] / signal[1]);
    assert!((0.92..1.0).contains(&ratio), "{ratio}: {signal:?} {minstrel:?}");
    assert!((1.2..1.4).contains(&near) && (0.55..0.75).contains(&far), "{signal:?} {minstrel:?}");
    // The limit of Minstrel goes by what the signal lets through, and not by the fastest rate there is.
    let more = limit / signal_limit;
    assert!((1.05..1.3).contains(&more), "{limit} {signal_limit}");
}
