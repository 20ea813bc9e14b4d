//! One test a rule of the link.

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::{Cause, Direction, DownMode, Exit, Link, Loss, Queue};

/// 1000 bytes take 1 ms; they propagate for 10 ms.
fn plain() -> Direction {
    Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(10))
}

fn link(direction: &Direction) -> Link<u32> {
    Link::new(direction, Stream::new(1, "link"))
}

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn offer(link: &mut Link<u32>, at: u64, handle: u32) -> Result<(), Cause> {
    link.enqueue(ms(at), handle, Bytes(1000), true)
}

/// Runs the link to `until` and lists what came out: the moment in milliseconds and the exit.
fn exits(link: &mut Link<u32>, until: u64) -> Vec<(u64, Exit<u32>)> {
    let mut out = Vec::new();
    while let Some(at) = link.deadline().filter(|&at| at <= ms(until)) {
        while let Some(exit) = link.poll(at) {
            out.push((at.as_nanos() / 1_000_000, exit));
        }
        assert!(link.deadline().is_none_or(|next| next > at), "a deadline that is not in the future");
    }
    out
}

fn delivered(handle: u32) -> Exit<u32> {
    Exit::Delivered { handle, corrupted: false }
}

fn lost(handle: u32, cause: Cause) -> Exit<u32> {
    Exit::Lost { handle, cause }
}

#[test]
fn packets_leave_one_after_another_and_arrive_a_delay_later() {
    let mut link = link(&plain());
    for handle in 0..3 {
        offer(&mut link, 0, handle).unwrap();
    }
    offer(&mut link, 8, 3).unwrap();
    let want = [(11, delivered(0)), (12, delivered(1)), (13, delivered(2)), (19, delivered(3))];
    assert_eq!(exits(&mut link, 100), want);
}

#[test]
fn the_limit_counts_the_packet_in_serialisation() {
    let mut link = link(&Direction { queue: Queue::packets(2), ..plain() });
    assert_eq!(offer(&mut link, 0, 0), Ok(()));
    assert_eq!(offer(&mut link, 0, 1), Ok(()));
    assert_eq!(offer(&mut link, 0, 2), Err(Cause::QueueFull));
    assert_eq!(link.queue(ms(0)).packets, 2);
    // The first one's last bit leaves at 1 ms: there is room at that very moment, though it is still in the air.
    assert_eq!(offer(&mut link, 1, 3), Ok(()));
    assert_eq!(offer(&mut link, 1, 4), Err(Cause::QueueFull));
    assert_eq!(link.counters().queue_full, 2);
}

#[test]
fn a_limit_in_bytes_takes_what_still_fits() {
    let mut link = link(&Direction { queue: Queue::bytes(2500), ..plain() });
    assert_eq!(offer(&mut link, 0, 0), Ok(()));
    assert_eq!(offer(&mut link, 0, 1), Ok(()));
    assert_eq!(offer(&mut link, 0, 2), Err(Cause::QueueFull));
    assert_eq!(link.enqueue(ms(0), 3, Bytes(500), false), Ok(()));
    assert_eq!(link.enqueue(ms(0), 4, Bytes(1), false), Err(Cause::QueueFull));
    assert_eq!(link.queue(ms(0)).bytes, Bytes(2500));
    assert_eq!(link.queue(ms(1)).bytes, Bytes(1500));
}

#[test]
fn a_new_rate_serves_the_rest_of_the_packet_in_serialisation() {
    let mut link = link(&plain());
    offer(&mut link, 0, 0).unwrap();
    offer(&mut link, 0, 1).unwrap();
    // Half of the first has left at 0.5 ms. At a quarter of the rate the other half takes 2 ms, the second packet 4 ms.
    link.set_rate(Instant::from_nanos(500_000), BitRate::from_bps(2_000_000));
    assert_eq!(link.poll(Instant::from_nanos(12_499_999)), None);
    assert_eq!(link.poll(Instant::from_nanos(12_500_000)), Some(delivered(0)));
    assert_eq!(link.poll(Instant::from_nanos(16_499_999)), None);
    assert_eq!(link.poll(Instant::from_nanos(16_500_000)), Some(delivered(1)));
}

