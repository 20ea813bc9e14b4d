//! `congestion = "cache"`: what the queue of a node has no room for waits there, and the sender's window falls.

use std::cell::Cell;
use std::rc::Rc;

use handfast_assist::sdtp::{Config, Congestion};
use handfast_core::{Bytes, SeqNum};
use handfast_wire::sdtp::{Congestion as Met, Message};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ecn, Packet};

use crate::attacks::{flow, message, seal};
use crate::script::{FIRST, SERVER, ack, data, open, segment};
use crate::world::{KEY, LEFT, Line, RIGHT, Sink, ms, sealed};

fn config() -> Config {
    let mut config = sealed();
    config.caching.congestion = Congestion::Cache;
    config
}

/// A connection, and the switch of the queue from the middle node to the server's edge: whether it is full.
fn line(config: Config) -> (Line<Sink>, Rc<Cell<bool>>) {
    let (mut line, full) = (Line::scripted(config), Rc::new(Cell::new(false)));
    let is_full = Rc::clone(&full);
    line.is_full = Box::new(move |crossing| {
        let is_data = crossing.sdtp().and_then(|sdtp| sdtp.data()).is_some_and(|data| data.seq_len() > 0);
        is_full.get() && is_data && (crossing.from, crossing.to) == (1, 2)
    });
    open(&mut line, &flow());
    (line, full)
}

/// The client sends packets of 1,000 bytes, from one place of its stream up to another.
fn send(line: &mut Line<Sink>, places: std::ops::Range<u32>) {
    for place in places {
        line.send(0, flow().packet(0, data(FIRST + 1_000 * place, SERVER + 1, 1_000)));
    }
}

/// The places of what has come to the server.
fn come(line: &mut Line<Sink>) -> Vec<u32> {
    line.got(1).iter().map(|packet| segment(packet).seq.distance(FIRST) as u32 / 1_000).collect()
}

/// The window that the client sees once all before `place` is acknowledged, of 60,000 bytes that the server has.
fn window(line: &mut Line<Sink>, place: u32) -> u16 {
    let segment_of = |packet: &Packet| segment(packet).window;
    let offered = Segment { window: 60_000, ..ack(SERVER + 1, FIRST + 1_000 * place) };
    line.send(1, flow().packet(1, offered));
    line.run(ms(10));
    line.got(0).iter().map(segment_of).last().expect("it passes")
}

#[test]
fn what_a_full_queue_refuses_comes_late_and_in_order_and_nobody_asks_for_it() {
    let (mut line, full) = line(config());
    full.set(true);
    send(&mut line, 0..5);
    line.run(ms(60));
    assert!(come(&mut line).is_empty());
    send(&mut line, 5..8);
    line.run(ms(20));
    full.set(false);
    line.run(ms(30));
    assert_eq!(come(&mut line), (0..8).collect::<Vec<_>>());
    let counted = line.counted();
    assert_eq!((counted.repeats, counted.requests_refused, counted.hold_overflows), (0, 0, 0));
    assert_eq!((counted.held, counted.slowdowns), (8, 1), "{counted:?}");
    assert!((3..=5).contains(&counted.congestions), "every 20 ms: {counted:?}");
    assert_eq!(line.nodes[1].kept().held_cost, 0);
}

#[test]
fn what_takes_no_numbers_waits_behind_nothing() {
    let (mut line, full) = line(config());
    full.set(true);
    send(&mut line, 0..2);
    line.run(ms(10));
    let behind = FIRST + 2_000;
    line.send(0, flow().packet(0, ack(behind, SERVER + 1)));
    let reset = Segment { flags: Flags::RST | Flags::ACK, ..ack(behind, SERVER + 1) };
    line.send(0, flow().packet(0, reset));
    line.run(ms(10));
    let got: Vec<_> = line.got(1).iter().map(|packet| segment(packet).flags).collect();
    assert_eq!(got, [Flags::ACK, Flags::RST | Flags::ACK]);
    assert_eq!((line.counted().held, line.counted().strangers), (2, 0));
}

#[test]
fn the_control_as_a_signal_it_is_lost() {
    let (mut line, full) = line(sealed());
    full.set(true);
    send(&mut line, 0..5);
    line.run(ms(60));
    full.set(false);
    line.run(ms(1_000));
    assert!(come(&mut line).is_empty());
}

