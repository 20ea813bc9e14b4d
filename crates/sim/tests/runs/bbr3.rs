//! BBR version 3 over whole paths: what the draft (draft-ietf-ccwg-bbr) says that it does, beside the kernel's version 1 and CUBIC.

use handfast_sim::Options;

use crate::bbr::{FLOW, goodputs, network};
use crate::series::columns;
use crate::support::{bytes, result, scenario};

/// A download over that path, with more to say of it.
fn path(seconds: u64, link: &str, rest: &str) -> String {
    network(seconds, link) + FLOW + rest
}

/// A column of the flow's time series beside its times.
fn over_time(text: &str, name: &str) -> Vec<(f64, f64)> {
    let options = Options { seed: 1, series: true, ..Options::default() };
    let (_, series) = bytes(&scenario(text), "bbr3", &options);
    let flow = columns(&series, "flows");
    flow["time_s"].iter().copied().zip(flow[name].iter().copied()).collect()
}

#[test]
fn every_five_seconds_half_of_the_path_shows_the_shortest_round_trip() {
    // §5.3.4.1: "Up to once every BBR.ProbeRTTInterval = 5 seconds", for 200 ms, at half of the 67 segments.
    let cwnd = over_time(&path(31, "queue = \"200pkt\"", ""), "cwnd_pkt");
    let small: Vec<(f64, f64)> = cwnd.into_iter().filter(|(at, cwnd)| *at > 1.0 && *cwnd < 60.0).collect();
    let spells: Vec<&[(f64, f64)]> = small.chunk_by(|a, b| b.0 - a.0 < 1.0).collect();
    assert_eq!(spells.len(), 5, "{small:?}");
    for spell in &spells {
        let lasts = spell[spell.len() - 1].0 - spell[0].0;
        assert!((0.2..0.3).contains(&lasts), "{spell:?}");
        assert!(spell.iter().all(|(_, cwnd)| (31.0..36.0).contains(cwnd)), "{spell:?}");
    }
    let begins: Vec<f64> = spells.iter().map(|spell| spell[0].0).collect();
    assert!((5.0..5.2).contains(&begins[0]), "{begins:?}");
    assert!(begins.windows(2).all(|two| (5.15..5.35).contains(&(two[1] - two[0]))), "{begins:?}");
}

/// Segments sent and lost over a minute by a download through a queue of so many.
fn lost(scheme: &str, queue: u32) -> (u64, u64, f64) {
    let run = result(&scenario(&path(60, &format!("queue = \"{queue}pkt\""), "")), scheme, 1);
    let flow = &run.flows[0].metrics;
    (flow.data_segments_sent().unwrap(), flow.lost_segments().unwrap(), goodputs(&run)[0])
}

#[test]
fn a_shallow_queue_loses_less_than_two_in_a_hundred() {
    // §3.2: "a maximum per-round-trip packet loss rate of BBR.LossThresh=2% (and an average packet loss rate considerably lower)".
    // Queues of a tenth and of a fifth of the path; version 1, which knows no bound, is the control.
    for queue in [7, 13] {
        let (sent, few, goodput) = lost("bbr3", queue);
        assert!(few * 100 < sent, "{few} of {sent}");
        assert!(few > 0 && goodput > 17.0, "{few} segments, {goodput} Mbit/s");
        let (sent, many, _) = lost("linux-bbr", queue);
        assert!(many * 100 > 2 * sent && many > 10 * few, "{many} of {sent}, {few}");
    }
}

/// What the first of two downloads gets of both, the other one by `other`, through a queue of so many segments: the median of five
/// runs.
fn share(scheme: &str, other: &str, queue: u32) -> f64 {
    let both = format!(
        "jitter = \"1s\"\n[[flows]]\nfrom = \"server\"\nto = \"client\"\njitter = \"1s\"\ntcp = \"{other}\"\n"
    );
    let network = scenario(&path(60, &format!("queue = \"{queue}pkt\""), &both));
    let mut shares = [1, 2, 3, 4, 5].map(|seed| {
        let both = goodputs(&result(&network, scheme, seed));
        assert!(both[0] + both[1] > 16.5, "{both:?}");
        both[0] / (both[0] + both[1])
    });
    shares.sort_by(f64::total_cmp);
    shares[2]
}

#[test]
fn cubic_and_reno_keep_a_third_beside_it_in_short_queues_and_in_deep_ones() {
    // A fifth of the path, and five times as much.
    for queue in [13, 333] {
        for (other, most) in [("linux", 0.7), ("linux-reno", 0.75)] {
            let share = share("bbr3", other, queue);
            assert!((0.35..most).contains(&share), "{share} beside {other}, {queue}");
        }
        let share = share("bbr3", "bbr3", queue);
        assert!((0.4..0.6).contains(&share), "{share} of its own kind, {queue}");
    }
    let share = share("linux-bbr", "linux", 13);
    assert!(share > 0.9, "{share}: version 1 leaves nothing");
}

