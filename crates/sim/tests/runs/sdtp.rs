//! SDTP in whole runs: the network of [sdtp], Figure 5.

use std::fmt::Write;

use handfast_sim::{Options, RunResult};

use crate::support::{bytes, counted, edited, result, scenario, set};

/// Two hosts, five switches; a write of 1,000 bytes every 15 ms.
fn line(keys: &str) -> String {
    let mut text = String::from(
        "duration = \"8s\"\n[nodes]\na = {kind = \"host\"}\nb = {kind = \"host\"}\n\
         ctl = {kind = \"controller\", role = \"controller\"}\n",
    );
    (1..6).for_each(|switch| writeln!(text, "s{switch} = {{kind = \"switch\"}}").unwrap());
    for (from, to, ms) in
        [("a", "s1", 20), ("s1", "s2", 5), ("s2", "s3", 5), ("s3", "s4", 5), ("s4", "s5", 5), ("s5", "b", 20)]
    {
        let ends = format!("name = \"{from}-{to}\"\nbetween = [\"{from}\", \"{to}\"]");
        writeln!(text, "[[links]]\n{ends}\nrate = \"1Gbit/s\"\ndelay = \"{ms}ms\"").unwrap();
    }
    let agent = |more: &str| format!("[{{kind = \"sdtp\", at = \"role:controller\"{more}}}]");
    write!(
        text,
        "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {{paced = {{size = \"1000B\", interval = \"15ms\"}}}}\n{keys}\n\
         [schemes.linux]\nsender = \"linux\"\n\
         [schemes.sdtp]\nsender = \"linux\"\nagents = {}\n\
         [schemes.slow]\nsender = \"linux\"\nagents = {}\n\
         [schemes.nowhere]\nsender = \"linux\"\nagents = {}\n\
         [schemes.unsealed]\nsender = \"linux\"\nagents = {}\n",
        agent(""),
        agent(", control_delay = \"32.5ms\""),
        agent(", placement = \"nowhere\""),
        agent(", seal = false"),
    )
    .unwrap();
    text
}

/// The same loss on the four links between switches, in both directions.
const LOSS: [(&str, &str); 4] = [
    ("links.s1-s2.loss", "0.01"),
    ("links.s2-s3.loss", "0.01"),
    ("links.s3-s4.loss", "0.01"),
    ("links.s4-s5.loss", "0.01"),
];

#[test]
fn the_handshake_takes_the_access_links_and_the_controller() {
    let network = scenario(&line("measure = [\"connect\"]"));
    // Claim sdtp-6: 180 ms, and 80 ms + 2 c; c is twice `control_delay`. Bits take microseconds.
    for (scheme, expected) in [("linux", 0.180), ("sdtp", 0.100), ("slow", 0.210)] {
        let run = result(&network, scheme, 1);
        let took = run.flows[0].metrics.connect_s().unwrap();
        assert!((took - expected).abs() < 1e-4, "{scheme}: {took}");
    }
    let run = result(&network, "sdtp", 1);
    let count = |name| counted(&run, name);
    assert_eq!((count("controller_packet_ins"), count("controller_packet_outs")), (2, 2));
    // The client has data at once, which the edge may not drop: there is no bare ACK.
    assert_eq!((count("closing_acks"), count("dropped_acks"), count("connections")), (1, 0, 2));
}

#[test]
fn of_a_silent_client_the_edge_drops_the_closing_ack() {
    let network = scenario(
        &line("measure = [\"connect\"]\nconnections = 3")
            .replace("{paced = {size = \"1000B\", interval = \"15ms\"}}", "\"silent\""),
    );
    let hops = |scheme| result(&network, scheme, 1).packet_hops;
    // Claim sdtp-hs: three packets over six links; with SDTP each packet crosses access links only.
    assert_eq!((hops("linux"), hops("sdtp")), (Some(3 * 18), Some(3 * 6)));
    let run = result(&network, "sdtp", 1);
    assert_eq!((counted(&run, "closing_acks"), counted(&run, "dropped_acks")), (3, 3));
    assert!((run.flows[0].metrics.connect_s().unwrap() - 0.100).abs() < 1e-4);
}

/// A station that two access points have a radio link to, and the network between them and a host.
const STATION: &str = r#"
duration = "12s"
[nodes]
cn = {kind = "host"}
s1 = {kind = "switch"}
ap1 = {kind = "ap"}
ap2 = {kind = "ap"}
mn = {kind = "station", ap = "ap1"}
ctl = {kind = "controller", role = "controller"}
"#;