#[test]
fn the_senders_window_falls_once_for_a_flight_and_its_right_edge_stays() {
    let (mut line, full) = line(config());
    send(&mut line, 0..10);
    line.run(ms(10));
    let right = 10_000 + window(&mut line, 10);
    assert!(right > 30_000, "slow start: {right}");
    full.set(true);
    send(&mut line, 10..30);
    line.run(ms(50));
    full.set(false);
    line.run(ms(100));
    assert_eq!(line.counted().slowdowns, 1);
    // Of a window of 17 segments of 1,368 bytes 12 are left. Until these are acknowledged the edge stays where it was.
    for place in [11, 13, 15] {
        assert_eq!(1_000 * place + window(&mut line, u32::from(place)), right);
    }
    let after = window(&mut line, 25);
    assert!((13_000..17_000).contains(&after), "{after}");
}

#[test]
fn what_a_node_has_no_room_for_either_is_lost_and_the_sender_learns_of_it() {
    let mut small = config();
    // Room for two packets, which the packets of a cache take from nobody.
    small.caching.quotas.per_connection = Bytes(3_400);
    let (mut line, full) = line(small);
    full.set(true);
    send(&mut line, 0..5);
    line.run(ms(40));
    full.set(false);
    line.run(ms(300));
    assert_eq!(come(&mut line), [0, 1]);
    let counted = line.counted();
    assert_eq!((counted.held, counted.hold_overflows, counted.repeats), (2, 3, 0));
    assert!(counted.held_bytes <= 3_400);
}

#[test]
fn nothing_waits_longer_than_a_loss_is_repaired() {
    let (mut line, full) = line(config());
    full.set(true);
    send(&mut line, 0..1);
    line.run(ms(400));
    full.set(false);
    line.run(ms(400));
    assert_eq!((come(&mut line), line.counted().hold_overflows), (vec![], 1));
}

#[test]
fn what_an_edge_holds_to_put_it_in_order_is_another_time() {
    let mut config = config();
    config.resequencing.persistence = ms(40);
    let (mut line, full) = line(config);
    full.set(true);
    send(&mut line, 0..1);
    line.run(ms(100));
    full.set(false);
    line.run(ms(30));
    assert_eq!((come(&mut line), line.counted().hold_overflows), (vec![0], 0));
}

#[test]
fn who_does_ecn_is_marked_and_keeps_its_window() {
    let (mut line, full) = line(config());
    full.set(true);
    let packet = flow().packet(0, data(FIRST, SERVER + 1, 1_000));
    let traffic_class = Ecn::Capable0.within(0);
    line.send(0, Packet { traffic_class, ..packet });
    line.run(ms(20));
    full.set(false);
    line.run(ms(20));
    let got = line.got(1);
    assert_eq!(got.iter().map(Packet::ecn).collect::<Vec<_>>(), [Ecn::Congested]);
    assert_eq!((line.counted().congestions, line.counted().slowdowns), (0, 0));
}

/// With the seal of the slice, and without.
fn met(until: SeqNum, counter: u64) -> [Packet; 2] {
    let packet = message(Message::Congestion(Met { until, held: 0 }), until);
    [packet.clone(), seal(packet, &KEY.of_slice(crate::attacks::SLICE), counter)]
}

#[test]
fn a_forged_cm_slows_nobody() {
    let (mut line, _) = line(config());
    send(&mut line, 0..10);
    line.run(ms(10));
    let [forged, sealed] = met(FIRST + 5_000, 1 << 50);
    line.inject(0, RIGHT, forged);
    line.run(ms(10));
    assert_eq!((line.counted().slowdowns, line.counted().unsealed), (0, 1));
    // Nor one of a node for what was never sent, nor the same one twice; a host's ends at its edge.
    line.inject(0, LEFT, sealed.clone());
    line.inject(0, RIGHT, met(FIRST + 50_000, 1 << 51)[1].clone());
    line.run(ms(10));
    assert_eq!((line.counted().slowdowns, line.counted().forged), (0, 1));
    line.inject(0, RIGHT, met(FIRST + 5_000, (1 << 51) + 1)[1].clone());
    line.inject(0, RIGHT, met(FIRST + 5_000, (1 << 51) + 1)[1].clone());
    line.run(ms(10));
    assert_eq!((line.counted().slowdowns, line.counted().replayed), (1, 1));
}
