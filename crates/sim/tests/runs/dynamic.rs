//! Published figures of `CoDel`: a link whose rate changes by two orders of magnitude, as K. Nichols and V. Jacobson simulated it in
//! ns-2 (*Controlling Queue Delay*, Communications of the ACM 55(7), 2012, "Performance on Dynamic Links" and figure 7).

use std::collections::BTreeMap;
use std::fmt::Write;

use handfast_sim::Options;
use handfast_sim::series::Collected;

use crate::series::columns;
use crate::support::{assert_golden, bytes, scenario};

/// "changed link rates at 50-second intervals (over the 300 simulated seconds)", Mbit/s.
const RATES: [f64; 6] = [100.0, 10.0, 1.0, 50.0, 1.0, 100.0];
const EVERY: f64 = 50.0;

/// "Buffer capacity is a single BDP (830 packets) for the nominal rate": of 1,500 bytes, so the round trip is 100 ms. "The same scenario
/// using 10 packet buffers, a size suitable for the 1Mbps rate."
const QUEUES: [(&str, &str); 4] = [
    ("codel-830", r#"{discipline = "codel", limit = "830pkt"}"#),
    ("tail-drop-830", r#""830pkt""#),
    ("codel-10", r#"{discipline = "codel", limit = "10pkt"}"#),
    ("tail-drop-10", r#""10pkt""#),
];

/// The mean of `PackMime`'s answers as its code has it, bytes (ns-2, `packmime/packmime_ranvar.cc`).
const MEAN_ANSWER: u64 = 2_272;

/// CUBIC of Linux 2.6 with SACK: what ns-2's `Agent/TCP/Linux` runs.
const CUBIC: &str = r#"{profile = "sack", congestion_control = "linux-2.6-cubic"}"#;

/// "four FTPs and five Web connections per second". The FTPs have that `sender`; their web is `PackMime` over Full-TCP with New
/// Reno and SACK. `web` is what one connection of it carries, bytes; none: there is no web.
fn text(queue: &str, sender: &str, web: Option<u64>) -> String {
    let mut text = format!(
        r#"
duration = "300s"
sample_interval = "5ms"
[nodes]
server = {{kind = "host"}}
router = {{kind = "switch"}}
client = {{kind = "host"}}
[[links]]
between = ["server", "router"]
rate = "1Gbit/s"
delay = "50ms"
queue = "2000pkt"
[[links]]
name = "radio"
between = ["router", "client"]
rate = "100Mbit/s"
delay = "0ms"
queue = {queue}
[[flows]]
name = "ftp"
from = "server"
to = "client"
count = 4
jitter = "1s"
[schemes.ns2]
sender = {sender}
receiver = {{profile = "sack"}}
"#
    );
    if let Some(size) = web {
        write!(
            text,
            r#"
[[flows]]
name = "web"
from = "server"
to = "client"
app = {{transfer = "{size}B"}}
count = 1499
stagger = "200ms"
jitter = "200ms"
tcp = "sack"
"#
        )
        .unwrap();
    }
    for (interval, rate) in RATES.iter().enumerate().skip(1) {
        let at = interval as f64 * EVERY;
        let event = format!("at = \"{at}s\"\ndo = \"rate\"\nlink = \"radio\"\nrate = \"{rate}Mbit/s\"\n");
        write!(text, "\n[[events]]\n{event}").unwrap();
    }
    text
}

/// What a run comes to.
struct Figures {
    /// Delivered by all flows, kilobytes.
    kilobytes: u64,
    /// Delays in the queue and the share of packets that had them.
    packets: Vec<(f64, f64)>,
    /// The same over time.
    time: Vec<(f64, f64)>,
}

/// How long a packet waits that comes at each sample: what is there, at the rate of that time; ms.
fn delays(series: &Collected, weigh: impl Fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
    let queues = columns(series, "queues");
    let rows = queues["queue"].iter().zip(&queues["time_s"]).zip(&queues["queue_bytes"]);
    // The second link's first direction.
    let rows: Vec<_> =
        rows.filter(|((queue, _), _)| **queue as u32 == 2).map(|((_, at), held)| (*at, *held)).collect();
    let of = |pair: &[(f64, f64)]| {
        let (at, held) = pair[0];
        let rate = RATES[((at / EVERY) as usize).min(RATES.len() - 1)];
        (held * 8e-3 / rate, weigh(held, rate) * (pair[1].0 - at))
    };
    let mut delays: Vec<_> = rows.windows(2).map(of).collect();
    delays.sort_by(|one, other| one.0.total_cmp(&other.0));
    delays
}

/// The delay that such a share of them is below.
fn quantile(delays: &[(f64, f64)], share: f64) -> f64 {
    let whole: f64 = delays.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    let reached = delays.iter().find(|(_, weight)| {
        below += weight;
        below >= share * whole
    });
    reached.expect("a sample").0
}

impl Figures {
    fn of(queue: &str, sender: &str, web: Option<u64>, seed: u64) -> Self {
        let options = Options { seed, series: true, ..Options::default() };
        let (_, series) = bytes(&scenario(&text(queue, sender, web)), "ns2", &options);
        let flows = columns(&series, "flows");
        let mut delivered = BTreeMap::new();
        for (flow, bytes) in flows["flow"].iter().zip(&flows["delivered_bytes"]) {
            delivered.insert(*flow as u32, *bytes as u64);
        }
        Self {
            kilobytes: delivered.values().sum::<u64>() / 1000,
            packets: delays(&series, |held, rate| if held > 0.0 { rate } else { 0.0 }),
            time: delays(&series, |_, _| 1.0),
        }
    }
}

/// What is compared with the paper: delays in milliseconds.
#[derive(Debug)]
struct Delays {
    /// Median and third quartile of all packets that are sent.
    packets: [f64; 2],
    /// What the delay is below for 95 % of the time, and what it is at most.
    time: [f64; 2],
}

impl Figures {
    fn delays(&self) -> Delays {
        Delays {
            packets: [0.5, 0.75].map(|share| quantile(&self.packets, share)),
            time: [0.95, 1.0].map(|share| quantile(&self.time, share)),
        }
    }
}

/// Without their web, which changes the figures little (docs/explanation/queues.md) and takes ten times as long.
#[test]
fn codel_follows_a_changing_rate_as_published() {
    let mut table = "queue kilobytes median_us upper_quartile_us most_of_the_time_us at_most_us\n".to_owned();
    let [codel, tail, codel_10, tail_10] = QUEUES.map(|(name, queue)| {
        let run = Figures::of(queue, CUBIC, None, 1);
        let delays = run.delays();
        write!(table, "{name} {}", run.kilobytes).unwrap();
        for delay in delays.packets.into_iter().chain(delays.time) {
            write!(table, " {}", (delay * 1e3).round()).unwrap();
        }
        table.push('\n');
        (run.kilobytes as f64, delays)
    });
    // "a median delay of 2.7ms, 75th percentile delay of 5ms, and is less than 90ms 95% of the total simulation time"
    let [median, upper] = codel.1.packets;
    assert!(median < 2.7 && (3.75..6.25).contains(&upper) && codel.1.time[0] < 90.0, "{codel:?}");
    // "Tail Drop generally keeps its buffer full … That delay can be as much as 10 seconds": 830 packets at 1 Mbit/s.
    assert!(tail.1.packets[0] > 50.0 && (9_900.0..9_960.1).contains(&tail.1.time[1]), "{tail:?}");
    // "CoDel transfers almost the same total kilobytes as Tail Drop"
    assert!(codel.0 > 0.85 * tail.0, "{codel:?} {tail:?}");
    // With 10 packets "Tail Drop and CoDel are identical", "a worst-case delay of 120ms".
    assert!((codel_10.0 / tail_10.0 - 1.0).abs() < 0.1, "{codel_10:?} {tail_10:?}");
    assert!([&codel_10, &tail_10].iter().all(|(_, delays)| (119.9..120.1).contains(&delays.time[1])));
    assert_golden("dynamic.txt", &table);
}

/// All rows of the figures in docs/explanation/queues.md: `cargo test -p handfast-sim --test runs dynamic -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let print = |name, queue, sender, web, seed| {
        let run = Figures::of(queue, sender, web, seed);
        println!("{name} {sender} web {web:?} seed {seed}: {} kB, {:.2?}", run.kilobytes, run.delays());
    };
    for (name, queue) in QUEUES {
        for seed in [1, 2, 3] {
            print(name, queue, CUBIC, Some(MEAN_ANSWER), seed);
            for sender in [CUBIC, r#""sack""#, r#""newreno""#, r#""linux""#] {
                print(name, queue, sender, None, seed);
            }
        }
    }
}
