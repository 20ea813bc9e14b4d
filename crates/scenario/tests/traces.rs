//! Traces of links: where they come from, and what they replace.

use std::fs;
use std::path::PathBuf;

use handfast_core::{BitRate, Duration};
use handfast_net::trace::{Generator, Way};
use handfast_scenario::{LinkTrace, Scenario, ScenarioError};

const BASE: &str = include_str!("errors/base.toml");

fn set(name: &str, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
    Scenario::parse(BASE, name, &overrides)
}

/// A folder with a trace in it, and the name of a scenario beside that.
fn folder(name: &str, trace: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("traces")).unwrap();
    fs::write(folder.join("traces/slow.csv"), trace).unwrap();
    folder.join("base.toml").to_str().unwrap().to_owned()
}

const SLOW: &str = "time_s,rate_mbps,delay_ms\n0,2,30\n1,4,20\n4,0,0\n";
const FILE: (&str, &str) = ("links.radio.forward.trace", r#"{file = "traces/slow.csv"}"#);

#[test]
fn the_path_of_a_trace_begins_where_the_scenario_is() {
    let scenario = set(&folder("there", SLOW), &[FILE]).unwrap();
    let forward = &scenario.links[1].forward;
    // Where one value stands for all: the mean rate, and the shortest delay.
    assert_eq!((forward.rate, forward.delay), (BitRate::from_bps(3_500_000), Duration::from_millis(20)));
    assert_eq!(
        scenario.links[1].backward.rate,
        BitRate::from_bps(20_000_000),
        "the other direction has its own"
    );
    assert_eq!(scenario.traces.keys().collect::<Vec<_>>(), [&(1, 0)]);
    let why = set("elsewhere/base.toml", &[FILE]).unwrap_err();
    assert!(why.message.contains("`traces/slow.csv` cannot be read"), "{why}");
}

#[test]
fn the_files_that_links_follow_are_named() {
    let name = folder("named", SLOW);
    let files = |overrides: &[_]| set(&name, overrides).unwrap().trace_files.into_iter().collect::<Vec<_>>();
    let absent = ("links.radio.forward.trace", r#"{file = "absent"}"#);
    let both = ("links.radio.backward.trace", r#"{file = "traces/slow.csv", end = "hold"}"#);
    assert_eq!(files(&[absent, FILE, both]), ["traces/slow.csv"], "not what an override has replaced; once");
    assert!(files(&[("links.radio.trace.text", "5\n10\n")]).is_empty());
}

#[test]
fn the_hash_is_of_what_the_file_holds() {
    let hash = |name, text| set(&folder(name, text), &[FILE]).unwrap().hash;
    let (first, same, other) = (hash("one", SLOW), hash("two", SLOW), hash("three", &SLOW.replace('4', "5")));
    assert!(first == same && first != other && first != set("base.toml", &[]).unwrap().hash);
    let drawn = |what: &str| set("base.toml", &[("links.radio.trace.generate", what)]).unwrap().hash;
    assert!(drawn("train") != drawn("mmwave"));
}

#[test]
fn what_a_trace_does_not_say_is_the_links() {
    let text = [("links.radio.trace.text", "5\n10\n"), ("links.radio.trace.end", "hold")];
    let scenario = set("base.toml", &text).unwrap();
    let LinkTrace::Recorded(trace) = &scenario.traces[&(1, 1)] else { panic!("recorded") };
    assert!(trace.has_rate() && !trace.has_delay() && !trace.has_loss());
    assert_eq!(scenario.links[1].backward.delay, Duration::from_millis(19));
    // Two packets in ten milliseconds.
    assert_eq!(scenario.links[1].backward.rate, BitRate::from_bps(24_000));
}

#[test]
fn both_directions_are_drawn_each_its_way() {
    let scenario = set("base.toml", &[("links.radio.trace.generate", "starlink")]).unwrap();
    let drawn = |way| LinkTrace::Drawn { generator: Generator::Starlink, way };
    assert_eq!(scenario.traces[&(1, 0)], drawn(Way::Down));
    assert_eq!(scenario.traces[&(1, 1)], drawn(Way::Up));
    let turned = [("links.radio.trace.generate", "train"), ("links.radio.trace.way", "up")];
    let scenario = set("base.toml", &turned).unwrap();
    assert_eq!(scenario.traces[&(1, 0)], LinkTrace::Drawn { generator: Generator::Train, way: Way::Up });
}

#[test]
fn what_a_trace_says_does_not_change_by_events() {
    let event = |what: &str| format!("[{{at = \"1s\", link = \"radio\", {what}}}]");
    let refused = |trace: &str, what: &str| {
        let changes = [("links.radio.trace", trace), ("events", &*event(what))];
        set("base.toml", &changes)
            .err()
            .map(|error| error.message.lines().next().unwrap_or_default().to_owned())
    };
    let (rate, delay) = ("do = \"rate\", rate = \"1Mbit/s\"", "do = \"delay\", delay = \"1ms\"");
    let fade = "do = \"outage\", gap = \"1s\", fade = \"100ms\"";
    let opportunities = r#"{text = "5"}"#;
    let said = |key| Some(format!("error: the link follows a trace, which says its {key}"));
    assert_eq!(refused(opportunities, rate), said("rate"));
    assert_eq!(refused(opportunities, fade), said("rate"));
    assert_eq!(refused(opportunities, delay), None);
    assert_eq!(refused(r#"{generate = "train"}"#, delay), said("delay"));
    assert_eq!(refused(r#"{text = "time_s,loss\n0,0.5"}"#, rate), None);
    assert_eq!(refused(opportunities, "do = \"outage\", gap = \"1s\""), None, "it may still go down");
}

/// `links.radio.forward` follows a trace, the other direction does not.
#[test]
fn the_direction_without_a_trace_changes_by_events() {
    let refused = |direction: &str| {
        let event = format!(
            "[{{at = \"1s\", link = \"radio\", do = \"rate\", rate = \"1Mbit/s\", direction = \"{direction}\"}}]"
        );
        set("base.toml", &[("links.radio.forward.trace", r#"{text = "5"}"#), ("events", &*event)]).is_err()
    };
    assert_eq!(["forward", "backward", "both"].map(refused), [true, false, true]);
}

#[test]
fn a_trace_that_several_links_follow_is_one_of_the_content() {
    let text = |forward: &str, backward: &str| {
        let changes = [("links.radio.forward.trace", forward), ("links.radio.backward.trace", backward)];
        set("base.toml", &changes).unwrap().hash
    };
    let (one, same, other) = (r#"{text = "5\n10"}"#, r#"{text = "5\n10\n"}"#, r#"{text = "5\n11"}"#);
    assert_eq!(text(one, one), text(one, same), "however often its text is there");
    let hashes = [text(one, one), text(one, other), text(other, one), text(other, other)];
    assert_eq!(hashes.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
}

/// Five files of 30 MiB each, of which each alone is allowed.
#[test]
fn all_traces_together_are_bounded() {
    let name = folder("together", SLOW);
    let names = ["a", "b", "c", "d", "e"].map(|name| format!("{name}.txt"));
    let text = "5\n".to_owned() + &format!("#{}\n", "-".repeat(998)).repeat(30 << 10);
    let place = PathBuf::from(&name).parent().unwrap().to_owned();
    for name in &names {
        fs::write(place.join(name), &text).unwrap();
    }
    let followed = |names: &[&str]| {
        let link = |name: &&str| {
            format!("{{between = [\"cn\", \"mn\"], delay = \"1ms\", trace = {{file = \"{name}\"}}}}")
        };
        let links: Vec<_> = names.iter().map(link).collect();
        let text = "duration = \"1s\"\n[nodes]\ncn = {kind = \"host\"}\nmn = {kind = \"host\"}\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n";
        Scenario::parse(&format!("links = [{}]\n{text}", links.join(", ")), &name, &[])
            .err()
            .map(|error| error.message)
    };
    let names = names.each_ref().map(String::as_str);
    assert_eq!(followed(&names[..4]), None);
    assert_eq!(followed(&[names[0]; 9]), None, "one file is read once");
    let message = followed(&names).unwrap();
    assert!(message.contains("`e.txt`: all traces together have more than 128 MiB"), "{message}");
}
