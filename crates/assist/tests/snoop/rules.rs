//! Scripted traces.

use handfast_assist::Agent;
use handfast_assist::snoop::Config;
use handfast_core::Bytes;
use handfast_wire::Body;
use handfast_wire::tcp::Flags;

use crate::world::Left::{Ack, Data, Sack};
use crate::world::World;

/// Six segments on their way, the first acknowledged.
fn six() -> World {
    let mut world = World::new();
    for number in 0..6 {
        assert_eq!(world.data(number), [Data(number)]);
    }
    world.wait(10);
    assert_eq!(world.ack(1), [Ack(1)]);
    world
}

#[test]
fn what_is_acknowledged_is_let_go() {
    let mut world = six();
    assert_eq!(world.snoop.bytes(), 5 * 1_040);
    assert_eq!(world.ack(6), [Ack(6)]);
    assert_eq!((world.snoop.bytes(), world.timer()), (0, None));
}

#[test]
fn the_first_duplicate_repairs_and_those_that_follow_are_expected() {
    let mut world = six();
    // Segment 1 is lost: 2 to 5 arrive, each with a duplicate.
    assert_eq!(world.ack(1), [Data(1)], "sent again, and the sender sees no duplicate");
    for _ in 3..6 {
        assert_eq!(world.ack(1), []);
    }
    assert_eq!(world.ack(6), [Ack(6)]);
    let counters = world.snoop.counters();
    assert_eq!((counters.resent, counters.suppressed), (1, 4));
}

#[test]
fn a_duplicate_beyond_those_expected_means_that_the_repair_is_lost() {
    let mut world = six();
    world.wait(1);
    assert_eq!(world.ack(1), [Data(1)]);
    world.wait(1);
    world.data(6);
    world.data(7);
    // Of 3, 4 and 5, which were on their way.
    (3..6).for_each(|_| assert_eq!(world.ack(1), []));
    // Of 6, which left after the repair.
    assert_eq!(world.ack(1), [Data(1)]);
    // Of 7.
    assert_eq!(world.ack(1), []);
    assert_eq!(world.ack(8), [Ack(8)]);
    assert_eq!(world.snoop.counters().resent, 2);
}

#[test]
fn what_was_lost_before_the_base_station_is_the_senders() {
    let mut world = World::new();
    world.data(0);
    world.data(2);
    world.data(3);
    assert_eq!(world.ack(1), [Ack(1)]);
    assert_eq!(world.ack(1), [Ack(1)], "not kept: a congestion loss");
    assert_eq!(world.ack(1), [Ack(1)]);
    // The sender repeats it: it came out of order, and if it is lost on the air the sender has to know.
    assert_eq!(world.data(1), [Data(1)]);
    assert_eq!(world.ack(1), [Ack(1)]);
}

#[test]
fn after_the_senders_own_repetition_duplicates_are_the_senders() {
    let mut world = six();
    assert_eq!(world.ack(1), [Data(1)]);
    assert_eq!(world.data(1), [Data(1)]);
    assert_eq!(world.ack(1), [Ack(1)]);
}

#[test]
fn a_repetition_of_what_is_acknowledged_is_answered_for_the_mobile() {
    let mut world = six();
    world.sack(4, &[(5, 6)]);
    assert_eq!(world.data(2), [Ack(4)], "and does not go over the air again");
    assert_eq!(world.snoop.counters().repeated, 1);
}

#[test]
fn old_acknowledgments_end_here_unless_they_carry_data() {
    let mut world = six();
    world.ack(4);
    assert_eq!(world.ack(2), []);
    let payload = handfast_wire::Payload::Synthetic { stream: 1, offset: 0, len: 10 };
    assert_eq!(world.up(|segment| segment.payload = payload.clone(), 2), [Ack(2)]);
    assert_eq!(world.snoop.counters().stale, 1);
}

#[test]
fn an_acknowledgment_with_another_window_is_no_duplicate() {
    let mut world = six();
    assert_eq!(world.up(|segment| segment.window = 200, 1), [Ack(1)]);
    assert_eq!(world.snoop.counters().resent, 0);
    // The one before counts.
    assert_eq!(world.ack(1), [Ack(1)]);
    assert_eq!(world.ack(1), [Data(1)]);
}

#[test]
fn a_station_that_was_elsewhere_for_long_begins_anew() {
    let mut world = six();
    // It has got half of all sequence numbers and more at another base station: 3,000,000 segments of 1,000 bytes.
    assert_eq!(world.data(3_000_000), [Data(3_000_000)], "not acknowledged, however it looks");
    assert_eq!(world.ack(3_000_001), [Ack(3_000_001)]);
    // Or one window, and is back after more than a minute.
    let mut world = six();
    world.wait(61_000);
    assert_eq!(world.ack(0), [Ack(0)], "no old acknowledgment");
    assert_eq!(world.data(0), [Data(0)]);
}

