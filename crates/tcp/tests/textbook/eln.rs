//! Explicit loss and handoff notification at both ends: the pseudo-codes of [eln] §3.4 and §3.6, branch by branch.

use handfast_core::Duration;
use handfast_tcp::Config;
use handfast_wire::tcp::{Flags, Segment};

use crate::script::{Script, ack, bulk, bulk_to, data, lose, ten};
use crate::support::{Fate, Side, plain};

const LOSS: Flags = Flags(Flags::ELN.0 | Flags::ELN_LOSS.0);

fn eln() -> Config {
    Config { eln: true, ..ten("sack") }
}

/// 1 to 10 in flight of 60, cwnd 10, the first one acknowledged.
fn ten_in_flight() -> Script {
    let mut s = bulk(eln(), 60);
    s.in_flight().answer(1000, &[]);
    s.newly_sent();
    s
}

impl Script {
    /// Hands the client an acknowledgement with bits of [eln].
    fn notify(&mut self, octet: u64, sacks: &[(u64, u64)], notice: Flags) -> String {
        let ack = ack(octet, sacks);
        let ack = Segment { flags: ack.flags | notice, ..ack };
        self.pair.inject(Side::Client, &ack, |_| Fate::Drop);
        self.newly_sent()
    }
}

fn notices(acks: &[Segment]) -> Vec<Flags> {
    acks.iter().map(|ack| Flags(ack.flags.0 & (LOSS.0 | Flags::ACK.0))).collect()
}

const PLAIN: Flags = Flags::ACK;
const MARKED: Flags = Flags(Flags::ACK.0 | LOSS.0);
const HANDOFF: Flags = Flags(Flags::ACK.0 | Flags::ELN.0);

#[test]
fn a_mobile_that_misses_a_segment_marks_what_it_acknowledges() {
    // §3.4: "If MH does not receive a packet"
    let mut s = bulk(eln(), 1);
    s.in_flight();
    assert_eq!(notices(&s.give(&data(0, 1000))), [PLAIN]);
    assert_eq!(notices(&s.give(&data(2000, 1000))), [MARKED]);
    assert_eq!(notices(&s.give(&data(4000, 1000))), [MARKED]);
    assert_eq!(notices(&s.give(&data(1000, 1000))), [MARKED], "another is missing");
    assert_eq!(notices(&s.give(&data(3000, 1000))), [PLAIN], "else: send ACK");
}

#[test]
fn a_mobile_that_was_handed_over_says_so_once() {
    // §3.2 and §3.4: "Else if MH completes handover", with the acknowledgement of the last segment it received.
    let mut s = bulk(eln(), 1);
    s.in_flight();
    s.give(&data(0, 1000));
    s.give(&data(2000, 1000));
    s.pair.server.on_handover();
    s.run(1, |_| Fate::Drop);
    let replies = s.replies();
    assert_eq!(notices(&replies), [HANDOFF]);
    assert_eq!(crate::script::said(&replies[0]).0, 1000);
    assert_eq!(notices(&s.give(&data(4000, 1000))), [MARKED], "the losses that it brought");
}

#[test]
fn without_the_setting_nothing_is_said() {
    let mut s = bulk(ten("sack"), 1);
    s.in_flight();
    assert_eq!(notices(&s.give(&data(2000, 1000))), [PLAIN]);
    s.pair.server.on_handover();
    s.run(1, |_| Fate::Drop);
    assert!(s.replies().is_empty());
}

#[test]
fn a_marked_loss_is_repaired_at_once_and_the_window_stays() {
    // §3.6, ELN bit 1: "only retransmit the loss packet without window reduction".
    let mut s = ten_in_flight();
    let before = s.window();
    assert_eq!(s.notify(1000, &[(2000, 3000)], LOSS), "1 11", "and what has left the pipe lets new data go");
    assert_eq!(s.notify(1000, &[(2000, 4000)], LOSS), "12", "once a round trip");
    assert_eq!(s.notify(1000, &[(2000, 5000)], LOSS), "13");
    assert_eq!(s.window(), before);
    assert_eq!((s.pair.client.counters().fast_retransmits, s.timeouts().len()), (0, 0));
}

#[test]
fn a_repair_that_is_lost_goes_again_after_a_round_trip() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(1000, &[(2000, 3000)], LOSS), "1 11");
    assert_eq!(s.notify(1000, &[(2000, 11_000)], LOSS), "12-19", "all that left before the repair");
    assert_eq!(s.notify(1000, &[(2000, 12_000)], LOSS), "1 20", "and what left after it");
    assert_eq!(s.notify(1000, &[(2000, 13_000)], LOSS), "21");
}