#[test]
fn nothing_passes_at_rate_zero_and_the_rest_goes_on_afterwards() {
    let mut link = link(&plain());
    offer(&mut link, 0, 0).unwrap();
    link.set_rate(Instant::from_nanos(750_000), BitRate::from_bps(0));
    offer(&mut link, 1, 1).unwrap();
    assert_eq!(link.deadline(), None);
    assert_eq!(link.queue(ms(50)).packets, 2);
    link.set_rate(ms(50), BitRate::from_bps(8_000_000));
    assert_eq!(link.poll(Instant::from_nanos(60_249_999)), None);
    assert_eq!(link.poll(Instant::from_nanos(60_250_000)), Some(delivered(0)));
    assert_eq!(link.deadline(), Some(Instant::from_nanos(61_250_000)));
}

#[test]
fn a_new_delay_is_for_what_leaves_later_and_overtakes_nothing() {
    let mut link = link(&plain());
    for handle in 0..3 {
        offer(&mut link, 0, handle).unwrap();
    }
    // The first left at 1 ms and arrives at 11 ms. The second leaves at 2 ms, and with 2 ms would arrive at 4 ms.
    link.set_delay(ms(1), Duration::from_millis(2));
    assert_eq!(exits(&mut link, 100), [(11, delivered(0)), (11, delivered(1)), (11, delivered(2))]);
    offer(&mut link, 20, 3).unwrap();
    link.set_delay(ms(20), Duration::from_millis(30));
    assert_eq!(exits(&mut link, 100), [(51, delivered(3))]);
}

#[test]
fn what_waits_behind_a_longer_delay_is_in_the_air_until_then() {
    let gone = |handle| (9, lost(handle, Cause::Outage));
    for change_at in [0, 2] {
        let mut link = link(&plain());
        offer(&mut link, 0, 0).unwrap();
        offer(&mut link, change_at, 1).unwrap();
        link.set_delay(ms(2), Duration::ZERO);
        offer(&mut link, 2, 2).unwrap();
        // All but the first would have arrived by 9 ms if they had overtaken it.
        link.down(ms(9), DownMode::Drop);
        assert_eq!(exits(&mut link, 100), [gone(0), gone(1), gone(2)]);
    }
}

#[test]
fn a_drop_outage_loses_all_that_is_on_the_link_and_all_that_comes() {
    let mut link = link(&plain());
    for handle in 0..3 {
        offer(&mut link, 0, handle).unwrap();
    }
    // At 11 ms the first has arrived, whether or not the driver has asked for it.
    link.down(ms(11), DownMode::Drop);
    let gone = |handle| (11, lost(handle, Cause::Outage));
    assert_eq!(exits(&mut link, 100), [(11, delivered(0)), gone(1), gone(2)]);
    assert_eq!(offer(&mut link, 12, 3), Err(Cause::Outage));
    assert_eq!(link.queue(ms(12)).packets, 0);
    link.up(ms(20), DownMode::Drop);
    offer(&mut link, 20, 4).unwrap();
    assert_eq!(exits(&mut link, 100), [(31, delivered(4))]);
    assert_eq!(link.counters().outage, 3);
}

#[test]
fn a_hold_outage_lets_the_air_arrive_and_keeps_the_queue() {
    let mut link = link(&Direction { queue: Queue::packets(2), ..plain() });
    offer(&mut link, 0, 0).unwrap();
    offer(&mut link, 1, 1).unwrap();
    // The first is in the air, the second half serialised: it starts over when the link is back.
    link.down(Instant::from_nanos(1_500_000), DownMode::Hold);
    offer(&mut link, 2, 2).unwrap();
    assert_eq!(offer(&mut link, 2, 3), Err(Cause::QueueFull));
    assert_eq!(exits(&mut link, 100), [(11, delivered(0))]);
    link.up(ms(30), DownMode::Hold);
    assert_eq!(exits(&mut link, 100), [(41, delivered(1)), (42, delivered(2))]);
}

#[test]
fn overlapping_outages_end_with_the_last_one() {
    let mut link = link(&plain());
    link.down(ms(0), DownMode::Drop);
    link.down(ms(5), DownMode::Drop);
    link.down(ms(5), DownMode::Hold);
    link.up(ms(10), DownMode::Drop);
    assert_eq!(offer(&mut link, 12, 0), Err(Cause::Outage));
    link.up(ms(15), DownMode::Drop);
    offer(&mut link, 15, 1).unwrap();
    assert_eq!(link.deadline(), None);
    link.up(ms(20), DownMode::Hold);
    assert_eq!(exits(&mut link, 100), [(31, delivered(1))]);
}

#[test]
fn an_end_without_an_outage_changes_nothing() {
    let mut link = link(&plain());
    offer(&mut link, 0, 0).unwrap();
    link.up(Instant::from_nanos(333_333), DownMode::Hold);
    link.up(Instant::from_nanos(333_333), DownMode::Drop);
    assert_eq!(exits(&mut link, 100), [(11, delivered(0))]);
}

