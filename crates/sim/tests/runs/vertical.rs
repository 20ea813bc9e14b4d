//! Stations that go from one IP network to another: their address changes.

use std::fmt::Write;

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunResult, run};

use crate::reconnect::connections;
use crate::support::{assert_golden, bytes, counted, result, set};

/// A download to a phone that goes from a cell to a wireless LAN and back; 44 ms there and back.
const STREET: &str = r#"
duration = "16s"
[nodes]
server = {kind = "host", role = "server"}
core = {kind = "switch"}
cell = {kind = "ap", network = "5g"}
wifi = {kind = "ap", network = "wifi"}
phone = {kind = "station", role = "mobile", ap = "cell"}
[[links]]
name = "wire"
between = ["server", "core"]
rate = "100Mbit/s"
delay = "20ms"
[[links]]
between = ["core", "cell"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
between = ["core", "wifi"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
name = "5g"
between = ["cell", "phone"]
rate = "20Mbit/s"
delay = "2ms"
queue = "100pkt"
[[links]]
name = "wlan"
between = ["wifi", "phone"]
rate = "20Mbit/s"
delay = "2ms"
queue = "100pkt"
[[flows]]
name = "transfer"
from = "server"
to = "phone"
app = {transfer = "16MB"}
reconnect = {after = "100ms", notice = "address"}
[[events]]
at = "3s"
do = "handover"
station = "phone"
to = "wifi"
gap = "100ms"
[[events]]
at = "6s"
do = "handover"
station = "phone"
to = "cell"
gap = "100ms"
[schemes.tcp]
sender = "cubic"
[schemes.iosl]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile", peers = "server"}]
[schemes.fresh]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile", peers = "server", restore = false}]
[schemes.handshake]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile", peers = "server", fast_open = false}]
[schemes.one-end]
sender = "cubic"
agents = [{kind = "iosl", at = "role:mobile"}]
"#;

const UPLOAD: [(&str, &str); 2] = [("flows.transfer.from", "phone"), ("flows.transfer.to", "server")];

fn street(scheme: &str, changes: &[(&str, &str)]) -> RunResult {
    result(&set(STREET, changes), scheme, 0)
}

fn stalls_ms(run: &RunResult) -> Vec<u64> {
    run.handovers.iter().map(|one| (one.stall_s.expect("it goes on") * 1e3).round() as u64).collect()
}

fn delivered(run: &RunResult) -> u64 {
    run.flows[0].metrics.delivered_bytes().unwrap()
}

#[test]
fn a_connection_does_not_outlive_its_address() {
    let died = street("tcp", &[("flows.transfer.reconnect", "60s")]);
    let kept = street("tcp", &[("flows.transfer.reconnect", "60s"), ("nodes.wifi.network", "5g")]);
    assert_eq!((kept.flows[0].outcome, delivered(&kept)), ("closed", 16_000_000), "one network");
    assert!(delivered(&died) < 8_000_000, "{}", delivered(&died));
}

#[test]
fn an_application_goes_on_from_its_new_address() {
    for scheme in ["tcp", "one-end"] {
        for changes in [&[][..], &UPLOAD] {
            let run = street(scheme, changes);
            let flow = &run.flows[0];
            assert_eq!((flow.outcome, delivered(&run)), ("closed", 16_000_000), "{scheme} {changes:?}");
            assert_eq!(connections(flow), Some(3), "{scheme} {changes:?}");
            // A SYN, its answer, and the first octets: of a download a round trip of 44 ms for each.
            let most = if changes.is_empty() { 90 } else { 70 };
            let stalls = stalls_ms(&run);
            assert!(
                stalls.iter().all(|stall| (60..=most).contains(stall)),
                "{scheme} {changes:?} {stalls:?}"
            );
        }
    }
}

#[test]
fn attempts_without_an_address_come_ever_more_rarely() {
    // Of 3 s without an address: attempts 0.5, 1.5 and 3.5 s after it has gone.
    let late: [(&str, &str); 3] = [
        ("events.0.gap", "3s"),
        ("events.1.at", "12s"),
        ("flows.transfer.reconnect", r#"{after = "1s", notice = "500ms"}"#),
    ];
    let first = |changes: &[(&str, &str)]| {
        (street("tcp", changes).handovers[0].stall_s.unwrap() * 1e3).round() as u64
    };
    let stall = first(&late);
    assert!((560..=600).contains(&stall), "{stall}");
    let often =
        [late[0], late[1], ("flows.transfer.reconnect", r#"{after = "1s", most = "1s", notice = "700ms"}"#)];
    let stall = first(&often);
    assert!((760..=800).contains(&stall), "at 0.7, 1.7, 2.7 and 3.7 s: {stall}");
}

#[test]
fn who_begins_again_gets_the_same_octets_once_more() {
    let policy = [("flows.transfer.reconnect", r#"{after = "100ms", notice = "address", resume = "again"}"#)];
    let (range, again) = (street("tcp", &[]), street("tcp", &policy));
    assert_eq!((again.flows[0].outcome, delivered(&again)), ("closed", 16_000_000));
    let end = |run: &RunResult| run.flows[0].end_s.unwrap();
    assert!(end(&again) > end(&range) + 4.0, "{} {}", end(&again), end(&range));
}

#[test]
fn a_session_goes_on_from_the_new_address() {
    for changes in [&[][..], &UPLOAD] {
        let (tcp, fresh, iosl) = (street("tcp", changes), street("fresh", changes), street("iosl", changes));
        let handshake = street("handshake", changes);
        for run in [&fresh, &iosl, &handshake] {
            assert_eq!((run.flows[0].outcome, delivered(run)), ("closed", 16_000_000), "{changes:?}");
            assert_eq!(counted(run, "session_paths"), 3, "{changes:?}");
            // The answer to the first message, with which a download goes on and after which an upload does: a round trip of 44 ms,
            // after TCP's where that message does not go with the SYN.
            let trips = 1 + u64::from(run.scheme == "handshake");
            let most = 44 * trips + if changes.is_empty() { 2 } else { 24 };
            let stalls = stalls_ms(run);
            assert!(
                stalls.iter().all(|stall| (44 * trips..=most).contains(stall)),
                "{} {changes:?} {stalls:?}",
                run.scheme
            );
        }
        let end = |run: &RunResult| run.flows[0].end_s.unwrap();
        assert!(end(&iosl) < end(&fresh) && end(&iosl) < end(&tcp), "the window is there at once");
    }
}

/// The address stays, so the path does too: the peer's bound on its window is of the radio before, unless it is told again.
#[test]
fn a_session_whose_address_stays_learns_what_the_next_radio_carries() {
    let one_network =
        [("nodes.wifi.network", "5g"), ("links.5g.rate", "6Mbit/s"), ("links.5g.delay", "50ms")];
    let only_to_wifi = [("events.1.gap", "100ms"), ("events.1.at", "15.8s")];
    let changes = [&one_network[..], &only_to_wifi].concat();
    let back = [("nodes.phone.ap", "wifi"), ("events.0.to", "cell")];
    for changes in [changes.clone(), [&changes[..], &back].concat()] {
        let [peers, alone] = ["iosl", "one-end"].map(|scheme| delivered(&street(scheme, &changes)));
        assert!(peers * 10 > alone * 9, "{peers} of {alone}");
    }
}

/// What the radio reports bounds what the peer has in flight.
#[test]
fn a_session_believes_what_its_radio_reports() {
    let with = |estimate: &str| {
        let agents =
            format!(r#"[{{kind = "iosl", at = "role:mobile", peers = "server", estimate = {estimate}}}]"#);
        street("iosl", &[("schemes.iosl.agents", &agents)]).flows[0].end_s.unwrap()
    };
    let [half, whole, twice] = ["50", "100", "200"].map(with);
    assert!(half > whole * 1.2 && twice <= whole, "{half} {whole} {twice}");
}

#[test]
fn a_session_survives_a_new_handover_before_the_last_one_is_over() {
    // The second one comes while the first new path is dialled.
    let soon = [("events.1.at", "3130ms"), ("events.1.gap", "1s")];
    let run = street("iosl", &soon);
    assert_eq!((run.flows[0].outcome, delivered(&run)), ("closed", 16_000_000));
}

#[test]
fn sessions_are_the_same_with_every_packet_on_the_wire() {
    let scenario = set(STREET, &[("duration", "7s"), ("flows.transfer.app", r#"{transfer = "8MB"}"#)]);
    let options = Options::default();
    let plain = bytes(&scenario, "iosl", &options);
    assert_eq!(plain, bytes(&scenario, "iosl", &options));
    assert_eq!(plain.0, bytes(&scenario, "iosl", &Options { verify_wire: true, ..options }).0);
}

#[test]
fn what_cannot_be_is_refused() {
    let wrong = [
        (&[("schemes.iosl.agents.0.peers", "nobody")][..], "no host plays this role"),
        (&[("flows.transfer.read_rate", "1Mbit/s")], "neither `read_rate` nor `measure`"),
    ];
    for (changes, says) in wrong {
        let scenario = set(STREET, changes);
        let scheme = scenario.scheme("iosl").unwrap();
        let error = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// What happened, in whole numbers: a changed line is a changed behaviour.
#[test]
fn one_vertical_handover_is_as_it_was() {
    let mut text = String::new();
    for (direction, changes) in [("down", &[][..]), ("up", &UPLOAD)] {
        for scheme in ["tcp", "one-end", "fresh", "handshake", "iosl", "linux"] {
            let run = street(scheme, changes);
            let flow = &run.flows[0].metrics;
            let end = (run.flows[0].end_s.unwrap() * 1e3).round();
            let stalls = stalls_ms(&run);
            let count = [
                flow.data_segments_sent(),
                flow.retransmitted_segments(),
                flow.timeouts(),
                flow.lost_segments(),
            ]
            .map(Option::unwrap);
            writeln!(text, "{direction} {scheme}: end {end} ms, stalls {stalls:?} ms, segments {count:?}")
                .unwrap();
        }
    }
    assert_golden("vertical.txt", &text);
}
