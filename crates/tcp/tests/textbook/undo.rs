//! Reductions taken back as the kernel does (`undo = "linux"`): fast recoveries and timeouts, by DSACK, by timestamps, by F-RTO.

use handfast_tcp::{Config, Detector, Event, Frto, LossCounters, Nagle, Received, Undo};

use handfast_wire::tcp::{Segment, Timestamps};

use crate::script::{MS, Script, ack, bulk, held, lose, stamped, ten};
use crate::support::{Fate, Sent, Side, data_of};

fn kernel() -> Config {
    Config { undo: Undo::Linux, ..ten("rack") }
}

/// By timestamps too.
fn timed() -> Config {
    stamped(&Config { eifel: true, ..kernel() })
}

fn counted(s: &Script) -> LossCounters {
    s.pair.client.loss_counters()
}

fn spurious(s: &Script) -> Vec<(u64, Event)> {
    let mut events = s.events();
    events.retain(|e| matches!(e.1, Event::SpuriousRecovery(_) | Event::SpuriousTimeout(_)));
    events
}

/// The originals of these segments arrive so many milliseconds late.
fn late(segments: &[(u64, u64)]) -> impl FnMut(&Sent) -> Fate + use<> {
    let mut left = segments.to_vec();
    move |sent| {
        let number = data_of(&sent.segment).filter(|_| sent.from == Side::Client).map(|d| d.0 / 1000);
        match left.iter().position(|&(n, _)| Some(n) == number) {
            Some(i) => Fate::Late(MS(left.remove(i).1)),
            None => Fate::Deliver,
        }
    }
}

/// 1 is lost, as it seems, and went again at 100; it is 150 ms.
fn recovering(config: Config) -> Script {
    let mut s = bulk(config, 10);
    s.run(100, |_| Fate::Drop);
    s.newly_sent();
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!((s.newly_sent().as_str(), s.window().1), ("1", 5000));
    s.run(150, |_| Fate::Drop);
    s
}

#[test]
fn a_recovery_whose_repetitions_were_duplicates_is_undone() {
    // RFC 3708 §3; the window becomes what it was, ssthresh 3/4 of it, as Linux keeps it.
    let mut s = recovering(kernel());
    s.answer(5000, &[]);
    assert_eq!(spurious(&s), []);
    s.answer(5000, &[(1000, 2000)]);
    assert_eq!((counted(&s).dsack_undos, s.window()), (1, (10_000, 7500)));
    assert!(s.events().contains(&(150, Event::RecoveryLeft)));
    assert_eq!(spurious(&s), [(150, Event::SpuriousRecovery(Detector::Dsack))]);
}

#[test]
fn without_the_kernel_s_undo_nothing_is_taken_back() {
    let mut s = recovering(ten("rack"));
    s.answer(5000, &[]).answer(5000, &[(1000, 2000)]);
    assert_eq!((counted(&s), s.window().1), (LossCounters::default(), 5000));
}

#[test]
fn a_duplicate_of_something_older_undoes_nothing() {
    // 0 was acknowledged before the recovery began.
    let mut s = recovering(kernel());
    s.answer(1000, &[(0, 1000), (2000, 5000)]);
    assert_eq!(counted(&s), LossCounters::default());
}

#[test]
fn every_repetition_must_have_been_a_duplicate() {
    let mut s = recovering(kernel());
    s.answer(1000, &[(6000, 9000), (2000, 5000)]);
    assert_eq!(s.newly_sent(), "5");
    s.answer(5000, &[(1000, 2000), (6000, 9000)]);
    assert_eq!(counted(&s), LossCounters::default());
    s.answer(10_000, &[(5000, 6000)]);
    assert_eq!(counted(&s).full_undos, 1, "at the end of the recovery");
}

#[test]
fn the_duplicate_may_come_after_the_recovery() {
    let mut s = bulk(kernel(), 60);
    s.run(190, late(&[(2, 60)]));
    assert_eq!(s.window().1, 5000);
    s.run(205, |_| Fate::Deliver);
    assert_eq!((counted(&s).dsack_undos, spurious(&s).len()), (1, 1));
    assert!(s.window().0 >= 10_000, "{:?}", s.window());
}