#[test]
fn ten_times_the_bandwidth_is_found_within_a_probe() {
    // "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached": 200 Mbit/s from the tenth second on.
    let event = "[[events]]\nat = \"10s\"\ndo = \"rate\"\nlink = \"path\"\nrate = \"200Mbit/s\"\n";
    let delivered = over_time(&path(20, "queue = \"100pkt\"", event), "delivered_bytes");
    let by = |second: f64| delivered.iter().find(|(at, _)| *at >= second).unwrap().1;
    let mbps = (by(19.0) - by(14.0)) * 8.0 / 5.0 / 1e6;
    assert!(mbps > 170.0, "{mbps} Mbit/s");
}

#[test]
fn a_tenth_of_the_bandwidth_is_known_when_two_cycles_have_passed() {
    // "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down": 2 Mbit/s from the tenth second on. Two cycles
    // take eleven seconds: with a full queue a round trip takes 640 ms.
    let event = "[[events]]\nat = \"10s\"\ndo = \"rate\"\nlink = \"path\"\nrate = \"2Mbit/s\"\n";
    let text = path(40, "queue = \"100pkt\"", event);
    let (sent, delivered) = (over_time(&text, "sent_bytes"), over_time(&text, "delivered_bytes"));
    let by = |column: &[(f64, f64)], second: f64| column.iter().find(|(at, _)| *at >= second).unwrap().1;
    let [sent, delivered] = [sent, delivered].map(|column| by(&column, 39.9) - by(&column, 22.0));
    assert!(delivered * 8.0 / 17.9 > 1.85e6, "{delivered} bytes");
    assert!(sent < 1.02 * delivered, "{sent} of {delivered} bytes");
}

#[test]
fn one_loss_in_a_hundred_is_borne_and_three_are_not() {
    // "Achieved with average packet loss rates of up to 1%" (§3.1); above 2 % it takes what is lost for its own doing.
    let of = |scheme, loss| {
        let text = path(60, &format!("queue = \"100pkt\"\nloss = {loss}"), "");
        goodputs(&result(&scenario(&text), scheme, 1))[0]
    };
    let [bbr, cubic] = ["bbr3", "linux"].map(|scheme| of(scheme, 0.01));
    assert!(bbr > 0.7 * 20.0 && bbr > 4.0 * cubic, "{bbr} and {cubic} Mbit/s");
    let [bbr, first] = ["bbr3", "linux-bbr"].map(|scheme| of(scheme, 0.03));
    assert!(bbr < 0.5 * first, "{bbr} and {first} Mbit/s");
}

#[test]
fn it_comes_back_from_three_seconds_without_a_link() {
    let outage = "[[events]]\nat = \"6s\"\ndo = \"outage\"\nlink = \"path\"\ngap = \"3s\"\n";
    let run = result(&scenario(&path(20, "queue = \"100pkt\"", outage)), "bbr3", 1);
    let all = &run.aggregate;
    // Seventeen of twenty seconds, less the timer's last doubling.
    let [goodput, stall, full] =
        [goodputs(&run)[0], all.stall_s().unwrap(), all.time_to_full_rate_s().unwrap()];
    assert!(goodput > 14.5 && stall < 1.2 && full < 1.5, "{goodput} Mbit/s, {stall} s, {full} s");
    assert_eq!(all.timeouts(), Some(4));
}

/// What docs/explanation/shares.md says of losses, medians of five runs:
/// `cargo test --release -p handfast-sim --test runs bbr3::figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let queues = [3, 7, 13, 67].map(|queue| format!("queue = \"{queue}pkt\""));
    let losses = [0.001, 0.01, 0.02, 0.03].map(|loss| format!("queue = \"100pkt\"\nloss = {loss}"));
    for link in queues.iter().chain(&losses) {
        let of_each = ["bbr3", "linux-bbr", "linux"].map(|scheme| {
            let network = scenario(&path(60, link, ""));
            let runs = [1, 2, 3, 4, 5].map(|seed| result(&network, scheme, seed));
            let median = |mut values: [f64; 5]| {
                values.sort_by(f64::total_cmp);
                values[2]
            };
            let lost = median(runs.each_ref().map(|run| {
                let flow = &run.flows[0].metrics;
                100.0 * flow.lost_segments().unwrap() as f64 / flow.data_segments_sent().unwrap() as f64
            }));
            format!("{scheme} {lost:.2}, {:.1}", median(runs.each_ref().map(|run| goodputs(run)[0])))
        });
        println!("{}: {}", link.replace('\n', ", "), of_each.join("; "));
    }
}
