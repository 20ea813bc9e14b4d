use super::*;
use crate::shim::Outgoing;
use crate::shim::testing::{deliver, loss, packet, relay};
use handfast_core::SeqNum;
use proptest::prelude::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Packets 0 to `count`, all at once.
fn sent(near: &mut LinkArq, ms: u64, count: u32) -> Vec<Outgoing> {
    let mut made = Made::default();
    (0..count).for_each(|number| near.send(at(ms), packet(number), 0, &mut made));
    made.out
}

/// What an end sends when this comes.
fn answer(end: &mut LinkArq, ms: u64, sent: &[Outgoing]) -> Vec<Outgoing> {
    let mut made = Made::default();
    for sent in sent {
        assert!(end.receive(at(ms), &sent.shim, Ecn::NotCapable, &mut made));
    }
    made.out
}

fn timer(end: &mut LinkArq, ms: u64) -> Vec<Outgoing> {
    let mut made = Made::default();
    end.on_timer(at(ms), &mut made);
    made.out
}

/// Numbers and bases of frames.
fn frames(sent: &[Outgoing]) -> Vec<(u32, u32)> {
    let frame = |sent: &Outgoing| match sent.shim.message {
        Message::Frame { base, .. } => Some((sent.shim.sequence.0, base.0)),
        _ => None,
    };
    sent.iter().filter_map(frame).collect()
}

fn status(next: u32, bits: &[u8]) -> Vec<Outgoing> {
    let message = Message::Status(Bytes::copy_from_slice(bits));
    vec![Outgoing { shim: Shim { sequence: SeqNum(next), message }, class: 0 }]
}

fn ends() -> (LinkArq, LinkArq) {
    (LinkArq::new(Config::default()), LinkArq::new(Config::default()))
}

#[test]
fn what_the_far_end_lacks_goes_again() {
    let (mut near, mut far) = ends();
    let sent = sent(&mut near, 0, 4);
    assert_eq!(deliver(&mut far, at(5), &sent[..1]), [0]);
    let told = answer(&mut far, 5, &sent[2..3]);
    assert_eq!(told, status(1, &[1]), "a hole is told at once");
    let again = answer(&mut near, 10, &told);
    assert_eq!(frames(&again), [(1, 1)]);
    assert!(deliver(&mut far, at(15), &sent[3..]).is_empty());
    assert_eq!(deliver(&mut far, at(15), &again), [1, 2, 3]);
}

#[test]
fn a_status_waits_for_more_frames_where_none_is_missing() {
    let (mut near, mut far) = ends();
    let sent = sent(&mut near, 0, 10);
    assert!(answer(&mut far, 5, &sent[..7]).is_empty());
    assert_eq!(answer(&mut far, 6, &sent[7..8]), status(8, &[]));
    assert!(answer(&mut far, 7, &sent[8..]).is_empty());
    assert_eq!(far.deadline(), Some(at(12)));
    assert_eq!(timer(&mut far, 12), status(10, &[]));
    assert_eq!(
        answer(&mut far, 13, &sent[..1]),
        status(10, &[]),
        "a frame that comes again: its status was lost"
    );
}

#[test]
fn what_was_sent_after_the_last_that_came_is_not_lost_yet() {
    let (mut near, _) = ends();
    sent(&mut near, 0, 4);
    assert_eq!(frames(&answer(&mut near, 10, &status(0, &[0b10]))), [(0, 0), (1, 0)]);
    // 3 may still come; 0 and 1 have just gone again.
    assert!(frames(&answer(&mut near, 11, &status(0, &[0b10]))).is_empty());
    // Now a transmission after 0's has come, and not 0.
    assert_eq!(frames(&answer(&mut near, 20, &status(0, &[0b111]))), [(0, 0)]);
}

#[test]
fn the_timer_sends_the_first_frame_again_and_doubles() {
    let (mut near, _) = ends();
    sent(&mut near, 0, 2);
    assert_eq!(near.deadline(), Some(at(100)), "no round trip is known");
    assert_eq!(frames(&timer(&mut near, 100)), [(0, 0)]);
    assert_eq!(near.deadline(), Some(at(300)));
    // A round trip of 10 ms: 10 + 4 * 5, and 5 for the status.
    let (mut near, _) = ends();
    sent(&mut near, 0, 2);
    answer(&mut near, 10, &status(1, &[]));
    assert_eq!(near.deadline(), Some(at(45)));
}

