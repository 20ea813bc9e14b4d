//! How much the packet loop carries on this machine, and how much a scenario would ask of it.

mod estimate;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as Wait;

use handfast_core::{BitRate, Duration, Instant};
use handfast_net::Direction;
use handfast_plan::timeline::Timeline;
use handfast_scenario::{Link, Node, NodeKind, Scenario};
use serde::Serialize;

pub use estimate::{check_load, load};

use crate::{Clock, Ends, LoopOptions, LoopReport, Netns, PacketLoop, offloads_off};

/// The rates that a measurement tries, in Mbit/s.
const RATES: [u64; 12] = [10, 25, 50, 100, 150, 200, 300, 400, 550, 700, 850, 1_000];
/// A loop that carries less than this part of what the link could is out of breath, however punctual.
const FULL: f64 = 0.9;
/// The one-way delay of the link measured.
const DELAY: Duration = Duration::from_millis(10);
/// Time that is not counted while a transfer gathers speed.
const WARM_UP: Duration = Duration::from_millis(300);
/// How finely what was moved is counted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where a measurement takes place: two hosts with the kernel's TCP, and the loop between them.
#[derive(Clone, Debug)]
pub struct Site {
    /// The loop's namespace.
    pub hub: String,
    /// The interfaces there behind which the hosts are.
    pub ends: Ends,
    /// The hosts' namespaces.
    pub hosts: [String; 2],
    /// Their interfaces there.
    pub interfaces: [String; 2],
    /// An address of the second host, with a port that nobody uses.
    pub receiver: SocketAddr,
}

/// A bulk transfer at one rate.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The link's rate.
    pub rate_bps: u64,
    /// Frames that the loop moved, data and acknowledgements.
    pub frames_per_s: f64,
    /// The part of the link's rate that was used.
    pub used: f64,
    /// Nominal to actual sending: the median.
    pub lateness_p50_us: f64,
    /// 99 of 100 frames.
    pub lateness_p99_us: f64,
    /// 999 of 1,000 frames.
    pub lateness_p999_us: f64,
    /// The largest.
    pub lateness_max_us: f64,
    /// Whether a run like this would count.
    pub sustained: bool,
}

/// What a machine carries.
#[derive(Clone, Debug, Serialize)]
pub struct Capacity {
    /// The most frames a second that the loop moved punctually; 0: none.
    pub frames_per_s: f64,
    /// Whether the kernel granted real-time priority.
    pub real_time: bool,
    /// Every transfer, in order of rate.
    pub steps: Vec<Step>,
}

/// Tries transfers of that length at growing rates, until two in a row are too much or `go_on`, which sees each as it ends,
/// says no.
///
/// # Errors
/// What the kernel says where a namespace, interface or address is missing.
pub fn measure(site: &Site, length: Duration, mut go_on: impl FnMut(&Step) -> bool) -> io::Result<Capacity> {
    let mut capacity = Capacity { frames_per_s: 0.0, real_time: true, steps: Vec::new() };
    let mut failures = 0;
    prepare(site)?;
    for rate in RATES.map(|megabits| BitRate::from_bps(megabits * 1_000_000)) {
        let (step, real_time) = try_rate(site, rate, length)?;
        let wanted = go_on(&step);
        capacity.real_time &= real_time;
        failures = if step.sustained { 0 } else { failures + 1 };
        if step.sustained {
            capacity.frames_per_s = capacity.frames_per_s.max(step.frames_per_s);
        }
        capacity.steps.push(step);
        if failures == 2 || !wanted {
            break;
        }
    }
    Ok(capacity)
}

/// Sees to it that what crosses the link are the frames of a real wire.
fn prepare(site: &Site) -> io::Result<()> {
    for (space, interface) in site.hosts.iter().zip(&site.interfaces) {
        let _there = Netns::open(space)?.enter()?;
        offloads_off(interface)?;
    }
    Ok(())
}

/// One bulk transfer between the kernels of the two hosts, and whether the loop had real-time priority.
///
/// # Errors
/// As [`measure`].
pub fn try_rate(site: &Site, rate: BitRate, length: Duration) -> io::Result<(Step, bool)> {
    let scenario = one_link(rate);
    let options = LoopOptions { seed: 1, sample_every: Some(LOOK_EVERY) };
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let packet_loop = {
        let _there = Netns::open(&site.hub)?.enter()?;
        PacketLoop::new(&scenario, Timeline::default(), std::slice::from_ref(&site.ends), &options)?
    };
    let report = thread::scope(|scope| {
        let looping = scope.spawn(|| packet_loop.run(Clock::start(), &stop));
        let traffic = scope.spawn(|| transfer(site, &done));
        thread::sleep(Wait::from_nanos((WARM_UP + length).as_nanos()));
        // The loop stops first: what the kernels say at the end is not counted.
        stop.store(true, Ordering::Relaxed);
        let report = join(looping);
        done.store(true, Ordering::Relaxed);
        join(traffic).and(report)
    })?;
    Ok((step(rate, &report), report.real_time))
}

