//! Links on the air: what stations get of their access point's airtime.

use crate::support::{edited, result, scenario, set};
use handfast_results::result::RunResult;

/// A wire of 100 Mbit/s, an access point, and stations with these keys of their links and a flow to each.
pub(crate) fn cell(stations: &[&str], uploads: bool) -> String {
    let numbered = |table: &dyn Fn(usize) -> String| (0..stations.len()).map(table).collect::<String>();
    let nodes = numbered(&|k| format!("mn{k} = {{kind = \"station\"}}\n"));
    let links = numbered(&|k| {
        let keys = stations[k];
        format!("[[links]]\nbetween = [\"ap\", \"mn{k}\"]\ndelay = \"1us\"\nqueue = \"60pkt\"\n{keys}\n")
    });
    let flows = numbered(&|k| {
        let (mn, cn) = (format!("mn{k}"), "cn".to_owned());
        let (from, to) = if uploads { (mn, cn) } else { (cn, mn) };
        format!("[[flows]]\nname = \"f{k}\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
    });
    let wire = "[[links]]\nbetween = [\"cn\", \"ap\"]\nrate = \"100Mbit/s\"\ndelay = \"5ms\"\n";
    let head = "duration = \"10s\"\n[nodes]\ncn = {kind = \"host\"}\nap = {kind = \"ap\"}\n";
    [head, &nodes, wire, &links, &flows].concat()
}

const FAST: &str = "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\"}";
const SLOW: &str = "rate = \"6Mbit/s\"\nair = {standard = \"802.11g\"}";

fn run(text: &str) -> RunResult {
    result(&scenario(text), "linux", 1)
}

/// Each flow's goodput in Mbit/s.
pub(crate) fn shares(run: &RunResult) -> Vec<f64> {
    run.flows.iter().map(|flow| flow.metrics.goodput_bps().unwrap() / 1e6).collect()
}

#[test]
fn a_lone_station_gets_what_frames_and_acknowledgments_leave() {
    let run = run(&cell(&[FAST], false));
    let [share] = shares(&run)[..] else { panic!() };
    // 1,448 bytes in 393 us of the packet, and half of the 163 us of an acknowledgment of 52 bytes.
    assert!((22.0..25.5).contains(&share), "{share}");
    let limit = run.flows[0].metrics.limit_bps().unwrap() / 1e6;
    // 11,584 bits in 393 us; the start costs a little.
    assert!((limit - 29.475).abs() < 0.05, "{limit}");
}

#[test]
fn a_slow_station_slows_the_fast_one_to_its_own_pace() {
    // Heusse et al. 2003: turns are frames, not time.
    let alone = shares(&run(&cell(&[FAST, FAST], false)));
    let beside = shares(&run(&cell(&[FAST, SLOW], false)));
    let ratio = |shares: &[f64]| shares[0] / shares[1];
    assert!((0.7..1.4).contains(&ratio(&alone)), "{alone:?}");
    assert!((0.7..1.5).contains(&ratio(&beside)), "{beside:?}");
    assert!(alone.iter().sum::<f64>() > 20.0 && beside.iter().sum::<f64>() < 9.0, "{alone:?} {beside:?}");
}

/// What docs/explanation/radio.md has a table of: `cargo test -p handfast-sim --test runs air::figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let old = FAST.replace("802.11g", "802.11b/g");
    let b = "rate = \"11Mbit/s\"\nair = {standard = \"802.11b\"}";
    for stations in [&[FAST][..], &[FAST; 2], &[FAST; 4], &[FAST, SLOW], &[&old], &[b]] {
        let run = result(&scenario(&cell(stations, false)), "linux", 1);
        let of_each = |value: &dyn Fn(&handfast_results::metrics::Values) -> Option<f64>| {
            let all = run.flows.iter().map(|flow| format!("{:.1}", value(&flow.metrics).unwrap() / 1e6));
            all.collect::<Vec<_>>().join(", ")
        };
        let (goodput, limit) = (of_each(&|of| of.goodput_bps()), of_each(&|of| of.limit_bps()));
        println!("{}: {goodput} of {limit}", stations.join(" / ").replace('\n', ", "));
    }
}

#[test]
fn stations_that_send_share_with_each_other() {
    let shares = shares(&run(&cell(&[FAST; 4], true)));
    let total: f64 = shares.iter().sum();
    assert!((20.0..26.0).contains(&total), "{shares:?}");
    assert!(shares.iter().all(|share| (total / 8.0..total / 2.5).contains(share)), "{shares:?}");
}

