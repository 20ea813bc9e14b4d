use handfast_wire::tcp::Timestamps;
use proptest::prelude::*;

use super::*;

const SMSS: u32 = 1000;
const START: SeqNum = SeqNum(u32::MAX - 5_000);
const RTT: u64 = 100;

/// A SYN-ACK of the receiver.
fn syn_ack(window_scale: Option<u8>) -> Segment {
    let flags = Flags::SYN | Flags::ACK;
    let timestamps = Some(Timestamps { val: 1, ecr: 2 });
    Segment { flags, mss: Some(1012), window_scale, window: 20_000, timestamps, ..Segment::EMPTY }
}

fn enforced(scale: u8) -> Enforced {
    let answer = syn_ack(Some(scale));
    Enforced::new(Instant::ZERO, &answer, &answer, START)
}

fn data(from: u32, len: u32) -> Segment {
    let payload = handfast_wire::Payload::Synthetic { stream: 0, offset: 0, len };
    Segment { seq: START + from, flags: Flags::ACK, payload, ..Segment::EMPTY }
}

/// The right edge that the host sees, and the window's field.
fn told(enforced: &mut Enforced, ms: u64, ack: u32, window: u16) -> (u32, u16) {
    let mut segment = Segment { flags: Flags::ACK, ack: START + ack, window, ..Segment::EMPTY };
    enforced.on_ack(Instant::from_millis(ms), &mut segment);
    (ack + (u32::from(segment.window) << enforced.scale), segment.window)
}

/// A host that sends as much as it may, for so many round trips: each acknowledgment lets it send. What it has sent.
fn fill(enforced: &mut Enforced, rounds: u64) -> u32 {
    let (mut sent, mut una, mut right) = (0, 0, 10 * SMSS);
    for round in 0..=rounds {
        let end = sent;
        while una < end {
            una += SMSS;
            right = right.max(told(enforced, round * RTT, una, u16::MAX).0);
            while round < rounds && sent + SMSS <= right {
                enforced.on_sent(Instant::from_millis(round * RTT), &data(sent, SMSS));
                sent += SMSS;
            }
        }
        while round == 0 && sent + SMSS <= right {
            enforced.on_sent(Instant::ZERO, &data(sent, SMSS));
            sent += SMSS;
        }
    }
    sent
}

#[test]
fn a_window_is_scaled_if_both_have_said_so() {
    let receiver = Segment { flags: Flags::SYN, ..syn_ack(Some(7)) };
    assert_eq!(Enforced::new(Instant::ZERO, &receiver, &syn_ack(Some(0)), START).scale, 7);
    assert_eq!(Enforced::new(Instant::ZERO, &receiver, &syn_ack(None), START).scale, 0);
    assert_eq!(Enforced::new(Instant::ZERO, &syn_ack(Some(200)), &syn_ack(Some(0)), START).scale, 14);
    assert_eq!(enforced(7).edge, START + 20_000, "that of a SYN is not");
    assert_eq!(enforced(7).shadow.smss(), 1000, "timestamps take 12 bytes");
}

#[test]
fn slow_start_is_not_held_up() {
    let mut enforced = enforced(7);
    // 10, 20, 40 and 80 segments.
    assert_eq!(fill(&mut enforced, 4), 150 * SMSS);
    assert_eq!(enforced.srtt, Some(Duration::from_millis(RTT)));
}

#[test]
fn congestion_reduces_the_window_once_for_what_was_in_flight() {
    let mut enforced = enforced(7);
    let sent = fill(&mut enforced, 3);
    let before = enforced.shadow.cwnd();
    for at in 0..40 {
        enforced.on_sent(Instant::from_millis(300), &data(sent + at * SMSS, SMSS));
    }
    let end = START + sent + 40 * SMSS;
    let met = |until: SeqNum| Congestion { until, held: 0 };
    assert!(!enforced.on_congestion(met(end + 1)), "more than was sent");
    assert!(enforced.on_congestion(met(START + sent + SMSS)));
    // beta is 717/1024: of the 40 segments in flight, not of a window that is larger.
    assert!(before > 40 * u64::from(SMSS));
    assert_eq!(enforced.shadow.cwnd(), 28 * u64::from(SMSS));
    assert!(!enforced.on_congestion(met(end)), "the same flight");
    let (mut right, _) = told(&mut enforced, 400, sent, u16::MAX);
    for at in 1..=40 {
        let (now, _) = told(&mut enforced, 400, sent + at * SMSS, u16::MAX);
        assert!(now >= right);
        right = now;
    }
    assert!(right <= sent + 40 * SMSS + 29 * SMSS, "{right}");
    // What the host sends before it would have heard of it is of the same event.
    for (segments, is_new) in [(28, false), (29, true)] {
        enforced.on_sent(Instant::from_millis(400), &data(sent + 40 * SMSS, segments * SMSS));
        assert_eq!(enforced.on_congestion(met(end + segments * SMSS)), is_new, "{segments}");
    }
}

