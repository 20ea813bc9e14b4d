//! Acknowledgements: when (RFC 5681 §4.2) and what they report (RFC 2018, RFC 2883).

use handfast_core::Duration;
use handfast_tcp::{Config, Received};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::script::{MS, Script, bulk_to, data, said};
use crate::support::{Fate, Side, plain};

/// A server that receives what the test makes up, with acknowledgements delayed this long.
fn server(delayed_ack: Duration) -> Script {
    let config = Config { delayed_ack, ..plain("sack") };
    bulk_to(config.clone(), config, 0)
}

type Said = (i32, Vec<(i32, i32)>);

fn answers(s: &mut Script, offset: u64, len: u32) -> Vec<Said> {
    s.give(&data(offset, len)).iter().map(said).collect()
}

#[test]
fn every_second_segment_is_acknowledged() {
    // RFC 5681 §4.2.
    let mut s = server(MS(40));
    assert_eq!(answers(&mut s, 0, 1000), []);
    assert_eq!(answers(&mut s, 1000, 1000), [(2000, vec![])]);
    assert_eq!(answers(&mut s, 2000, 1000), []);
    assert_eq!(answers(&mut s, 3000, 1000), [(4000, vec![])]);
}

#[test]
fn a_single_segment_is_acknowledged_after_the_delay() {
    let mut s = server(MS(40));
    assert_eq!(answers(&mut s, 0, 1000), []);
    s.run(39, |_| Fate::Drop);
    assert_eq!(s.replies().len(), 0);
    s.run(40, |_| Fate::Drop);
    assert_eq!(s.replies().iter().map(said).collect::<Vec<_>>(), [(1000, vec![])]);
    assert_eq!(s.pair.server.deadline(), None);
}

#[test]
fn without_a_delay_each_is_acknowledged() {
    let mut s = server(Duration::ZERO);
    assert_eq!(answers(&mut s, 0, 1000), [(1000, vec![])]);
    assert_eq!(answers(&mut s, 1000, 1000), [(2000, vec![])]);
}

#[test]
fn what_is_out_of_order_and_what_fills_a_hole_is_acknowledged_at_once() {
    // RFC 5681 §4.2: "A TCP receiver SHOULD send an immediate ACK when the incoming segment fills in all or part of a gap".
    let mut s = server(MS(40));
    assert_eq!(answers(&mut s, 2000, 1000), [(0, vec![(2000, 3000)])]);
    assert_eq!(answers(&mut s, 0, 1000), [(1000, vec![(2000, 3000)])]);
    assert_eq!(answers(&mut s, 1000, 1000), [(3000, vec![])]);
    // In order again: delayed again.
    assert_eq!(answers(&mut s, 3000, 1000), []);
    // A duplicate too.
    assert_eq!(answers(&mut s, 3000, 1000), [(4000, vec![(3000, 4000)])]);
}

#[test]
fn data_takes_the_acknowledgement_along() {
    let mut s = server(MS(40));
    answers(&mut s, 0, 1000);
    s.pair.server.write(Payload::Synthetic { stream: 2, offset: 0, len: 10 });
    s.run(100, |_| Fate::Drop);
    let replies = s.replies();
    assert_eq!(replies.iter().map(|r| (said(r).0, r.payload.len())).collect::<Vec<_>>(), [(1000, 10)]);
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    let mut s = server(MS(40));
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..data(0, 100) };
    assert_eq!(s.give(&fin).iter().map(said).collect::<Vec<_>>(), [(101, vec![])]);
    assert_eq!(s.pair.server.counters().data_segments_received, 1);
    let mut s = server(MS(40));
    let bare = Segment { flags: Flags::FIN | Flags::ACK, payload: Payload::EMPTY, ..data(0, 0) };
    assert_eq!(s.give(&bare).iter().map(said).collect::<Vec<_>>(), [(1, vec![])]);
    assert_eq!(s.pair.server.counters().data_segments_received, 0);
}

#[test]
fn the_newest_block_comes_first() {
    // RFC 2018 §4: the block of the segment that caused the ACK, then those reported most recently.
    let mut s = server(Duration::ZERO);
    assert_eq!(answers(&mut s, 1000, 500), [(0, vec![(1000, 1500)])]);
    assert_eq!(answers(&mut s, 3000, 500), [(0, vec![(3000, 3500), (1000, 1500)])]);
    assert_eq!(answers(&mut s, 5000, 500), [(0, vec![(5000, 5500), (3000, 3500), (1000, 1500)])]);
    assert_eq!(answers(&mut s, 1500, 500), [(0, vec![(1000, 2000), (5000, 5500), (3000, 3500)])]);
    // Four blocks fit into the options, no fifth (RFC 2018 §3).
    answers(&mut s, 7000, 500);
    assert_eq!(
        answers(&mut s, 9000, 500),
        [(0, vec![(9000, 9500), (7000, 7500), (1000, 2000), (5000, 5500)])]
    );
}

