//! The first start: it says what it would do, does nothing, and never says that it has done something.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{ACT, Daemon, Switch};

const OBSERVE: &str = "release = \"unpaced\"\necho_interval = \"60s\"";

fn orders(log: &[Value]) -> Vec<&str> {
    let would = log.iter().filter(|line| line["message"] == "would send");
    would.map(|line| line["order"].as_str().unwrap()).collect()
}

/// All that is logged while a station goes from one access point to the other.
fn roam(extra: &str) -> Vec<Value> {
    let mut daemon = Daemon::start(extra);
    let (mut switch, orders) = Switch::ready(&daemon);
    assert!(orders.is_empty());
    daemon.station_event("associated", "ap1", 1);
    daemon.station_event("disassociated", "ap1", 1);
    daemon.station_event("associated", "ap2", 2);
    assert_eq!(daemon.status()["mode"], "observe");
    assert!(switch.orders_until_barrier().is_empty());
    daemon.logged("would release what it holds");
    assert!(daemon.signal(Signal::SIGTERM).success());
    assert_eq!(switch.try_receive(), None, "not even at its end");
    daemon.rest_of_log()
}

#[test]
fn an_observer_touches_nothing_and_says_only_what_it_would_do() {
    let log = roam(OBSERVE);
    for line in &log {
        assert_eq!(line["mode"], "observe", "{line}");
        let message = line["message"].as_str().unwrap();
        assert!(!["released", "held", "expired"].contains(&message), "{line}");
    }
    let away = log.iter().find(|line| line["message"] == "station away").unwrap();
    assert_eq!(away["would"], "hold its TCP");
}

#[test]
fn under_bare_it_would_hold_nothing() {
    let mut daemon = Daemon::start("policy = \"bare\"");
    daemon.station_event("disassociated", "ap1", 1);
    assert_eq!(daemon.logged("station away")["would"], "hold nothing");
}

#[test]
fn every_order_reads_differently() {
    let log = roam(OBSERVE);
    let orders = orders(&log);
    let to = "to 02:00:0a:00:00:05";
    let divert = |network| {
        format!(
            "add flow entry {to}, TCP over {network}, as it arrives: to the controller; priority 40002, for 2 s"
        )
    };
    assert_eq!(orders[..2], [divert("IPv4"), divert("IPv6")]);
    assert_eq!(orders[..4].iter().collect::<BTreeSet<_>>().len(), 4, "{orders:#?}");
    assert_eq!(orders[4], "remove flow entries from 02:00:0a:00:00:05");
    assert!(orders[5].contains("as from port 3"), "where it is now: {}", orders[5]);
}

#[test]
fn one_that_acts_says_so_in_every_line() {
    let mut daemon = Daemon::start(ACT);
    assert!(daemon.signal(Signal::SIGTERM).success());
    let log = daemon.rest_of_log();
    assert!(log.len() >= 3 && log.iter().all(|line| line["mode"] == "act"), "{log:#?}");
}