#[test]
fn a_repair_that_a_later_one_has_overtaken_is_lost() {
    let mut s = bulk(eln(), 10);
    s.in_flight().answer(1000, &[]);
    assert_eq!(s.notify(1000, &[(4000, 5000), (2000, 3000)], LOSS), "1 3");
    assert_eq!(s.notify(1000, &[(2000, 5000)], LOSS), "1");
    assert_eq!(s.notify(1000, &[(2000, 6000)], LOSS), "");
}

#[test]
fn a_recovery_does_not_repeat_what_marks_have_repaired() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(1000, &[(4000, 5000), (2000, 3000)], LOSS), "1 3 11-12");
    for upto in [6000, 7000, 8000] {
        s.answer(1000, &[(4000, upto), (2000, 3000)]);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 1);
    assert!(!s.newly_sent().contains('3'), "a recovery repeats its first hole alone");
}

#[test]
fn marks_that_go_on_with_nothing_new_to_send_repair_again_by_the_clock() {
    let mut s = bulk(eln(), 10);
    s.in_flight().answer(1000, &[]);
    assert_eq!(s.notify(1000, &[(2000, 3000)], LOSS), "1");
    assert_eq!(s.notify(1000, &[(2000, 4000)], LOSS), "");
    s.pair.now += s.snapshot().srtt * 2;
    assert_eq!(s.notify(1000, &[(2000, 5000)], LOSS), "1");
}

/// A path without a base station: marks go on, each lets the hole go again after two round trips, and nobody takes them back.
#[test]
fn marks_that_nobody_judges_do_not_repair_for_ever() {
    let mut s = bulk(eln(), 10);
    s.in_flight().answer(1000, &[]);
    let mut repairs = 0;
    while s.notify(1000, &[(2000, 10_000)], LOSS) == "1" {
        repairs += 1;
        s.pair.now += s.snapshot().srtt * 2;
        assert!(repairs < 100, "for ever");
    }
    assert_eq!(repairs, 15);
    // What is left is the timer's, and the window falls: nine segments are outstanding (RFC 5681 §3.1, equation 4).
    s.run(60_000, |_| Fate::Drop);
    assert!(!s.timeouts().is_empty());
    assert_eq!(s.window().1, 4500);
}

#[test]
fn a_mark_names_all_holes_that_its_acknowledgement_shows() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(1000, &[(5000, 6000), (2000, 3000)], LOSS), "1 3-4 11-12");
    assert_eq!(s.notify(1000, &[(9000, 10_000), (5000, 6000), (2000, 3000)], LOSS), "6-8 13");
}

#[test]
fn repairs_restart_the_timer() {
    // The path answers: while its first hole is being repaired there is no timeout.
    let mut s = ten_in_flight();
    let due = s.pair.client.deadline().unwrap();
    s.pair.now += Duration::from_millis(50);
    s.notify(1000, &[(2000, 3000)], LOSS);
    assert_eq!(s.pair.client.deadline().unwrap(), due + Duration::from_millis(50));
}

#[test]
fn a_loss_that_is_not_marked_is_congestion() {
    // §3.6: "Else (if the sender meets timeout or 3 duplicate ACKs)"; the base station has taken the mark back.
    let mut s = ten_in_flight();
    for upto in [3000, 4000] {
        s.answer(1000, &[(2000, upto)]);
    }
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!((s.pair.client.counters().fast_retransmits, s.window()), (1, (5000, 5000)));
}

#[test]
fn within_a_recovery_marks_repair_and_reduce_nothing_more() {
    let mut s = ten_in_flight();
    for upto in [3000, 4000, 5000] {
        s.answer(1000, &[(2000, upto)]);
    }
    s.newly_sent();
    assert_eq!(s.notify(1000, &[(2000, 6000)], LOSS), "1");
    assert_eq!(s.window(), (5000, 5000));
}

#[test]
fn a_handoff_sends_again_what_was_outstanding_a_few_at_a_time() {
    // §3.6, ELN bit 0, timer not expired: "reset transmission timer, adjust send window in response to SN of ACK, restart
    // transmission without window reduction".
    let mut s = ten_in_flight();
    let before = s.window();
    s.pair.now += Duration::from_millis(50);
    assert_eq!(s.notify(1000, &[], Flags::ELN), "1-4");
    assert_eq!(s.window(), before);
    let rto = s.snapshot().rto;
    assert_eq!(s.pair.client.deadline().unwrap(), s.pair.now + rto);
    assert_eq!(s.notify(2000, &[], Flags::NONE), "5-8");
    assert_eq!(
        s.notify(3000, &[(4000, 5000)], Flags::NONE),
        "9-13",
        "up to SND.MAX, 11; then the window alone counts"
    );
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
}

