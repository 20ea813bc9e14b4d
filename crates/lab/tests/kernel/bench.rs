//! Two hosts and the packet loop between them.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration as Wait, Instant as Now};

use handfast_core::{BitRate, Duration};
use handfast_lab::{Clock, Identity, LoopOptions, LoopReport, Netns, PacketLoop, Stack, WireHost};
use handfast_net::Direction;
use handfast_plan::testing::Net;
use handfast_plan::timeline::Timeline;
use handfast_scenario::Scenario;
use handfast_tcp::{Config, profile};

use crate::spaces::{Spaces, ip};

/// The names of both hosts' interfaces, here and in the loop's namespace.
pub(crate) const VETHS: [&str; 2] = ["va", "vb"];
/// Their Ethernet addresses.
pub(crate) const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// A packet loop that runs on a thread of its own, and the namespaces of the two hosts beside it.
pub(crate) struct Bench {
    pub(crate) hosts: [String; 2],
    pub(crate) clock: Clock,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<LoopReport>,
}

impl Bench {
    /// The hosts in `kernels` speak TCP themselves; the others have no addresses. The loop's time begins when all is ready.
    pub(crate) fn start(spaces: &mut Spaces, scenario: Scenario, kernels: &[usize]) -> Self {
        let hosts = ["a", "b"].map(|name| spaces.add(name));
        for (n, space) in hosts.iter().enumerate() {
            spaces.wire(space, VETHS[n], &format!("02:00:00:00:00:0{}", n + 1));
        }
        for &n in kernels {
            set_up_kernel(&hosts[n], n);
        }
        let (hub, clock) = (spaces.hub(), Clock::start());
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let _here = Netns::open(&hub).unwrap().enter().unwrap();
            let options = LoopOptions { seed: 1, sample_every: Some(Duration::from_millis(10)) };
            let timeline = Timeline::new(&scenario, 1);
            let ends = [VETHS.map(str::to_owned)];
            PacketLoop::new(&scenario, timeline, &ends, &options).unwrap().run(clock, &flag).unwrap()
        });
        Self { hosts, clock, stop, thread }
    }

    pub(crate) fn finish(self) -> LoopReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Gives the kernel of host `n` 10.0.0.1 or 2 and `fd00::1` or 2, and tells it where the other one is.
pub(crate) fn set_up_kernel(space: &str, n: usize) {
    let veth = VETHS[n];
    let (own, other) = (n + 1, 2 - n);
    for command in [
        format!("netns exec {space} sysctl -qw net.ipv6.conf.{veth}.addr_gen_mode=1"),
        format!("netns exec {space} sysctl -qw net.ipv6.conf.{veth}.disable_ipv6=0"),
        format!("-n {space} addr add 10.0.0.{own}/24 dev {veth}"),
        format!("-n {space} addr add fd00::{own}/64 dev {veth} nodad"),
        format!("-n {space} neigh add 10.0.0.{other} lladdr 02:00:00:00:00:0{other} dev {veth}"),
        format!("-n {space} neigh add fd00::{other} lladdr 02:00:00:00:00:0{other} dev {veth}"),
    ] {
        ip(&command).unwrap();
    }
}

/// Host `a` with our endpoint.
pub(crate) fn our_host(bench: &Bench) -> WireHost {
    let addresses: Vec<IpAddr> = ["10.0.0.1", "fd00::1"].map(|ip| ip.parse().unwrap()).into();
    let neighbours = ["10.0.0.2", "fd00::2"].map(|ip| (ip.parse().unwrap(), MACS[1]));
    let stack = Stack::new(Identity { mac: MACS[0], addresses }, neighbours);
    let _there = Netns::open(&bench.hosts[0]).unwrap().enter().unwrap();
    WireHost::new(VETHS[0], stack, bench.clock).unwrap()
}

/// The profile of that name.
pub(crate) fn config(name: &str) -> Arc<Config> {
    Arc::new(profile(name).unwrap().config())
}

/// One link between two hosts.
pub(crate) fn link(direction: Direction) -> Scenario {
    Net::new("hh").wire(0, 1, direction).build()
}

/// So many Mbit/s and milliseconds.
pub(crate) fn plain(megabits: u64, millis: u64) -> Direction {
    Direction::plain(BitRate::from_bps(megabits * 1_000_000), Duration::from_millis(millis))
}

/// Runs `act` on a thread in that namespace.
pub(crate) fn inside<T: Send + 'static>(
    space: &str,
    act: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let space = space.to_owned();
    thread::spawn(move || {
        let _here = Netns::open(&space).unwrap().enter().unwrap();
        act()
    })
}

/// Bytes that show where they belong.
pub(crate) fn noise(stream: u32, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| handfast_wire::Payload::synthetic_byte(stream, at)).collect()
}

/// The kernel of `space` accepts one connection, writes `answer` and reads until the other end closes; returns what it read.
pub(crate) fn kernel_server(space: &str, at: SocketAddr, answer: Vec<u8>) -> JoinHandle<Vec<u8>> {
    inside(space, move || {
        let listener = TcpListener::bind(at).unwrap();
        exchange(listener.accept().unwrap().0, answer)
    })
}

/// The kernel of `space` connects, as soon as somebody listens, and does likewise.
pub(crate) fn kernel_client(space: &str, to: SocketAddr, question: Vec<u8>) -> JoinHandle<Vec<u8>> {
    inside(space, move || {
        let deadline = Now::now() + Wait::from_secs(10);
        loop {
            match TcpStream::connect(to) {
                Ok(stream) => return exchange(stream, question),
                Err(error) => assert!(Now::now() < deadline, "{error}"),
            }
            thread::sleep(Wait::from_millis(10));
        }
    })
}

/// Writes and reads at the same time, to the end of both.
fn exchange(mut stream: TcpStream, send: Vec<u8>) -> Vec<u8> {
    stream.set_read_timeout(Some(Wait::from_secs(20))).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        writing.write_all(&send).unwrap();
        writing.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    writer.join().unwrap();
    got
}
