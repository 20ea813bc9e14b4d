//! Programs that nobody here wrote, through our endpoint and a lossy link.

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant as Now};

use handfast_core::Duration;
use handfast_lab::relay::{Carried, Local, Relay, Wire};
use handfast_net::{Direction, Loss};

use crate::bench::{Bench, config, inside, link, noise, our_host, plain};
use crate::spaces::{Spaces, ip, spaces};

/// Namespaces, if all these programs are installed; otherwise the reason is printed.
fn spaces_for(programs: &[&str]) -> Option<Spaces> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
            println!("skipped: {program} is not installed");
            return None;
        }
    }
    spaces()
}

/// A link that loses, reorders and doubles, with the kernel of `b` at one end; `a` has a loopback interface only.
fn bench(spaces: &mut Spaces) -> Bench {
    let direction = Direction {
        losses: vec![Loss::Packet(0.01), Loss::Bit(2e-7)],
        reorder: Some((0.01, Duration::from_millis(2))),
        duplicate: 0.01,
        ..plain(50, 3)
    };
    let bench = Bench::start(spaces, link(direction), &[1]);
    ip(&format!("-n {} link set lo up", bench.hosts[0])).unwrap();
    bench
}

/// A relay on a thread of its own in namespace `a`.
struct Relaying {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Carried>,
    local: Option<SocketAddr>,
}

impl Relaying {
    fn start(bench: &Bench, wire: &str, local: &str) -> Self {
        let (wire, local): (Wire, Local) = (wire.parse().unwrap(), local.parse().unwrap());
        let host = our_host(bench);
        let relay = inside(&bench.hosts[0], move || Relay::new(host, config("sack"), wire, local).unwrap());
        let relay = relay.join().unwrap();
        let local = relay.local_address();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = inside(&bench.hosts[0], move || relay.run(|| flag.load(Ordering::Relaxed)).unwrap());
        Self { stop, thread, local }
    }

