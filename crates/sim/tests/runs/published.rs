//! Published figures of `FQ-CoDel`: two CUBIC flows of different round trips, as P. Heist and J. Morton measured them with Linux
//! (github.com/heistp/l4s-tests, README.md, "Scenario 1 Fairness Table"; the commands are in its `l4s.batch` and `fl`).

use std::fmt::Write;

use handfast_sim::Options;

use crate::series::columns;
use crate::support::{assert_golden, bytes, scenario};

/// A row of their table.
struct Row {
    rate_mbps: u64,
    queue: &'static str,
    /// Base round trips, ms.
    rtts: [u64; 2],
    /// Mean delivery rate of each flow, Mbit/s.
    published: [f64; 2],
}

const fn row(rate_mbps: u64, queue: &'static str, rtts: [u64; 2], published: [f64; 2]) -> Row {
    Row { rate_mbps, queue, rtts, published }
}

const FQ_CODEL: &str = "fq-codel";

const ROWS: [Row; 24] = [
    row(10, FQ_CODEL, [10, 10], [4.64, 4.65]),
    row(10, FQ_CODEL, [20, 10], [4.54, 4.71]),
    row(10, FQ_CODEL, [20, 20], [4.61, 4.64]),
    row(10, FQ_CODEL, [80, 20], [4.08, 5.08]),
    row(10, FQ_CODEL, [80, 80], [4.38, 4.46]),
    row(10, FQ_CODEL, [160, 10], [4.15, 5.11]),
    row(50, FQ_CODEL, [10, 10], [23.46, 23.56]),
    row(50, FQ_CODEL, [20, 10], [23.30, 23.72]),
    row(50, FQ_CODEL, [20, 20], [23.58, 23.59]),
    row(50, FQ_CODEL, [80, 20], [22.24, 24.54]),
    row(50, FQ_CODEL, [80, 80], [22.91, 23.35]),
    row(50, FQ_CODEL, [160, 10], [21.32, 25.36]),
    row(10, "200pkt", [10, 10], [4.56, 4.87]),
    row(10, "200pkt", [20, 10], [3.10, 6.34]),
    row(10, "200pkt", [20, 20], [4.65, 4.80]),
    row(10, "200pkt", [80, 20], [5.78, 3.65]),
    row(10, "200pkt", [80, 80], [4.82, 4.61]),
    row(10, "200pkt", [160, 10], [4.80, 4.63]),
    row(50, "1000pkt", [10, 10], [22.22, 25.26]),
    row(50, "1000pkt", [20, 10], [18.89, 28.60]),
    row(50, "1000pkt", [20, 20], [23.46, 24.07]),
    row(50, "1000pkt", [80, 20], [22.32, 25.14]),
    row(50, "1000pkt", [80, 80], [24.14, 23.27]),
    row(50, "1000pkt", [160, 10], [17.22, 30.27]),
];

impl Row {
    /// Both senders have a delay of their own, the line is shared. Their `htb` counts 14 bytes of Ethernet with each packet, a link
    /// here does not: a full packet of 1,500 bytes takes as long.
    fn text(&self) -> String {
        let [first, second] = self.rtts.map(|rtt| rtt * 500);
        let rate = self.rate_mbps * 1_000_000 * 1_500 / 1_514;
        let queue = self.queue;
        format!(
            r#"
duration = "180s"
[nodes]
one = {{kind = "host"}}
two = {{kind = "host"}}
router = {{kind = "switch"}}
server = {{kind = "host"}}
[[links]]
between = ["one", "router"]
rate = "1Gbit/s"
delay = "{first}us"
[[links]]
between = ["two", "router"]
rate = "1Gbit/s"
delay = "{second}us"
[[links]]
between = ["router", "server"]
rate = "{rate}bit/s"
delay = "0ms"
queue = "{queue}"
[[flows]]
from = "one"
to = "server"
jitter = "1s"
[[flows]]
from = "two"
to = "server"
jitter = "1s"
[schemes.cubic-ecn]
sender = {{profile = "linux", ecn = true, accurate_ecn = true}}
receiver = {{profile = "linux", ecn = true, accurate_ecn = true}}
"#
        )
    }

    /// What each flow delivers in the 60 s that end 2 s before the end, as they count; kbit/s.
    fn delivered(&self, seed: u64) -> [u64; 2] {
        let options = Options { seed, series: true, ..Options::default() };
        let (_, series) = bytes(&scenario(&self.text()), "cubic-ecn", &options);
        let flows = columns(&series, "flows");
        let rows: Vec<_> =
            flows["flow"].iter().zip(&flows["time_s"]).zip(&flows["delivered_bytes"]).collect();
        let until = |flow: u32, end: f64| {
            let before = rows.iter().rev().find(|((of, at), _)| **of as u32 == flow && **at <= end);
            *before.expect("a sample").1
        };
        [0, 1].map(|flow| ((until(flow, 178.0) - until(flow, 118.0)) * 8.0 / 60e3) as u64)
    }
}

/// The first flow's part of both, per mille.
fn share<T: Into<f64>>([first, second]: [T; 2]) -> f64 {
    let (first, second) = (first.into(), second.into());
    1e3 * first / (first + second)
}

/// The rows of 10 Mbit/s as whole numbers, and how near they are.
#[test]
fn two_round_trips_share_fq_codel_as_published() {
    let mut table = "rate_mbps rtts_ms first_kbps second_kbps\n".to_owned();
    for row in ROWS.iter().filter(|row| row.queue == FQ_CODEL && row.rate_mbps == 10) {
        let [first, second] = row.delivered(1);
        let [one, other] = row.rtts;
        writeln!(table, "{} {one}+{other} {first} {second}", row.rate_mbps).unwrap();
        let ours = [first, second].map(|kbps| kbps as f64);
        // They have one run a row, and its shares of equal round trips lie up to 0.5 points off a half.
        let off = share(ours) - share(row.published);
        assert!(off.abs() < 20.0, "{:?}: {off} per mille from the published share", row.rtts);
        // The most is the payload of a full line: 1,436 of 1,514 bytes, beside timestamps and accurate ECN. The least is 3 % below theirs.
        let (total, theirs) = (ours[0] + ours[1], 1e3 * (row.published[0] + row.published[1]));
        let most = 1e3 * row.rate_mbps as f64 * 1436.0 / 1514.0;
        assert!((0.97 * theirs..=most + 1.0).contains(&total), "{:?}: {total} kbit/s, {theirs}", row.rtts);
    }
    assert_golden("published.txt", &table);
}

/// The control: when a flow begins decides about its share of a drop-tail queue, not of `FQ-CoDel`.
#[test]
fn without_fq_codel_the_start_decides_about_the_share() {
    let spread = |queue| {
        let row = row(10, queue, [80, 20], [0.0; 2]);
        let mut shares = [1, 2, 3].map(|seed| share(row.delivered(seed).map(|kbps| kbps as f64)));
        shares.sort_by(f64::total_cmp);
        shares[2] - shares[0]
    };
    let (fair, tail) = (spread(FQ_CODEL), spread("200pkt"));
    assert!(fair < 5.0 && tail > 100.0, "{fair} {tail} per mille");
}

/// All rows of the figures in docs/explanation/queues.md: `cargo test -p handfast-sim --test runs published -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    for row in &ROWS {
        for seed in [1, 2, 3] {
            let of = row.delivered(seed);
            println!(
                "{} {} {:?} {:?} seed {seed}: {of:?}",
                row.rate_mbps, row.queue, row.rtts, row.published
            );
        }
    }
}
