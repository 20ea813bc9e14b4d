use super::*;
use std::net::{IpAddr, SocketAddr};

use handfast_core::BitRate;
use handfast_net::{Loss, Queue};
use handfast_plan::testing::{self, Net};
use handfast_scenario::{Action, Directions, Event};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Checksums, Ethernet, LinkType, Packet, Payload};

/// 8 Mbit/s (1 us a byte) and 10 ms.
fn direction() -> Direction {
    Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(10))
}

fn links(direction: Direction, events: &[(u64, Action)]) -> Links {
    let mut scenario = Net::new("hh").wire(0, 1, direction).build();
    let event = |&(ms, ref action): &(u64, Action)| Event::new(Instant::from_millis(ms), action.clone());
    scenario.events = events.iter().map(event).collect();
    let timeline = Timeline::new(&scenario, 1);
    Links::new(&scenario, timeline, 1)
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
fn out(links: &mut Links) -> Vec<(u64, usize)> {
    let departures = std::mem::take(&mut links.departures);
    let seen = departures.iter().map(|d| {
        let len = links.frames.get(d.handle).bytes.len();
        links.frames.free(d.handle);
        (d.due.as_nanos() / 1_000, len)
    });
    seen.collect()
}

fn micros(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

#[test]
fn a_frame_read_late_leaves_when_it_would_have() {
    let mut links = links(direction(), &[]);
    links.arrive(micros(1_000), 0, &segment(60));
    assert_eq!(links.deadline(), Some(micros(11_100)));
    links.advance(micros(11_099));
    assert_eq!(out(&mut links), []);
    // The loop was away for long: three frames wait in the socket, the other direction's among them.
    links.arrive(micros(1_050), 0, &segment(160));
    links.arrive(micros(5_000), 1, &segment(0));
    links.advance(micros(20_000));
    let mut seen = out(&mut links);
    seen.sort_unstable();
    assert_eq!(seen, [(11_100, 114), (11_300, 214), (15_040, 54)]);
    assert_eq!((links.deadline(), links.frames.len()), (None, 0));
}

#[test]
fn a_loss_list_counts_segments_with_payload_and_nothing_else() {
    let losses = vec![Loss::List(vec![2])];
    let mut links = links(Direction { losses, ..direction() }, &[]);
    for (ms, frame) in (0..).zip([segment(10), segment(0), arp(), segment(20), segment(30)]) {
        links.arrive(micros(ms * 1_000), 0, &frame);
    }
    links.advance(micros(60_000));
    assert_eq!(out(&mut links), [(10_050, 64), (11_040, 54), (12_000, 60), (14_070, 84)]);
    let key = |port: usize| SocketAddr::new(["10.0.0.1", "10.0.0.2"][port - 5].parse().unwrap(), port as u16);
    assert_eq!(links.books.lost.iter().collect::<Vec<_>>(), [(&(key(5), key(6)), &1)]);
    let counters = links.look(0, micros(60_000)).1;
    assert_eq!((counters.offered, counters.loss), (4, 1), "ARP does not touch the link");
}

#[test]
fn corruption_shows_in_the_checksum_and_two_links_do_not_undo_each_other() {
    let corrupting = Direction { losses: vec![Loss::Bit(1.0)], ..direction() };
    let net = (0..40).fold(Net::new("hh"), |net, _| net.wire(0, 1, corrupting.clone()));
    let scenario = net.build();
    let mut links = Links::new(&scenario, Timeline::new(&scenario, 1), 1);
    let whole = segment(0);
    let mut once = Vec::new();
    for channel in 0..80 {
        links.arrive(Instant::ZERO, channel, &whole);
        links.advance(micros(20_000));
        let handle = links.departures.pop().unwrap().handle;
        once.push(links.frames.get(handle).bytes.clone());
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
    let mut links = links(corrupting, &[]);
    links.arrive(Instant::ZERO, 0, &segment(100));
    links.advance(micros(20_000));
    let handle = links.departures.pop().unwrap().handle;
    let corrupted = links.frames.get(handle).bytes.clone();
    links.arrive(micros(20_000), 1, &corrupted);
    links.advance(micros(50_000));
    assert_eq!(links.books.lost.values().collect::<Vec<_>>(), [&1]);
}

#[test]
fn an_outage_takes_what_is_under_way_and_what_comes() {
    let outage = Action::Outage { link: 0, gap: Duration::from_millis(30), mode: DownMode::Drop };
    let mut links = links(direction(), &[(15, outage)]);
    for ms in [0, 10, 20, 44, 46] {
        links.arrive(micros(ms * 1_000), 0, &segment(60));
        links.arrive(micros(ms * 1_000), 1, &arp());
    }
    links.advance(micros(100_000));
    let mut seen = out(&mut links);
    seen.sort_unstable();
    // ARP that was in the air at 15 ms arrives: nobody's result depends on it.
    assert_eq!(seen, [(10_000, 60), (10_100, 114), (20_000, 60), (56_000, 60), (56_100, 114)]);
    assert_eq!(links.look(0, micros(100_000)).1.outage, 3);
    assert_eq!(links.books.lost.values().sum::<u64>(), 3);
    assert_eq!(links.frames.len(), 0);
}

#[test]
fn changes_of_rate_and_delay_take_effect_at_their_time() {
    let rate =
        Action::SetRate { link: 0, directions: Directions::Forward, rate: BitRate::from_bps(16_000_000) };
    let delay = Action::SetDelay { link: 0, directions: Directions::Both, delay: Duration::from_millis(1) };
    let mut links = links(direction(), &[(5, rate), (20, delay)]);
    for ms in [0, 6, 30] {
        links.arrive(micros(ms * 1_000), 0, &segment(60));
    }
    links.arrive(micros(31_000), 1, &segment(60));
    links.advance(micros(50_000));
    let mut seen: Vec<_> = out(&mut links).into_iter().map(|(us, _)| us).collect();
    seen.sort_unstable();
    assert_eq!(seen, [10_100, 16_050, 31_050, 32_100]);
}

#[test]
fn a_full_queue_loses_and_duplicates_are_frames_of_their_own() {
    let queue = Queue::packets(1);
    let mut links = links(Direction { queue, duplicate: 1.0, ..direction() }, &[]);
    links.arrive(Instant::ZERO, 0, &segment(60));
    links.arrive(Instant::ZERO, 0, &segment(60));
    links.advance(micros(20_000));
    let [a, b] = links.departures[..] else { panic!("{:?}", links.departures) };
    assert_ne!(a.handle, b.handle);
    assert_eq!(out(&mut links), [(10_100, 114), (10_100, 114)]);
    assert_eq!((links.look(0, micros(20_000)).1.queue_full, links.frames.len()), (1, 0));
}

/// Segments of 1,000 bytes on the link, one a millisecond for 1.8 seconds, at half of that rate; how many were dropped, how many
/// arrived marked, and at which millisecond the last arrived.
fn overload(queue: Queue, traffic_class: u8) -> (u64, usize, u64) {
    let rate = BitRate::from_bps(4_000_000);
    let mut links = links(Direction { queue, rate, ..direction() }, &[]);
    let mut frame = segment(960);
    frame[15] = traffic_class;
    let sum = u16::from_be_bytes([frame[24], frame[25]]) - u16::from(traffic_class);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    for ms in 0..1_800 {
        links.arrive(micros(ms * 1_000), 0, &frame);
    }
    links.advance(micros(10_000_000));
    let counters = links.look(0, micros(10_000_000)).1;
    let parse = |departure: &Departure| {
        let bytes = links.frames.get(departure.handle).bytes.clone().into();
        Packet::parse(LinkType::Ethernet, &bytes, Checksums::Verify).unwrap()
    };
    let marked = links.departures.iter().filter(|departure| parse(departure).traffic_class & 0b11 == 0b11);
    let marked = marked.count();
    let last = links.departures.last().unwrap().due.as_nanos() / 1_000_000;
    assert_eq!((counters.queue_full, counters.marked), (0, marked as u64));
    assert_eq!(links.departures.len() as u64 + counters.aqm, 1_800);
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
fn came(links: &Links) -> Vec<(u64, ChannelId)> {
    let mut all: Vec<_> =
        links.departures.iter().map(|d| (d.due.as_nanos() / 1_000_000, d.channel)).collect();
    all.sort_unstable();
    all
}

#[test]
fn frames_of_a_radio_enter_the_link_of_the_association_and_none_in_between() {
    // Radio links 3 and 4; the station's frames come in at the first of them, channel 7, and take 1 ms.
    let scenario = testing::roam(&[(20, 3, 30)]);
    let mut links = Links::new(&scenario, Timeline::new(&scenario, 1), 1);
    for ms in [0, 19, 25, 49, 50, 60] {
        links.arrive(micros(ms * 1_000), 7, &segment(60));
    }
    // What is for the station goes where the bridges send it: before, during and after.
    for (ms, channel) in [(61, 6), (62, 8)] {
        links.arrive(micros(ms * 1_000), channel, &segment(60));
    }
    links.advance(micros(100_000));
    assert_eq!(came(&links), [(1, 7), (51, 9), (61, 9), (63, 8)]);
    let lost = |channel: ChannelId| links.all[channel].link.counters().outage;
    assert_eq!([6, 7, 8, 9].map(lost), [1, 3, 0, 0]);
}

#[test]
fn of_a_radio_only_the_link_of_the_association_carries_frames_without_ip() {
    let scenario = testing::roam(&[(20, 3, 30)]);
    let mut links = Links::new(&scenario, Timeline::new(&scenario, 1), 1);
    for (ms, channel) in [(0, 7), (1, 8), (30, 7), (30, 8), (60, 7), (61, 8), (62, 6)] {
        links.arrive(micros(ms * 1_000), channel, &arp());
    }
    links.advance(micros(100_000));
    assert_eq!(came(&links), [(1, 7), (61, 9), (62, 8)]);
}