#[test]
fn all_connections_together_keep_so_much_at_most() {
    let mut world = World::with(Config { total: Bytes(2_100), ..Config::default() }, 0);
    for port in 1..4 {
        world.port = port;
        assert_eq!(world.data(0), [Data(0)]);
    }
    assert_eq!((world.snoop.bytes(), world.snoop.counters().uncached), (2_080, 1));
    world.port = 1;
    world.ack(1);
    assert_eq!(world.snoop.bytes(), 1_040);
}

#[test]
fn a_segment_with_data_is_no_duplicate() {
    let mut world = six();
    let payload = handfast_wire::Payload::Synthetic { stream: 1, offset: 0, len: 10 };
    assert_eq!(world.up(|segment| segment.payload = payload.clone(), 1), [Ack(1)]);
}

#[test]
fn sack_shows_holes_and_each_is_filled_once() {
    let mut world = six();
    // 1 and 3 are lost.
    assert_eq!(world.sack(1, &[(2, 3)]), [Data(1)]);
    assert_eq!(world.sack(1, &[(4, 5), (2, 3)]), [Data(3)]);
    assert_eq!(world.sack(1, &[(4, 6), (2, 3)]), []);
    // What was filled shows the next hole no second time.
    assert_eq!(world.sack(3, &[(4, 6)]), [Ack(3)]);
    // What the timer repeats says nothing of the second hole; after a local round trip it goes once more.
    let mut world = six();
    assert_eq!(world.sack(1, &[(4, 5), (2, 3)]), [Data(1), Data(3)]);
    assert_eq!(world.timer(), Some((928, vec![Data(1)])));
    world.wait(1);
    assert_eq!(world.sack(1, &[(4, 6), (2, 3)]), [Data(3)]);
}

#[test]
fn a_partial_acknowledgment_with_sack_fills_the_next_hole_at_once() {
    let mut world = six();
    assert_eq!(world.ack(1), [Data(1)]);
    assert_eq!(world.sack(3, &[(4, 6)]), [Data(3), Ack(3)]);
}

#[test]
fn what_was_on_its_way_says_nothing_of_a_hole_that_is_filled() {
    let mut world = six();
    // 1 and 3 are lost; the repair of 3 leaves after 4 and 5, and before 6.
    assert_eq!(world.sack(1, &[(2, 3)]), [Data(1)]);
    world.wait(1);
    assert_eq!(world.sack(3, &[(4, 5)]), [Data(3), Ack(3)]);
    world.wait(1);
    world.data(6);
    world.data(7);
    assert_eq!(world.sack(3, &[(4, 6)]), [], "5 came");
    assert_eq!(world.sack(3, &[(4, 7)]), [Data(3)], "6 came, so the repair is lost");
    assert_eq!(world.sack(3, &[(4, 8)]), []);
}

#[test]
fn what_the_mobile_has_got_twice_is_no_loss() {
    let mut world = six();
    assert_eq!(world.sack(1, &[(0, 1)]), [], "RFC 2883 §4: below the acknowledgment");
    assert_eq!((world.snoop.counters().resent, world.snoop.counters().suppressed), (0, 1));
    // Nor is it one of the duplicates that are expected of 3, 4 and 5.
    assert_eq!(world.ack(1), [Data(1)]);
    assert_eq!(world.sack(1, &[(0, 1)]), []);
    (0..3).for_each(|_| assert_eq!(world.ack(1), []));
    assert_eq!(
        world.sack(1, &[(4, 5), (3, 6)]),
        [Data(2)],
        "inside the second block: a hole, but the repair of 1 is not lost"
    );
    assert_eq!(world.ack(1), [Data(1)]);
}

#[test]
fn the_sender_hears_of_holes_that_are_its_own() {
    let mut world = World::new();
    for number in [0, 1, 2, 4, 5, 6] {
        world.data(number);
    }
    // 1 is lost on the air, 3 before the base station.
    assert_eq!(world.sack(1, &[(2, 3)]), [Data(1), Ack(1)], "what it asks for is repaired here");
    assert_eq!(world.snoop.counters().resent, 1);
    assert_eq!(world.sack(3, &[(4, 7)]), [Sack(3)]);
}