/// What a thread returned; its panic goes on here.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn step(rate: BitRate, report: &LoopReport) -> Step {
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    let percentile = |percent| micros(report.lateness.percentile(percent));
    // Between the first look after the warm-up and the last one.
    let looks: Vec<_> = report.queues.iter().filter(|look| look.at >= Instant::ZERO + WARM_UP).collect();
    let (mut frames, mut data, mut seconds) = (0, 0, 0.0);
    if let (Some(first), Some(last)) = (looks.first(), looks.last()) {
        let moved = |channel: usize| {
            let delivered: Vec<_> = looks
                .iter()
                .filter(|look| look.channel == channel)
                .map(|look| look.counters.delivered)
                .collect();
            delivered.last().unwrap_or(&0) - delivered.first().unwrap_or(&0)
        };
        data = moved(0);
        frames = data + moved(1);
        seconds = last.at.since(first.at).as_secs_f64();
    }
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let used = per_second(data) * FULL_PACKET * 8.0 / rate.as_bps() as f64;
    Step {
        rate_bps: rate.as_bps(),
        frames_per_s: per_second(frames),
        used,
        lateness_p50_us: percentile(50.0),
        lateness_p99_us: percentile(99.0),
        lateness_p999_us: percentile(99.9),
        lateness_max_us: micros(report.lateness.max()),
        sustained: report.verdict().is_ok() && used >= FULL,
    }
}

/// Bytes of a full IP packet.
const FULL_PACKET: f64 = 1500.0;

/// How long a transfer waits for its connection.
const CONNECT: Wait = Wait::from_secs(5);

/// Bulk data from the first host to the second until `done`.
fn transfer(site: &Site, done: &AtomicBool) -> io::Result<()> {
    let listener = {
        let _there = Netns::open(&site.hosts[1])?.enter()?;
        TcpListener::bind(site.receiver)?
    };
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let _here = Netns::open(&site.hosts[0])?.enter()?;
            let mut stream = match TcpStream::connect_timeout(&site.receiver, CONNECT) {
                // The loop stood still for a SYN, or ended before the next: it carried nothing, and the step says so.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(()),
                stream => stream?,
            };
            stream.set_write_timeout(Some(Wait::from_millis(100)))?;
            let zeros = vec![0; 1 << 16];
            while !done.load(Ordering::Relaxed) {
                // The loop ends first, so that at the end nothing can be written: that is no failure.
                let _ = stream.write(&zeros);
            }
            Ok(())
        });
        let receiving = scope.spawn(|| receive(&listener, done));
        join(sending).and(join(receiving))
    })
}

fn receive(listener: &TcpListener, done: &AtomicBool) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            // Nobody came, and nobody will.
            Err(_) if done.load(Ordering::Relaxed) => return Ok(()),
            Err(_) => thread::sleep(Wait::from_millis(1)),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Wait::from_millis(100)))?;
    let mut buffer = vec![0; 1 << 16];
    while !done.load(Ordering::Relaxed) {
        let _ = stream.read(&mut buffer);
    }
    stream.shutdown(Shutdown::Both)
}

/// Two hosts and an unlimited queue between them: the window, not losses, says how much is under way.
fn one_link(rate: BitRate) -> Scenario {
    let node = |name: &str| Node {
        name: name.into(),
        kind: NodeKind::Host,
        role: None,
        ap: None,
        more_aps: Vec::new(),
    };
    let direction = Direction::plain(rate, DELAY);
    let link =
        Link { name: "measured".into(), between: [0, 1], forward: direction.clone(), backward: direction };
    Scenario {
        radio: None,
        subnets: false,
        networks: BTreeMap::new(),
        on_air: BTreeMap::new(),
        traces: BTreeMap::new(),
        trace_files: BTreeSet::new(),
        name: "capacity".into(),
        description: String::new(),
        hash: String::new(),
        duration: Duration::MAX,
        nodes: vec![node("a"), node("b")],
        links: vec![link],
        flows: Vec::new(),
        events: Vec::new(),
        schemes: Vec::new(),
        profiles: Vec::new(),
        captures: Vec::new(),
        sample_interval: Duration::from_secs(1),
    }
}
