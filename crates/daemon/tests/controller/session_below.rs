//! What is below sessions: Multipath TCP.

use std::io::{Read, Write};
use std::net::SocketAddr;

use crate::session_scene::{Scene, octets};

fn with(below: &'static str) -> Scene {
    Scene::with(|config| config.replacen("[session]", &format!("[session]\nbelow = \"{below}\""), 1))
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
