//! The packet loop between namespaces: frames keep their time, kernels talk TCP across it.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration as Wait, Instant as Now};

use common::Spaces;
use handfast_core::{BitRate, Duration, Instant};
use handfast_lab::{Clock, LoopOptions, LoopReport, Netns, PacketLoop};
use handfast_measure::testing::Net;
use handfast_measure::timeline::Timeline;
use handfast_net::{Direction, DownMode, Loss};
use handfast_scenario::{Action, Event, Scenario};

/// A loop that runs on a thread of its own.
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<LoopReport>,
}

impl Running {
    /// Two hosts, `a` (10.0.0.1) and `b` (10.0.0.2), and the loop between them.
    fn start(spaces: &mut Spaces, scenario: Scenario, clock: Clock) -> (Self, [String; 2]) {
        let hosts = ["a", "b"].map(|name| spaces.add(name));
        for (n, (space, other)) in [(&hosts[0], 2), (&hosts[1], 1)].into_iter().enumerate() {
            spaces.wire(space, ["va", "vb"][n], &format!("02:00:00:00:00:0{}", n + 1));
            let veth = ["va", "vb"][n];
            for command in [
                format!("-n {space} addr add 10.0.0.{}/24 dev {veth}", n + 1),
                format!("-n {space} neigh add 10.0.0.{other} lladdr 02:00:00:00:00:0{other} dev {veth}"),
            ] {
                common::ip(&command).unwrap();
            }
        }
        let hub = spaces.hub();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let _here = Netns::open(&hub).unwrap().enter().unwrap();
            let options = LoopOptions { seed: 1, sample_every: Some(Duration::from_millis(10)) };
            let ends = [["va".to_owned(), "vb".to_owned()]];
            let timeline = Timeline::new(&scenario, 1);
            PacketLoop::new(&scenario, timeline, &ends, &options).unwrap().run(clock, &flag).unwrap()
        });
        (Self { stop, thread }, hosts)
    }

    fn finish(self) -> LoopReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// What `a` says in reply to what it gets from `b`.
fn inside<T: Send + 'static>(space: &str, act: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let space = space.to_owned();
    thread::spawn(move || {
        let _here = Netns::open(&space).unwrap().enter().unwrap();
        act()
    })
}

fn scenario(direction: Direction) -> Scenario {
    Net::new("hh").wire(0, 1, direction).build()
}

/// Sends `bytes` from `a` to `b` by the kernels' TCP; returns what arrived.
fn transfer(hosts: &[String; 2], bytes: Vec<u8>) -> Vec<u8> {
    let receiver = inside(&hosts[1], || {
        let listener = TcpListener::bind("10.0.0.2:5001").unwrap();
        let mut got = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
        got
    });
    let sender = inside(&hosts[0], move || {
        let deadline = Now::now() + Wait::from_secs(5);
        let mut stream = loop {
            match TcpStream::connect("10.0.0.2:5001") {
                Ok(stream) => break stream,
                Err(error) => assert!(Now::now() < deadline, "{error}"),
            }
        };
        stream.write_all(&bytes).unwrap();
    });
    sender.join().unwrap();
    receiver.join().unwrap()
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| handfast_wire::Payload::synthetic_byte(1, at)).collect()
}

#[test]
fn kernels_talk_across_losses_and_every_lost_segment_is_counted() {
    let Some(mut spaces) = common::spaces() else { return };
    let losses = vec![Loss::List(vec![3, 40]), Loss::Bit(2e-6)];
    let reorder = Some((0.02, Duration::from_millis(3)));
    let plain = Direction::plain(BitRate::from_bps(50_000_000), Duration::from_millis(5));
    let direction = Direction { losses, reorder, duplicate: 0.02, ..plain };
    let (running, hosts) = Running::start(&mut spaces, scenario(direction), Clock::start());
    let sent = noise(2_000_000);
    let got = transfer(&hosts, sent.clone());
    let report = running.finish();
    assert!(got == sent, "{} bytes arrived", got.len());
    assert!(report.faults.is_clean(), "{}", report.faults);
    let there = report.channels[0];
    assert!(there.delivered > 1_300 && there.loss == 2 && there.duplicated > 5 && there.reordered > 5);
    assert!(there.corrupted > 5, "12,000 bits a packet: 2.4 % of {}", there.delivered);
    let (flow, lost) = report.lost.iter().max_by_key(|(_, lost)| **lost).unwrap();
    assert_eq!(flow.1.to_string(), "10.0.0.2:5001");
    assert_eq!(*lost, there.loss + there.corrupted, "all data was of one flow");
    assert!(report.lateness.frames() > 2_000);
}