#[test]
fn a_recovery_that_the_original_ended_is_undone() {
    // RFC 3522 for fast retransmits: the acknowledgement at 160 echoes what left before the repetition.
    let mut s = bulk(timed(), 10);
    s.run(165, late(&[(2, 60)]));
    assert_eq!(counted(&s).full_undos, 1);
    assert_eq!(spurious(&s), [(160, Event::SpuriousRecovery(Detector::Eifel))]);
    assert_eq!(s.window(), (10_000, 7500));
    let mut s = bulk(Config { eifel: false, ..timed() }, 10);
    s.run(165, late(&[(2, 60)]));
    assert_eq!((counted(&s).full_undos, s.window().1), (0, 5000));
}

#[test]
fn a_recovery_is_undone_in_its_middle_once_no_repetition_is_under_way() {
    // With more data in flight the acknowledgement at 160 is a partial one.
    let mut s = bulk(timed(), 60);
    s.run(165, late(&[(2, 60)]));
    assert_eq!((counted(&s).partial_undos, s.window().1), (1, 7500));
    assert!(s.events().contains(&(160, Event::RecoveryLeft)));
    // While 4 is under way again, nothing is undone and nothing more is found lost.
    let mut s = bulk(timed(), 60);
    s.run(165, late(&[(2, 60), (4, 80)]));
    assert_eq!(counted(&s).partial_undos, 0);
    s.run(185, |_| Fate::Deliver);
    assert_eq!((counted(&s).partial_undos, s.window().1), (1, 7500));
}

#[test]
fn an_original_that_fills_the_hole_of_its_repetition_shows_that_the_path_reorders() {
    // `tcp_try_undo_partial` calls `tcp_check_sack_reordering` (TCPTSReorder): from then on RACK waits (RFC 8985 §6.2 step 4).
    // The window is a quarter of 100 ms; 27 comes 20 ms late, when 28, 29 and 30 have arrived.
    let mut s = bulk(timed(), 60);
    s.run(2000, late(&[(2, 60), (27, 20)]));
    assert_eq!(counted(&s).partial_undos, 1);
    let counters = s.pair.client.counters();
    assert_eq!((counters.fast_retransmits, counters.retransmitted_segments), (1, 1));
    // One that comes later than the window still begins a recovery.
    let mut s = bulk(timed(), 60);
    s.run(2000, late(&[(2, 60), (27, 60)]));
    assert_eq!(s.pair.client.counters().fast_retransmits, 2);
}

/// The first window is lost; the timestamps of an answer to it.
fn echo_of_the_first(s: &mut Script) -> Option<Timestamps> {
    s.run(0, |_| Fate::Drop);
    let first = s.pair.log.iter().find_map(|sent| sent.segment.timestamps)?;
    Some(Timestamps { val: first.ecr, ecr: first.val })
}

#[test]
fn without_progress_an_old_echo_says_nothing() {
    // `tcp_fastretrans_alert` tries to undo where FLAG_SND_UNA_ADVANCED is set. A duplicate always echoes what left before
    // (RFC 7323 §4.3), and 5 is lost.
    let mut s = bulk(timed(), 10);
    let timestamps = echo_of_the_first(&mut s);
    s.run(100, |_| Fate::Drop);
    s.newly_sent();
    for (sacks, repeated) in [(&[(2000, 5000)][..], "1"), (&[(6000, 9000), (2000, 5000)], "5")] {
        let duplicate = Segment { timestamps, ..ack(1000, sacks) };
        s.pair.inject(Side::Client, &duplicate, |_| Fate::Drop);
        assert_eq!(s.newly_sent(), repeated);
    }
    assert_eq!(counted(&s), LossCounters::default());
    // `tcp_process_loss` neither.
    let mut s = bulk(timed(), 60);
    let timestamps = echo_of_the_first(&mut s);
    s.run(510, |_| Fate::Drop);
    s.pair.inject(Side::Client, &Segment { timestamps, ..ack(0, &[(2000, 3000)]) }, |_| Fate::Drop);
    assert_eq!((s.timeouts(), spurious(&s)), (vec![500], vec![]));
}

