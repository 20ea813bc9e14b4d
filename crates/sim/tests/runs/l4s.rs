//! L4S: Prague and CUBIC through `DualPI2`, and through what else there is (docs/explanation/queues.md has the figures).

use handfast_scenario::Scenario;
use handfast_sim::series::Collected;
use handfast_sim::{Control, Options, run};

use crate::series::columns;
use crate::support::{assert_golden, result, set};

const L4S: &str = include_str!("../../../../scenarios/l4s.toml");

/// What an empty path adds to its delays: 1,500 bytes over 1 Gbit/s and 40 Mbit/s, and 52 back; microseconds.
const ON_THE_LINE: f64 = 323.0;

/// One run of scenarios/l4s.toml.
struct Seen {
    /// Prague's goodput over CUBIC's, hundredths.
    ratio: u64,
    /// Goodput of both, Mbit/s.
    total: u64,
    /// By how much SRTT was above that of an empty path at most, in so many hundredths of the last 50 s; microseconds. Prague's, CUBIC's.
    waits: [[u64; 2]; 2],
    /// Of Prague: lost segments.
    lost: u64,
    /// Of these, those that the queue had room for.
    aqm: u64,
}

fn see(queue: &str, base_ms: u64, seed: u64) -> Seen {
    let delay = format!("{}us", base_ms * 500);
    let scenario = set(L4S, &[("links.bottleneck.queue", queue), ("links.bottleneck.delay", &delay)]);
    let mut series = Collected::default();
    let options = Options { seed, series: true, ..Options::default() };
    let scheme = scenario.scheme("prague").expect("a scheme");
    let run = run(&scenario, scheme, &options, &Control::new(), &mut series).expect("a result");
    let [prague, cubic] = [0, 1].map(|flow: usize| run.flows[flow].metrics.goodput_bps().unwrap());
    let flows = columns(&series, "flows");
    let waits = [0, 1].map(|flow: u32| {
        let rows = flows["flow"].iter().zip(&flows["time_s"]).zip(&flows["srtt_s"]);
        let mut srtts: Vec<f64> =
            rows.filter(|((of, at), _)| **of as u32 == flow && **at > 10.0).map(|(_, &s)| s).collect();
        srtts.sort_by(f64::total_cmp);
        assert!(srtts.len() > 1_000, "{}", srtts.len());
        let above = |share: usize| srtts[srtts.len() * share / 100] - base_ms as f64 / 1e3;
        [50, 99].map(|share| (above(share) * 1e6 - ON_THE_LINE).max(0.0) as u64)
    });
    Seen {
        ratio: (100.0 * prague / cubic) as u64,
        total: ((prague + cubic) / 1e6) as u64,
        waits,
        lost: run.flows[0].metrics.lost_segments().unwrap_or_default(),
        aqm: run.flows[0].metrics.aqm_dropped_segments().unwrap_or_default(),
    }
}

/// A row of a table: hundredths, Mbit/s, microseconds, segments.
fn row(queue: &str, base_ms: u64, seed: u64) -> String {
    let Seen { ratio, total, waits: [prague, cubic], lost, aqm } = see(queue, base_ms, seed);
    let [[a, b], [c, d]] = [prague, cubic];
    format!("{queue} {base_ms} ms, seed {seed}: {ratio} {total}, {a} {b}, {c} {d}, {lost} {aqm}\n")
}

#[test]
fn dualpi2_shares_a_line_evenly_and_keeps_one_of_two_from_waiting() {
    let Seen { ratio, total, waits: [prague, cubic], lost, .. } = see("dualpi2", 10, 1);
    assert!((50..200).contains(&ratio), "{ratio} %");
    assert!(total >= 36, "{total} Mbit/s");
    assert!(prague[0] < 1_000 && prague[1] < 3_000, "{prague:?} us");
    assert!((8_000..25_000).contains(&cubic[0]), "{cubic:?} us");
    assert_eq!(lost, 0);
}

/// The control: a queue that marks nothing makes Prague one more Reno, which waits as long as CUBIC does.
#[test]
fn without_dualpi2_both_wait() {
    let Seen { waits: [prague, cubic], lost, .. } = see("1000pkt", 10, 1);
    assert!(prague[0] > 20_000 && cubic[0] > 20_000 && lost > 0, "{prague:?} {cubic:?} {lost}");
}

