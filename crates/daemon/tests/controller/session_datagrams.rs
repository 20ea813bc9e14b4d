//! Sessions of datagrams: by SOCKS5's UDP ASSOCIATE (RFC 1928 section 7) to a target of UDP, and back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use handfast_wire::{SocksDatagram, SocksHost};

use crate::session_scene::{Detour, Scene, octets};
use crate::support::PATIENCE;

/// A target of UDP that gives back what comes, behind a header of the PROXY protocol; from where it was asked.
pub(crate) struct Echo {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<SocketAddr>>>,
    is_over: Arc<AtomicBool>,
}

impl Echo {
    pub(crate) fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let (seen, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (all, stop) = (Arc::clone(&seen), Arc::clone(&is_over));
        thread::spawn(move || {
            let mut datagram = vec![0; 65_535];
            while !stop.load(Ordering::SeqCst) {
                let Ok((len, from)) = socket.recv_from(&mut datagram) else { continue };
                assert_eq!(
                    (datagram[12], datagram[13], &datagram[16..20]),
                    (0x21, 0x12, &[127, 0, 0, 1][..])
                );
                let mut seen = all.lock().unwrap();
                if !seen.contains(&from) {
                    seen.push(from);
                }
                socket.send_to(&datagram[28..len], from).unwrap();
            }
        });
        Self { port, seen, is_over }
    }

    pub(crate) fn asked_from(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn with(echo: &Echo, below: &str, change: impl Fn(&str) -> String) -> Scene {
    let (port, below) = (echo.port, below.to_owned());
    Scene::with(move |config| {
        let config = change(&config).replacen("[session]", &format!("[session]\nbelow = \"{below}\""), 1);
        config.replace("ports = [", &format!("udp_ports = [{port}], ports = ["))
    })
}

/// A `run` whose program waits until it is let go.
struct Run {
    child: Child,
    hold: Option<ChildStdin>,
    at: SocketAddr,
    password: String,
}

impl Run {
    fn new(scene: &Scene, options: &[&str]) -> Self {
        let program = ["--", "/bin/sh", "-c", "echo $ALL_PROXY; read nothing"];
        let arguments: Vec<&str> = [&["run", "-v"][..], options, &program].concat();
        let mut child = scene.command(&arguments).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (user, at) = line.trim_end().strip_prefix("socks5h://").unwrap().split_once('@').unwrap();
        let password = user.split_once(':').unwrap().1.to_owned();
        let (hold, at) = (child.stdin.take(), at.parse().unwrap());
        Self { child, hold, at, password }
    }

    fn by(scene: &Scene, peer: SocketAddr, below: &str) -> Self {
        Self::new(scene, &["--below", below, "--peer", &peer.to_string()])
    }

    /// Asks for a relay: the connection, and the answer's code and port.
    fn associate(&self) -> (TcpStream, u8, u16) {
        let mut control = TcpStream::connect(self.at).unwrap();
        let len = self.password.len() as u8;
        let greeting = [b"\x05\x01\x02\x01\x08handfast", &[len][..], self.password.as_bytes()].concat();
        control.write_all(&greeting).unwrap();
        control.write_all(&[5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut answer = [0; 14];
        control.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..5], [5, 2, 1, 0, 5]);
        (control, answer[5], u16::from_be_bytes([answer[12], answer[13]]))
    }

    fn relay(&self) -> Relay {
        let (control, code, port) = self.associate();
        assert_eq!(code, 0);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        Relay { control, socket, at: (Ipv4Addr::LOCALHOST, port).into() }
    }

    /// The program ends: what was logged.
    fn end(mut self) -> String {
        drop(self.hold.take());
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.child.wait().unwrap().code().is_some());
        log
    }
}

struct Relay {
    control: TcpStream,
    socket: UdpSocket,
    at: SocketAddr,
}

fn name() -> SocksHost {
    SocksHost::Name(b"echo.example".to_vec())
}

impl Relay {
    fn send(&self, host: SocksHost, port: u16, fragment: u8, payload: &[u8]) {
        let mut datagram = Vec::new();
        SocksDatagram { fragment, host, port, payload }.emit(&mut datagram);
        self.socket.send_to(&datagram, self.at).unwrap();
    }

    /// The next one that comes, within the socket's patience.
    fn receive(&self) -> Option<(SocksHost, u16, Vec<u8>)> {
        let mut datagram = vec![0; 65_535];
        let (len, from) = self.socket.recv_from(&mut datagram).ok()?;
        assert_eq!(from, self.at);
        let SocksDatagram { fragment: 0, host, port, payload } = SocksDatagram::parse(&datagram[..len])?
        else {
            panic!("a fragment")
        };
        Some((host, port, payload.to_vec()))
    }