#[test]
fn a_listed_packet_is_lost_and_no_other() {
    let mut link = link(&Direction { losses: vec![Loss::List(vec![2])], ..plain() });
    link.enqueue(ms(0), 0, Bytes(1000), true).unwrap();
    link.enqueue(ms(0), 1, Bytes(1000), false).unwrap();
    link.enqueue(ms(0), 2, Bytes(1000), true).unwrap();
    link.enqueue(ms(0), 3, Bytes(1000), true).unwrap();
    let want = [(11, delivered(0)), (12, delivered(1)), (13, lost(2, Cause::Loss)), (14, delivered(3))];
    assert_eq!(exits(&mut link, 100), want);
}

#[test]
fn every_process_sees_every_packet() {
    // The list's number 2 is the second packet, though the first process took the first.
    let mut link = link(&Direction { losses: vec![Loss::List(vec![1]), Loss::List(vec![2])], ..plain() });
    for handle in 0..3 {
        offer(&mut link, 0, handle).unwrap();
    }
    let want = [(11, lost(0, Cause::Loss)), (12, lost(1, Cause::Loss)), (13, delivered(2))];
    assert_eq!(exits(&mut link, 100), want);
}

#[test]
fn a_bit_error_is_delivered_marked() {
    let mut link = link(&Direction { losses: vec![Loss::Bit(1.0)], ..plain() });
    offer(&mut link, 0, 0).unwrap();
    assert_eq!(exits(&mut link, 100), [(11, Exit::Delivered { handle: 0, corrupted: true })]);
    assert_eq!(link.counters().corrupted, 1);
}

#[test]
fn a_packet_held_back_is_overtaken() {
    let direction = Direction { reorder: Some((0.3, Duration::from_millis(5))), ..plain() };
    let mut link = link(&direction);
    for handle in 0..20 {
        offer(&mut link, 0, handle).unwrap();
    }
    let out = exits(&mut link, 100);
    for &(at, exit) in &out {
        let Exit::Delivered { handle, .. } = exit else { panic!("{exit:?}") };
        let turn = 11 + u64::from(handle);
        assert!(at == turn || at == turn + 5, "{handle} at {at}");
    }
    let held_back = link.counters().reordered;
    assert!((1..20).contains(&held_back), "{held_back}");
    assert_eq!(out.len(), 20);
}

#[test]
fn a_duplicate_comes_before_its_original_at_the_same_moment() {
    let mut link = link(&Direction { duplicate: 1.0, ..plain() });
    offer(&mut link, 0, 0).unwrap();
    offer(&mut link, 0, 1).unwrap();
    let copy = |handle| Exit::Duplicated { handle, corrupted: false };
    let want = [(11, copy(0)), (11, delivered(0)), (12, copy(1)), (12, delivered(1))];
    assert_eq!(exits(&mut link, 100), want);
    assert_eq!((link.counters().delivered, link.counters().duplicated), (2, 2));
}

#[test]
fn a_drop_outage_takes_what_was_held_back() {
    let mut link = link(&Direction { reorder: Some((1.0, Duration::from_millis(5))), ..plain() });
    offer(&mut link, 0, 0).unwrap();
    assert_eq!(exits(&mut link, 12), []);
    link.down(ms(13), DownMode::Drop);
    assert_eq!(exits(&mut link, 100), [(13, lost(0, Cause::Outage))]);
}

#[test]
fn a_random_process_draws_from_its_own_stream() {
    let losses = |losses: Vec<Loss>, duplicate| {
        let mut link = link(&Direction { losses, duplicate, ..plain() });
        for handle in 0..1000 {
            offer(&mut link, 0, handle).unwrap();
        }
        let lost = |exit: (u64, Exit<u32>)| match exit.1 {
            Exit::Lost { handle, .. } => Some(handle),
            _ => None,
        };
        exits(&mut link, 2000).into_iter().filter_map(lost).collect::<Vec<_>>()
    };
    let alone = losses(vec![Loss::Packet(0.1)], 0.0);
    assert!(!alone.is_empty());
    let beside_others = losses(vec![Loss::Packet(0.1), Loss::Bit(1e-5)], 0.5);
    assert_eq!(alone, beside_others);
}

#[test]
fn a_link_is_small() {
    // Tens of thousands of links take turns on the hot path; with what a driver keeps of each, three cache lines.
    assert!(size_of::<Link<u32>>() <= 152, "{}", size_of::<Link<u32>>());
}
