//! `handfastd session serve`, `run` and `connect` as processes, with a network between them that a test cuts.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::session_scene::{Scene, cutting, errors, listening, octets};
use crate::support::PATIENCE;

#[test]
fn octets_go_to_a_target_and_back_and_keys_are_pinned() {
    let scene = Scene::new();
    for times in 1..=2 {
        let output = scene.connect(scene.server.address, &octets(3_000_000));
        assert!(output.status.success(), "{}", errors(&output));
        assert!(output.stdout == octets(3_000_000), "{} octets came back", output.stdout.len());
        assert_eq!(scene.led.load(Ordering::SeqCst), times);
    }
    let known = fs::read_to_string(scene.home.join(".config/handfast/known_peers")).unwrap();
    let key = scene.server.status()["public_key"].as_str().unwrap().to_owned();
    assert_eq!(known, format!("{} {key}\n", scene.server.address));
    let clients = fs::read_to_string(scene.server.folder.join("clients")).unwrap();
    let own = String::from_utf8(scene.exchange(&["key"], b"").stdout).unwrap();
    assert!(clients.trim_end().ends_with(own.trim_end()), "{clients} {own}");
    scene.server.status_with(|status| status["sessions"] == 0 && status["paths"] == 0);
}

#[test]
fn a_network_that_cuts_again_and_again_loses_and_doubles_nothing() {
    let scene = Scene::new();
    let (between, connections) = cutting(scene.server.address, 400_000);
    let sent = octets(4_000_000);
    let output = scene.connect(between, &sent);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(output.stdout == sent, "{} octets came back", output.stdout.len());
    assert!(connections.load(Ordering::SeqCst) > 5, "it was cut {connections:?} times");
    assert_eq!(scene.led.load(Ordering::SeqCst), 1, "the target sees one connection");
}

#[test]
fn a_copy_of_all_that_a_client_has_sent_reaches_no_target() {
    let scene = Scene::new();
    let (between, _, kept) = listening(scene.server.address, usize::MAX);
    let (peer, port) = (between.to_string(), scene.port.to_string());
    // The session is there while somebody else tries it with the same octets.
    let mut child = scene.command(&["connect", "--peer", &peer, "echo.example", &port]).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut came = [0; 6];
    to.write_all(b"before").unwrap();
    from.read_exact(&mut came).unwrap();
    let copy = kept.lock().unwrap().clone();
    for _ in 0..3 {
        let mut thief = TcpStream::connect(scene.server.address).unwrap();
        thief.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        thief.write_all(&copy).unwrap();
        // An answer of the handshake may come, whose keys a copy does not have; nothing that it says is taken.
        let _ = thief.read_to_end(&mut Vec::new());
    }
    to.write_all(b"behind").unwrap();
    from.read_exact(&mut came).unwrap();
    assert_eq!((&came, scene.led.load(Ordering::SeqCst)), (b"behind", 1));
    assert!(scene.server.status()["counters"]["connections_broken"].as_u64() >= Some(3));
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[test]
fn programs_of_a_run_use_its_end() {
    let scene = Scene::new();
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    let program = env!("CARGO_BIN_EXE_handfastd");
    let run = ["run", "--peer", &peer, "--", program, "session", "connect", "echo.example", &port];
    let output = scene.exchange(&run, b"by the end of the run");
    assert_eq!((output.stdout.as_slice(), errors(&output)), (&b"by the end of the run"[..], String::new()));
    let fails = scene.exchange(&["run", "--peer", &peer, "--", "/bin/sh", "-c", "exit 7"], b"");
    assert_eq!(fails.status.code(), Some(7));
    let left = fs::read_dir(scene.home.join("handfast")).unwrap().count();
    assert_eq!(left, 0, "no socket is left");
}

#[test]
fn a_program_that_knows_of_no_proxy_is_asked_for_all_its_connections() {
    let scene = Scene::with(|config| config.replace("\"echo.example\"", "\"echo.example\", \"192.0.2.7\""));
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    // bash connects by itself; nobody has the address (RFC 5737).
    let own = peer.replace(':', "/");
    let text = format!(
        "exec 3<>/dev/tcp/192.0.2.7/{port}; echo hello >&3; read -u 3 line; echo got $line; \
         exec 4<>/dev/tcp/{own} && echo direct"
    );
    let output = scene.exchange(&["run", "--all", "--peer", &peer, "--", "/bin/bash", "-c", &text], b"");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((said.as_str(), errors(&output).as_str()), ("got hello\ndirect\n", ""));
    assert_eq!(scene.led.load(Ordering::SeqCst), 1);
    // A target to which nobody leads is an error of connect(2).
    let text = "exec 3<>/dev/tcp/192.0.2.8/9 || echo no way";
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let output = scene.exchange(&["run", "--all", "--peer", &nobody, "--", "/bin/bash", "-c", text], b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "no way\n", "{output:?}");
}

#[test]
fn what_is_not_listed_is_refused() {
    let scene = Scene::new();
    let peer = scene.server.address.to_string();
    let output = scene.exchange(&["connect", "--peer", &peer, "echo.example", "1"], b"x");
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("does not lead to this target"), "{}", errors(&output));
    assert_eq!(scene.server.status()["counters"]["targets_refused"], 1);
}