    /// Sends again and again, as who uses UDP does, until the answer is there.
    fn exchange(&self, host: &SocksHost, port: u16, payload: &[u8]) {
        let by = Instant::now() + PATIENCE;
        while Instant::now() < by {
            self.send(host.clone(), port, 0, payload);
            while let Some((from, at, answer)) = self.receive() {
                assert_eq!((&from, at), (host, port));
                if answer == payload {
                    return;
                }
            }
        }
        panic!("no answer of {} octets", payload.len());
    }
}

#[test]
fn datagrams_go_to_a_target_and_back() {
    let echo = Echo::new();
    for below in ["tcp", "udp"] {
        let scene = with(&echo, below, str::to_owned);
        let run = Run::by(&scene, scene.server.address, below);
        let relay = run.relay();
        // The first ones wait for the session: none is lost without a reason.
        for number in 0..5u8 {
            relay.send(name(), echo.port, 0, &[number; 200]);
        }
        relay.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let came: Vec<u8> = (0..5).map(|_| relay.receive().unwrap().2[0]).collect();
        assert_eq!(came, [0, 1, 2, 3, 4], "{below}");
        relay.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        // Beside a connection in UDP, and too long for that.
        for len in [0, 1, 1_200, 1_204, 1_205, 1_400, 9_000, 15_900] {
            relay.exchange(&name(), echo.port, &octets(len));
        }
        relay.exchange(&SocksHost::Address(Ipv4Addr::LOCALHOST.into()), echo.port, b"by its address");
        let status = scene.server.status();
        assert_eq!(
            (&status["udp_ports"], &status["sessions"]),
            (&2.into(), &2.into()),
            "a target, a session"
        );
        let target = status["list"][0]["target"].as_str().unwrap().to_owned();
        assert_eq!(
            (target, &status["list"][0]["below"]),
            (format!("echo.example:{}/udp", echo.port), &below.into())
        );
        // The program closes its connection: that is the end of its relay.
        drop(relay);
        scene.server.status_with(|status| status["udp_ports"] == 0 && status["sessions"] == 0);
        run.end();
    }
    assert_eq!(echo.asked_from(), 4, "each session has a port of its own");
}

#[test]
fn what_goes_nowhere_is_refused_with_a_reason_and_harms_nobody() {
    let echo = Echo::new();
    let mut scene = with(&echo, "tcp", str::to_owned);
    let run = Run::by(&scene, scene.server.address, "tcp");
    let relay = run.relay();
    relay.exchange(&name(), echo.port, b"before");
    relay.send(name(), echo.port, 1, b"a fragment");
    relay.send(name(), 9, 0, b"a port that is not listed");
    relay.send(SocksHost::Name(b"$(x)".to_vec()), 9, 0, b"no host");
    relay.socket.send_to(&[7; 30], relay.at).unwrap();
    // The same port of TCP is another matter.
    relay.send(name(), scene.port, 0, b"a port of TCP");
    relay.exchange(&name(), echo.port, b"after");
    scene.server.logged("target refused: it is not in `targets`");
    scene.server.status_with(|status| status["counters"]["targets_refused"] == 2);
    // Who has not asked is nobody, whatever it sends: the kernel does not even let it pass.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut datagram = Vec::new();
    SocksDatagram { fragment: 0, host: name(), port: echo.port, payload: b"?" }.emit(&mut datagram);
    stranger.send_to(&datagram, relay.at).unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(stranger.recv(&mut [0; 100]).is_err());
    relay.exchange(&name(), echo.port, b"at last");
    assert_eq!(echo.asked_from(), 1);
    let log = run.end();
    for says in
        ["the peer does not lead to this target", "fragments are not put together", "it goes to no host"]
    {
        assert!(log.contains(says), "{says}: {log}");
    }
}

#[test]
fn a_target_that_is_not_there_is_said_and_tried_again() {
    let echo = Echo::new();
    let port = echo.port;
    let mut scene = with(&echo, "tcp", str::to_owned);
    let run = Run::by(&scene, scene.server.address, "tcp");
    let relay = run.relay();
    relay.exchange(&name(), port, b"there");
    drop(echo);
    let by = Instant::now() + PATIENCE;
    // ICMP says it of a datagram: the next call learns of it.
    while scene.server.status()["udp_ports"] != 0 {
        relay.send(name(), port, 0, b"gone");
        thread::sleep(Duration::from_millis(20));
        assert!(Instant::now() < by);
    }
    scene.server.logged("target not reached");
    let back = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    back.set_read_timeout(Some(PATIENCE)).unwrap();
    let sender = thread::spawn(move || {
        for _ in 0..100 {
            relay.send(name(), port, 0, b"again");
            thread::sleep(Duration::from_millis(50));
        }
        relay
    });
    let mut datagram = [0; 100];
    let len = back.recv(&mut datagram).unwrap();
    assert_eq!(&datagram[28..len], b"again");
    drop((sender.join().unwrap(), back));
    assert!(run.end().contains("the target could not be reached"));
}

#[test]
fn a_session_of_datagrams_goes_on_by_another_path() {
    let echo = Echo::new();
    let scene = with(&echo, "tcp", str::to_owned);
    let between = Detour::new(scene.server.address);
    let run = Run::by(&scene, between.address, "tcp");
    let relay = run.relay();
    for number in 0..4u8 {
        relay.exchange(&name(), echo.port, &[number; 300]);
        between.lead(scene.server.address);
    }
    relay.exchange(&name(), echo.port, b"at last");
    assert_eq!(echo.asked_from(), 1, "the target sees one client");
    run.end();
}

#[test]
fn there_is_no_relay_without_a_peer_that_was_named_nor_more_than_there_may_be() {
    let echo = Echo::new();
    let scene = with(&echo, "tcp", str::to_owned);
    let run = Run::new(&scene, &[]);
    let (_control, code, _) = run.associate();
    assert_eq!(code, 7, "RFC 1928 section 6: command not supported");
    assert!(run.end().contains("it needs --peer"));
    let run = Run::by(&scene, scene.server.address, "tcp");
    let mut relays: Vec<_> = (0..64).map(|_| run.relay()).collect();
    let (_control, code, _) = run.associate();
    assert_eq!(code, 1, "a general failure");
    drop(relays.pop());
    let by = Instant::now() + PATIENCE;
    while run.associate().1 != 0 {
        assert!(Instant::now() < by);
    }
    relays[0].exchange(&name(), echo.port, b"still there");
    assert!(relays[0].control.peer_addr().is_ok());
    drop(relays);
    scene.server.status_with(|status| status["sessions"] == 0);
    run.end();
}
