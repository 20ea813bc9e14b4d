//! Explicit congestion notification at both ends: RFC 3168 §6.1.

use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{Config, CongestionControl, EcnOption, Endpoint, Event, Frto, Received, State, Undo};
use handfast_wire::tcp::Flags;
use handfast_wire::{Ecn, Payload};

use crate::script::{MS, Script, bulk, lose, ten};
use crate::support::{Fate, Pair, SERVER_STREAM, Sent, Side, data_of, plain};

/// Ten segments in flight, in congestion avoidance, and ECN.
fn capable(name: &str) -> Config {
    Config { ecn: true, ..ten(name) }
}

const PROFILES: [&str; 6] = ["reno", "newreno", "sack", "cubic", "linux", "linux-reno"];

/// Marks, of the client's segments, these.
fn mark(segments: &[u64]) -> impl FnMut(&Sent) -> Fate + use<> {
    let segments = segments.to_vec();
    move |sent| {
        let number = data_of(&sent.segment).filter(|_| sent.from == Side::Client).map(|data| data.0 / 1000);
        if number.is_some_and(|number| segments.contains(&number)) { Fate::Mark } else { Fate::Deliver }
    }
}

/// What this side has sent with these flags: milliseconds since the start.
fn with(s: &Script, side: Side, flags: Flags) -> Vec<u64> {
    let sent = s.pair.log.iter().filter(|sent| sent.from == side && sent.segment.flags.contains(flags));
    sent.map(|sent| s.ms(sent.at)).collect()
}

/// The flags of the two SYNs, as far as ECN goes, and whether data then is capable.
fn agreed(client: bool, server: bool) -> ([bool; 4], bool) {
    let [client, server] = [client, server].map(|ecn| Config { ecn, ..plain("sack") });
    let mut pair = Pair::new(client, server, MS(50));
    pair.client_writes(0, 1000);
    pair.run_for(MS(400), |_| Fate::Deliver);
    let syns: Vec<_> = pair.log.iter().filter(|sent| sent.segment.flags.contains(Flags::SYN)).collect();
    assert!(syns.len() == 2 && syns.iter().all(|sent| sent.ecn == Ecn::NotCapable), "§6.1.1: never on a SYN");
    let said = |sent: &Sent, flag| sent.segment.flags.contains(flag);
    let flags = [Flags::ECE, Flags::CWR];
    let [a, b] = flags.map(|flag| said(syns[0], flag));
    let [c, d] = flags.map(|flag| said(syns[1], flag));
    let data = pair.log.iter().find(|sent| !sent.segment.payload.is_empty()).unwrap();
    ([a, b, c, d], data.ecn == Ecn::Capable0)
}

#[test]
fn both_ends_have_to_agree() {
    assert_eq!(agreed(true, true), ([true, true, true, false], true));
    assert_eq!(agreed(true, false), ([true, true, false, false], false));
    assert_eq!(agreed(false, true), ([false; 4], false));
}

/// AE, CWR and ECE of both SYNs and of the client's first data, the mark of that data, and whether both ends ask for accurate feedback.
fn accurately(client: &Config, server: &Config) -> ([u16; 3], Ecn) {
    let mut pair = Pair::new(client.clone(), server.clone(), MS(50));
    pair.client_writes(0, 3000);
    pair.run_for(MS(400), |_| Fate::Deliver);
    let ace = |sent: &Sent| (sent.segment.flags.0 >> 6) & 0b111;
    let syns: Vec<_> =
        pair.log.iter().filter(|sent| sent.segment.flags.contains(Flags::SYN)).map(ace).collect();
    let data = pair.log.iter().filter(|sent| !sent.segment.payload.is_empty()).nth(1).unwrap();
    ([syns[0], syns[1], ace(data)], data.ecn)
}