#[test]
fn timestamps_leave_room_for_three_blocks() {
    let config = Config { timestamps: true, mss: 1012, ..plain("sack") };
    let mut s = bulk_to(config.clone(), config, 0);
    for offset in [1000, 3000, 5000, 7000] {
        // Later than the client's clock, which begins near its initial sequence number.
        let timestamps = Some(Timestamps { val: u32::MAX, ecr: 0 });
        let replies = s.give(&Segment { timestamps, ..data(offset, 500) });
        assert_eq!(replies.len(), 1);
        assert_eq!(said(&replies[0]).1.len(), (offset as usize).div_ceil(2000).min(3));
        assert!(replies[0].header_len() <= 60);
    }
}

#[test]
fn no_blocks_unless_both_sides_agreed() {
    for (client, listener) in [("sack", "newreno"), ("newreno", "sack")] {
        let mut s = bulk_to(plain(client), plain(listener), 0);
        assert_eq!(answers(&mut s, 1000, 500), [(0, vec![])]);
        assert_eq!(answers(&mut s, 1000, 500), [(0, vec![])]);
    }
}

#[test]
fn data_segments_give_up_room_for_blocks() {
    // RFC 6691 §2: the options of this very segment count.
    let mut s = server(Duration::ZERO);
    answers(&mut s, 1000, 500);
    s.pair.server.write(Payload::Synthetic { stream: 2, offset: 0, len: 5000 });
    s.run(0, |_| Fate::Drop);
    let replies = s.replies();
    assert_eq!(replies[0].payload.len() + 12, 1000);
    assert_eq!(said(&replies[0]), (0, vec![(1000, 1500)]));
}

#[test]
fn a_duplicate_below_the_acknowledgement_is_reported_once() {
    // RFC 2883 §4.1.1.
    let mut s = server(Duration::ZERO);
    answers(&mut s, 0, 1000);
    assert_eq!(answers(&mut s, 0, 1000), [(1000, vec![(0, 1000)])]);
    assert_eq!(answers(&mut s, 1000, 1000), [(2000, vec![])]);
    // Before the runs beyond a hole (§4.1.2).
    answers(&mut s, 3000, 1000);
    assert_eq!(answers(&mut s, 0, 500), [(2000, vec![(0, 500), (3000, 4000)])]);
    assert_eq!(s.pair.server.counters().duplicate_segments_received, 2);
}

#[test]
fn a_duplicate_waits_for_the_next_acknowledgement() {
    // RFC 2883 §4 (2): where the driver sends late, a new segment that arrives in between does not hide it.
    let mut s = server(Duration::ZERO);
    answers(&mut s, 0, 1000);
    let now = s.pair.now;
    s.pair.server.on_segment(now, &Received::plain(&data(0, 500)));
    s.pair.server.on_segment(now, &Received::plain(&data(1000, 500)));
    s.run(0, |_| Fate::Drop);
    assert_eq!(s.replies().iter().map(said).collect::<Vec<_>>(), [(1500, vec![(0, 500)])]);
}

#[test]
fn a_duplicate_above_it_comes_with_the_run_that_holds_it() {
    // RFC 2883 §4.1.3, and the segment's own run is not named twice.
    let mut s = server(Duration::ZERO);
    answers(&mut s, 2000, 1000);
    answers(&mut s, 3000, 1000);
    answers(&mut s, 6000, 1000);
    assert_eq!(answers(&mut s, 2000, 1000), [(0, vec![(2000, 3000), (2000, 4000), (6000, 7000)])]);
}

#[test]
fn the_old_part_of_a_segment_is_reported() {
    // RFC 2883 §4.2: partial duplicates.
    let mut s = server(Duration::ZERO);
    answers(&mut s, 0, 1000);
    assert_eq!(answers(&mut s, 500, 1000), [(1500, vec![(500, 1000)])]);
    answers(&mut s, 3000, 1000);
    assert_eq!(answers(&mut s, 2500, 1000), [(1500, vec![(3000, 3500), (2500, 4000)])]);
    assert_eq!(s.pair.server.counters().duplicate_segments_received, 0);
    assert_eq!(s.pair.server.counters().data_segments_received, 4);
}

#[test]
fn the_last_segment_of_a_write_is_pushed() {
    // RFC 9293 §3.9.1.2: PSH on the last segment of what was queued.
    let mut s = bulk_to(plain("sack"), plain("sack"), 3);
    s.run(0, |_| Fate::Drop);
    let pushed: Vec<bool> = s
        .pair
        .log
        .iter()
        .filter(|l| l.from == Side::Client && !l.segment.payload.is_empty())
        .map(|l| l.segment.flags.contains(Flags::PSH))
        .collect();
    assert_eq!(pushed, [false, false, true]);
}
