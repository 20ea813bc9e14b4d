//! Signals in every phase: a clean end.

use std::process::Command;

use handfast_assist::sdn::{COOKIE, COOKIE_MASK};
use handfast_wire::openflow::{Body, FlowModCommand, Match};
use nix::sys::signal::Signal;

use crate::support::{ACT, Daemon, Switch, exists, folder, frame};

const ENDS: [Signal; 2] = [Signal::SIGTERM, Signal::SIGINT];

/// It has ended well: exit code 0, no socket file, and the log says so.
fn ends_well(mut daemon: Daemon, signal: Signal) {
    assert_eq!(daemon.signal(signal).code(), Some(0), "{signal}");
    assert!(!exists(&daemon.socket()), "{signal}: the socket's file is still there");
    let log = daemon.rest_of_log();
    let said = |message: &str| log.iter().find(|line| line["message"] == message);
    assert_eq!(said("told to stop").unwrap()["signal"], signal.as_str());
    assert_eq!(log.last().unwrap()["message"], "stopped");
}

#[test]
fn before_a_switch_connects() {
    for signal in ENDS {
        ends_well(Daemon::start(ACT), signal);
    }
}

#[test]
fn while_a_switch_is_greeted() {
    for signal in ENDS {
        let daemon = Daemon::start(ACT);
        let mut switch = Switch::connect(&daemon);
        switch.receive();
        ends_well(daemon, signal);
        assert_eq!(switch.try_receive(), None);
    }
}

#[test]
fn between_roams() {
    for signal in ENDS {
        let daemon = Daemon::start(ACT);
        let (mut switch, _) = Switch::ready(&daemon);
        assert!(exists(&daemon.socket()));
        ends_well(daemon, signal);
        removes_all(&mut switch);
    }
}

#[test]
fn during_a_hold() {
    for signal in ENDS {
        let daemon = Daemon::start(ACT);
        let (mut switch, _) = Switch::ready(&daemon);
        daemon.station_event("disassociated", "ap1", 1);
        let divert = switch.diverts();
        switch.divert(divert, &frame(0));
        daemon.status_with(|status| status["counters"]["held"] == 1);
        ends_well(daemon, signal);
        removes_all(&mut switch);
    }
}

/// A release of one segment a second is cut short: what is left leaves at once.
#[test]
fn during_a_release() {
    for signal in ENDS {
        let release = "mode = \"act\"\nrelease = {rate = \"8kbit/s\", burst = \"1B\"}";
        let daemon = Daemon::start(release);
        let (mut switch, _) = Switch::ready(&daemon);
        daemon.station_event("disassociated", "ap1", 1);
        let divert = switch.diverts();
        for seq in [0, 1000, 2000] {
            switch.divert(divert, &frame(seq));
        }
        daemon.status_with(|status| status["counters"]["held"] == 3);
        daemon.station_event("associated", "ap2", 2);
        ends_well(daemon, signal);
        switch.frees();
        switch.announced();
        switch.diverts_again();
        for seq in [0, 1000, 2000] {
            assert_eq!(switch.handed_back().1, frame(seq));
        }
        removes_all(&mut switch);
    }
}

/// Segments that the daemon has not read must not cost the switch the order that takes the entries back: a connection
/// that is closed with unread bytes is reset.
#[test]
fn while_segments_pour_in() {
    let daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    daemon.station_event("disassociated", "ap1", 1);
    let divert = switch.diverts();
    let mut pouring = switch.stream.try_clone().unwrap();
    let flood = crate::support::bytes_of(0, crate::support::packet_in(divert, &frame(0)));
    let pours = std::thread::spawn(move || {
        use std::io::Write;
        // It ends when the daemon is gone.
        while pouring.write_all(&flood).is_ok() {}
    });
    daemon.status_with(|status| status["counters"]["held"] == 1);
    ends_well(daemon, Signal::SIGTERM);
    pours.join().unwrap();
    removes_all(&mut switch);
}

/// nohup(1) starts it with SIGHUP ignored: it goes on when its terminal closes.
#[test]
fn a_hangup_that_is_ignored_from_the_start_stays_ignored() {
    let folder = folder();
    let config = crate::support::config_in(&folder, ACT);
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_handfastd"))
        .args(["controller", "--config"])
        .arg(config)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let socket = folder.join("association");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while !exists(&socket) {
        assert!(std::time::Instant::now() < deadline, "it did not start");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, Signal::SIGHUP).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "it goes on");
    nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn removes_all(switch: &mut Switch) {
    // Repetitions go on before it.
    let last = loop {
        match switch.receive().body {
            Body::FlowMod(last) => break last,
            Body::PacketOut(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((last.command, last.cookie & COOKIE_MASK), (FlowModCommand::Delete, COOKIE));
    assert_eq!(last.matches, Match::default(), "all that are its own");
    assert_eq!(switch.try_receive(), None);
}
