//! What goes wrong, and what does not follow from it.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;

use bytes::Bytes;
use handfast_assist::sdn::{COOKIE, COOKIE_MASK};
use handfast_wire::openflow::{Body, FlowModCommand, Hello};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{ACT, Daemon, PATIENCE, Switch, bytes_of, exists, frame, packet_in};

#[test]
fn garbage_ends_its_connection_only() {
    let mut daemon = Daemon::start(ACT);
    let (mut good, _) = Switch::ready(&daemon);
    for (garbage, why) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "not OpenFlow 1.3: OpenFlow version 71: expected 4 (OpenFlow 1.3)"),
        (&[4, 0, 0, 4, 0, 0, 0, 0], "states its length as 4 bytes"),
        // A packet-in whose match is longer than the message.
        (
            &[
                4, 10, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 255, 0, 0, 0,
                0, 0,
            ],
            "match",
        ),
    ] {
        let mut bad = Switch::connect(&daemon);
        bad.receive();
        bad.stream.write_all(garbage).unwrap();
        assert_eq!(bad.try_receive(), None);
        let lost = daemon.logged("connection lost");
        assert!(lost["why"].as_str().unwrap().contains(why), "{lost}");
    }
    assert_eq!(daemon.status()["links_closed"], 3);
    good.send(5, Body::EchoRequest(Bytes::new()));
    assert_eq!(good.receive().xid, 5);
}

/// It tries again for ever: one warning says what to do, and repetitions are for those who look for them.
#[test]
fn a_switch_that_speaks_another_version_is_warned_of_once() {
    let mut daemon = Daemon::start(ACT);
    let refused = |daemon: &Daemon, hello: Hello| {
        let mut switch = Switch::connect(daemon);
        switch.receive();
        let mut bytes = bytes_of(7, Body::Hello(Hello { version: 4, bitmaps: hello.bitmaps.clone() }));
        bytes[0] = hello.version;
        switch.stream.write_all(&bytes).unwrap();
        assert!(matches!(switch.receive().body, Body::Error(_)));
        assert_eq!(switch.try_receive(), None);
    };
    for _ in 0..5 {
        refused(&daemon, Hello { version: 1, bitmaps: vec![] });
        refused(&daemon, Hello { version: 6, bitmaps: vec![1 << 6 | 1 << 5] });
    }
    // One that does as it should ends that; what is wrong afterwards is new.
    drop(Switch::ready(&daemon));
    daemon.logged("switch gone");
    let before = daemon.rest_so_far();
    refused(&daemon, Hello { version: 6, bitmaps: vec![1 << 6 | 1 << 5] });
    assert!(daemon.signal(Signal::SIGTERM).success());
    let after = daemon.rest_of_log();
    let warned = |log: &[Value]| {
        let refused = "switch refused: it does not speak OpenFlow 1.3";
        log.iter().filter(|line| line["message"] == refused).cloned().collect::<Vec<_>>()
    };
    let [warning] = &warned(&before)[..] else { panic!("{before:#?}") };
    assert_eq!(warning["level"], "WARN");
    assert_eq!((&warning["peer"], &warning["speaks"]), (&json!("127.0.0.1"), &json!("OpenFlow 1.0")));
    assert_eq!(warning["what_to_do"], "ovs-vsctl set bridge BR protocols=OpenFlow13");
    assert_eq!(warned(&after)[0]["speaks"], "OpenFlow 1.5");
    // Of its ten attempts only the first is told.
    let lines = |log: &[Value], message: &str| log.iter().filter(|line| line["message"] == message).count();
    assert_eq!((lines(&before, "connected"), lines(&before, "closed")), (1, 0));
}

#[test]
fn messages_come_in_any_pieces() {
    let daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    let echo = |xid| bytes_of(xid, Body::EchoRequest(Bytes::from(vec![xid as u8; 40])));
    for byte in echo(1) {
        switch.stream.write_all(&[byte]).unwrap();
    }
    let several: Vec<u8> = (2..6).flat_map(echo).collect();
    let (first, second) = several.split_at(100);
    switch.stream.write_all(first).unwrap();
    assert_eq!(switch.receive().xid, 1);
    assert_eq!((switch.receive().xid, switch.receive().xid), (2, 3));
    switch.stream.write_all(second).unwrap();
    assert_eq!((switch.receive().xid, switch.receive().xid), (4, 5));
    // The longest that there is.
    switch.send(6, Body::EchoRequest(Bytes::from(vec![1; 0xffff - 8])));
    assert_eq!(switch.receive().xid, 6);
}

