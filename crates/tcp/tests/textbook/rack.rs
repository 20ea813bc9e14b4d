//! RACK (RFC 8985 §6) and proportional rate reduction (RFC 6937), acknowledgement by acknowledgement.

use handfast_tcp::{Config, CongestionControl, Event, Undo};

use handfast_wire::tcp::{Segment, Timestamps};

use crate::script::{MS, Script, ack, bulk, stamped, ten};
use crate::support::{Fate, Side};

/// 0 to 9 left at 0, and nothing has come back; it is 100 ms, a round trip later.
fn after_a_round_trip(segments: u32) -> Script {
    let mut s = bulk(ten("rack"), segments);
    s.run(100, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "0-9");
    s
}

/// What goes out until `ms`.
fn until(s: &mut Script, ms: u64) -> String {
    s.run(ms, |_| Fate::Drop);
    s.newly_sent()
}

#[test]
fn a_hole_is_lost_once_the_reordering_window_has_passed() {
    // RFC 8985 §6.2 steps 2, 4 and 5: 2, sent at 0, took 100 ms; 0 and 1, sent before it, have as long and a quarter of it.
    let mut s = after_a_round_trip(10);
    s.answer(0, &[(2000, 3000)]);
    assert_eq!((s.newly_sent().as_str(), s.pair.client.deadline()), ("", Some(s.start + MS(125))));
    assert_eq!(until(&mut s, 124), "");
    // PRR: one segment, to begin with.
    assert_eq!(until(&mut s, 125), "0");
    assert!(s.events().contains(&(125, Event::RecoveryEntered)));
}

#[test]
fn what_was_sent_after_the_newest_delivered_is_not_judged() {
    // RACK_sent_after: of segments that left at one moment, the octets decide.
    let mut s = after_a_round_trip(10);
    s.answer(0, &[(1000, 2000)]);
    until(&mut s, 150);
    s.answer(0, &[(1000, 2000)]);
    assert_eq!(s.pair.client.snapshot(s.pair.now).cwnd, 9000, "0 is under way again, 2 to 9 are in flight");
}

#[test]
fn three_segments_sacked_end_the_wait() {
    // Step 4: "RACK.segs_sacked >= RACK.dupthresh": no reordering window.
    let mut s = after_a_round_trip(10);
    s.answer(1000, &[(2000, 4000)]);
    assert_eq!(s.newly_sent(), "");
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!(s.newly_sent(), "1");
}