#[test]
fn so_often_and_no_more() {
    let mut near = LinkArq::new(Config { retries: 2, ..Config::default() });
    let mut made = Made::default();
    (0..6).for_each(|number| near.send(at(0), packet(number), 0, &mut made));
    assert_eq!(frames(&answer(&mut near, 1, &status(0, &[0b1]))), [(0, 0)]);
    // Its second transmission is overtaken by one that comes.
    assert!(frames(&answer(&mut near, 2, &status(0, &[0b11]))).is_empty());
    near.send(at(2), packet(6), 0, &mut made);
    assert_eq!(frames(&answer(&mut near, 3, &status(0, &[0b10_0011]))), [(0, 0), (3, 0), (4, 0), (5, 0)]);
    near.send(at(4), packet(7), 0, &mut made);
    answer(&mut near, 5, &status(0, &[0b110_0011]));
    // The last frames say that 0 will not come.
    near.send(at(6), packet(8), 0, &mut made);
    assert_eq!(frames(&made.out).last(), Some(&(8, 3)));
    assert_eq!(near.near.counters.abandoned, 1);
}

#[test]
fn so_long_and_no_more() {
    let (mut near, _) = ends();
    sent(&mut near, 0, 2);
    assert!(frames(&answer(&mut near, 200, &status(0, &[0b1]))).is_empty());
    assert_eq!((near.near.counters.abandoned, near.deadline()), (1, None));
}

#[test]
fn what_will_not_come_is_not_waited_for() {
    let (mut near, mut far) = ends();
    let sent = sent(&mut near, 0, 3);
    assert!(deliver(&mut far, at(5), &sent[1..2]).is_empty());
    let mut last = sent[2].clone();
    let Message::Frame { base, .. } = &mut last.shim.message else { panic!() };
    *base = SeqNum(1);
    assert_eq!(deliver(&mut far, at(6), &[last]), [1, 2]);
}

#[test]
fn what_its_own_queue_drops_is_the_senders_to_repair() {
    let (mut near, _) = ends();
    let sent = sent(&mut near, 0, 3);
    near.on_drop(&sent[0].shim);
    assert!(frames(&answer(&mut near, 5, &status(0, &[0b1]))).is_empty());
    assert_eq!(near.near.counters.congested, 1);
}

#[test]
fn the_window_is_what_a_status_tells_of_and_what_waits_for_it_is_bounded() {
    let (mut near, _) = ends();
    assert_eq!(sent(&mut near, 0, 3_000).len(), 1_024);
    assert_eq!(near.near.counters.overflows, 3_000 - 1_024 - 1_000);
    assert_eq!(frames(&answer(&mut near, 5, &status(2, &[]))), [(1_024, 2), (1_025, 2)]);
}

#[test]
fn a_status_of_what_was_never_sent_changes_nothing() {
    let (mut near, _) = ends();
    sent(&mut near, 0, 2);
    for next in [3, 1 << 31, u32::MAX] {
        assert!(answer(&mut near, 5, &status(next, &[0xff; 128])).is_empty());
    }
    assert_eq!(near.deadline(), Some(at(100)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Without bounds to its patience every packet is delivered, once and in order, whatever is lost.
    #[test]
    fn every_packet_is_delivered_once_and_in_order(lost in loss(300)) {
        let persistence = Duration::from_secs(900);
        let config = Config { retries: u8::MAX, persistence, ..Config::default() };
        let (mut near, mut far) = (LinkArq::new(config), LinkArq::new(config));
        let sent = relay(&mut near, &mut far, 60, Duration::from_millis(3), &lost);
        prop_assert_eq!(sent.delivered, (0..60).collect::<Vec<_>>());
    }

    /// With bounds: once and in order what is delivered, and all that has ever arrived.
    #[test]
    fn what_is_delivered_is_in_order(lost in loss(300)) {
        let config = Config { retries: 1, ..Config::default() };
        let (mut near, mut far) = (LinkArq::new(config), LinkArq::new(config));
        let sent = relay(&mut near, &mut far, 60, Duration::from_millis(3), &lost);
        let arrived: Vec<_> = sent.arrived.into_iter().collect();
        prop_assert_eq!(sent.delivered, arrived);
    }
}

/// The timer has sent the first frame again, and then its first transmission comes, with those behind it under way.
#[test]
fn a_frame_that_came_before_its_repetition_could_tells_nothing_of_others() {
    let (mut near, _) = ends();
    sent(&mut near, 0, 1);
    answer(&mut near, 20, &status(1, &[]));
    let mut made = Made::default();
    (1..4).for_each(|number| near.send(at(100), packet(number), 0, &mut made));
    let due = near.deadline().unwrap();
    let mut again = Made::default();
    near.on_timer(due, &mut again);
    assert_eq!(frames(&again.out), [(1, 1)]);
    let soon = due.since(Instant::ZERO).as_millis() + 5;
    assert_eq!(frames(&answer(&mut near, soon, &status(2, &[]))), []);
    // The control: had it taken as long as others, those behind it would be lost.
    let (mut near, _) = ends();
    sent(&mut near, 0, 1);
    answer(&mut near, 20, &status(1, &[]));
    (1..4).for_each(|number| near.send(at(100), packet(number), 0, &mut made));
    near.on_timer(due, &mut again);
    let later = due.since(Instant::ZERO).as_millis() + 25;
    assert_eq!(frames(&answer(&mut near, later, &status(2, &[]))), [(2, 2), (3, 2)]);
}