#[test]
fn what_waits_is_taken_off_the_window_each_time_it_is_told() {
    let mut enforced = enforced(7);
    let sent = fill(&mut enforced, 2);
    enforced.on_sent(Instant::from_millis(200), &data(sent, 40 * SMSS));
    let mut cwnd = |held: u32| {
        enforced.on_congestion(Congestion { until: START + sent + 1, held: held * SMSS });
        enforced.shadow.cwnd() / u64::from(SMSS)
    };
    // 0.7 of a window of 26 segments; then no more than what is in flight and does not wait.
    assert_eq!([0, 5, 25, 60, 0].map(&mut cwnd), [18, 18, 15, 2, 2]);
}

#[test]
fn what_the_receiver_has_no_room_for_is_not_offered() {
    let mut enforced = enforced(0);
    assert_eq!(told(&mut enforced, 1, 0, 500).1, 500);
    assert_eq!(told(&mut enforced, 1, 0, 0).1, 0);
    let mut reset = Segment { flags: Flags::RST | Flags::ACK, window: 60_000, ..Segment::EMPTY };
    enforced.on_ack(Instant::from_millis(1), &mut reset);
    assert_eq!(reset.window, 60_000);
}

#[test]
fn a_host_whose_data_goes_past_the_edge_is_not_held_up() {
    let mut enforced = enforced(7);
    // What is acknowledged was never seen here.
    for ack in [50, 150, 400] {
        let theirs = ack * SMSS + (u32::from(u16::MAX) << 7);
        assert_eq!(told(&mut enforced, 100, ack * SMSS, u16::MAX), (theirs, u16::MAX));
        assert_eq!(enforced.edge, START + theirs);
    }
    // What is seen is held to a window again, which does not move left of what the host was shown.
    let far = 400 * SMSS + (u32::from(u16::MAX) << 7);
    enforced.on_sent(Instant::from_millis(200), &data(400 * SMSS, 20 * SMSS));
    let (right, window) = told(&mut enforced, 300, 420 * SMSS, u16::MAX);
    assert!((far..far + 128).contains(&right) && window < u16::MAX, "{right}");
}

#[test]
fn numbers_wrap_and_congestion_is_new_all_the_same() {
    let mut enforced = enforced(7);
    let step = 1 << 28;
    enforced.on_sent(Instant::ZERO, &data(0, step));
    assert!(enforced.on_congestion(Congestion { until: START + step, held: 0 }));
    // 3.25 GiB, sent and acknowledged without congestion.
    for at in 1..13 {
        enforced.on_sent(Instant::from_millis(100), &data(at * step, step));
        told(&mut enforced, 100, at * step, u16::MAX);
    }
    assert!(!enforced.draining.after(enforced.una), "it grows");
    assert!(enforced.on_congestion(Congestion { until: START + 13 * step, held: 0 }));
}

#[test]
fn the_way_to_the_host_is_timed_from_the_last_packet_of_the_handshake() {
    let mut enforced = enforced(7);
    let at = Instant::from_millis;
    enforced.asked_again(at(1000));
    enforced.on_answer(at(1010));
    assert_eq!(enforced.to_host, Duration::from_millis(10));
    // The answer has come: one that is repeated is not asked for.
    enforced.asked_again(at(2000));
    enforced.on_answer(at(3000));
    assert_eq!(enforced.to_host, Duration::from_millis(10));
}

proptest! {
    /// RFC 9293 §3.8.6, and: a host whose data is acknowledged may send a full segment where the receiver has room.
    #[test]
    fn the_right_edge_never_moves_left_and_nobody_is_stuck(
        scale in 0u8..=14,
        steps in prop::collection::vec((0u8..4, 0u32..30_000, 0u32..200_000), 1..200),
    ) {
        let mut enforced = enforced(scale);
        let (mut sent, mut una, mut right, mut theirs) = (0u32, 0u32, 20_000u32, 20_000u32);
        for (ms, (what, amount, room)) in (0..).zip(steps) {
            match what {
                0 | 1 => {
                    let len = amount.min(right.saturating_sub(sent)).min(SMSS);
                    if len > 0 {
                        enforced.on_sent(Instant::from_millis(ms), &data(sent, len));
                        sent += len;
                    }
                }
                2 => drop(enforced.on_congestion(Congestion { until: START + amount.min(sent), held: room })),
                _ => {
                    una += amount.min(sent - una);
                    // The receiver does not shrink its window either.
                    let field = ((una + room).max(theirs) - una).div_ceil(1 << scale).min(65_535);
                    theirs = theirs.max(una + (field << scale));
                    let (now, window) = told(&mut enforced, ms, una, field as u16);
                    prop_assert!(u32::from(window) <= field);
                    let reachable = una + (field << scale);
                    prop_assert!(now >= right.min(reachable), "{now} after {right}");
                    right = right.max(now);
                    prop_assert!(right >= (una + SMSS).min(reachable), "stuck");
                }
            }
        }
    }
}
