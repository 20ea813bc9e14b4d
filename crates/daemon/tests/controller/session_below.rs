//! What is below sessions: Multipath TCP, and TCP and SCTP in UDP.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::session_scene::{Scene, errors, octets};

fn with(below: &str) -> Scene {
    having(&format!("\"{below}\""))
}

/// The same, as the file writes it.
fn having(below: &str) -> Scene {
    Scene::with(|config| config.replacen("[session]", &format!("[session]\nbelow = {below}"), 1))
}

/// What `serve` says a session's path is, while octets go to its target and back.
fn became(scene: &Scene, peer: SocketAddr, below: &str) -> String {
    let (peer, port) = (peer.to_string(), scene.port.to_string());
    let command = ["connect", "--below", below, "--peer", &peer, "echo.example", &port];
    let mut child = scene.command(&command).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sent, mut came) = (octets(60_000), vec![0; 60_000]);
    to.write_all(&sent).unwrap();
    from.read_exact(&mut came).unwrap();
    assert!(came == sent);
    let status = scene.server.status();
    drop(to);
    assert!(child.wait().unwrap().success());
    status["list"][0]["below"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn multipath_tcp_where_both_ends_have_it_and_tcp_where_one_has_not() {
    if handfast_io::has_mptcp().is_err() {
        return eprintln!("skipped: this kernel has no MPTCP");
    }
    let (multi, plain) = (with("mptcp"), with("tcp"));
    for (scene, below, is) in [(&multi, "mptcp", "mptcp"), (&multi, "tcp", "tcp"), (&plain, "mptcp", "tcp")] {
        assert_eq!(became(scene, scene.server.address, below), is, "{below}");
    }
}

/// What is inside UDP carries a session, and its server takes plain TCP too.
fn carries_a_session(below: &'static str) {
    let scene = with(below);
    for below in [below, "tcp"] {
        assert_eq!(became(&scene, scene.server.address, below), below);
    }
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    let sent = octets(3_000_000);
    let output =
        scene.exchange(&["connect", "--below", below, "--peer", &peer, "echo.example", &port], &sent);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(output.stdout == sent, "{} octets came back", output.stdout.len());
    scene.server.status_with(|status| status["sessions"] == 0 && status["paths"] == 0);
}

#[test]
fn tcp_in_udp_carries_a_session() {
    carries_a_session("udp");
}

#[test]
fn sctp_in_udp_carries_a_session() {
    carries_a_session("sctp");
}

#[test]
fn one_server_takes_tcp_udp_and_sctp_at_once() {
    let scene = having("[\"udp\", \"sctp\"]");
    let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
    // The first one makes their key.
    assert_eq!(became(&scene, scene.server.address, "udp"), "udp");
    let sent = octets(60_000);
    let mut clients: Vec<_> = ["tcp", "udp", "sctp"]
        .map(|below| {
            let command = ["connect", "--below", below, "--peer", &peer, "echo.example", &port];
            let mut child = scene.command(&command).spawn().unwrap();
            let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            (child, to, from)
        })
        .into();
    for (_, to, _) in &mut clients {
        to.write_all(&sent).unwrap();
    }
    for (_, _, from) in &mut clients {
        let mut came = vec![0; sent.len()];
        from.read_exact(&mut came).unwrap();
        assert!(came == sent);
    }
    let status = scene.server.status();
    assert_eq!(status["below"], serde_json::json!(["tcp", "udp", "sctp"]));
    let paths = status["list"].as_array().unwrap().iter().map(|session| session["below"].as_str().unwrap());
    assert_eq!(paths.collect::<BTreeSet<_>>(), BTreeSet::from(["tcp", "udp", "sctp"]), "{status}");
    for (mut child, to, _) in clients {
        drop(to);
        assert!(child.wait().unwrap().success());
    }
}

/// A translator of addresses between client and server, which gives the client another port after so many octets from it. How many
/// ports there were.
fn translating(to: SocketAddr, after: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let (address, ports) = (inside.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&ports);
    thread::spawn(move || {
        let mut datagram = [0; 2_000];
        loop {
            count.fetch_add(1, Ordering::SeqCst);
            let outside = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
            outside.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            let client = Arc::new(Mutex::new(None));
            let (inside_too, outside_too, client_too) = (inside.clone(), outside.clone(), client.clone());
            thread::spawn(move || {
                let mut datagram = [0; 2_000];
                while let Ok(len) = outside_too.recv(&mut datagram) {
                    if let Some(client) = *client_too.lock().unwrap() {
                        let _: std::io::Result<_> = inside_too.send_to(&datagram[..len], client);
                    }
                }
            });
            let mut passed = 0;
            while passed < after {
                let (len, from) = inside.recv_from(&mut datagram).unwrap();
                *client.lock().unwrap() = Some(from);
                outside.send_to(&datagram[..len], to).unwrap();
                passed += len;
            }
        }
    });
    (address, ports)
}

#[test]
fn a_translator_that_changes_its_mind_loses_and_doubles_nothing() {
    let scene = with("udp");
    let (between, ports) = translating(scene.server.address, 600_000);
    let (peer, port) = (between.to_string(), scene.port.to_string());
    let sent = octets(3_000_000);
    let output =
        scene.exchange(&["connect", "--below", "udp", "--peer", &peer, "echo.example", &port], &sent);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(output.stdout == sent, "{} octets came back", output.stdout.len());
    assert!(ports.load(Ordering::SeqCst) > 3, "{ports:?}");
    assert_eq!(scene.led.load(Ordering::SeqCst), 1, "the target sees one connection");
    let restored = scene.server.status()["counters"]["windows_restored"].as_u64();
    assert!(restored >= Some(2), "{restored:?} paths began with the window of the one before");
}

#[test]
fn an_association_survives_a_translator_that_changes_its_mind() {
    let scene = with("sctp");
    let (between, ports) = translating(scene.server.address, 600_000);
    let (peer, port) = (between.to_string(), scene.port.to_string());
    let sent = octets(3_000_000);
    let output =
        scene.exchange(&["connect", "--below", "sctp", "--peer", &peer, "echo.example", &port], &sent);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(output.stdout == sent, "{} octets came back", output.stdout.len());
    assert!(ports.load(Ordering::SeqCst) > 3, "{ports:?}");
    let counters = &scene.server.status()["counters"];
    assert_eq!(counters["paths_taken"], 1, "one association: {counters}");
}

#[test]
fn a_server_without_what_a_client_wants_is_no_peer() {
    for (has, wants) in [("tcp", "udp"), ("tcp", "sctp"), ("udp", "sctp"), ("sctp", "udp")] {
        let scene = with(has);
        let (peer, port) = (scene.server.address.to_string(), scene.port.to_string());
        let output =
            scene.exchange(&["connect", "--below", wants, "--peer", &peer, "echo.example", &port], b"");
        assert_eq!(output.status.code(), Some(1));
        let said = errors(&output);
        assert!(said.contains("no end of sessions answers there"), "{has} {wants}: {said}");
        assert!(said.contains(&format!("below = \"{wants}\"")), "{has} {wants}: {said}");
    }
}