/// Rows of the table below, so that what docs/explanation/queues.md says of them stays true.
#[test]
fn some_figures_are_those_of_the_documents() {
    let rows = [("dualpi2", 10), ("dualpi2", 100), ("fq-codel", 10), ("1000pkt", 10)];
    assert_golden("l4s.txt", &rows.map(|(queue, base_ms)| row(queue, base_ms, 1)).concat());
}

/// What docs/explanation/queues.md has a table of: `cargo test -p handfast-sim --test runs l4s::figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    for queue in ["dualpi2", "fq-codel", "1000pkt"] {
        for base_ms in [5, 10, 20, 50, 100] {
            (1..=3).for_each(|seed| print!("{}", row(queue, base_ms, seed)));
        }
    }
}

/// The second flow's ends where it does ECN (RFC 3168): a line of `[schemes]`, with which scenarios/l4s.toml ends.
const MARKED: &str =
    r#"marked = {sender = {profile = "linux", ecn = true}, receiver = {profile = "linux", ecn = true}}"#;

/// scenarios/l4s.toml with ECN at both flows, and with another change.
fn both_marked(queue: &str, base_ms: u64, change: Option<(&str, &str)>) -> Scenario {
    let delay = format!("{}us", base_ms * 500);
    let changes =
        [("links.bottleneck.queue", queue), ("links.bottleneck.delay", &delay), ("flows.1.tcp", "marked")];
    let changes: Vec<_> = changes.into_iter().chain(change).collect();
    set(&format!("{L4S}{MARKED}"), &changes)
}

/// Prague's goodput over that of CUBIC with ECN, hundredths, and both together, Mbit/s.
fn beside_ecn(scheme: &str, queue: &str, base_ms: u64, seed: u64) -> [u64; 2] {
    goodputs(&both_marked(queue, base_ms, None), scheme, seed)
}

fn goodputs(scenario: &Scenario, scheme: &str, seed: u64) -> [u64; 2] {
    let run = result(scenario, scheme, seed);
    let [prague, cubic] = [0, 1].map(|flow: usize| run.flows[flow].metrics.goodput_bps().unwrap());
    [(100.0 * prague / cubic) as u64, ((prague + cubic) / 1e6) as u64]
}

/// Without its fallback and with it.
fn both_ways<T>(of: impl Fn(&'static str) -> T) -> [T; 2] {
    ["prague", "prague-fallback"].map(of)
}

#[test]
fn with_its_fallback_prague_shares_a_queue_that_marks_as_rfc_3168_says() {
    let [without, with] = both_ways(|scheme| beside_ecn(scheme, "codel", 20, 1)[0]);
    assert!(without > 300 && (50..200).contains(&with), "{without} % and {with} %");
}

/// The control: under `DualPI2` it finds no such queue with this seed, and does what it does without.
#[test]
fn the_fallback_leaves_a_queue_of_l4s_alone() {
    let [without, with] = both_ways(|scheme| beside_ecn(scheme, "dualpi2", 10, 1));
    assert_eq!(without, with);
}

/// The same with `recovery = "sack"`, where RACK does not keep the shortest round trip.
#[test]
fn the_fallback_leaves_it_alone_without_rack() {
    let [without, with] = [false, true].map(|falls_back| {
        let rest = r#"profile = "prague", recovery = "sack", undo = "rfc4015""#;
        let sender = format!("{{{rest}, prague_fallback = {falls_back}}}");
        let scenario = both_marked("dualpi2", 100, Some(("schemes.prague.sender", &sender)));
        goodputs(&scenario, "prague", 1)
    });
    assert_eq!(without, with);
}

/// What docs/explanation/queues.md has a table of: `cargo test -p handfast-sim --test runs l4s::fallback -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn fallback() {
    for queue in ["codel", "red", "fq-codel", "dualpi2"] {
        for base_ms in [5, 10, 20, 50, 100] {
            let seeds = |scheme| [1, 2, 3, 4, 5].map(|seed| beside_ecn(scheme, queue, base_ms, seed));
            let [without, with] = both_ways(seeds);
            println!("{queue} {base_ms} ms: {without:?} {with:?}");
        }
    }
}