#[test]
fn a_handoff_after_timeouts_restores_what_was_before_the_first() {
    // §3.6: "else restore cwnd and ssthresh to previous value stored by sender".
    let mut s = ten_in_flight();
    let before = s.window();
    s.run(1500, |_| Fate::Drop);
    assert_eq!((s.timeouts().len(), s.window()), (2, (1000, 5000)));
    s.newly_sent();
    let backed_off = s.snapshot().rto;
    assert_eq!(s.notify(1000, &[], Flags::ELN), "1-4");
    assert_eq!(s.window(), before);
    assert!(s.snapshot().rto < backed_off, "the backoff was the handoff's");
    // "Frozen until new data is acknowledged": a second notice finds nothing to restore.
    s.run(3000, |_| Fate::Drop);
    s.newly_sent();
    let reduced = s.window();
    s.notify(1000, &[], Flags::ELN);
    assert_eq!(s.window(), before, "but a timeout after it is again the handoff's");
    assert!(reduced < before);
}

#[test]
fn what_a_handoff_notice_shows_to_be_missing_is_no_congestion() {
    // Acknowledgements before it were lost: it is the first to tell of the holes.
    let mut s = ten_in_flight();
    let before = s.window();
    assert_eq!(s.notify(1000, &[(2000, 6000)], Flags::ELN), "1 6-8", "what is SACKed does not go again");
    assert_eq!((s.window(), s.pair.client.counters().fast_retransmits), (before, 0));
}

#[test]
fn a_handoff_notice_may_acknowledge_new_data() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(4000, &[], Flags::ELN), "4-7");
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
}

#[test]
fn a_second_handoff_begins_anew() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(1000, &[], Flags::ELN), "1-4");
    assert_eq!(s.notify(2000, &[], Flags::ELN), "2-5");
}

#[test]
fn a_timeout_after_a_mark_goes_by_the_timeout_s_rules() {
    let mut s = bulk(eln(), 10);
    s.in_flight().answer(1000, &[]);
    assert_eq!(s.notify(1000, &[(2000, 10_000)], LOSS), "1");
    s.run(2000, |_| Fate::Drop);
    assert!(s.timeouts().len() >= 2);
    let count = s.newly_sent().matches('1').count();
    assert_eq!(count, s.timeouts().len(), "the first segment once a timeout, and nothing more");
}

#[test]
fn a_mark_that_is_taken_back_repairs_nothing_more() {
    let mut s = ten_in_flight();
    assert_eq!(s.notify(1000, &[(2000, 3000)], LOSS), "1 11");
    // What left after the repair has arrived: with a mark it would go again.
    assert_eq!(s.notify(1000, &[(2000, 3000), (11_000, 12_000)], Flags::NONE), "");
    assert_eq!(s.notify(1000, &[(2000, 3000), (11_000, 12_000)], LOSS), "1 3-10", "all that it shows");
}

#[test]
fn what_a_timeout_saved_is_gone_when_its_data_is_acknowledged() {
    let mut s = ten_in_flight();
    s.run(700, |_| Fate::Drop);
    assert_eq!(s.timeouts().len(), 1);
    s.notify(11_000, &[], Flags::NONE);
    let after = s.window();
    assert_eq!(s.notify(11_000, &[], Flags::ELN).split_once('-').map(|(first, _)| first), Some("11"));
    assert_eq!(s.window(), after);
}

#[test]
fn a_notice_with_nothing_outstanding_changes_nothing() {
    let mut s = bulk(eln(), 1);
    s.run(200, |_| Fate::Deliver);
    let before = s.window();
    s.newly_sent();
    assert_eq!(s.notify(1000, &[], Flags::ELN), "");
    assert_eq!(s.window(), before);
}

#[test]
fn a_sender_without_the_setting_takes_marks_for_nothing() {
    let mut s = bulk(ten("sack"), 60);
    s.in_flight().answer(1000, &[]);
    s.newly_sent();
    for upto in [3000, 4000, 5000] {
        s.notify(1000, &[(2000, upto)], LOSS);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 1);
}

#[test]
fn without_losses_it_is_sack() {
    let sent = |config: Config| {
        let mut s = bulk(config, 300);
        s.run(5000, |_| Fate::Deliver);
        s.rounds()
    };
    assert_eq!(sent(eln()), sent(ten("sack")));
}

#[test]
fn losses_on_the_radio_leave_the_window_alone() {
    let config = Config { eln: true, ..plain("sack") };
    let mut s = bulk_to(config.clone(), Config { delayed_ack: Duration::ZERO, ..config }, 300);
    s.run(10_000, lose(&[20, 21, 40, 60, 60, 100, 101, 102, 299]));
    assert_eq!(s.pair.client.counters().retransmitted_segments, 9);
    // The last segment has nothing behind it that would bring a mark.
    assert_eq!((s.pair.client.counters().fast_retransmits, s.timeouts().len()), (0, 1));
}