#[test]
fn in_recovery_nothing_waits() {
    // Step 4: "If in Fast or RTO recovery: return 0".
    let mut s = after_a_round_trip(10);
    s.answer(1000, &[(2000, 5000)]);
    s.newly_sent();
    s.answer(1000, &[(6000, 9000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "5");
    s.answer(2000, &[]);
}

#[test]
fn where_reordering_was_seen_the_window_stands() {
    // Step 3: 2, sent once, arrives after 3. Step 4: then three segments, and recovery, no longer end the wait.
    let mut s = after_a_round_trip(10);
    s.answer(1000, &[(3000, 4000)]).answer(1000, &[(2000, 4000)]).answer(1000, &[(2000, 9000)]);
    assert_eq!((s.newly_sent().as_str(), until(&mut s, 124).as_str()), ("", ""));
    assert_eq!(until(&mut s, 125), "1");
}

#[test]
fn where_segments_are_overtaken_far_cwnd_grows_by_what_is_sacked() {
    // `tcp_may_raise_cwnd`: once `tp->reordering` exceeds `tcp_reordering` = 3. Here `upto` arrives before 2; then 3.
    let plain = Config { initial_ssthresh: None, ..ten("rack") };
    let kernel = Config { congestion_control: CongestionControl::LinuxReno, ..plain.clone() };
    for (config, upto, grown) in
        [(kernel.clone(), 6, [11, 11, 12, 13]), (kernel, 5, [11; 4]), (plain, 6, [11; 4])]
    {
        let mut s = bulk(config, 60);
        s.run(100, |_| Fate::Drop);
        let mut cwnd = |sacks: &[(u64, u64)]| s.answer(1000, sacks).window().0 / 1000;
        let last = (1000 * (upto - 1), 1000 * upto);
        let windows = [cwnd(&[]), cwnd(&[last]), cwnd(&[(2000, 3000), last]), cwnd(&[(2000, 4000), last])];
        assert_eq!(windows, grown, "up to {upto}");
    }
}

#[test]
fn a_repeated_segment_that_arrives_late_is_no_reordering() {
    // Step 3: only "if Segment.retransmitted is FALSE".
    let mut s = after_a_round_trip(15);
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!(s.newly_sent(), "1");
    until(&mut s, 200);
    s.answer(10_000, &[]);
    assert_eq!(s.newly_sent(), "10-14");
    until(&mut s, 300);
    s.answer(11_000, &[(12_000, 15_000)]);
    assert_eq!(s.newly_sent(), "11", "no window");
}

#[test]
fn a_lost_retransmission_is_found() {
    // The advantage over RFC 6675: 2 goes again as soon as something sent after its repetition has arrived.
    let mut s = bulk(ten("rack"), 60);
    s.lose(300, &[2, 2]);
    assert_eq!(s.rounds(), ["0: 0-9", "100: 10-13 2 14-15", "200: 16-17 2 18-19", "300: 20-24"]);
    assert_eq!(s.timeouts(), []);
}

#[test]
fn an_answer_too_early_for_the_retransmission_is_the_original_s() {
    // Step 2: less than RACK.min_RTT after the repetition of 1, it says nothing about what was sent between.
    let mut s = after_a_round_trip(10);
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!(s.newly_sent(), "1");
    assert_eq!(until(&mut s, 130), "");
    s.answer(5000, &[]);
    assert_eq!(s.newly_sent(), "");
    assert_eq!(until(&mut s, 230), "");
}

#[test]
fn an_answer_to_the_original_says_nothing_of_the_retransmission() {
    // Step 2 with timestamps: the acknowledgement of 1 to 4 at 210 echoes what left at 0, so RACK.xmit_ts stays there, and 5 to 9
    // are not judged by the repetition of 1 at 100.
    for (echoes, lost) in [(0, ""), (100, "5-8")] {
        let mut s = bulk(stamped(&ten("rack")), 10);
        s.run(0, |_| Fate::Drop);
        let first = s.pair.log.iter().find_map(|sent| sent.segment.timestamps).unwrap();
        s.run(100, |_| Fate::Drop);
        let answer = |s: &mut Script, octet, sacks: &[(u64, u64)], ticks: u32| {
            let ts = Timestamps { val: first.ecr, ecr: first.val.wrapping_add(ticks) };
            let segment = Segment { timestamps: Some(ts), ..ack(octet, sacks) };
            s.pair.inject(Side::Client, &segment, |_| Fate::Drop);
        };
        answer(&mut s, 1000, &[(2000, 5000)], 0);
        assert_eq!(s.newly_sent(), "0-9 1");
        until(&mut s, 210);
        answer(&mut s, 5000, &[], echoes);
        assert_eq!(s.newly_sent(), lost, "{echoes}");
    }
}

#[test]
fn the_window_falls_in_proportion() {
    // RFC 6937: of every two segments that arrive one goes out, until half the window is in flight; then one for one.
    let mut s = bulk(ten("rack"), 60);
    s.lose(100, &[2]);
    assert_eq!(s.rounds(), ["0: 0-9", "100: 10-13 2 14-15"]);
    assert_eq!(s.window().1, 5000);
    // At the end cwnd is ssthresh.
    s.lose(200, &[]);
    assert_eq!((s.rounds()[2].as_str(), s.window()), ("200: 16-20", (5000, 5000)));
}

#[test]
fn many_losses_are_repaired_in_slow_start() {
    // RFC 6937 with the slow-start reduction bound: below ssthresh, and as long as nothing more is lost, one segment more than
    // arrives.
    let mut s = bulk(ten("rack"), 10);
    s.lose(700, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(s.rounds(), ["0: 0-9", "200: 9", "300: 0", "400: 1-2", "500: 3-6", "600: 7-8"]);
}

/// What the reordering timer waits for, after `ms`, in milliseconds.
fn deadline(s: &Script) -> u64 {
    s.ms(s.pair.client.deadline().expect("a timer runs"))
}

/// A script whose path reorders: 2 has arrived before 1, and 0 with them; it is 100 ms.
fn reordering() -> Script {
    let mut s = after_a_round_trip(10);
    s.answer(0, &[(2000, 3000)]).answer(0, &[(1000, 3000)]).answer(3000, &[]);
    s
}

#[test]
fn the_kernel_s_reordering_timer_has_two_jiffies_more() {
    // "timeout = usecs_to_jiffies (timeout) + TCP_TIMEOUT_MIN", on the wheel: 25 + 8 ms are nine jiffies of 4, and one more.
    let mut s = bulk(Config { timer_tick: MS(4), ..ten("rack") }, 10);
    s.run(100, |_| Fate::Drop);
    s.answer(0, &[(2000, 3000)]);
    assert_eq!(deadline(&s), 140);
}

#[test]
fn new_data_leaves_the_reordering_timer_alone() {
    // §7.2: no probe timeout while something is SACKed.
    let mut s = after_a_round_trip(60);
    s.answer(0, &[(2000, 3000)]);
    assert_eq!((s.newly_sent().as_str(), deadline(&s)), ("10", 125));
}

#[test]
fn a_duplicate_that_nobody_sent_widens_nothing() {
    let mut s = reordering();
    s.answer(5000, &[(1000, 2000)]).answer(5000, &[(6000, 7000)]);
    assert_eq!(deadline(&s), 125);
}

#[test]
fn the_duplicate_of_a_probe_widens_nothing() {
    // As in Linux: the timer sent it, not RACK.
    let mut s = reordering();
    s.answer(9000, &[]);
    assert_eq!(until(&mut s, 450), "9");
    s.answer(10_000, &[(9000, 10_000)]);
    s.pair.client_writes(10_000, 3000);
    until(&mut s, 550);
    s.answer(10_000, &[(11_000, 12_000)]);
    assert_eq!(deadline(&s), 575);
}

#[test]
fn within_a_recovery_the_reordering_timer_leaves_cwnd_alone() {
    // `tcp_rack_reo_timeout` reduces where it begins a recovery only, and RFC 6937 with acknowledgements: what the timer finds lost
    // has left the pipe, and as much may go.
    let mut s = after_a_round_trip(60);
    s.answer(0, &[(2000, 3000)]).answer(0, &[(1000, 3000)]).answer(3000, &[]);
    s.answer(3000, &[(5000, 9000)]);
    assert_eq!(until(&mut s, 125), "10-16 3");
    until(&mut s, 200);
    s.answer(3000, &[(12_000, 13_000), (5000, 9000)]);
    assert_eq!((s.newly_sent().as_str(), s.window().0), ("", 7000));
    // 10 and 11 are lost as well, and 4 and 9 still were.
    assert_eq!((until(&mut s, 225).as_str(), s.window().0), ("4 9", 7000));
}

#[test]
fn duplicates_widen_the_window_for_sixteen_recoveries() {
    // Step 4: "Reset the window after 16 DSACK-free recoveries."
    let mut s = reordering();
    let mut end = 10_000;
    s.answer(end, &[]);
    let mut waited = Vec::new();
    for round in 0..19 {
        s.pair.client_writes(end, 3000);
        let sent = s.ms(s.pair.now);
        until(&mut s, sent + 100);
        s.answer(end, &[(end + 1000, end + 2000)]);
        waited.push(deadline(&s) - sent - 100);
        // The hole is lost, and goes again.
        until(&mut s, sent + 200);
        // The first repetition was not needed.
        let dsack = [(end, end + 1000)];
        s.answer(end + 3000, if round == 0 { &dsack } else { &[] });
        end += 3000;
    }
    let mut expected = vec![25];
    expected.extend([50; 15]);
    expected.extend([25; 3]);
    assert_eq!(waited, expected);
}

#[test]
fn after_another_timer_the_timeout_counts_from_the_first_segment() {
    // Linux's `tcp_rearm_rto`. 1 went again at 125; at 130 the reordering timer waits for 4 and 5, and at 140 they have arrived:
    // what is left, 7 to 9, left at 0.
    let mut s = after_a_round_trip(10);
    s.answer(1000, &[(3000, 4000)]).answer(1000, &[(2000, 4000)]);
    assert_eq!(until(&mut s, 130), "1");
    s.answer(1000, &[(6000, 7000), (2000, 4000)]);
    assert_eq!(deadline(&s), 155);
    until(&mut s, 140);
    s.answer(7000, &[]);
    assert_eq!(deadline(&s), s.snapshot().rto.as_millis());
}

#[test]
fn a_repetition_lost_after_a_timeout_begins_a_recovery() {
    // As in Linux: 1 and 2 went again at 600, and 2 has arrived.
    let mut s = after_a_round_trip(10);
    until(&mut s, 600);
    assert_eq!(s.timeouts(), [500]);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2");
    until(&mut s, 700);
    s.answer(1000, &[(2000, 3000)]);
    assert_eq!((s.newly_sent().as_str(), s.pair.client.counters().fast_retransmits), ("1", 1));
    assert_eq!(s.window().1, 2000, "half of two segments, but two at least");
}

#[test]
fn blocks_of_what_was_never_sent_are_lies() {
    // RFC 2018 §4: a block holds data that was received; beyond SND.MAX, empty or upside down it holds none. One at SND.UNA
    // would have been acknowledged, and believing it would make a reneging of the next acknowledgement.
    let mut s = after_a_round_trip(60);
    for block in [(2000, 10_001), (9000, 20_000), (3000, 3000), (5000, 2000), (20_000, 30_000), (0, 3000)] {
        s.answer(0, &[block]);
    }
    assert_eq!(s.newly_sent(), "", "nothing has left the network");
    s.answer(1000, &[]);
    until(&mut s, 190);
    assert_eq!(s.events(), []);
}

#[test]
fn a_duplicate_is_no_progress() {
    // RFC 9293 §3.8.3: what is counted towards R2 is "retransmission of the same segment".
    let mut s = after_a_round_trip(10);
    until(&mut s, 510);
    s.answer(0, &[]).answer(0, &[(5000, 6000)]);
    until(&mut s, 2000);
    let in_a_row = s.events().into_iter().filter_map(|e| match e.1 {
        Event::Timeout { in_a_row, .. } => Some(in_a_row),
        _ => None,
    });
    assert_eq!(in_a_row.collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_timeout_is_over_once_what_was_in_flight_is_acknowledged() {
    // `tcp_process_loss`: "if (tcp_try_undo_recovery (sk))" at high_seq, and not before.
    let mut s = after_a_round_trip(10);
    until(&mut s, 600);
    s.answer(9000, &[]);
    assert!(!s.events().iter().any(|e| e.1 == Event::RecoveryLeft));
    s.answer(10_000, &[]);
    assert!(s.events().contains(&(600, Event::RecoveryLeft)));
}

#[test]
fn what_was_lost_and_repaired_within_a_recovery_begins_the_next() {
    // RFC 5681 §4.3, and Linux (`tcp_time_to_recover`): 1 goes again and is lost again, and so is 10, which left within the recovery.
    let mut s = after_a_round_trip(60);
    s.answer(1000, &[(2000, 5000)]).answer(1000, &[(2000, 10_000)]);
    assert_eq!(s.newly_sent(), "1 10-13");
    until(&mut s, 200);
    s.answer(1000, &[(11_000, 12_000), (2000, 10_000)]);
    assert_eq!((s.newly_sent().as_str(), s.window().1), ("1 10 14", 5000));
    until(&mut s, 300);
    s.answer(10_000, &[(11_000, 12_000)]);
    assert_eq!(
        s.pair.client.counters().fast_retransmits,
        2,
        "10 is under way, and its loss has not been answered yet"
    );
    assert_eq!(s.window().1, 2500, "half of the five segments that the first recovery left");
    s.answer(15_000, &[]);
    assert_eq!(s.pair.client.counters().fast_retransmits, 2);
}

#[test]
fn without_the_peer_s_consent_to_sack_it_is_newreno() {
    // RFC 8985 §5.1: RACK "requires" SACK; RFC 6582 §1 is for connections without it.
    let rounds = |name: &str| {
        let config = Config { sack: false, undo: Undo::Rfc4015, ..ten(name) };
        let mut s = bulk(config, 60);
        s.lose(1000, &[2, 4, 6]);
        assert_eq!(s.pair.read_by_server, 60_000, "{name}");
        s.rounds()
    };
    assert_eq!(rounds("rack"), rounds("newreno"));
    assert!(rounds("rack").iter().any(|round| round.contains(" 2")), "what is lost goes again");
}
