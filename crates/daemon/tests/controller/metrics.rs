//! `handfastd metrics` beside a controller: one file for both.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use handfast_document::testing::edited;
use nix::sys::signal::Signal;

use crate::support::{ACT, Daemon, PATIENCE, STATION, Switch, exists, frame};

fn extra() -> String {
    format!("{ACT}\n[metrics]\nlisten = \"127.0.0.1:0\"\ninterval = \"1s\"\n")
}

fn beside(controller: &Daemon) -> Daemon {
    let folder = controller.folder.clone();
    let file = folder.join("handfastd.toml");
    Daemon::start_service("metrics", folder, &file, &[])
}

fn get(at: SocketAddr) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Asks until the page has this line.
pub(crate) fn get_with(at: SocketAddr, line: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let page = get(at);
        if page.lines().any(|other| other == line) {
            return page;
        }
        assert!(Instant::now() < deadline, "no `{line}` in {page}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn counters_follow_the_controller_and_its_end() {
    let mut controller = Daemon::start(&extra());
    let mut metrics = beside(&controller);
    let (mut switch, _) = Switch::ready(&controller);
    controller.station_event("disassociated", "ap1", 1);
    let cookie = switch.diverts();
    switch.divert(cookie, &frame(1));
    let page = get_with(metrics.address, "handfastd_held_total 1");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    for line in ["handfastd_up 1", "handfastd_acts 1", "handfastd_switches 1", "handfastd_connections 1"] {
        assert!(page.lines().any(|other| other == line), "no {line} in {page}");
    }
    let station = STATION.map(|octet| format!("{octet:02x}")).join(":");
    assert!(!page.contains(&station) && !page.contains("SECRET"), "counters only: {page}");
    controller.signal(Signal::SIGKILL);
    let page = get_with(metrics.address, "handfastd_up 0");
    assert!(!page.contains("held"), "old counters are not shown: {page}");
    let asked = Instant::now();
    assert_eq!(metrics.signal(Signal::SIGTERM).code(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(1));
}

#[test]
fn it_waits_for_a_controller_that_comes_later() {
    let mut first = Daemon::start(&extra());
    let mut metrics = beside(&first);
    get_with(metrics.address, "handfastd_up 1");
    first.signal(Signal::SIGTERM);
    assert!(!exists(&first.socket()));
    get_with(metrics.address, "handfastd_up 0");
    let _second = Daemon::start_in(first.folder.clone(), &extra(), &[]);
    get_with(metrics.address, "handfastd_up 1");
    assert_eq!(metrics.logged("the controller does not answer")["mode"], "observe");
}

/// With an interval that is shorter than the time for an answer.
#[test]
fn a_controller_that_hangs_is_down() {
    let controller = Daemon::start(&extra());
    let metrics = beside(&controller);
    get_with(metrics.address, "handfastd_up 1");
    controller.nudge(Signal::SIGSTOP);
    get_with(metrics.address, "handfastd_up 0");
    controller.nudge(Signal::SIGCONT);
    get_with(metrics.address, "handfastd_up 1");
}

#[test]
fn clients_that_only_connect_do_not_stop_it() {
    let controller = Daemon::start(&extra());
    let metrics = beside(&controller);
    let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(metrics.address).unwrap()).collect();
    // Those beyond the bound are closed at once.
    let mut closed = 0;
    for mut stream in &idle {
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        closed += usize::from(matches!(stream.read(&mut [0]), Ok(0)));
    }
    assert_eq!(closed, 40 - 16);
    // The others have five seconds.
    let mut last = &idle[0];
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(last.read(&mut [0]).unwrap(), 0);
    get_with(metrics.address, "handfastd_up 1");
}

#[test]
fn sighup_applies_the_interval_and_refuses_nonsense() {
    let controller = Daemon::start(&extra());
    let mut metrics = beside(&controller);
    let file = controller.folder.join("handfastd.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, edited(&text, "interval = \"1s\"", "interval = \"0s\"")).unwrap();
    metrics.nudge(Signal::SIGHUP);
    assert!(metrics.logged("configuration refused: the old one stays")["error"].is_string());
    std::fs::write(&file, edited(&text, "interval = \"1s\"", "interval = \"2s\"")).unwrap();
    metrics.nudge(Signal::SIGHUP);
    let change = metrics.logged("configuration");
    assert!(change["change"].as_str().unwrap().starts_with("- asks "), "{change}");
    get_with(metrics.address, "handfastd_up 1");
}