#[test]
fn a_repetition_that_was_needed_is_not_undone() {
    let mut s = bulk(timed(), 60);
    s.lose(1000, &[2, 4]);
    assert_eq!((spurious(&s), s.window().1), (vec![], 5000));
}

#[test]
fn an_episode_that_has_repeated_nothing_is_not_undone() {
    // `tcp_init_undo`: "undo_retrans = tp->retrans_out ? : -1". The next acknowledgement comes before the repetition leaves.
    let mut s = bulk(kernel(), 10);
    s.run(100, |_| Fate::Drop);
    for end in [5000, 6000] {
        s.pair.client.on_segment(s.pair.now, &Received::plain(&ack(1000, &[(2000, end)])));
    }
    assert_eq!((counted(&s), s.window().1), (LossCounters::default(), 5000));
}

#[test]
fn what_is_under_way_at_the_beginning_counts_as_repeated() {
    // 1 is lost twice, so that 10, repeated at 200, is still under way when the recovery ends; it alone begins the next
    // (RFC 5681 §4.3). It was a duplicate, though: `tcp_init_undo` counts it.
    let mut s = bulk(kernel(), 60);
    s.run(100, |_| Fate::Drop);
    s.answer(1000, &[(2000, 5000)]).answer(1000, &[(2000, 10_000)]);
    s.run(200, |_| Fate::Drop);
    s.answer(1000, &[(11_000, 14_000), (2000, 10_000)]);
    assert_eq!(s.newly_sent(), "0-9 1 10-13 1 10 14-16");
    s.run(300, |_| Fate::Drop);
    s.answer(10_000, &[(11_000, 14_000)]);
    assert_eq!((s.pair.client.counters().fast_retransmits, s.window().1), (2, 2500));
    s.answer(14_000, &[(10_000, 11_000)]);
    assert_eq!(spurious(&s), [(300, Event::SpuriousRecovery(Detector::Dsack))]);
    assert_eq!(counted(&s).dsack_undos, 1);
}

#[test]
fn each_recovery_has_a_stamp_of_its_own() {
    // `retrans_stamp` is forgotten once all is well: what left after the first recovery's repetition may be older than the
    // second's. 2 is lost; the original of 30 comes late.
    let mut s = bulk(timed(), 60);
    let mut genuine = lose(&[2]);
    let mut tardy = late(&[(30, 60)]);
    s.run(1000, |sent| if genuine(sent) == Fate::Drop { Fate::Drop } else { tardy(sent) });
    assert_eq!(s.pair.client.counters().fast_retransmits, 2);
    // Its duplicate would tell only at 600.
    assert_eq!(spurious(&s), [(560, Event::SpuriousRecovery(Detector::Eifel))]);
}

/// Nothing has come back for `ms`: a probe at 200, a timeout at 500, perhaps more.
fn timed_out(config: Config, segments: u32, ms: u64) -> Script {
    let mut s = bulk(config, segments);
    s.run(ms, |_| Fate::Drop);
    s.newly_sent();
    assert_eq!(s.timeouts()[0], 500);
    s
}

#[test]
fn a_timeout_is_undone_by_timestamps() {
    // What was held from 0 to 500 arrives, and with it the echo of what left at 0.
    let mut s = bulk(timed(), 60);
    s.run(605, held(s.start, 0, 500));
    assert_eq!(spurious(&s), [(600, Event::SpuriousTimeout(Detector::Eifel))]);
    let counters = s.pair.client.counters();
    assert_eq!((counters.retransmitted_segments, counters.spurious_timeouts), (1, 1));
    let c = counted(&s);
    assert_eq!((c.loss_undos, c.spurious_rtos, s.window().1), (1, 0, 7500));
    assert!(s.window().0 >= 10_000, "{:?}", s.window());
}

#[test]
fn a_timeout_is_undone_by_what_was_sent_once() {
    // RFC 5682 §3.1 step 3b: 1 arrives, which was never repeated.
    let mut s = bulk(Config { frto: Frto::Sack, ..kernel() }, 60);
    s.run(605, held(s.start, 0, 500));
    assert_eq!(spurious(&s), [(600, Event::SpuriousTimeout(Detector::Frto))]);
    assert_eq!((counted(&s).loss_undos, counted(&s).spurious_rtos), (1, 1));
    assert_eq!(s.pair.client.counters().retransmitted_segments, 1);
}