#[test]
fn a_station_is_behind_the_access_point_with_which_it_begins() {
    let mut text = STATION.to_owned();
    for (from, to) in [("cn", "s1"), ("s1", "ap1"), ("s1", "ap2"), ("ap1", "mn"), ("ap2", "mn")] {
        let link = "rate = \"20Mbit/s\"\ndelay = \"5ms\"";
        writeln!(text, "[[links]]\nbetween = [\"{from}\", \"{to}\"]\n{link}").unwrap();
    }
    text += "[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n\
             [schemes.sdtp]\nsender = \"linux\"\nagents = [{kind = \"sdtp\", at = \"role:controller\"}]\n";
    let run = result(&set(&text, &[("links.s1-ap1.loss", "0.01")]), "sdtp", 1);
    assert!(counted(&run, "repeats") > 50 && run.aggregate.goodput_bps().unwrap() > 15e6);
    // What the first edge reverts finds it after a roam too, and what it sends itself is plain TCP.
    let roam = "[{do = \"handover\", at = \"4s\", station = \"mn\", to = \"ap2\", gap = \"100ms\"}]";
    let run = result(&set(&text, &[("events", roam)]), "sdtp", 1);
    assert!(counted(&run, "converted") > 1_000);
    let last = run.flows[0].metrics.last_byte_s().unwrap();
    assert!(last > 11.5, "{last}");
}

#[test]
fn of_some_figures_the_node_that_has_most_counts() {
    let run = result(&set(&line(""), &LOSS), "sdtp", 1);
    let count = |name| counted(&run, name);
    let requests = count("requests_count") + count("requests_time") + count("requests_timeout");
    let (most, cached) = (count("requests_of_one"), count("cache_bytes_of_one"));
    assert!(most < requests && 2 * most >= requests, "two segments: {most} of {requests}");
    assert!(cached < count("cache_bytes") && 4 * cached >= count("cache_bytes"), "four caches");
}

#[test]
fn without_losses_nothing_is_asked_for_and_the_same_bytes_arrive() {
    let network = scenario(&line(""));
    let (plain, sdtp) = (result(&network, "linux", 1), result(&network, "sdtp", 1));
    let delivered = |run: &RunResult| run.aggregate.delivered_bytes().unwrap();
    // The handshake is 80 ms shorter: that is five writes.
    assert!((0..=6_000).contains(&(delivered(&sdtp) - delivered(&plain))), "{}", delivered(&sdtp));
    assert_eq!(sdtp.aggregate.retransmitted_segments(), Some(0));
    for name in ["requests_count", "requests_timeout", "strangers", "unconverted", "forged"] {
        assert_eq!(counted(&sdtp, name), 0, "{name}");
    }
    // As the connection begins, packets come in pairs and then in pauses: a node that asks by time guesses wrong a few times.
    assert!(counted(&sdtp, "repeats") <= 4, "{}", counted(&sdtp, "repeats"));
    assert!(counted(&sdtp, "notifications") > 100, "caches are released");
}

#[test]
fn losses_are_repaired_in_the_path() {
    let network = set(&line(""), &LOSS);
    let of = |scheme| {
        let runs = (1..=5).map(|seed| result(&network, scheme, seed));
        runs.map(|run| run.aggregate.retransmitted_segments().unwrap()).sum::<u64>()
    };
    let [plain, sdtp, nowhere] = ["linux", "sdtp", "nowhere"].map(of);
    assert!(plain > 30 && nowhere > 30, "{plain}, {nowhere}: what is lost has to be repeated");
    assert!(
        sdtp * 5 < plain.min(nowhere),
        "{sdtp} by the sender with SDTP, {plain} without, {nowhere} without repair"
    );
}

#[test]
fn genuine_messages_are_never_refused_sealed_or_not() {
    let network = set(&line(""), &LOSS);
    for seed in 1..=3 {
        let [sealed, unsealed] = ["sdtp", "unsealed"].map(|scheme| result(&network, scheme, seed));
        for run in [&sealed, &unsealed] {
            assert_eq!((counted(run, "unsealed"), counted(run, "replayed")), (0, 0));
            assert!(counted(run, "repeats") > 10);
        }
        let [one, other] = [&sealed, &unsealed].map(|run| run.aggregate.delivered_bytes().unwrap());
        assert!(one.abs_diff(other) * 20 < other, "{one}, {other}");
    }
}

#[test]
fn every_byte_comes_once_whatever_the_links_do() {
    // The receiver checks each byte's offset. Twenty transfers at once, and every kind of trouble.
    let flows =
        "\n[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {transfer = \"60kB\"}\ncount = 20\nstagger = \"50ms\"";
    let mut changes = LOSS.to_vec();
    changes.extend([
        ("links.s1-s2.duplicate", "0.02"),
        ("links.s2-s3.reorder", "{probability = 0.05, by = \"3ms\"}"),
        ("links.a-s1.loss", "0.01"),
        ("links.s5-b.loss", "0.01"),
        ("links.s3-s4.queue", "\"20pkt\""),
        ("links.s3-s4.rate", "\"5Mbit/s\""),
        ("duration", "\"60s\""),
    ]);
    let network = set(&line(flows), &changes);
    for seed in 1..=10 {
        let run = result(&network, "sdtp", seed);
        assert_eq!(counted(&run, "unsealed"), 0);
        for flow in &run.flows[1..] {
            assert_eq!(flow.metrics.delivered_bytes(), Some(60_000), "seed {seed}, {}", flow.flow);
        }
    }
}

