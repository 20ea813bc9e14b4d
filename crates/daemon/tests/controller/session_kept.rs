//! Sessions that outlive the process of an end: it is killed, and started again with what it had kept.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use handfast_io::{KeptFor, keeps_octets};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::session_scene::{Scene, command, errors, octets};
use crate::support::PATIENCE;

/// An end before a server, whose descriptors this test keeps as systemd would.
struct Keeper {
    kept: KeptFor,
    child: Child,
    config: PathBuf,
    lines: Receiver<Value>,
}

impl Keeper {
    fn start(config: PathBuf) -> Self {
        let kept = KeptFor::new(100).unwrap();
        let (child, lines) = start(&kept, &config);
        let mut this = Self { kept, child, config, lines };
        this.begun();
        this
    }

    /// Until it says that it has begun: where it listens.
    fn begun(&mut self) -> SocketAddr {
        let by = Instant::now() + PATIENCE;
        let mut is_ready = false;
        loop {
            is_ready |= self.kept.hear(self.child.id()).unwrap();
            assert!(Instant::now() < by, "it does not begin");
            if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(1)) {
                assert_ne!(line["message"], "error", "{line}");
                if line["message"] == "started" {
                    while !is_ready {
                        is_ready |= self.kept.hear(self.child.id()).unwrap();
                        assert!(Instant::now() < by, "it is not ready");
                    }
                    return line["listen"].as_str().unwrap().parse().unwrap();
                }
            }
        }
    }

    fn run_for(&mut self, span: Duration) {
        let until = Instant::now() + span;
        while Instant::now() < until {
            self.kept.hear(self.child.id()).unwrap();
            sleep(Duration::from_millis(1));
        }
    }

    /// Kills it, and starts the next one.
    fn kill(&mut self) -> SocketAddr {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.next()
    }

    fn next(&mut self) -> SocketAddr {
        self.kept.hear(self.child.id()).unwrap();
        (self.child, self.lines) = start(&self.kept, &self.config);
        self.begun()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // It may be gone.
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn start(kept: &KeptFor, config: &PathBuf) -> (Child, Receiver<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_handfastd"));
    command.args(["session", "serve", "--config"]).arg(config).stderr(Stdio::piped());
    let mut child = kept.start(&mut command).unwrap();
    let (to, lines) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            // Nobody may be interested any more.
            let _ = to.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
        }
    });
    (child, lines)
}

/// What a client sends bit by bit, and what comes back to it meanwhile.
fn trickle(mut client: Child, sent: Vec<u8>, every: Duration) -> thread::JoinHandle<(Vec<u8>, bool, String)> {
    let (mut stdin, mut stdout) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
    thread::spawn(move || {
        for part in sent.chunks(64 << 10) {
            if stdin.write_all(part).is_err() {
                break;
            }
            sleep(every);
        }
    });
    thread::spawn(move || {
        let mut came = Vec::new();
        stdout.read_to_end(&mut came).unwrap();
        let output = client.wait_with_output().unwrap();
        (came, output.status.success(), errors(&output))
    })
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}

#[test]
fn an_end_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    if !keeps_octets() {
        return;
    }
    let (_folder, (port, led), config, home) = Scene::prepared(|config| config);
    let mut keeper = Keeper::start(config);
    let address = keeper.kill();
    let sent = octets(25_000_000);
    let (peer, port) = (address.to_string(), port.to_string());
    let arguments = ["connect", "--peer", &peer, "echo.example", &port];
    let client = command(&home, &arguments).spawn().unwrap();
    let client = trickle(client, sent.clone(), Duration::from_millis(12));
    let mut kills = 0;
    while !client.is_finished() {
        keeper.run_for(Duration::from_millis(150 + 7 * (kills % 10)));
        assert_eq!(keeper.kill(), address, "it listens where it did");
        kills += 1;
        assert!(kills < 200, "it has no end");
    }
    let (came, is_success, errors) = client.join().unwrap();
    assert!(is_success, "{errors}");
    assert_eq!((came.len(), first_difference(&came, &sent)), (sent.len(), None), "{kills} kills");
    assert!(kills >= 10, "{kills}");
    assert_eq!(led.load(Ordering::SeqCst), 1, "the target sees one connection");
}

