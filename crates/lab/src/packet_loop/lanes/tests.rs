use super::*;
use std::net::{IpAddr, SocketAddr};

use handfast_core::BitRate;
use handfast_measure::testing::{self, Net};
use handfast_net::{Loss, Queue};
use handfast_scenario::{Action, Event, Way};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Checksums, Ethernet, LinkType, Packet, Payload};

/// 8 Mbit/s (1 us a byte) and 10 ms.
fn direction() -> Direction {
    Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(10))
}

fn lanes(direction: Direction, events: &[(u64, Action)]) -> Lanes {
    let mut scenario = Net::new("hh").wire(0, 1, direction).build();
    let event = |&(ms, ref action): &(u64, Action)| Event::new(Instant::from_millis(ms), action.clone());
    scenario.events = events.iter().map(event).collect();
    let timeline = Timeline::new(&scenario, 1);
    Lanes::new(&scenario, timeline, 1)
}

/// A TCP segment with so many octets of payload: 40 more on the link, 54 in the frame.
fn segment(len: u32) -> Vec<u8> {
    let (src, dst): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let payload = Payload::Synthetic { stream: 1, offset: 0, len };
    let segment = Segment { src_port: 5, dst_port: 6, flags: Flags::ACK, payload, ..Segment::EMPTY };
    let mut frame = Vec::new();
    let packet = Packet { ethernet: Some(Ethernet::default()), ..Packet::tcp(src, dst, segment) };
    packet.emit(&mut frame).unwrap();
    frame
}

fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    frame.extend([0x08, 0x06]);
    frame.resize(60, 1);
    frame
}

/// Microseconds and bytes of all that has come out.
fn out(lanes: &mut Lanes) -> Vec<(u64, usize)> {
    let departures = std::mem::take(&mut lanes.departures);
    let seen = departures.iter().map(|d| {
        let len = lanes.frames.get(d.handle).bytes.len();
        lanes.frames.free(d.handle);
        (d.due.as_nanos() / 1_000, len)
    });
    seen.collect()
}

