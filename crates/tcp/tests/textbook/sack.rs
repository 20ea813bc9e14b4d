//! SACK-based loss recovery, acknowledgement by acknowledgement: RFC 6675.

use handfast_tcp::{Config, Event};
use handfast_wire::tcp::Segment;

use crate::script::{Script, ack, bulk, bulk_to, ten};
use crate::support::{Fate, Side, plain};

/// 1 to 10 in flight of `segments`, cwnd 10.
fn ten_in_flight(segments: u32) -> Script {
    let mut s = bulk(ten("sack"), segments);
    s.in_flight().answer(1000, &[]);
    s.newly_sent();
    s
}

fn entered(s: &Script) -> u64 {
    s.pair.client.counters().fast_retransmits
}

#[test]
fn more_than_two_segments_sacked_are_a_loss_at_once() {
    // RFC 6675 §5 step 2: IsLost (HighACK + 1), before three duplicates.
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(2000, 4000)]);
    assert_eq!((entered(&s), s.newly_sent()), (0, String::new()));
    s.answer(1000, &[(2000, 4001)]);
    // Step 4.2: ssthresh = cwnd = FlightSize / 2.
    assert_eq!((s.newly_sent().as_str(), s.window()), ("1", (5000, 5000)));
    assert!(s.events().iter().any(|e| e.1 == Event::RecoveryEntered));
}

#[test]
fn three_duplicates_are_a_loss_however_little_they_sack() {
    // RFC 6675 §5 step 1: the case of small segments.
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(2000, 2010)]).answer(1000, &[(2000, 2020)]);
    assert_eq!(entered(&s), 0);
    s.answer(1000, &[(2000, 2030)]);
    assert_eq!((entered(&s), s.newly_sent().as_str()), (1, "1"));
}

#[test]
fn an_acknowledgement_that_sacks_nothing_new_is_no_duplicate() {
    // RFC 6675 §2.
    let mut s = ten_in_flight(60);
    for _ in 0..5 {
        s.answer(1000, &[(2000, 2010)]);
    }
    assert_eq!(entered(&s), 0);
}

#[test]
fn new_sacks_on_a_cumulative_acknowledgement_count() {
    // RFC 6675 §5: "regardless of its status as a cumulative acknowledgment", where acknowledgements are lost.
    let mut s = bulk(ten("sack"), 60);
    s.in_flight().answer(1000, &[(2000, 2010)]).answer(1000, &[(2000, 2020)]);
    assert_eq!(entered(&s), 0);
    s.answer(1000, &[(2000, 2030)]);
    assert_eq!(entered(&s), 1, "DupAcks = 3");
    let mut s = bulk(ten("sack"), 60);
    s.in_flight().answer(1000, &[(2000, 5000)]);
    assert_eq!(entered(&s), 1, "IsLost");
}