#[test]
fn accurate_feedback_falls_back_to_what_both_know() {
    // RFC 9768 §3.1, table 2; §3.2.1: counters begin with 5.
    let none = plain("sack");
    let classic = Config { ecn: true, ..plain("sack") };
    let accurate = Config { accurate_ecn: true, ..classic.clone() };
    let prague = Config { congestion_control: CongestionControl::Prague, ..accurate.clone() };
    assert_eq!(accurately(&accurate, &accurate), ([0b111, 0b010, 5], Ecn::Capable0));
    assert_eq!(accurately(&prague, &accurate), ([0b111, 0b010, 5], Ecn::Capable1));
    assert_eq!(accurately(&prague, &classic), ([0b111, 0b001, 0], Ecn::Capable0));
    assert_eq!(accurately(&prague, &none), ([0b111, 0, 0], Ecn::NotCapable));
    assert_eq!(accurately(&classic, &accurate), ([0b011, 0b001, 0], Ecn::Capable0));
    assert_eq!(accurately(&none, &accurate), ([0, 0, 0], Ecn::NotCapable));
}

#[test]
fn every_mark_is_counted_where_feedback_is_accurate() {
    let config =
        Config { accurate_ecn: true, congestion_control: CongestionControl::Prague, ..capable("linux") };
    let mut s = bulk(config, 20);
    s.run(400, mark(&[3, 4, 6, 9]));
    let last = s.pair.log.iter().rfind(|sent| sent.from == Side::Server).unwrap();
    assert_eq!((last.segment.flags.0 >> 6) & 0b111, (5 + 4) % 8);
}

/// Accurate feedback by the field alone, and a congestion control that takes it as that of RFC 3168.
fn counting() -> Config {
    Config { accurate_ecn: true, accurate_ecn_option: EcnOption::Unsent, ..capable("rack") }
}

/// An acknowledgement whose field says that so many packets came marked.
fn counted(s: &mut Script, octet: u64, sacks: &[(u64, u64)], marks: u16) {
    let mut ack = crate::script::ack(octet, sacks);
    ack.flags = ack.flags | Flags(((5 + marks) % 8) << 6);
    s.pair.inject(Side::Client, &ack, |_| Fate::Drop);
}

#[test]
fn what_was_sacked_before_it_is_acknowledged_counts_once() {
    // RFC 9768 §3.2.2.5.2: only where eight packets are newly delivered may the field have gone round. All came marked but the third,
    // which the seven after it have overtaken: RACK has seen the first overtaken, and waits.
    let mut s = bulk(counting(), 200);
    s.run(50, |_| Fate::Drop);
    counted(&mut s, 0, &[(1000, 2000)], 1);
    counted(&mut s, 2000, &[], 2);
    (4..=10).for_each(|n| counted(&mut s, 2000, &[(3000, n * 1000)], n as u16 - 1));
    assert_eq!(s.window().1, 5_000);
    // What left after that is acknowledged: a mark would count.
    counted(&mut s, 11_000, &[], 9);
    assert_eq!(s.window(), (5_000, 5_000));
}

#[test]
fn a_field_that_stands_still_has_gone_round_where_eight_packets_arrive() {
    // Appendix A.2: `dSafer.cep`, where no option says otherwise.
    for (packets, ssthresh) in [(7, 1_000), (8, 5_000)] {
        let mut s = bulk(counting(), 400);
        s.run(50, |_| Fate::Drop);
        counted(&mut s, packets * 1_000, &[], 0);
        assert_eq!(s.window().1, ssthresh, "{packets}");
    }
}

#[test]
fn a_syn_that_is_lost_goes_again_without_ecn() {
    // §6.1.1.1
    let config = Config { ecn: true, ..plain("sack") };
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client_writes(0, 1000);
    let mut lost = false;
    pair.run_for(Duration::from_secs(3), |_| {
        if std::mem::replace(&mut lost, true) { Fate::Deliver } else { Fate::Drop }
    });
    assert_eq!(pair.client.state(), State::Established);
    let flags = Flags::ECE | Flags::CWR;
    let syns = pair.log.iter().filter(|sent| sent.segment.flags.contains(Flags::SYN));
    assert!(syns.map(|sent| sent.segment.flags.contains(flags)).eq([true, false, false]));
    assert!(pair.log.iter().all(|sent| sent.ecn == Ecn::NotCapable));
}