fn micros(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

#[test]
fn a_frame_read_late_leaves_when_it_would_have() {
    let mut lanes = lanes(direction(), &[]);
    lanes.arrive(micros(1_000), 0, &segment(60));
    assert_eq!(lanes.deadline(), Some(micros(11_100)));
    lanes.advance(micros(11_099));
    assert_eq!(out(&mut lanes), []);
    // The loop was away for long: three frames wait in the socket, the other direction's among them.
    lanes.arrive(micros(1_050), 0, &segment(160));
    lanes.arrive(micros(5_000), 1, &segment(0));
    lanes.advance(micros(20_000));
    let mut seen = out(&mut lanes);
    seen.sort_unstable();
    assert_eq!(seen, [(11_100, 114), (11_300, 214), (15_040, 54)]);
    assert_eq!((lanes.deadline(), lanes.frames.len()), (None, 0));
}

#[test]
fn a_loss_list_counts_segments_with_payload_and_nothing_else() {
    let losses = vec![Loss::List(vec![2])];
    let mut lanes = lanes(Direction { losses, ..direction() }, &[]);
    for (ms, frame) in (0..).zip([segment(10), segment(0), arp(), segment(20), segment(30)]) {
        lanes.arrive(micros(ms * 1_000), 0, &frame);
    }
    lanes.advance(micros(60_000));
    assert_eq!(out(&mut lanes), [(10_050, 64), (11_040, 54), (12_000, 60), (14_070, 84)]);
    let key = |port: usize| SocketAddr::new(["10.0.0.1", "10.0.0.2"][port - 5].parse().unwrap(), port as u16);
    assert_eq!(lanes.books.lost.iter().collect::<Vec<_>>(), [(&(key(5), key(6)), &1)]);
    let counters = lanes.look(0, micros(60_000)).1;
    assert_eq!((counters.offered, counters.loss), (4, 1), "ARP does not touch the link");
}

#[test]
fn corruption_shows_in_the_checksum_and_two_links_do_not_undo_each_other() {
    let corrupting = Direction { losses: vec![Loss::Bit(1.0)], ..direction() };
    let net = (0..40).fold(Net::new("hh"), |net, _| net.wire(0, 1, corrupting.clone()));
    let scenario = net.build();
    let mut lanes = Lanes::new(&scenario, Timeline::new(&scenario, 1), 1);
    let whole = segment(0);
    let mut once = Vec::new();
    for channel in 0..80 {
        lanes.arrive(Instant::ZERO, channel, &whole);
        lanes.advance(micros(20_000));
        let handle = lanes.departures.pop().unwrap().handle;
        once.push(lanes.frames.get(handle).bytes.clone());
    }
    let is_corrupted = |frame: &[u8]| {
        let frame = frame.to_vec().into();
        let packet = Packet::parse(LinkType::Ethernet, &frame, Checksums::Verify).unwrap();
        assert!(matches!(packet.body, Body::Tcp(_)));
        packet.corrupted
    };
    for (a, first) in once.iter().enumerate() {
        assert!(is_corrupted(first), "{a}");
        // Both bits inverted: the differences from the whole frame are added.
        for second in &once[a + 1..(a + 16).min(80)] {
            let both: Vec<u8> = (0..whole.len()).map(|at| first[at] ^ second[at] ^ whole[at]).collect();
            assert!(is_corrupted(&both), "{a}");
        }
    }
}

#[test]
fn a_corrupted_segment_is_lost_once() {
    let corrupting = Direction { losses: vec![Loss::Bit(1.0)], ..direction() };
    let mut lanes = lanes(corrupting, &[]);
    lanes.arrive(Instant::ZERO, 0, &segment(100));
    lanes.advance(micros(20_000));
    let handle = lanes.departures.pop().unwrap().handle;
    let corrupted = lanes.frames.get(handle).bytes.clone();
    lanes.arrive(micros(20_000), 1, &corrupted);
    lanes.advance(micros(50_000));
    assert_eq!(lanes.books.lost.values().collect::<Vec<_>>(), [&1]);
}

#[test]
fn an_outage_takes_what_is_under_way_and_what_comes() {
    let outage = Action::Outage { link: 0, gap: Duration::from_millis(30), mode: DownMode::Drop };
    let mut lanes = lanes(direction(), &[(15, outage)]);
    for ms in [0, 10, 20, 44, 46] {
        lanes.arrive(micros(ms * 1_000), 0, &segment(60));
        lanes.arrive(micros(ms * 1_000), 1, &arp());
    }
    lanes.advance(micros(100_000));
    let mut seen = out(&mut lanes);
    seen.sort_unstable();
    // ARP that was in the air at 15 ms arrives: nobody's result depends on it.
    assert_eq!(seen, [(10_000, 60), (10_100, 114), (20_000, 60), (56_000, 60), (56_100, 114)]);
    assert_eq!(lanes.look(0, micros(100_000)).1.outage, 3);
    assert_eq!(lanes.books.lost.values().sum::<u64>(), 3);
    assert_eq!(lanes.frames.len(), 0);
}

#[test]
fn changes_of_rate_and_delay_take_effect_at_their_time() {
    let rate = Action::SetRate { link: 0, way: Way::Forward, rate: BitRate::from_bps(16_000_000) };
    let delay = Action::SetDelay { link: 0, way: Way::Both, delay: Duration::from_millis(1) };
    let mut lanes = lanes(direction(), &[(5, rate), (20, delay)]);
    for ms in [0, 6, 30] {
        lanes.arrive(micros(ms * 1_000), 0, &segment(60));
    }
    lanes.arrive(micros(31_000), 1, &segment(60));
    lanes.advance(micros(50_000));
    let mut seen: Vec<_> = out(&mut lanes).into_iter().map(|(us, _)| us).collect();
    seen.sort_unstable();
    assert_eq!(seen, [10_100, 16_050, 31_050, 32_100]);
}

#[test]
fn a_full_queue_loses_and_duplicates_are_frames_of_their_own() {
    let queue = Queue::packets(1);
    let mut lanes = lanes(Direction { queue, duplicate: 1.0, ..direction() }, &[]);
    lanes.arrive(Instant::ZERO, 0, &segment(60));
    lanes.arrive(Instant::ZERO, 0, &segment(60));
    lanes.advance(micros(20_000));
    let [a, b] = lanes.departures[..] else { panic!("{:?}", lanes.departures) };
    assert_ne!(a.handle, b.handle);
    assert_eq!(out(&mut lanes), [(10_100, 114), (10_100, 114)]);
    assert_eq!((lanes.look(0, micros(20_000)).1.queue_full, lanes.frames.len()), (1, 0));
}

/// Segments of 1,000 bytes on the link, one a millisecond for 1.8 seconds, at half of that rate; how many were dropped, how many
/// arrived marked, and at which millisecond the last arrived.
fn overload(queue: Queue, traffic_class: u8) -> (u64, usize, u64) {
    let rate = BitRate::from_bps(4_000_000);
    let mut lanes = lanes(Direction { queue, rate, ..direction() }, &[]);
    let mut frame = segment(960);
    frame[15] = traffic_class;
    let sum = u16::from_be_bytes([frame[24], frame[25]]) - u16::from(traffic_class);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    for ms in 0..1_800 {
        lanes.arrive(micros(ms * 1_000), 0, &frame);
    }
    lanes.advance(micros(10_000_000));
    let counters = lanes.look(0, micros(10_000_000)).1;
    let parse = |departure: &Departure| {
        let bytes = lanes.frames.get(departure.handle).bytes.clone().into();
        Packet::parse(LinkType::Ethernet, &bytes, Checksums::Verify).unwrap()
    };
    let marked = lanes.departures.iter().filter(|departure| parse(departure).traffic_class & 0b11 == 0b11);
    let marked = marked.count();
    let last = lanes.departures.last().unwrap().due.as_nanos() / 1_000_000;
    assert_eq!((counters.queue_full, counters.marked), (0, marked as u64));
    assert_eq!(lanes.departures.len() as u64 + counters.aqm, 1_800);
    (counters.aqm, marked, last)
}

#[test]
fn a_discipline_drops_or_marks_frames() {
    let codel = || Queue::named("codel").unwrap();
    // Nobody slows down: each of the 1,800 takes 2 ms.
    assert_eq!(overload(Queue::UNLIMITED, 0), (0, 0, 3_610));
    let (dropped, marked, last) = overload(codel(), 0);
    assert!((20..300).contains(&dropped) && marked == 0, "{dropped} {marked}");
    assert_eq!(last, 3_610 - 2 * dropped);
    // ECT(0): some are marked, and all arrive.
    let (dropped, marked, last) = overload(codel(), 0b10);
    assert!(dropped == 0 && (20..900).contains(&marked) && last == 3_610, "{dropped} {marked} {last}");
}

/// Milliseconds and channel of all that has come out.
fn came(lanes: &Lanes) -> Vec<(u64, ChannelId)> {
    let mut all: Vec<_> =
        lanes.departures.iter().map(|d| (d.due.as_nanos() / 1_000_000, d.channel)).collect();
    all.sort_unstable();
    all
}

#[test]
fn frames_of_a_radio_enter_the_link_of_the_association_and_none_in_between() {
    // Radio links 3 and 4; the station's frames come in at the first of them, channel 7, and take 1 ms.
    let scenario = testing::roam(&[(20, 3, 30)]);
    let mut lanes = Lanes::new(&scenario, Timeline::new(&scenario, 1), 1);
    for ms in [0, 19, 25, 49, 50, 60] {
        lanes.arrive(micros(ms * 1_000), 7, &segment(60));
    }
    // What is for the station goes where the bridges send it: before, during and after.
    for (ms, channel) in [(61, 6), (62, 8)] {
        lanes.arrive(micros(ms * 1_000), channel, &segment(60));
    }
    lanes.advance(micros(100_000));
    assert_eq!(came(&lanes), [(1, 7), (51, 9), (61, 9), (63, 8)]);
    let lost = |channel: ChannelId| lanes.all[channel].link.counters().outage;
    assert_eq!([6, 7, 8, 9].map(lost), [1, 3, 0, 0]);
}

#[test]
fn of_a_radio_only_the_link_of_the_association_carries_frames_without_ip() {
    let scenario = testing::roam(&[(20, 3, 30)]);
    let mut lanes = Lanes::new(&scenario, Timeline::new(&scenario, 1), 1);
    for (ms, channel) in [(0, 7), (1, 8), (30, 7), (30, 8), (60, 7), (61, 8), (62, 6)] {
        lanes.arrive(micros(ms * 1_000), channel, &arp());
    }
    lanes.advance(micros(100_000));
    assert_eq!(came(&lanes), [(1, 7), (61, 9), (62, 8)]);
}