#[test]
fn lost_holes_first_then_new_data() {
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!(s.newly_sent(), "1");
    // Pipe 5 of 5: 5, 8, 9, 10 and the repetition of 1. IsLost (5) does not hold yet.
    s.answer(1000, &[(6000, 8000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "");
    // 5 is lost now: rule (1), then rule (2).
    s.answer(1000, &[(6000, 9000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "5 11");
    // HighRxt: 5 does not go a second time.
    s.answer(1000, &[(6000, 10_000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "12");
    // A partial acknowledgement changes the pipe alone: 1's repetition has left it, and 10, 11, 12, 5 remain.
    s.answer(5000, &[(6000, 10_000)]);
    assert_eq!((s.newly_sent().as_str(), s.window().0), ("13", 5000));
    // Step A: RecoveryPoint is covered.
    s.answer(11_000, &[]);
    assert!(s.events().iter().any(|e| e.1 == Event::RecoveryLeft));
    assert_eq!((s.newly_sent().as_str(), s.window()), ("14-15", (5000, 5000)));
}

#[test]
fn without_new_data_a_hole_not_yet_lost_goes() {
    // NextSeg rule (3): nothing new to send, and 9 lies below what is SACKed.
    let mut s = ten_in_flight(11);
    s.answer(1000, &[(2000, 5000)]);
    s.newly_sent();
    s.answer(1000, &[(10_000, 11_000), (6000, 9000), (2000, 5000)]);
    // Rule (4) waits: HighACK has not passed RescueRxt, which step 4.3 set.
    assert_eq!(s.newly_sent(), "5 9");
}

#[test]
fn without_room_at_the_receiver_a_hole_not_yet_lost_goes() {
    // NextSeg rules (2) and (3): there is new data, but "the receiver's advertised window" does not allow it.
    // 10 ends at 11000; 11 would need a window of 11000 from 1000 on.
    for (window, sent) in [(9990, "1 5 9"), (10_000, "1 5 9"), (10_999, "1 5 9"), (11_000, "1 5 11 9")] {
        let unscaled = Config { window_scaling: false, ..plain("sack") };
        let mut s = bulk_to(ten("sack"), unscaled, 60);
        s.in_flight();
        for sacks in [&[][..], &[(2000, 5000)], &[(10_000, 11_000), (6000, 9000), (2000, 5000)]] {
            let window = if sacks.is_empty() { 10_000 } else { window };
            s.pair.inject(Side::Client, &Segment { window, ..ack(1000, sacks) }, |_| Fate::Drop);
        }
        assert_eq!(s.newly_sent(), format!("10 {sent}"), "{window}");
    }
}

#[test]
fn a_retransmission_ends_where_sacked_data_begins() {
    // In recovery, and in slow start after a timeout.
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(1500, 5000)]);
    assert_eq!(s.newly_sent(), "[1000+500]");
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(1500, 2000), (3500, 4000)]);
    s.run(600, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "[1000+500]");
    s.answer(3000, &[(3500, 4000)]);
    assert_eq!(s.newly_sent(), "[3000+500] 4");
}

#[test]
fn one_rescue_retransmission_a_recovery() {
    // 9 and 10 are lost too, and nothing above them tells.
    let mut s = ten_in_flight(11);
    s.answer(1000, &[(6000, 9000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "1 5");
    // NextSeg rule (4): HighACK passes RescueRxt; the segment holds the highest octet that is not SACKed.
    s.answer(5000, &[(6000, 9000)]);
    assert_eq!(s.newly_sent(), "10");
    s.answer(5000, &[(10_000, 11_000), (6000, 9000)]);
    // It did not move HighRxt: 9 is still a hole for rule (3).
    assert_eq!(s.newly_sent(), "9");
    s.answer(9000, &[(10_000, 11_000)]);
    assert_eq!(s.newly_sent(), "", "and no second rescue");
}

#[test]
fn a_timeout_keeps_the_scoreboard_and_starts_over() {
    let mut s = ten_in_flight(60);
    s.answer(1000, &[(4000, 6000)]);
    s.run(600, |_| Fate::Drop);
    assert_eq!(s.timeouts().len(), 1);
    assert_eq!(s.newly_sent(), "1");
    s.answer(2000, &[(4000, 6000)]);
    assert_eq!(s.newly_sent(), "2-3");
    // RFC 6675 §5.1: "a SACK TCP sender SHOULD utilize all SACK information": 4 and 5 have arrived.
    s.answer(3000, &[(4000, 6000)]);
    assert_eq!(s.newly_sent(), "6-7");
    // No new recovery before HighACK reaches RecoveryPoint.
    s.answer(3000, &[(7000, 10_000), (4000, 6000)]);
    assert_eq!(entered(&s), 0);
    s.answer(11_000, &[]);
    s.newly_sent();
    s.answer(11_000, &[(30_000, 33_000)]);
    assert_eq!((entered(&s), s.newly_sent().as_str()), (0, ""), "beyond what was sent, a lie");
}

#[test]
fn after_a_timeout_recovery_may_begin_again_beyond_recovery_point() {
    let mut s = ten_in_flight(60);
    s.run(600, |_| Fate::Drop);
    s.answer(11_000, &[]);
    for n in 12..20 {
        s.answer(n * 1000, &[]);
    }
    s.newly_sent();
    let una = 19_000;
    s.answer(una, &[(una + 1000, una + 4000)]);
    assert_eq!((entered(&s), s.newly_sent().as_str()), (1, "19"));
}

#[test]
fn a_receiver_that_takes_back_what_it_sacked_gets_it_again() {
    // RFC 2018 §8.
    let mut s = ten_in_flight(11);
    s.answer(1000, &[(2000, 3000)]).answer(2000, &[]);
    assert!(s.events().iter().any(|e| e.1 == Event::Reneged));
    s.run(2000, |_| Fate::Deliver);
    assert_eq!(s.pair.read_by_server, 0, "0 and 1 never arrived: they were acknowledged by the test");
    assert!(s.rounds()[0].ends_with(": 2"), "{:?}", s.rounds());
}

#[test]
fn blocks_that_make_no_sense_change_nothing() {
    let mut s = ten_in_flight(60);
    // Beyond SND.MAX, inverted, empty, below SND.UNA (a duplicate's, RFC 2883).
    s.answer(1000, &[(2000, 90_000), (5000, 3000), (4000, 4000), (0, 1000)]);
    s.answer(1000, &[(0, 1000), (20_000, 21_000)]);
    s.answer(1000, &[(0, 5000), (1000, 5000)]);
    assert_eq!((entered(&s), s.newly_sent(), s.window().0), (0, String::new(), 10_000));
}

#[test]
fn every_partial_acknowledgement_restarts_the_timer() {
    // RFC 6298 §5.3: the impatient variant is RFC 6582's, not SACK's.
    let expiry = |name: &str, sacks: [&[(u64, u64)]; 3]| {
        let mut s = bulk(ten(name), 60);
        s.in_flight();
        for _ in 0..3 {
            s.answer(0, sacks[0]);
        }
        s.run(100, |_| Fate::Drop).answer(2000, sacks[1]);
        s.run(200, |_| Fate::Drop).answer(4000, sacks[2]);
        assert_eq!(entered(&s), 1, "{name}");
        s.run(600, |_| Fate::Drop);
        s.timeouts()[0]
    };
    assert_eq!(
        expiry("sack", [&[(1000, 2000), (3000, 4000), (5000, 6000)], &[(5000, 6000)], &[(5000, 6000)]]),
        500
    );
    assert_eq!(expiry("newreno", [&[]; 3]), 400);
}

#[test]
fn without_the_peers_consent_it_is_newreno() {
    // RFC 2018 §2: no blocks will come; RFC 6582 §1.
    let mut s = bulk_to(ten("sack"), plain("newreno"), 60);
    s.lose(400, &[2, 4, 6]);
    let mut newreno = bulk(ten("newreno"), 60);
    newreno.lose(400, &[2, 4, 6]);
    assert_eq!(s.rounds(), newreno.rounds());
}