#[test]
fn a_client_that_is_not_listed_is_told_what_to_do() {
    let scene = Scene::with(|config| config.replace("pin_first = 1", "pin_first = 0"));
    let output = scene.connect(scene.server.address, b"x");
    let own = String::from_utf8(scene.exchange(&["key"], b"").stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("add to `clients`") && errors(&output).contains(own.trim()),
        "{output:?}"
    );
    assert_eq!(scene.led.load(Ordering::SeqCst), 0);
}

#[test]
fn a_peer_whose_key_has_changed_gets_nothing() {
    let scene = Scene::new();
    assert!(scene.connect(scene.server.address, b"x").status.success());
    let known = scene.home.join(".config/handfast/known_peers");
    let other = format!("{} {}\n", scene.server.address, "5d".repeat(32));
    fs::write(&known, other).unwrap();
    let begin = Instant::now();
    let output = scene.connect(scene.server.address, b"x");
    let shown = scene.server.status()["public_key"].as_str().unwrap().to_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("shows another key") && errors(&output).contains(&shown), "{output:?}");
    assert_eq!(scene.led.load(Ordering::SeqCst), 1, "nothing was sent to it");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn without_a_peer_it_goes_straight_or_says_why_not() {
    let scene = Scene::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let port = scene.port.to_string();
    let connect = |policy| {
        scene.exchange(&["connect", "--policy", policy, "--peer", &nobody, "127.0.0.1", &port], b"straight")
    };
    assert_eq!(connect("prefer").stdout, b"straight");
    assert_eq!(connect("require").status.code(), Some(1));
    // One that takes connections and says nothing costs 50 ms.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_at = silent.local_addr().unwrap().to_string();
    let begin = Instant::now();
    let output =
        scene.exchange(&["connect", "--policy", "prefer", "--peer", &silent_at, "127.0.0.1", &port], b"late");
    assert_eq!(output.stdout, b"late");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn sessions_are_suspended_and_go_on() {
    let scene = Scene::new();
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    let mut child = scene.command(&["connect", "--peer", &peer, "echo.example", &port]).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    to.write_all(b"before\n").unwrap();
    from.read_line(&mut line).unwrap();
    assert_eq!(line, "before\n");
    let tell = |what| String::from_utf8(scene.exchange(&[what], b"").stdout).unwrap();
    assert!(tell("suspend").contains("\"sessions\":1"));
    to.write_all(b"meanwhile\n").unwrap();
    assert!(tell("status").contains("\"state\":\"suspended\""));
    let (heard, came) = std::sync::mpsc::channel();
    let reader = thread::spawn(move || {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        heard.send(line).unwrap();
    });
    assert!(came.recv_timeout(Duration::from_millis(300)).is_err(), "it is frozen");
    tell("resume");
    assert_eq!(came.recv_timeout(PATIENCE).unwrap(), "meanwhile\n");
    reader.join().unwrap();
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_client_that_is_struck_off_loses_its_sessions() {
    let mut scene = Scene::new();
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    let child = scene.command(&["connect", "--peer", &peer, "echo.example", &port]).spawn().unwrap();
    scene.server.status_with(|status| status["list"][0]["state"] == "open");
    fs::write(scene.server.folder.join("clients"), "").unwrap();
    let file = scene.server.folder.join("handfastd.toml");
    let text = fs::read_to_string(&file).unwrap().replace("pin_first = 1", "pin_first = 0");
    fs::write(&file, text).unwrap();
    scene.server.nudge(Signal::SIGHUP);
    scene.server.logged("configuration applied");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert_eq!(scene.server.status_with(|status| status["sessions"] == 0)["list"], json!([]));
}