#[test]
fn wrong_frames_cost_airtime_first_and_packets_only_when_all_attempts_are() {
    let with = |errors: &str| {
        let station = format!("rate = \"54Mbit/s\"\nair = {{standard = \"802.11g\", {errors}}}");
        // A window that no queue overflows with.
        let window = "\n[tcp]\nreceive_buffer = \"40kB\"\nreceive_autotuning = false\n";
        run(&(cell(&[&station], false) + window))
    };
    let clean = with("bit_errors = 0");
    // 11.6 % of frames of 1,536 bytes: one packet in three million is lost.
    let some = with("bit_errors = 1e-5");
    let goodput = |run: &RunResult| shares(run)[0];
    assert!(
        (0.75..0.95).contains(&(goodput(&some) / goodput(&clean))),
        "{} {}",
        goodput(&some),
        goodput(&clean)
    );
    let lost = |run: &RunResult| run.flows[0].metrics.lost_segments().unwrap();
    assert_eq!([lost(&clean), lost(&some)], [0, 0]);
    // 71 %: a packet in eleven is lost after seven attempts.
    let many = with("bit_errors = 1e-4");
    assert!(lost(&many) > 10, "{}", lost(&many));
    // One attempt loses what seven repair.
    let once = with("bit_errors = 1e-5, attempts = 1");
    assert!(lost(&once) > 50, "{}", lost(&once));
    // What passes for right is lost to TCP's checksum, after no repetition.
    let wrong = with("bit_errors = 1e-5, undetected = 1");
    assert!(lost(&wrong) > 50 && goodput(&wrong) < goodput(&some), "{}", lost(&wrong));
}

const WALK: &str = include_str!("../../../../scenarios/wifi-walk.toml");

#[test]
fn rates_follow_the_signal_of_a_station_that_walks_away() {
    // The rate of the link goes, so that it follows the signal. Without `range` the access point is understood as far as
    // 6 Mbit/s must be; 240 m in a minute.
    let text = edited(&edited(WALK, "link = {rate = \"54Mbit/s\", ", "link = {"), ", range = \"33m\"", "");
    let changes = [
        ("radio.air.standard", "802.11g"),
        ("nodes.ap2.at", "[90000, 0]"),
        ("nodes.mn.mobility.linear.towards", "[2000, 0]"),
        ("nodes.mn.mobility.linear.speed", "4m/s"),
        ("links.0.rate", "100Mbit/s"),
    ];
    let run = result(&set(&text, &changes), "bare", 1);
    let (limit, goodput) =
        (run.flows[0].metrics.limit_bps().unwrap() / 1e6, run.flows[0].metrics.goodput_bps().unwrap() / 1e6);
    // 20 dBm: -65 dBm at 176 m (free space), -69 dBm at 255 m (beyond the crossover at 227 m), where the minute ends.
    assert!((15.0..28.0).contains(&limit) && goodput < limit, "{limit} {goodput}");
}

#[test]
fn a_roam_loses_what_waits_for_the_old_medium() {
    let text = cell(&[FAST], false)
        + "[[links]]\nbetween = [\"s\", \"ap2\"]\nrate = \"100Mbit/s\"\ndelay = \"5ms\"\n"
        + "[[links]]\nbetween = [\"ap2\", \"mn0\"]\ndelay = \"1us\"\nqueue = \"60pkt\"\n"
        + FAST
        + "\n[[links]]\nbetween = [\"cn\", \"s\"]\nrate = \"1Gbit/s\"\ndelay = \"1us\"\n"
        + "[[events]]\nat = \"5s\"\ndo = \"handover\"\nstation = \"mn0\"\nto = \"ap2\"\ngap = \"300ms\"\n";
    let network = |at| {
        let switch = ("nodes.s.kind", "switch");
        let wire = ("links.cn-ap.between", "[\"s\", \"ap\"]");
        set(&text, &[("nodes.ap2.kind", "ap"), switch, wire, ("events.0.at", at)])
    };
    let with = result(&network("5s"), "linux", 1);
    assert_eq!(with.handovers.len(), 1);
    assert!(with.handovers[0].stall_s.is_some());
    assert!(shares(&with)[0] > 15.0);
    let stays = result(&network("9999ms"), "linux", 1);
    let lost = |run: &RunResult| run.flows[0].metrics.lost_segments().unwrap();
    // The queue of 60 packets, and what was sent meanwhile.
    assert!(lost(&with) > lost(&stays) + 20, "{} {}", lost(&with), lost(&stays));
}