#[test]
fn a_syn_ack_that_is_lost_leaves_nobody_with_ecn() {
    let config = Config { ecn: true, ..plain("sack") };
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client_writes(0, 1000);
    let mut answers = 0;
    pair.run_for(Duration::from_secs(3), |sent| {
        answers += u32::from(sent.from == Side::Server);
        if sent.from == Side::Server && answers == 1 { Fate::Drop } else { Fate::Deliver }
    });
    assert_eq!(pair.client.state(), State::Established);
    let of_server = pair.log.iter().filter(|sent| sent.from == Side::Server);
    let with_ece = of_server.map(|sent| sent.segment.flags.contains(Flags::ECE));
    assert!(with_ece.take(2).eq([true, false]), "the second SYN asks for none");
    assert!(pair.log.iter().all(|sent| sent.ecn == Ecn::NotCapable));
}

#[test]
fn a_mark_halves_the_window_and_nothing_is_sent_again() {
    for name in PROFILES {
        let mut s = bulk(capable(name), 200);
        s.run(50, mark(&[3]));
        let before = s.window().0;
        s.run(100, |_| Fate::Deliver);
        let kept = if matches!(name, "cubic" | "linux") { 7 } else { 5 };
        assert_eq!((before, s.window().1), (10_000, kept * 1000), "{name}");
        // It may fall over a round trip. What is acknowledged afterwards grows it by a fraction of a segment an acknowledgement.
        s.run(201, |_| Fate::Deliver);
        let (cwnd, ssthresh) = s.window();
        assert!((ssthresh..ssthresh + 2_000).contains(&cwnd), "{name}: {cwnd}");
        s.run(2_000, |_| Fate::Deliver);
        assert_eq!(s.pair.client.counters().retransmitted_segments, 0, "{name}");
        assert!(s.timeouts().is_empty(), "{name}");
    }
}

#[test]
fn an_acknowledgement_with_an_echo_lets_no_window_grow() {
    for name in PROFILES {
        let mut s = bulk(capable(name), 200);
        s.run(50, |_| Fate::Drop);
        echo(&mut s, 1000, &[]);
        let reduced = s.window();
        for octet in 2..=10 {
            echo(&mut s, octet * 1000, &[]);
        }
        // Linux comes down over the round trip.
        assert_eq!((s.window().0.min(reduced.0), s.window().1), (s.window().0, reduced.1), "{name}");
        assert_eq!(s.window().0, s.window().1, "{name}");
        // Without the echo acknowledgements do.
        let reduced = s.window().0;
        for octet in 11..=30 {
            if octet * 1000 <= s.snapshot().sent {
                s.answer(octet * 1000, &[]);
            }
        }
        assert!(s.window().0 > reduced, "{name}");
    }
}

#[test]
fn every_acknowledgement_tells_of_the_mark_until_the_sender_has_answered() {
    let mut s = bulk(capable("sack"), 200);
    s.run(400, mark(&[3]));
    // Ten segments arrive at 50 ms, and their acknowledgements have ECE from the fourth on. The three before it let three segments go
    // at 100 ms; the next one, the first after the mark was heard, has CWR.
    assert_eq!(with(&s, Side::Server, Flags::ECE), [[50; 7].as_slice(), &[150; 3]].concat());
    let told: Vec<_> = s.pair.log.iter().filter(|sent| sent.segment.flags.contains(Flags::CWR)).collect();
    assert!(told.len() == 1 && data_of(&told[0].segment) == Some((13_000, 1_000)) && s.ms(told[0].at) == 100);
    let data = s.pair.log.iter().filter(|sent| sent.from == Side::Client && !sent.segment.payload.is_empty());
    assert!(data.clone().all(|sent| sent.ecn == Ecn::Capable0));
    let acks = s.pair.log.iter().filter(|sent| sent.segment.payload.is_empty());
    assert!(acks.clone().count() > 10 && acks.clone().all(|sent| sent.ecn == Ecn::NotCapable), "§6.1.4");
}

