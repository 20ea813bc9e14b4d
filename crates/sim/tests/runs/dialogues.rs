//! Applications of which one end asks and the other answers, in a roam.

use std::fmt::Write;

use crate::roams::ROAM;
use crate::support::{assert_golden, bytes, result, set};
use handfast_scenario::Scenario;
use handfast_sim::series::NoSeries;
use handfast_sim::{Control, FlowResult, Options, run};

/// Each application, with what is felt of it.
const APPS: [(&str, &str, &[&str]); 5] = [
    ("terminal", "{terminal = {}}", &["keystrokes", "echo_p50_s", "echo_p95_s", "echo_p99_s", "echo_max_s"]),
    ("http/1.1", "{page = {http = \"1.1\", think = \"500ms\"}}", PAGE),
    ("http/2", "{page = {think = \"500ms\"}}", PAGE),
    ("video", "{video = {segment = \"1s\", buffer = \"10s\"}}", VIDEO),
    ("fixed", "{video = {segment = \"1s\", buffer = \"3s\", ladder = [\"8Mbit/s\"]}}", VIDEO),
];
const PAGE: &[&str] = &["pages_loaded", "page_load_p50_s", "page_load_p95_s"];
const VIDEO: &[&str] = &[
    "video_start_s",
    "video_stalls",
    "video_stalled_s",
    "video_played_s",
    "video_mean_bps",
    "video_switches",
];

fn with_app(app: &str) -> Scenario {
    set(ROAM, &[("flows.0.app", app)])
}

/// A figure of a flow in whole numbers: seconds as milliseconds; -1: not known.
fn whole(flow: &FlowResult, key: &str) -> i64 {
    let json = serde_json::to_value(flow).unwrap();
    let scale = if key.ends_with("_s") { 1000.0 } else { 1.0 };
    json.get(key)
        .unwrap_or_else(|| panic!("{key} in {json}"))
        .as_f64()
        .map_or(-1, |value| (value * scale) as i64)
}

/// Seconds as milliseconds.
fn table() -> String {
    let mut table = String::new();
    for (word, app, keys) in APPS {
        for profile in ["reno", "linux", "linux-bbr"] {
            let flow = &result(&with_app(app), profile, 1).flows[0];
            write!(table, "{word:<8} {profile:<9} delivered_bytes={}", whole(flow, "delivered_bytes"))
                .unwrap();
            for key in keys {
                write!(table, " {key}={}", whole(flow, key)).unwrap();
            }
            table.push('\n');
        }
    }
    table
}

#[test]
fn the_table_is_as_it_was() {
    assert_golden("dialogues.txt", &table());
}

#[test]
fn a_run_is_the_same_when_every_packet_is_emitted_and_parsed() {
    for (word, app, _) in APPS {
        let scenario = with_app(app);
        let json = |verify_wire| {
            bytes(&scenario, "linux", &Options { seed: 3, verify_wire, ..Options::default() }).0
        };
        assert_eq!(json(false), json(true), "{word}");
    }
}

#[test]
fn the_seed_draws_what_a_person_does() {
    let keystrokes =
        |seed| whole(&result(&with_app("{terminal = {}}"), "linux", seed).flows[0], "keystrokes");
    let counts = [1, 2, 3, 4].map(keystrokes);
    assert_eq!(counts, [1, 2, 3, 4].map(keystrokes));
    assert!(counts.iter().any(|&count| count != counts[0]), "{counts:?}");
}

/// The client is at the receiving end: it opens the connection, and the server answers as soon as it is asked.
#[test]
fn a_keystroke_takes_a_round_trip_of_the_path() {
    let scenario = set(ROAM, &[("flows.0.app", "{terminal = {}}"), ("flows.0.stop", "3s")]);
    let flow = &result(&scenario, "linux", 1).flows[0];
    assert_eq!(flow.outcome, "closed");
    // 18 + 1 + 1 ms each way, and the wires.
    assert_eq!((whole(flow, "echo_p50_s"), whole(flow, "echo_max_s")), (40, 40));
    let json = serde_json::to_value(flow).unwrap();
    assert!(json["limit_bps"].is_null() && json["connect_s"].is_null(), "{json}");
}

/// An outage of 200 ms from 3 s on in place of the roam, and what the flow makes of it, in milliseconds.
fn stall_in_outage(app: &str, start: &str) -> (usize, i64) {
    let event = "{at = \"3s\", do = \"outage\", link = \"cn-s1\", gap = \"200ms\"}";
    let changes = [("flows.0.app", app), ("flows.0.start", start), ("events.0", event)];
    let run = result(&set(ROAM, &changes), "reno", 1);
    (run.handovers[0].flows.len(), whole(&run.flows[0], "stall_s"))
}

#[test]
fn only_who_waits_is_hit_by_an_outage() {
    // One page, which is there within a second, and then a person reads: the next one comes hours later.
    let page = "{page = {think = \"9h\", weight = \"100kB\"}}";
    assert_eq!(stall_in_outage(page, "0s"), (0, -1));
    // The HTML is asked for as the outage begins: the question goes again after the RTO.
    let (concerned, stall) = stall_in_outage(page, "2.95s");
    assert_eq!(concerned, 1);
    assert!((1..2_000).contains(&stall), "{stall}");
}

/// The SYN goes again 1 s after the first one (RFC 6298 §2.1), by Linux's timers up to 32 ms later: 900 ms after the return, with two
/// round trips to the first byte.
#[test]
fn an_outage_while_a_person_s_connection_opens_is_one() {
    let (concerned, stall) = stall_in_outage("{page = {think = \"9h\", weight = \"100kB\"}}", "3.1s");
    assert_eq!(concerned, 1);
    assert!((980..=1_012).contains(&stall), "{stall}");
}

/// Whichever of its connections brings the last object: the next page is asked for.
#[test]
fn a_person_reads_on_by_six_connections() {
    let app = "{page = {http = \"1.1\", think = \"100ms\", weight = \"200kB\"}}";
    let flow = &result(&with_app(app), "linux", 1).flows[0];
    assert!(whole(flow, "pages_loaded") > 15, "{flow:?}");
    assert_eq!(whole(flow, "connections"), 6);
}

#[test]
fn a_layer_over_connections_does_not_carry_it() {
    let scheme = "[schemes.layer]\nsender = \"linux\"\nagents = [{kind = \"iosl\", at = \"role:mobile\", peers = \"fixed\"}]\n";
    let text = ROAM.replace("mn = {kind = \"station\"}", "mn = {kind = \"station\", role = \"mobile\"}");
    let text = text.replace("cn = {kind = \"host\"}", "cn = {kind = \"host\", role = \"fixed\"}") + scheme;
    let scenario = set(&text, &[("flows.0.app", "{terminal = {}}")]);
    let scheme = scenario.scheme("layer").unwrap();
    let error = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
    assert!(error.to_string().contains("`terminal` asks and is answered"), "{error}");
}