#[test]
fn a_timeout_is_undone_by_its_duplicate() {
    let mut s = timed_out(kernel(), 60, 510);
    s.answer(2000, &[(0, 1000)]);
    assert_eq!(spurious(&s), [(510, Event::SpuriousTimeout(Detector::Dsack))]);
    let mut s = timed_out(kernel(), 60, 510);
    s.answer(2000, &[]);
    assert_eq!(spurious(&s), []);
}

#[test]
fn frto_tries_new_data_first() {
    // Step 2b, then 3a: the new data arrives, and what was sent before it has not.
    let mut s = timed_out(Config { frto: Frto::Sack, ..kernel() }, 60, 510);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "11-12");
    s.answer(1000, &[(11_000, 12_000)]);
    assert_eq!((s.newly_sent().as_str(), spurious(&s).len()), ("1", 0));
    // Without F-RTO at once.
    let mut s = timed_out(kernel(), 60, 510);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2");
    // And without new data, or without room for it.
    let mut s = timed_out(Config { frto: Frto::Sack, ..kernel() }, 10, 610);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2");
}

#[test]
fn new_data_that_arrives_or_a_duplicate_ends_frto() {
    // Step 3a: "FLAG_DATA_SACKED || num_dupack"; an original that arrives after it shows nothing any more. A new window is no
    // duplicate (RFC 5681 §2).
    let wider = Segment { window: 46_876, ..ack(1000, &[]) };
    for (answer, over) in [(ack(1000, &[(11_000, 12_000)]), true), (ack(1000, &[]), true), (wider, false)] {
        let mut s = timed_out(Config { frto: Frto::Sack, ..kernel() }, 60, 510);
        s.answer(1000, &[]);
        s.pair.inject(Side::Client, &answer, |_| Fate::Drop);
        s.answer(1000, &[(2000, 3000)]);
        assert_eq!(spurious(&s).is_empty(), over, "{answer:?}");
    }
}

#[test]
fn frto_waits_for_the_first_progress() {
    // "FLAG_SND_UNA_ADVANCED": a duplicate before it, of what was sent before the timeout, decides nothing (as in Linux).
    let mut s = timed_out(Config { frto: Frto::Sack, ..kernel() }, 60, 510);
    s.answer(0, &[]).answer(1000, &[]);
    assert_eq!(s.newly_sent(), "11-12");
}

#[test]
fn the_reordering_timer_begins_a_recovery_after_a_timeout_too() {
    // `tcp_rack_reo_timeout`: "if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery) tcp_enter_recovery (sk, false)". 2 came before 1,
    // so there is a window; what F-RTO sent is reordered or lost.
    let mut s = bulk(Config { frto: Frto::Sack, ..kernel() }, 60);
    s.run(100, |_| Fate::Drop);
    s.answer(0, &[(2000, 3000)]).answer(0, &[(1000, 3000)]).answer(3000, &[]);
    s.run(650, |_| Fate::Drop);
    assert_eq!((s.timeouts().len(), s.pair.client.counters().fast_retransmits), (1, 0));
    s.newly_sent();
    s.answer(4000, &[]);
    assert_eq!(s.newly_sent(), "14-15");
    s.run(750, |_| Fate::Drop);
    s.answer(4000, &[(15_000, 16_000)]);
    s.run(774, |_| Fate::Drop);
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
    s.run(775, |_| Fate::Drop);
    assert_eq!(s.pair.client.counters().fast_retransmits, 1);
}