#[test]
fn marks_of_one_window_are_one_answer_and_those_of_the_next_another() {
    let mut one = bulk(capable("sack"), 300);
    one.run(100, mark(&[0, 3, 9]));
    assert_eq!(one.window().1, 5_000);
    // Segment 12 had left before the sender heard of the first mark, 14 left after.
    for (second, answers) in [(12, 1), (14, 2)] {
        let mut two = bulk(capable("sack"), 300);
        two.run(300, mark(&[3, second]));
        assert_eq!(with(&two, Side::Client, Flags::CWR).len(), answers, "{second}");
        assert_eq!(two.window().1 < 5_000, answers == 2, "{second}: {:?}", two.window());
    }
}

#[test]
fn a_loss_is_the_answer_to_the_marks_of_its_window() {
    // Segment 2 is lost, and others of its window are marked: one reduction.
    for name in ["newreno", "sack", "linux-reno"] {
        let mut s = bulk(capable(name), 300);
        let (mut loses, mut marks) = (lose(&[2]), mark(&[0, 5, 6]));
        s.run(700, |sent| match loses(sent) {
            Fate::Deliver => marks(sent),
            fate => fate,
        });
        assert_eq!(s.window().1, 5_000, "{name}");
        let again = s.pair.log.iter().filter(|sent| data_of(&sent.segment) == Some((2_000, 1_000)));
        let marks: Vec<_> = again.map(|sent| sent.ecn).collect();
        assert_eq!(marks, [Ecn::Capable0, Ecn::NotCapable], "§6.1.5, {name}");
        assert!(!with(&s, Side::Client, Flags::CWR).is_empty(), "§6.1.2: for whatever reason, {name}");
    }
}

/// ssthresh before and after an acknowledgement of new data with ECE, which no mark was the reason for.
fn answered(config: Config) -> (u64, u64) {
    let mut s = bulk(config, 200);
    // What has just arrived is not acknowledged at the client yet.
    s.run(450, |_| Fate::Deliver);
    let mut ack = crate::script::ack(s.pair.read_by_server, &[]);
    ack.flags = ack.flags | Flags::ECE;
    let before = s.window().1;
    s.pair.inject(Side::Client, &ack, |_| Fate::Deliver);
    (before, s.window().1)
}

#[test]
fn who_has_not_agreed_hears_no_marks() {
    let mut s = bulk(ten("sack"), 200);
    s.run(400, mark(&[3]));
    assert!(with(&s, Side::Server, Flags::ECE).is_empty());
    // And heeds no echo of one, as who has agreed does.
    let (before, after) = answered(ten("sack"));
    assert_eq!(before, after);
    let (before, after) = answered(capable("sack"));
    assert_ne!(before, after, "the window was reduced");
}

#[test]
fn a_syn_that_was_answered_after_all_leaves_a_client_that_echoes() {
    // §6.1.1: the first SYN's answer comes when the second, without ECN, has left and is lost. The server may set ECT, so its marks
    // must be echoed; the client "has sent a non-ECN-setup SYN" and sets none.
    let config = Config { ecn: true, ..plain("sack") };
    let mut pair = Pair::new(config.clone(), config, MS(600));
    pair.client_writes(0, 1000);
    let mut syns = 0;
    pair.run_for(Duration::from_secs(2), |sent| {
        let opens = sent.from == Side::Client && sent.segment.flags.contains(Flags::SYN);
        syns += u32::from(opens);
        if opens && syns == 2 { Fate::Drop } else { Fate::Deliver }
    });
    assert_eq!((syns, pair.server.state()), (2, State::Established));
    pair.server.write(Payload::Synthetic { stream: SERVER_STREAM, offset: 0, len: 3000 });
    pair.run_for(Duration::from_secs(3), |sent| {
        if sent.from == Side::Server && !sent.segment.payload.is_empty() { Fate::Mark } else { Fate::Deliver }
    });
    let data = |side| {
        let of_side =
            pair.log.iter().filter(move |sent| sent.from == side && !sent.segment.payload.is_empty());
        of_side.map(|sent| sent.ecn).collect::<Vec<_>>()
    };
    assert_eq!((data(Side::Client), data(Side::Server)), (vec![Ecn::NotCapable], vec![Ecn::Capable0; 3]));
    let echoes =
        pair.log.iter().filter(|sent| sent.from == Side::Client && sent.segment.flags.contains(Flags::ECE));
    assert!(echoes.filter(|sent| !sent.segment.flags.contains(Flags::SYN)).count() > 0);
}