    fn finish(self) -> Carried {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// A program in a namespace, gone when this is dropped.
struct Program(Child);

impl Program {
    fn start(space: &str, line: &str) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", space]).args(line.split(' '));
        // A test that hangs is worse than one that fails.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Self(child.unwrap())
    }

    /// Its standard output when it has ended well.
    fn output(mut self) -> Vec<u8> {
        drop(self.0.stdin.take());
        let mut output = Vec::new();
        self.0.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&output));
        output
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Until somebody listens on that port in the namespace.
fn wait_for(space: &str, port: u16) {
    let deadline = Now::now() + Wait::from_secs(10);
    let wanted = format!(":{port:04X} ");
    let listens = move |table: &str| {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap();
        table.lines().any(|line| line.contains(&wanted) && line.contains(" 0A "))
    };
    let waiting = inside(space, move || {
        while !listens("tcp") && !listens("tcp6") {
            assert!(Now::now() < deadline, "nobody listens on port {port}");
            std::thread::sleep(Wait::from_millis(20));
        }
    });
    waiting.join().unwrap();
}

/// A folder with a file in it, gone when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, bytes: &[u8]) -> Self {
        let folder = std::env::temp_dir().join(format!("handfast-relay-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), bytes).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn curl_fetches_from_a_server_through_our_client() {
    let Some(mut spaces) = spaces_for(&["curl", "python3"]) else { return };
    let bench = bench(&mut spaces);
    let file = noise(5, 2_000_000);
    let folder = Folder::with("client", &file);
    let serve = format!("python3 -m http.server 8000 --bind 10.0.0.2 --directory {}", folder.0.display());
    let _server = Program::start(&bench.hosts[1], &serve);
    wait_for(&bench.hosts[1], 8000);
    let relay = Relaying::start(&bench, "connect:10.0.0.2:8000", "tcp-listen:127.0.0.1:0");
    let url = format!("http://{}/file", relay.local.unwrap());
    for _ in 0..2 {
        let got = Program::start(&bench.hosts[0], &format!("curl -sSf -m 20 {url}")).output();
        assert!(got == file, "{} bytes of {}", got.len(), file.len());
    }
    let carried = relay.finish();
    assert_eq!((carried.connections, carried.broken), (2, 0));
    assert!(carried.to_local > 4_000_000 && carried.to_wire > 100, "{carried:?}");
    let report = bench.finish();
    assert!(report.faults.is_clean() && report.lost.values().sum::<u64>() > 10, "{:?}", report.lost);
}

#[test]
fn curl_fetches_over_ipv6_from_a_server_behind_our_listener() {
    let Some(mut spaces) = spaces_for(&["curl", "python3"]) else { return };
    let bench = bench(&mut spaces);
    let file = noise(6, 2_000_000);
    let folder = Folder::with("listener", &file);
    let serve = format!("python3 -m http.server 8000 --bind 127.0.0.1 --directory {}", folder.0.display());
    let _server = Program::start(&bench.hosts[0], &serve);
    wait_for(&bench.hosts[0], 8000);
    let relay = Relaying::start(&bench, "listen:80", "tcp:127.0.0.1:8000");
    let url = "http://[fd00::1]/file";
    let four = |_| Program::start(&bench.hosts[1], &format!("curl -sSf -m 20 {url}"));
    let fetching: Vec<_> = (0..4).map(four).collect();
    for fetch in fetching {
        let got = fetch.output();
        assert!(got == file, "{} bytes of {}", got.len(), file.len());
    }
    assert_eq!(relay.finish().connections, 4);
}

#[test]
fn a_port_that_nobody_serves_is_refused_behind_the_relay_too() {
    let Some(mut spaces) = spaces_for(&["curl"]) else { return };
    let bench = bench(&mut spaces);
    let relay = Relaying::start(&bench, "listen:80", "tcp:127.0.0.1:8001");
    let fetch = Program::start(&bench.hosts[1], "curl -sSf -m 20 http://10.0.0.1/");
    let status = { fetch }.0.wait().unwrap();
    // curl(1): refused, an empty reply, reset while sending or receiving, depending on how far the handshake was. Not 28, a
    // timeout.
    assert!(matches!(status.code(), Some(7 | 52 | 55 | 56)), "{status}");
    assert_eq!(relay.finish().broken, 1);
}

#[test]
fn iperf3_sends_both_ways_through_our_client() {
    let Some(mut spaces) = spaces_for(&["iperf3"]) else { return };
    let bench = bench(&mut spaces);
    let relay = Relaying::start(&bench, "connect:10.0.0.2:5201", "tcp-listen:127.0.0.1:5201");
    for reverse in ["", " -R"] {
        let _server = Program::start(&bench.hosts[1], "timeout 20 iperf3 -s -1 -B 10.0.0.2");
        wait_for(&bench.hosts[1], 5201);
        let line = format!("timeout 15 iperf3 -c 127.0.0.1 -t 1 -J{reverse}");
        let output = Program::start(&bench.hosts[0], &line).output();
        let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
        let received = report["end"]["sum_received"]["bytes"].as_u64().unwrap();
        assert!(received > 200_000, "{received} bytes{reverse}");
    }
    assert_eq!(relay.finish().connections, 4, "a control connection and one for data, twice");
}

#[test]
fn netcat_talks_through_a_unix_socket() {
    let Some(mut spaces) = spaces_for(&["nc"]) else { return };
    let bench = bench(&mut spaces);
    let folder = Folder::with("netcat", &[]);
    let socket = folder.0.join("socket");
    let relay =
        Relaying::start(&bench, "connect:10.0.0.2:7000", &format!("unix-listen:{}", socket.display()));
    let mut there = Program::start(&bench.hosts[1], "timeout 20 nc -N -l 10.0.0.2 7000");
    wait_for(&bench.hosts[1], 7000);
    let mut here = Program::start(&bench.hosts[0], &format!("timeout 20 nc -N -U {}", socket.display()));
    let (question, answer) = (noise(7, 300_000), noise(8, 200_000));
    let write = |program: &mut Program, bytes: Vec<u8>| {
        let mut stdin = program.0.stdin.take().unwrap();
        std::thread::spawn(move || stdin.write_all(&bytes).unwrap())
    };
    let writers = [write(&mut here, question.clone()), write(&mut there, answer.clone())];
    let reading = std::thread::spawn(move || there.output());
    assert!(here.output() == answer);
    assert!(reading.join().unwrap() == question);
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(relay.finish().broken, 0);
    assert!(!socket.exists(), "the relay takes its socket with it");
}

#[test]
fn two_sides_that_both_wait_are_refused() {
    let Some(mut spaces) = spaces() else { return };
    let bench = bench(&mut spaces);
    for (wire, local) in [("listen:80", "tcp-listen:127.0.0.1:0"), ("connect:10.0.0.2:80", "tcp:127.0.0.1:1")]
    {
        let relay =
            Relay::new(our_host(&bench), config("sack"), wire.parse().unwrap(), local.parse().unwrap());
        assert!(relay.err().unwrap().to_string().contains("one side has to wait"), "{wire} {local}");
    }
}
