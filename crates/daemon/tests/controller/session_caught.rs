//! Datagrams of a program that knows of no proxy: `run --all` sees its calls of connect(2) of sockets of UDP.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use nix::sys::signal::{Signal, kill};

use crate::session_datagrams::{Echo, with};
use crate::session_kept::end_of;
use crate::session_scene::{Scene, errors};

/// Sends again and again until the answer is there, with one socket: to a target that is led to, again after its end was killed, and by
/// another call to one that is not.
const CALLS: &str = "\
import errno, os, socket, sys, time
port = int(sys.argv[1])
def exchange(by, payload):
    by.settimeout(0.2)
    for _ in range(100):
        try:
            by.send(payload)
            while by.recv(20000) != payload: pass
            return True
        except TimeoutError: pass
    return False
def fails(to):
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        other.connect(to)
        for _ in range(500):
            other.send(b'?')
            time.sleep(0.01)
    except OSError as error: return errno.errorcode[error.errno]
by = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
by.connect(('192.0.2.7', port))
own = by.getsockname()[1]
print([exchange(by, bytes([n % 251]) * n) for n in (0, 1, 1400, 15900)], flush=True)
if len(sys.argv) > 2:
    sys.stdin.readline()
    print(exchange(by, b'after a kill'), by.getsockname()[1] == own)
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.connect(('::ffff:192.0.2.7', port))
print(exchange(six, b'of both families'), six.getpeername()[0])
print(fails(('192.0.2.7', 9)), fails(('192.0.2.7', 9)))
";

fn and_nobody_s(config: &str) -> String {
    config.replace("\"echo.example\"", "\"echo.example\", \"192.0.2.7\"")
}

fn started(scene: &Scene, port: u16, more: &[&str]) -> Command {
    let (peer, port) = (scene.server.address.to_string(), port.to_string());
    let run = ["run", "-v", "--all", "--peer", &peer, "--", "python3", "-c", CALLS, &port];
    scene.command(&[&run, more].concat())
}

#[test]
fn what_a_program_connects_goes_by_a_session() {
    let echo = Echo::new();
    let scene = with(&echo, "udp", and_nobody_s);
    let output = started(&scene, echo.port, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "[True, True, True, True]",
            "True ::ffff:127.0.0.1",
            // The first one learns of it from the kernel, and who comes later at once.
            "ECONNREFUSED EPERM",
        ],
        "{}",
        errors(&output)
    );
    assert_eq!(echo.asked_from(), 2, "each socket has a session");
    scene.server.status_with(|status| status["sessions"] == 0);
}

#[test]
fn a_socket_goes_on_at_the_next_end() {
    if !handfast_io::keeps_octets() {
        return;
    }
    let echo = Echo::new();
    let scene = with(&echo, "tcp", and_nobody_s);
    let mut run = started(&scene, echo.port, &["again"]).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "[True, True, True, True]");
    kill(end_of(run.id()).unwrap(), Signal::SIGKILL).unwrap();
    run.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "True True", "by the same port");
    assert_eq!(lines.next().unwrap().unwrap(), "True ::ffff:127.0.0.1");
    assert_eq!(lines.next().unwrap().unwrap(), "ECONNREFUSED EPERM");
    assert!(run.wait().unwrap().success());
}