/// An acknowledgement with ECE; what the client sends in answer is lost.
fn echo(s: &mut Script, octet: u64, sacks: &[(u64, u64)]) {
    let mut ack = crate::script::ack(octet, sacks);
    ack.flags = ack.flags | Flags::ECE;
    s.pair.inject(Side::Client, &ack, |_| Fate::Drop);
}

/// A timeout that F-RTO finds spurious by its second acknowledgement; `marked` of these has ECE. The window then, and whether the
/// timeout was reported as spurious.
fn held_up(config: Config, marked: usize) -> ((u64, u64), bool) {
    let mut s = bulk(config, 60);
    // RACK probes first.
    let expired = (300..600).find(|&ms| !s.run(ms, |_| Fate::Drop).timeouts().is_empty());
    assert!(expired.is_some());
    for (i, octet) in [1000, 2000].into_iter().enumerate() {
        if i + 1 == marked { echo(&mut s, octet, &[]) } else { _ = s.answer(octet, &[]) }
    }
    (s.window(), s.events().iter().any(|e| matches!(e.1, Event::SpuriousTimeout(_))))
}

#[test]
fn a_spurious_timeout_restores_nothing_where_marks_tell_of_congestion() {
    // RFC 4015 §3 step 8.
    for (frto, name) in [(Frto::Basic, "newreno"), (Frto::Sack, "sack")] {
        let config = Config { frto, ..capable(name) };
        let ((cwnd, ssthresh), found) = held_up(config.clone(), 0);
        assert!(found && cwnd >= 9000 && ssthresh == 10_000, "{name}: {cwnd} {ssthresh}");
        for marked in [1, 2] {
            let ((cwnd, ssthresh), found) = held_up(config.clone(), marked);
            assert!(found && cwnd <= 3000 && ssthresh == 5000, "{name} {marked}: {cwnd} {ssthresh}");
        }
    }
    // `tcp_fastretrans_alert`: the same where the kernel's rules judge.
    let config = Config { undo: Undo::Linux, frto: Frto::Sack, ..capable("rack") };
    assert_eq!(held_up(config.clone(), 0), ((10_000, 7500), true));
    let ((cwnd, ssthresh), found) = held_up(config, 1);
    assert!(found && cwnd < 5000 && ssthresh == 5000, "{cwnd} {ssthresh}");
}

/// A recovery of segment 1 that a DSACK finds needless; `marked`: an acknowledgement before it had ECE.
fn needless(marked: bool) -> (u64, u64) {
    let mut s = bulk(Config { undo: Undo::Linux, ..capable("rack") }, 10);
    s.run(100, |_| Fate::Drop);
    s.answer(1000, &[(2000, 5000)]);
    s.run(150, |_| Fate::Drop);
    if marked {
        echo(&mut s, 5000, &[]);
    } else {
        _ = s.answer(5000, &[]);
    }
    s.answer(5000, &[(1000, 2000)]);
    s.window()
}

