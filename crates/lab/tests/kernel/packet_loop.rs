//! The packet loop between namespaces: frames keep their time, kernels talk TCP across it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration as Wait, Instant as Now};

use handfast_core::{Duration, Instant};
use handfast_lab::{LoopOptions, Netns, PacketLoop};
use handfast_net::cell::Profile;
use handfast_net::{Direction, DownMode, Loss};
use handfast_plan::timeline::Timeline;
use handfast_scenario::{Action, Event};

use crate::bench::{Bench, inside, kernel_client, kernel_server, link, noise, plain};
use crate::spaces::spaces;

/// The kernel of `a` sends `bytes` to that of `b`; returns what arrived.
fn transfer(bench: &Bench, bytes: Vec<u8>) -> Vec<u8> {
    let at = "10.0.0.2:5001".parse().unwrap();
    let receiver = kernel_server(&bench.hosts[1], at, Vec::new());
    assert!(kernel_client(&bench.hosts[0], at, bytes).join().unwrap().is_empty());
    receiver.join().unwrap()
}

#[test]
fn kernels_talk_across_losses_and_every_lost_segment_is_counted() {
    let Some(mut spaces) = spaces() else { return };
    let losses = vec![Loss::List(vec![3, 40]), Loss::Bit(2e-6)];
    let reorder = Some((0.02, Duration::from_millis(3)));
    let direction = Direction { losses, reorder, duplicate: 0.02, ..plain(50, 5) };
    let bench = Bench::start(&mut spaces, link(direction), &[0, 1]);
    let sent = noise(1, 2_000_000);
    let got = transfer(&bench, sent.clone());
    let report = bench.finish();
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
    let Some(mut spaces) = spaces() else { return };
    // 40 ms there and back, and 0.2 ms to serialise each of ten small messages.
    let bench = Bench::start(&mut spaces, link(plain(2, 20)), &[0, 1]);
    let echo = inside(&bench.hosts[1], || {
        let listener = TcpListener::bind("10.0.0.2:5001").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap() > 0 {
            stream.write_all(&byte).unwrap();
        }
    });
    thread::sleep(Wait::from_millis(50));
    let mut trips = inside(&bench.hosts[0], || {
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
    let report = bench.finish();
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
    let Some(mut spaces) = spaces() else { return };
    let mut scenario = link(plain(20, 5));
    let action = Action::Outage { link: 0, gap: Duration::from_millis(300), mode: DownMode::Drop };
    scenario.events = vec![Event::new(Instant::from_millis(300), action)];
    let bench = Bench::start(&mut spaces, scenario, &[0, 1]);
    let sent = noise(1, 2_500_000);
    let got = transfer(&bench, sent.clone());
    let end = bench.clock.now();
    let report = bench.finish();
    assert!(got == sent, "{} bytes arrived", got.len());
    assert!(end > Instant::from_millis(1_300), "1 s at 20 Mbit/s, and 0.3 s without: {end}");
    assert!(report.channels[0].outage > 0 && report.lost.values().sum::<u64>() > 0);
    let delivered = |ms: u64| {
        let at = Instant::from_millis(ms);
        report.queues.iter().find(|s| s.at == at && s.channel == 0).unwrap().counters.delivered
    };
    assert_eq!(delivered(310), delivered(590), "nothing arrives while the link is down");
    assert!(delivered(290) > 0);
}

#[test]
fn a_cellular_radio_delays_and_loses_nothing_and_its_bursts_leave_in_time() {
    let Some(mut spaces) = spaces() else { return };
    let mut scenario = link(plain(40, 5));
    let link = &mut scenario.links[0];
    link.forward.access = Some(Box::new(Profile::lte()));
    link.backward.access = Some(Box::new(Profile::lte_uplink()));
    // A handover with forwarding.
    let action = Action::Outage { link: 0, gap: Duration::from_millis(40), mode: DownMode::Hold };
    scenario.events = vec![Event::new(Instant::from_millis(500), action)];
    let bench = Bench::start(&mut spaces, scenario, &[0, 1]);
    let sent = noise(1, 5_000_000);
    let got = transfer(&bench, sent.clone());
    let end = bench.clock.now();
    let report = bench.finish();
    assert!(got == sent, "{} bytes arrived", got.len());
    assert!(report.faults.is_clean(), "{}", report.faults);
    for channel in &report.channels {
        assert_eq!((channel.loss, channel.outage, channel.reordered), (0, 0, 0), "{channel:?}");
    }
    // 40 Mbit/s, of which a tenth repeats.
    assert!(end > Instant::from_millis(1_100), "{end}");
    let late = &report.lateness;
    let (median, p99) = (late.percentile(50.0), late.percentile(99.0));
    eprintln!("lateness of {} frames: median {median}, p99 {p99}, max {}", late.frames(), late.max());
    // A block that HARQ has repaired comes with the eight behind it, 27 packets at once. p99 is the machine's affair.
    assert!(late.frames() > 3_500 && median < Duration::from_millis(1), "{median}");
}

#[test]
fn what_cannot_be_is_said() {
    let Some(spaces) = spaces() else { return };
    let _here = Netns::open(&spaces.hub()).unwrap().enter().unwrap();
    let scenario = link(plain(1, 0));
    let options = LoopOptions { seed: 1, sample_every: None };
    let open = |ends: &[[String; 2]]| {
        let timeline = Timeline::new(&scenario, 1);
        PacketLoop::new(&scenario, timeline, ends, &options).err().unwrap().to_string()
    };
    assert!(open(&[]).contains("1 links, and ends of 0"));
    assert!(open(&[["lo".into(), "nowhere".into()]]).contains("`nowhere`"));
}