#[test]
fn frto_is_over_where_nothing_new_can_be_sent() {
    // RFC 5682 §2.1 step 2: without new data, or without room for it in the peer's window, "the TCP sender SHOULD" go on as
    // after any timeout. 1, which was sent once, is acknowledged before anything leaves.
    let config = Config { frto: Frto::Sack, window_scaling: false, ..kernel() };
    for (segments, room) in [(10, 50_000), (60, 10_000)] {
        let mut s = bulk(config.clone(), segments);
        s.run(0, |_| Fate::Drop);
        let answer = |octet| Segment { window: room - octet as u16, ..ack(octet, &[]) };
        s.pair.inject(Side::Client, &answer(0), |_| Fate::Drop);
        s.run(510, |_| Fate::Drop);
        assert_eq!((s.timeouts(), s.newly_sent().as_str()), (vec![500], "0-9 9 0"));
        for octet in [1000, 2000] {
            s.pair.client.on_segment(s.pair.now, &Received::plain(&answer(octet)));
        }
        s.run(511, |_| Fate::Drop);
        assert_eq!(spurious(&s), [], "{segments} segments");
    }
}

#[test]
fn frto_is_over_where_new_data_must_wait() {
    // Nagle's algorithm holds the 500 octets that step 2b would send: "tp->frto = 0", and what is lost goes instead.
    let mut s = bulk(Config { frto: Frto::Sack, nagle: Nagle::Rfc896, ..kernel() }, 10);
    s.run(300, |_| Fate::Drop);
    s.pair.client_writes(10_000, 500);
    s.run(510, |_| Fate::Drop);
    assert_eq!((s.timeouts(), s.newly_sent().as_str()), (vec![500], "0-9 9 0"));
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2");
    s.answer(1000, &[(3000, 4000)]);
    assert_eq!(spurious(&s), []);
}

#[test]
fn a_timeout_that_all_is_acknowledged_after_holds_no_repair_back() {
    // Step 2b is for what is still outstanding: "!recovered".
    let mut s = bulk(Config { frto: Frto::Sack, initial_ssthresh: None, ..kernel() }, 1);
    s.run(610, |_| Fate::Drop);
    assert_eq!(s.timeouts(), [600]);
    s.pair.client_writes(1000, 30_000);
    s.answer(1000, &[]).answer(3000, &[]).answer(5000, &[]);
    s.newly_sent();
    s.answer(5000, &[(6000, 9000)]);
    assert_eq!(s.newly_sent(), "5 9", "and nothing new before it");
}

#[test]
fn the_textbook_s_frto_judges_no_repeated_timeout() {
    // RFC 5682 §2.1 step 1: already in RTO recovery, with `recover` not below SND.UNA: step 2 is not entered.
    let textbook = Config { frto: Frto::Sack, undo: Undo::Rfc4015, ..kernel() };
    let mut s = timed_out(textbook, 60, 1110);
    assert_eq!(s.timeouts(), [500, 1100]);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2", "slow start goes on");
    s.answer(2000, &[]);
    assert_eq!(spurious(&s), []);
}

#[test]
fn the_kernel_s_frto_judges_repeated_timeouts_too() {
    // `tcp_enter_loss`: F-RTO where no recovery was under way, or at a recurring timeout of the same SND.UNA (RFC 5682 §3.2);
    // `tcp_process_loss` then undoes at what was sent once. The textbook rule leaves that out.
    let mut s = timed_out(Config { frto: Frto::Sack, ..kernel() }, 60, 1110);
    assert_eq!(s.timeouts(), [500, 1100]);
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "11-12");
    s.answer(2000, &[]);
    assert_eq!(spurious(&s), [(1110, Event::SpuriousTimeout(Detector::Frto))]);
}

#[test]
fn a_timeout_in_recovery_reduces_nothing_more() {
    // Linux's `tcp_enter_loss`: the loss has been answered.
    let mut s = recovering(kernel());
    s.run(800, |_| Fate::Drop);
    assert_eq!((s.timeouts().len(), s.window().1), (1, 5000));
}

#[test]
fn a_timeout_leaves_alone_what_was_just_sent() {
    // RFC 8985 §6.3: 3 is lost at 600; 4 to 6 left 40 ms before, less than a round trip. They stay in flight beside it.
    let mut s = bulk(ten("rack"), 3);
    s.run(100, |_| Fate::Deliver);
    s.pair.client_writes(3000, 1000);
    s.run(560, |_| Fate::Drop);
    s.newly_sent();
    s.pair.client_writes(4000, 3000);
    s.run(610, |_| Fate::Drop);
    assert_eq!((s.timeouts(), s.newly_sent().as_str(), s.window().0), (vec![600], "4-6 3", 4000));
}