#[test]
fn a_needless_recovery_restores_nothing_where_marks_tell_of_congestion() {
    assert_eq!(needless(false), (10_000, 7500));
    let (cwnd, ssthresh) = needless(true);
    assert!(cwnd <= 6000 && ssthresh == 5000, "{cwnd} {ssthresh}");
}

#[test]
fn after_an_undo_the_next_mark_counts_at_once() {
    let mut s = bulk(Config { undo: Undo::Linux, ..capable("rack") }, 40);
    s.run(100, |_| Fate::Drop);
    s.answer(1000, &[(2000, 5000)]).answer(5000, &[]).answer(5000, &[(1000, 2000)]);
    assert_eq!(s.window(), (10_000, 7500));
    s.newly_sent();
    echo(&mut s, 6000, &[]);
    assert!(s.window().1 <= 5500, "{:?}", s.window());
}

#[test]
fn a_loss_after_a_mark_of_its_window_falls_in_proportion_to_what_was_in_flight() {
    // RFC 6937 §3: `RecoverFS` is what is in flight when recovery begins, some forty segments, not the twenty of the window that the
    // mark has left: of every two that arrive one goes.
    let mut s = bulk(capable("rack"), 2000);
    s.run(3050, |_| Fate::Deliver);
    let before = s.window().0;
    assert!((39_000..42_000).contains(&before), "{before}");
    let first = s.snapshot().sent / 1000;
    let (mut marks, mut loses) = (mark(&[first]), lose(&[first + 1]));
    s.run(3199, |sent| match loses(sent) {
        Fate::Deliver => marks(sent),
        fate => fate,
    });
    s.pair.log.clear();
    s.run(3201, |_| Fate::Deliver);
    let sent = s.pair.client_data().len() as u64;
    assert!(s.window().1 >= before / 2 - 1000, "one reduction");
    assert!((15..=25).contains(&sent), "{sent} for {before}");
}

/// After a mark with ten segments in flight, of which one is acknowledged: the window falls in proportion to what is delivered.
fn falling(name: &str) -> Script {
    let mut s = bulk(capable(name), 200);
    s.run(50, |_| Fate::Drop);
    echo(&mut s, 1000, &[]);
    s
}

#[test]
fn linux_comes_down_over_the_round_trip_after_a_mark() {
    // `tcp_enter_cwr`; RFC 6937 §3 of ten segments to seven.
    let mut s = falling("linux");
    assert_eq!(s.window(), (10_000, 7_000));
    assert!(s.pair.client.report().reducing);
    let delivered = |s: &mut Script, octet| {
        echo(s, octet, &[]);
        s.window().0
    };
    assert_eq!([2, 3, 4].map(|n| delivered(&mut s, n * 1000)), [10_000, 10_000, 9_000]);
    assert_eq!(delivered(&mut s, 10_000), 7_000);
    // "CWR is to be held something *above* high_seq is ACKed".
    assert!(s.pair.client.report().reducing);
    s.answer(11_000, &[]);
    assert!(!s.pair.client.report().reducing);
    assert_eq!(s.window(), (7_000, 7_000));
}

#[test]
fn a_loss_within_that_round_trip_reduces_nothing_more_and_is_not_undone() {
    let mut s = falling("linux");
    s.answer(1000, &[(2000, 6000)]);
    s.run(90, |_| Fate::Drop);
    s.answer(1000, &[(2000, 10_000)]);
    assert!(s.pair.client.report().recovering);
    assert_eq!(s.window().1, 7_000);
    s.answer(10_000, &[]).answer(11_000, &[(1000, 2000)]);
    assert_eq!(s.window().1, 7_000, "a DSACK restores nothing");
    assert!(s.window().0 <= 7_000);
}

#[test]
fn a_timeout_within_that_round_trip_leaves_ssthresh() {
    let mut s = falling("linux");
    let expired = (60..900).find(|&ms| !s.run(ms, |_| Fate::Drop).timeouts().is_empty());
    assert!(expired.is_some() && s.pair.client.report().timed_out);
    assert_eq!(s.window(), (1_000, 7_000));
}