#[test]
fn a_switch_that_does_not_read_is_closed() {
    let mut daemon = Daemon::start(&format!("{ACT}\n[limits]\nwrite_buffer = \"1MB\""));
    let (mut switch, _) = Switch::ready(&daemon);
    let question = bytes_of(1, Body::EchoRequest(Bytes::from(vec![1; 60_000])));
    // Kernels keep a few MB for a connection; more than that is not taken.
    let taken = (0..5_000).find(|_| switch.stream.write_all(&question).is_err());
    assert!(taken.is_some());
    let why = daemon.logged("connection lost")["why"].clone();
    assert!(why.as_str().unwrap().starts_with("it does not read: 1"), "{why}");
    let (mut next, _) = Switch::ready(&daemon);
    next.send(5, Body::EchoRequest(Bytes::new()));
    assert_eq!(next.receive().xid, 5);
}

#[test]
fn a_cut_connection_loses_nothing_that_is_held() {
    let mut daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    daemon.station_event("disassociated", "ap1", 1);
    let divert = switch.diverts();
    switch.divert(divert, &frame(0));
    daemon.status_with(|status| status["counters"]["held"] == 1);
    // In the middle of a message.
    let half = bytes_of(0, packet_in(divert, &frame(1000)));
    switch.stream.write_all(&half[..half.len() / 2]).unwrap();
    switch.stream.shutdown(Shutdown::Both).unwrap();
    daemon.logged("switch gone");
    daemon.station_event("associated", "ap2", 2);

    let (mut switch, _) = Switch::ready(&daemon);
    switch.announced();
    switch.diverts_again();
    assert_eq!(switch.handed_back().1, frame(0));
}

#[test]
fn after_a_sudden_death_the_next_one_cleans_up_its_own_only() {
    let mut daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    daemon.station_event("disassociated", "ap1", 1);
    let left = switch.diverts();
    assert_eq!(daemon.signal(Signal::SIGKILL).signal(), Some(9));
    assert!(exists(&daemon.socket()), "nobody was left to remove it");

    let again = Daemon::start_in(daemon.folder.clone(), ACT, &[]);
    let (_switch, orders) = Switch::ready(&again);
    let [delete] = &orders[..] else { panic!("{orders:?}") };
    assert_eq!((delete.command, delete.cookie & COOKIE_MASK), (FlowModCommand::Delete, COOKIE));
    assert_ne!(left & delete.cookie_mask, delete.cookie, "those of another one go by their timeouts");
}

#[test]
fn more_switches_than_may_be_are_refused() {
    let mut daemon = Daemon::start(&format!("{ACT}\n[limits]\nswitches = 1"));
    let (_first, _) = Switch::ready(&daemon);
    assert_eq!(Switch::connect(&daemon).try_receive(), None);
    daemon.logged("connection refused: too many");
}

#[test]
fn wrong_lines_are_answered_and_counted() {
    let daemon = Daemon::start(ACT);
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut ask = |line: &[u8]| -> Value {
        stream.write_all(line).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let unknown = br#"{"event": "associated", "station": "02:00:0a:00:00:05", "ap": "ap9", "epoch": 1}"#;
    for (number, (line, why)) in (1..).zip([
        (&b"\n"[..], "the line is empty: expected one JSON object a line"),
        (b"\xff\xfe\n", "no JSON at column 1: expected one JSON object a line"),
        (
            b"{\"event\": \"left\"}\n",
            "`event` is `left`: expected associated, disassociated, hello, forget, reload or status",
        ),
        (
            &[&unknown[..], b"\n"].concat(),
            "no access point of the configuration is called so; did you mean `ap1`?",
        ),
        (&[&vec![b' '; 65_537][..], b"\n"].concat(), "expected a line of at most 65536 bytes"),
        (&["x".repeat(200_000).as_bytes(), b"\n"].concat(), "expected a line of at most 65536 bytes"),
    ]) {
        let answer = ask(line);
        assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
        assert_eq!(answer["line"], number, "{answer}");
    }
    let status = ask(b"{\"event\": \"status\"}\n");
    assert_eq!((&status["lines"], &status["malformed_lines"]), (&json!(7), &json!(6)));
}

#[test]
fn who_comes_when_the_socket_is_full_hears_why() {
    let daemon = Daemon::start(ACT);
    let all: Vec<_> = (0..64).map(|_| UnixStream::connect(daemon.socket()).unwrap()).collect();
    let mut answer = String::new();
    let one_more = UnixStream::connect(daemon.socket()).unwrap();
    one_more.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(one_more).read_line(&mut answer).unwrap();
    assert!(answer.contains("64 connections are open here: close one and try again"), "{answer}");
    drop(all);
}

#[test]
fn late_and_repeated_events_change_nothing() {
    let daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    daemon.station_event("associated", "ap2", 5);
    daemon.station_event("disassociated", "ap1", 4);
    daemon.station_event("associated", "ap2", 5);
    assert_eq!(daemon.status()["counters"]["ignored_notices"], 2);
    switch.send(9, Body::EchoRequest(Bytes::new()));
    assert_eq!(switch.receive().xid, 9, "the next thing that it hears");
}