#[test]
fn frames_keep_their_time_and_queues_are_looked_at() {
    let Some(mut spaces) = common::spaces() else { return };
    // 40 ms there and back, and 0.2 ms to serialise each of ten small messages.
    let direction = Direction::plain(BitRate::from_bps(2_000_000), Duration::from_millis(20));
    let clock = Clock::start();
    let (running, hosts) = Running::start(&mut spaces, scenario(direction), clock);
    let echo = inside(&hosts[1], || {
        let listener = TcpListener::bind("10.0.0.2:5001").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap() > 0 {
            stream.write_all(&byte).unwrap();
        }
    });
    thread::sleep(Wait::from_millis(50));
    let mut trips = inside(&hosts[0], || {
        let mut stream = TcpStream::connect("10.0.0.2:5001").unwrap();
        stream.set_nodelay(true).unwrap();
        let trip = |_| {
            let begin = Now::now();
            stream.write_all(&[7]).unwrap();
            stream.read_exact(&mut [0]).unwrap();
            begin.elapsed()
        };
        (0..11).map(trip).collect::<Vec<_>>()
    })
    .join()
    .unwrap();
    echo.join().unwrap();
    let report = running.finish();
    trips.sort_unstable();
    // 53 bytes of IP packet take 0.212 ms each way. Half of the trips may be late, but none is early.
    let (least, median) = (trips[0].as_secs_f64(), trips[5].as_secs_f64());
    assert!(least >= 0.0404 && median < 0.048, "{trips:?}");
    let samples = &report.queues;
    assert!(
        samples.len() > 60 && samples[0].at == Instant::ZERO && samples[2].at == Instant::from_millis(10)
    );
    let last = samples.last().unwrap().counters.offered;
    assert!(last > 11 && last <= report.channels[1].offered, "{last}");
}

#[test]
fn an_outage_in_real_time_stops_the_traffic_and_ends() {
    let Some(mut spaces) = common::spaces() else { return };
    let mut scenario = scenario(Direction::plain(BitRate::from_bps(20_000_000), Duration::from_millis(5)));
    let action = Action::Outage { link: 0, gap: Duration::from_millis(300), mode: DownMode::Drop };
    scenario.events = vec![Event { at: Instant::from_millis(700), phase: Duration::ZERO, action }];
    let clock = Clock::start();
    let (running, hosts) = Running::start(&mut spaces, scenario, clock);
    let sent = noise(2_500_000);
    let got = transfer(&hosts, sent.clone());
    let end = clock.now();
    let report = running.finish();
    assert!(got == sent, "{} bytes arrived", got.len());
    assert!(end > Instant::from_millis(1_000), "1 s at 20 Mbit/s, and 0.3 s without: {end}");
    assert!(report.channels[0].outage > 0 && report.lost.values().sum::<u64>() > 0);
    let delivered = |ms: u64| {
        let at = Instant::from_millis(ms);
        report.queues.iter().find(|s| s.at == at && s.channel == 0).unwrap().counters.delivered
    };
    assert_eq!(delivered(710), delivered(990), "nothing arrives while the link is down");
    assert!(delivered(690) > 0);
}

#[test]
fn what_cannot_be_is_said() {
    let Some(spaces) = common::spaces() else { return };
    let _here = Netns::open(&spaces.hub()).unwrap().enter().unwrap();
    let scenario = scenario(Direction::plain(BitRate::from_bps(1), Duration::ZERO));
    let options = LoopOptions { seed: 1, sample_every: None };
    let open = |ends: &[[String; 2]]| {
        let timeline = Timeline::new(&scenario, 1);
        PacketLoop::new(&scenario, timeline, ends, &options).err().unwrap().to_string()
    };
    assert!(open(&[]).contains("1 links, and ends of 0"));
    assert!(open(&[["lo".into(), "nowhere".into()]]).contains("`nowhere`"));
}