/// `tcp_enter_loss`: "Reduce ssthresh if it has not yet been made inside this window", which ends with what was outstanding at the mark.
#[test]
fn a_timeout_after_the_marked_window_is_another_sign() {
    let mut s = falling("linux");
    s.answer(10_000, &[]);
    assert!(s.pair.client.report().reducing, "nothing beyond is acknowledged");
    let expired = (60..1500).find(|&ms| !s.run(ms, |_| Fate::Drop).timeouts().is_empty());
    assert!(expired.is_some() && s.pair.client.report().timed_out);
    assert_eq!(s.window(), (1_000, 4_000), "of the seven that it had come down to");
}

/// A counter says a mark once, so the acknowledgement that ends a recovery must not lose it.
#[test]
fn a_mark_told_by_what_ends_a_recovery_counts() {
    let after = |marks| {
        let mut s = bulk(counting(), 400);
        s.run(50, |_| Fate::Drop);
        // The first is lost, and goes again.
        counted(&mut s, 0, &[(1000, 10_000)], 0);
        s.run(90, |_| Fate::Drop);
        assert!(s.pair.client.report().recovering);
        let reduced = s.window().1;
        let sent = s.snapshot().sent;
        counted(&mut s, sent, &[], marks);
        assert!(!s.pair.client.report().recovering);
        (reduced, s.window().1)
    };
    let (reduced, unmarked) = after(0);
    assert_eq!(unmarked, reduced);
    let (reduced, marked) = after(1);
    assert!(marked < reduced, "{marked} of {reduced}");
}

#[test]
fn what_a_probe_repairs_after_a_mark_of_its_window_is_no_second_reduction() {
    // 9 is lost, and marks of its window were heard before the probe goes.
    let repaired = |marks: &[u64]| {
        let mut s = bulk(capable("rack"), 10);
        let (mut loses, mut marks) = (lose(&[9]), mark(marks));
        s.run(420, |sent| match loses(sent) {
            Fate::Deliver => marks(sent),
            fate => fate,
        });
        s.pair.client_writes(10_000, 1000);
        s.run(600, |_| Fate::Deliver);
        s.pair.client_writes(11_000, 1000);
        s.run(700, |_| Fate::Deliver);
        (s.window().1, with(&s, Side::Client, Flags::CWR))
    };
    // By the probe alone, or by the mark alone; told with the next new data.
    assert_eq!(repaired(&[]), (5500, vec![600]));
    assert_eq!(repaired(&[3]), (5000, vec![420]));
}

#[test]
fn crossing_syns_agree() {
    let config = Arc::new(Config { ecn: true, ..plain("sack") });
    let now = Instant::from_millis(1000);
    let mut ends = [(4000, 80), (80, 4000)]
        .map(|(local, remote)| Endpoint::connect(config.clone(), local, remote, SeqNum(500), now));
    for _ in 0..4 {
        let said = ends.each_mut().map(|end| end.poll_transmit(now, Bytes(u64::MAX)));
        for (to, transmit) in [(1, &said[0]), (0, &said[1])] {
            if let Some(transmit) = transmit {
                ends[to].on_segment(now, &Received::plain(&transmit.segment));
            }
        }
    }
    let first_window = Endpoint::connect(config, 4000, 80, SeqNum(500), now).snapshot(now).cwnd;
    for end in &mut ends {
        assert_eq!(end.state(), State::Established);
        // RFC 3168 §6.1.1: ECE in a SYN is an offer, and no echo of a mark.
        let seen = end.snapshot(now);
        assert_eq!((seen.cwnd, seen.ssthresh), (first_window, u64::MAX));
        end.write(Payload::Synthetic { stream: SERVER_STREAM, offset: 0, len: 1000 });
        assert_eq!(
            end.poll_transmit(now, Bytes(u64::MAX)).map(|transmit| transmit.ip.ecn),
            Some(Ecn::Capable0)
        );
    }
}