#[test]
fn the_timer_repeats_the_first_segment_with_doubled_waits_and_gives_up() {
    let mut world = six();
    // One sample of 10 ms: SRTT 88.75, RTTVAR (750 + 90) / 4 = 210 ms.
    let waits = std::iter::from_fn(|| world.timer()).collect::<Vec<_>>();
    let (times, what): (Vec<u64>, Vec<_>) = waits.into_iter().unzip();
    assert_eq!(times[0], 928);
    assert!(times.windows(2).all(|pair| pair[1] / 2 == pair[0] || pair[1] / 2 == pair[0] + 1), "{times:?}");
    assert_eq!(what, vec![vec![Data(1)]; 6]);
    // An acknowledgment of something new starts it again, at the first wait; what was sent again is no sample.
    world.ack(2);
    assert_eq!(world.timer(), Some((928, vec![Data(2)])));
    assert_eq!(world.snoop.counters().timed_out, 7);
}

#[test]
fn a_duplicate_is_no_repair_of_the_timers() {
    let mut world = six();
    world.timer();
    // The timer's repetition is on its way: duplicates of what came before it change nothing.
    assert_eq!(world.ack(1), []);
}

#[test]
fn sequence_numbers_wrap() {
    let mut world = World::with(Config::default(), u32::MAX - 2_500);
    for number in 0..6 {
        world.data(number);
    }
    assert_eq!(world.ack(1), [Ack(1)]);
    assert_eq!(world.ack(1), [Data(1)]);
    assert_eq!(world.ack(5), [Ack(5)]);
    assert_eq!(world.ack(3), []);
    assert_eq!(world.snoop.bytes(), 1_040);
}

#[test]
fn a_full_cache_lets_segments_pass_and_duplicates_too() {
    let mut world = World::with(Config { per_connection: Bytes(2_100), ..Config::default() }, 0);
    for number in 0..4 {
        assert_eq!(world.data(number), [Data(number)]);
    }
    assert_eq!((world.snoop.bytes(), world.snoop.counters().uncached), (2_080, 2));
    world.ack(2);
    assert_eq!(world.ack(2), [Ack(2)]);
    assert_eq!(world.snoop.bytes(), 0);
}

#[test]
fn what_overlaps_a_kept_segment_on_either_side_passes_and_is_not_kept() {
    let shifted = |by: u32| {
        move |packet: &mut handfast_wire::Packet| {
            let Body::Tcp(segment) = &mut packet.body else { return };
            segment.seq += by;
        }
    };
    // With its beginning the end of the one before it, with its end the beginning of the one after it.
    for (kept, by) in [(0, 500), (2, 500)] {
        let mut world = World::new();
        world.data(kept);
        world.down(shifted(by), u32::from(kept != 0));
        let counters = world.snoop.counters();
        assert_eq!((counters.cached, counters.uncached, world.snoop.bytes()), (1, 1, 1_040), "{kept}");
    }
}

#[test]
fn the_connection_that_was_silent_longest_is_forgotten() {
    let mut world = World::with(Config { connections: 2, ..Config::default() }, 0);
    for port in [1, 2] {
        world.port = port;
        world.data(0);
        world.wait(1);
    }
    world.port = 1;
    world.data(1);
    world.wait(1);
    world.port = 3;
    world.data(0);
    assert_eq!((world.snoop.counters().evicted, world.snoop.bytes()), (1, 3 * 1_040));
    // Of the second nothing is known any more: its acknowledgments are the sender's.
    world.port = 2;
    world.ack(0);
    assert_eq!(world.ack(0), [Ack(0)]);
    world.port = 1;
    world.ack(0);
    assert_eq!(world.ack(0), [Data(0)]);
}

#[test]
fn a_new_connection_or_a_reset_starts_anew() {
    for flag in [Flags::SYN, Flags::RST] {
        let mut world = six();
        let with_flag = |packet: &mut handfast_wire::Packet| {
            let Body::Tcp(segment) = &mut packet.body else { return };
            segment.flags = flag;
        };
        world.down(with_flag, 7);
        assert_eq!((world.snoop.bytes(), world.timer()), (0, None));
    }
}

#[test]
fn corrupted_segments_are_nobodys() {
    let mut world = six();
    let before = world.snoop.bytes();
    world.down(|packet| packet.corrupted = true, 6);
    assert_eq!(world.snoop.bytes(), before);
}

#[test]
fn uploads_and_bare_acknowledgments_of_the_sender_pass() {
    let mut world = World::new();
    let payload = handfast_wire::Payload::Synthetic { stream: 1, offset: 0, len: 10 };
    assert_eq!(world.up(|segment| segment.payload = payload.clone(), 1), [Ack(1)]);
    let bare = |packet: &mut handfast_wire::Packet| {
        let Body::Tcp(segment) = &mut packet.body else { return };
        segment.payload = handfast_wire::Payload::EMPTY;
    };
    assert_eq!(world.down(bare, 0), [Data(0)]);
    assert_eq!((world.snoop.bytes(), world.snoop.deadline()), (0, None));
}