#[test]
fn an_end_with_something_else_below_listens_where_the_one_before_did() {
    if !keeps_octets() {
        return;
    }
    let (_folder, _, config, _) = Scene::prepared(|config| config);
    let mut keeper = Keeper::start(config.clone());
    let address = keeper.kill();
    let text = fs::read_to_string(&config).unwrap().replace("127.0.0.1:0", &address.to_string());
    for below in ["udp", "tcp", "udp"] {
        fs::write(&config, format!("{text}below = \"{below}\"\n")).unwrap();
        assert_eq!(keeper.kill(), address);
        assert!(TcpStream::connect(address).is_ok(), "{below}");
    }
    // The same with another address at the same port.
    let everywhere = format!("0.0.0.0:{}", address.port());
    fs::write(&config, text.replace(&address.to_string(), &everywhere)).unwrap();
    assert_eq!(keeper.kill().to_string(), everywhere);
    assert!(TcpStream::connect(address).is_ok());
}

/// The end of a `session run` or `connect`: the child of that process that has its arguments.
pub(crate) fn end_of(run: u32) -> Option<Pid> {
    let line = |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let own = line(&run.to_string());
    let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children")).ok()?;
    let children: Vec<_> = children.split_whitespace().map(|pid| (pid, line(pid))).collect();
    let (end, _) = children.iter().find(|(_, line)| !own.is_empty() && *line == own)?;
    // Before it has begun a program is as who starts it.
    let is_other = |line: &[u8]| !line.is_empty() && line != own;
    let has_begun =
        !own.windows(5).any(|part| part == b"\0run\0") || children.iter().any(|(_, line)| is_other(line));
    has_begun.then(|| end.parse().ok().map(Pid::from_raw))?
}

/// Connects its input and output to an address that nobody has (RFC 5737), and knows of no proxy.
const COPIES: &str = "\
import os, socket, sys, threading
peer = socket.create_connection(('192.0.2.7', int(sys.argv[1])))
def send():
    while part := os.read(0, 65536): peer.sendall(part)
    peer.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
while part := peer.recv(65536):
    sys.stdout.buffer.write(part)
";

/// How a client has its octets carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Run,
    All,
    Connect,
}

impl How {
    fn arguments(self, peer: &str, port: &str) -> Vec<String> {
        let program = env!("CARGO_BIN_EXE_handfastd");
        let arguments = match self {
            Self::Run => {
                vec!["run", "--peer", peer, "--", program, "session", "connect", "echo.example", port]
            }
            Self::All => vec!["run", "--all", "--peer", peer, "--", "python3", "-c", COPIES, port],
            Self::Connect => vec!["connect", "--peer", peer, "echo.example", port],
        };
        arguments.into_iter().map(str::to_owned).collect()
    }
}

fn and_nobody_s(config: &str) -> String {
    config.replace("\"echo.example\"", "\"echo.example\", \"192.0.2.7\"")
}

/// Has a client send so much while its end, and that before the server, get signals in turn: how many.
fn roughly(how: How, signal: Signal, len: usize, whom: [bool; 2]) -> u32 {
    let (_folder, (port, led), config, home) = Scene::prepared(|config| and_nobody_s(&config));
    let mut keeper = Keeper::start(config);
    let address = keeper.kill();
    let sent = octets(len);
    let arguments = how.arguments(&address.to_string(), &port.to_string());
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let run = command(&home, &arguments).spawn().unwrap();
    let pid = run.id();
    let client = trickle(run, sent.clone(), Duration::from_millis(12));
    let (mut signals, mut rounds) = (0, 0);
    while !client.is_finished() {
        keeper.run_for(Duration::from_millis(150 + 7 * (rounds % 10)));
        rounds += 1;
        if whom[0]
            && let Some(end) = end_of(pid)
        {
            // It may just have ended.
            signals += u32::from(kill(end, signal).is_ok());
        }
        if whom[1] {
            keeper.kill();
            signals += 1;
        }
        assert!(rounds < 300, "it has no end");
    }
    let (came, is_success, errors) = client.join().unwrap();
    assert!(is_success && errors.is_empty(), "{errors}");
    assert_eq!((came.len(), first_difference(&came, &sent)), (sent.len(), None), "{signals} signals");
    assert_eq!(led.load(Ordering::SeqCst), 1, "the target sees one connection");
    signals
}

#[test]
fn the_end_beside_a_program_is_killed_again_and_again() {
    if keeps_octets() {
        assert!(roughly(How::Run, Signal::SIGKILL, 25_000_000, [true, false]) >= 10);
    }
}