#[test]
fn packets_survive_the_wire_in_every_carriage() {
    for carriage in ["native", "ip", "udp"] {
        let text = line("").replace("placement = \"nowhere\"", &format!("carriage = \"{carriage}\""));
        let network = set(&text, &LOSS);
        let of = |verify_wire| {
            bytes(&network, "nowhere", &Options { seed: 1, verify_wire, ..Options::default() }).0
        };
        assert_eq!(of(true), of(false), "{carriage}");
    }
}

/// A call on the same line, both ways.
fn call() -> String {
    let datagrams = "\n[[flows]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\n\
                     app = {datagrams = {size = \"160B\", interval = \"20ms\"}}";
    let text = line(datagrams).replace("duration = \"8s\"", "duration = \"20s\"");
    text.replace("placement = \"nowhere\"", "protect = \"all\"")
}

#[test]
fn datagrams_are_repaired_where_everything_is_protected() {
    let network = set(&call(), &LOSS);
    let lost = |run: &RunResult| run.flows[1].metrics.lost_datagrams().unwrap();
    // Not those before the controller has answered, nor those that an edge's own link loses.
    let of = |scheme| (1..=5).map(|seed| result(&network, scheme, seed)).collect::<Vec<_>>();
    let [tcp, all] = ["sdtp", "nowhere"].map(of);
    let total = |runs: &[RunResult]| runs.iter().map(lost).sum::<u64>();
    assert!(total(&tcp) > 100, "{}: SDTP protects TCP alone", total(&tcp));
    assert!(total(&all) * 20 < total(&tcp), "{} of {}", total(&all), total(&tcp));
    for run in &all {
        // Two before the controller has answered.
        assert!((995..=1000).contains(&counted(run, "protected")), "{}", counted(run, "protected"));
        assert_eq!((counted(run, "strangers"), counted(run, "too_long")), (0, 0));
        // A repair takes a round trip of a segment, 20 ms, and the time until it is missed.
        let p99 = run.flows[1].metrics.delay_p99_s().unwrap();
        assert!((0.060..0.120).contains(&p99), "{p99}");
    }
}

#[test]
fn what_does_not_fit_the_core_passes_as_it_is() {
    let text = call().replace("size = \"160B\"", "size = \"1472B\"");
    let run = result(&set(&text, &LOSS), "nowhere", 1);
    assert!(counted(&run, "too_long") > 990, "{}", counted(&run, "too_long"));
    assert_eq!(counted(&run, "protected"), 0);
    assert!(run.flows[1].metrics.received_datagrams().unwrap() > 900, "it passes");
}

#[test]
fn whole_packets_survive_the_wire() {
    let network = set(&call(), &LOSS);
    let of =
        |verify_wire| bytes(&network, "nowhere", &Options { seed: 1, verify_wire, ..Options::default() }).0;
    assert_eq!(of(true), of(false));
}

/// A snapshot: each link loses 10 %, so that repairs are lost as well. Delivered bytes; parity sent, what it has brought back, RR
/// for RD that did not come, RD that brought nothing.
#[test]
fn parity_brings_back_what_a_repair_would_have_to() {
    let text = line("").replace("seal = false", "parity = true");
    let lossy = LOSS.map(|(link, _)| (link, "0.1"));
    let network = set(&text, &lossy);
    let [without, with] = ["sdtp", "unsealed"].map(|scheme| {
        let run = result(&network, scheme, 1);
        let counts =
            ["parities", "recovered", "requests_timeout", "needless_repeats"].map(|name| counted(&run, name));
        (run.aggregate.delivered_bytes().unwrap(), counts)
    });
    assert_eq!((without, with), ((524_104, [0, 0, 57, 87]), (478_944, [215, 24, 44, 107])));
}

/// RFC 8985 §6.2: a receiving edge that holds packets no longer than RACK's window shows the hosts holes that repairs fill.
#[test]
fn below_the_window_of_rack_an_edge_shows_holes_that_are_filled() {
    let bulk = "app = {paced = {size = \"1000B\", interval = \"15ms\"}}";
    let text = edited(&edited(&line(""), bulk, "app = \"bulk\""), "1Gbit/s", "20Mbit/s");
    let text = edited(&text, "duration = \"8s\"", "duration = \"20s\"");
    let run = |resequencing: &str| {
        let key = ("schemes.sdtp.agents.0.resequencing", resequencing);
        let lossy = LOSS.map(|(path, _)| (path, "0.03"));
        let network = set(&text, &[&lossy[..], &[key]].concat());
        // Few of the runs have most of them.
        (1..=24).map(|seed| counted(&result(&network, "sdtp", seed), "duplicates_reported")).sum::<u64>()
    };
    // A quarter of 130 ms, and as long as a loss is repaired.
    let (short, long) = (run("30ms"), run("200ms"));
    assert!(short > 3 * long.max(1), "{short} {long}");
}