#[test]
fn both_ends_are_killed_again_and_again() {
    if keeps_octets() {
        assert!(roughly(How::Run, Signal::SIGKILL, 25_000_000, [true, true]) >= 20);
    }
}

/// A new version: the end is told to end, and the next one is whatever binary is there.
#[test]
fn another_end_takes_the_place_of_one_that_is_told_to_end() {
    if keeps_octets() {
        assert!(roughly(How::Run, Signal::SIGTERM, 8_000_000, [true, false]) >= 5);
    }
}

/// What ssh has as its `ProxyCommand`.
#[test]
fn the_end_of_connect_is_killed_again_and_again() {
    if keeps_octets() {
        assert!(roughly(How::Connect, Signal::SIGKILL, 12_000_000, [true, false]) >= 5);
    }
}

#[test]
fn the_end_of_a_program_that_is_asked_for_its_connections_is_killed_again_and_again() {
    if keeps_octets() {
        assert!(roughly(How::All, Signal::SIGKILL, 12_000_000, [true, false]) >= 5);
    }
}

/// One connection after the other, of which each brings back what it was given; what has gone wrong.
const ASKS: &str = "\
import socket, sys, time
wrong = []
until = time.monotonic() + 6
done = 0
while time.monotonic() < until:
    try:
        with socket.create_connection(('192.0.2.7', int(sys.argv[1]))) as peer:
            peer.sendall(b'x' * 5000)
            peer.shutdown(socket.SHUT_WR)
            got = 0
            while part := peer.recv(65536): got += len(part)
        if got == 5000: done += 1
        else: wrong.append(got)
    except ConnectionResetError as error:
        time.sleep(0.01)
    except OSError as error:
        wrong.append(repr(error))
print(done, wrong)
";

/// An end that has taken a call and is killed before it has answered leaves nobody in connect(2), and nobody with an end that is none.
#[test]
fn calls_of_connect_are_answered_whoever_is_killed() {
    if !keeps_octets() {
        return;
    }
    let (_folder, (port, _), config, home) = Scene::prepared(|config| and_nobody_s(&config));
    let mut keeper = Keeper::start(config);
    let peer = keeper.kill().to_string();
    let port = port.to_string();
    let run = ["run", "--all", "--peer", &peer, "--", "python3", "-c", ASKS, &port];
    let run = command(&home, &run).spawn().unwrap();
    let pid = run.id();
    let client = trickle(run, Vec::new(), Duration::ZERO);
    let (mut kills, begin) = (0u32, Instant::now());
    while !client.is_finished() {
        // Just after it has begun, or later.
        keeper.run_for(Duration::from_millis(20 + u64::from(kills * 37 % 200)));
        if let Some(end) = end_of(pid) {
            kills += u32::from(kill(end, Signal::SIGKILL).is_ok());
        }
        assert!(begin.elapsed() < 3 * PATIENCE, "it has no end");
    }
    let (came, is_success, errors) = client.join().unwrap();
    let said = String::from_utf8(came).unwrap();
    assert!(is_success && errors.is_empty(), "{errors}");
    let (done, wrong) = said.trim().split_once(' ').unwrap();
    assert_eq!(wrong, "[]", "{said}");
    assert!(done.parse::<u32>().unwrap() >= 10 && kills >= 10, "{done} {kills}");
}

#[test]
fn a_program_s_exit_code_comes_through_its_keeper_and_an_end_that_cannot_begin_starts_nothing() {
    let (_folder, _, config, home) = Scene::prepared(|config| config);
    let mut keeper = Keeper::start(config);
    let peer = keeper.kill().to_string();
    let run = |arguments: &[&str]| {
        let output = command(&home, arguments).spawn().unwrap().wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output))
    };
    let said = run(&["run", "--peer", &peer, "--", "/bin/sh", "-c", "echo here; exit 7"]);
    assert_eq!(said, (Some(7), "here\n".to_owned(), String::new()));
    let (code, said, errors) = run(&["run", "--peer", "no such host", "--", "/bin/sh", "-c", "echo here"]);
    assert_eq!((code, said.as_str()), (Some(2), ""), "{errors}");
    let (code, _, errors) = run(&["run", "--peer", &peer, "--", "/no/such/program"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("/no/such/program"), "{errors}");
}
