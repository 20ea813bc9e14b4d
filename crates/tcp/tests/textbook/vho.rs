//! What a sender does when it is told of its peer's access link: [vho] §3.1, rule by rule.

use handfast_core::{BitRate, Duration};
use handfast_tcp::{Config, PROFILES, VhoRule, VhoRules};
use handfast_wire::Notification;
use handfast_wire::notification::{AccessLink, Kind};

use crate::script::{MS, Script, bulk, ten};
use crate::support::{Fate, Pair, plain};

/// A packet of 1040 bytes in a millisecond: the BDP is twice the delay in milliseconds.
const RATE: u64 = 8_320_000;

fn link(delay: u64) -> AccessLink {
    AccessLink { rate: BitRate::from_bps(RATE), delay: MS(delay) }
}

/// Of a link with that delay.
fn told(kind: Kind, new: u64) -> Notification {
    Notification { kind, number: 1, flows: 1, new: link(new), old: None }
}

/// Make-before-break, from the first delay to the second.
fn handoff(old: u64, new: u64) -> Notification {
    Notification { old: Some(link(old)), ..told(Kind::MakeBeforeBreak, new) }
}

fn with(rules: &[VhoRule]) -> Config {
    Config { vho: rules.iter().copied().collect(), ..ten("sack") }
}

/// All but one.
fn without(rule: VhoRule) -> Config {
    Config { vho: VhoRule::ALL.into_iter().filter(|&other| other != rule).collect(), ..ten("sack") }
}

/// Segments 1 to 10 in flight, cwnd 10, a round trip of 100 ms.
fn ten_in_flight(config: Config) -> Script {
    let mut s = bulk(config, 60);
    s.in_flight();
    // A round trip as that of the handshake, so that SRTT is 100 ms and the RTO not above 300.
    s.pair.run_until(s.start + MS(100), |_| Fate::Drop);
    s.answer(1000, &[]);
    s.newly_sent();
    s
}

/// What it sends at once.
fn tell(s: &mut Script, notification: &Notification) -> String {
    let now = s.pair.now;
    s.pair.client.on_notification(now, notification);
    s.pair.run_until(now, |_| Fate::Drop);
    s.newly_sent()
}

/// How far away the timer is.
fn timer(s: &Script) -> Option<Duration> {
    s.pair.client.deadline().map(|at| at.since(s.pair.now))
}

#[test]
fn a_later_answer_than_the_rto_waits_for_moves_the_rto() {
    let mut s = ten_in_flight(with(&[VhoRule::MinRto]));
    let (srtt, before) = (s.snapshot().srtt, s.snapshot().rto);
    assert_eq!((srtt, before), (MS(100), MS(250)));
    // 100 - 20 + 800 is more than 250: minrto is that and the new link's delay twice, and the timer begins anew.
    tell(&mut s, &handoff(10, 400));
    assert_eq!((s.snapshot().rto, timer(&s)), (MS(880 + 800), Some(MS(1680))));
    // It lasts: samples of the old round trip do not undo it.
    s.pair.run_until(s.pair.now + MS(50), |_| Fate::Drop);
    s.answer(2000, &[]);
    assert_eq!(s.snapshot().rto, MS(1680));
    // Until the next handoff.
    let back = Notification { number: 2, ..handoff(400, 10) };
    tell(&mut s, &back);
    s.answer(3000, &[]);
    s.answer(4000, &[]);
    assert!(timer(&s).unwrap() <= MS(1680));
}

#[test]
fn the_rto_stays_where_the_answer_is_in_time_or_nothing_is_on_its_way() {
    // 100 - 20 + 170 is 250.
    for (notification, config) in [
        (handoff(10, 85), with(&[VhoRule::MinRto])),
        (Notification { kind: Kind::BreakBeforeMake, ..handoff(10, 400) }, with(&[VhoRule::MinRto])),
        (told(Kind::MakeBeforeBreak, 400), with(&[VhoRule::MinRto])),
        (handoff(10, 400), without(VhoRule::MinRto)),
    ] {
        let mut s = ten_in_flight(config);
        let before = timer(&s);
        tell(&mut s, &notification);
        assert_eq!((s.snapshot().rto, timer(&s)), (MS(250), before), "{notification:?}");
    }
}

#[test]
fn more_in_flight_than_the_buffer_holds_brings_the_window_to_the_bdp() {
    // BDP and buffer 6 packets, 10 in flight.
    let window = |config, notification| {
        let mut s = ten_in_flight(config);
        tell(&mut s, &notification);
        s.window()
    };
    let alone = || with(&[VhoRule::BdpWindow]);
    for kind in [Kind::MakeBeforeBreak, Kind::BreakBeforeMake] {
        assert_eq!(window(alone(), told(kind, 3)), (6000, 6000), "{kind:?}");
    }
    let unchanged = window(Config::clone(&ten("sack")), told(Kind::MakeBeforeBreak, 3));
    assert_eq!(unchanged, (10_000, 1000), "none of the rules");
    let other = without(VhoRule::BdpWindow);
    assert_eq!(window(other, told(Kind::MakeBeforeBreak, 3)).0, 10_000, "all rules but this one");
    // As much in flight as the buffer holds.
    assert_eq!(window(alone(), told(Kind::MakeBeforeBreak, 5)), unchanged);
    // Two flows share both.
    let two = Notification { flows: 2, ..told(Kind::MakeBeforeBreak, 6) };
    assert_eq!(window(alone(), two), (6000, 6000));
    assert_eq!(window(alone(), Notification { flows: 2, ..told(Kind::MakeBeforeBreak, 10) }), unchanged);
    // The same link after an outage has the buffer it had.
    assert_eq!(window(alone(), told(Kind::Resumed, 3)), unchanged);
}

#[test]
fn the_window_is_brought_down_once_for_what_was_sent_before() {
    // BDP 6 packets, 10 in flight. RFC 6675 §5 step 4.2 would make it half of ten.
    let mut s = ten_in_flight(with(&[VhoRule::BdpWindow]));
    tell(&mut s, &told(Kind::MakeBeforeBreak, 3));
    s.answer(1000, &[(2000, 5000)]);
    assert_eq!((s.pair.client.counters().fast_retransmits, s.window()), (1, (6000, 6000)));
    // What is sent afterwards counts as ever.
    s.answer(11_000, &[]);
    let flight = s.snapshot().flight_size;
    s.answer(11_000, &[(12_000, 15_000)]);
    assert_eq!((s.pair.client.counters().fast_retransmits, s.window().1), (2, flight / 2));
}

#[test]
fn a_buffer_holds_five_packets_at_least() {
    // BDP 2 packets, 5 in flight.
    let mut s = bulk(with(&[VhoRule::BdpWindow]), 5);
    s.in_flight();
    tell(&mut s, &told(Kind::MakeBeforeBreak, 1));
    assert_eq!(s.window(), (10_000, 1000));
    let mut s = bulk(with(&[VhoRule::BdpWindow]), 6);
    s.in_flight();
    tell(&mut s, &told(Kind::MakeBeforeBreak, 1));
    assert_eq!(s.window(), (2000, 2000));
}

#[test]
fn fast_retransmit_waits_for_as_many_more_as_overtake() {
    // The old link's buffer of 8 packets and its delay are 12 ms; by the new one a packet comes after 7: five overtake.
    let entered = |s: &Script| s.pair.client.counters().fast_retransmits;
    let mut s = ten_in_flight(with(&[VhoRule::Reordering]));
    tell(&mut s, &handoff(4, 6));
    // RFC 6675 §4 IsLost with a DupThresh of 8: more than seven segments.
    s.answer(1000, &[(2000, 9000)]);
    assert_eq!(entered(&s), 0);
    // RFC 4653 §3.2: meanwhile what is SACKed lets new segments go.
    s.answer(1000, &[(2000, 9001)]);
    assert_eq!(entered(&s), 1);
    for (config, notification) in [
        (without(VhoRule::Reordering), handoff(4, 6)),
        // The new link's answer is the later one.
        (with(&[VhoRule::Reordering]), handoff(4, 12)),
        // What was on the old link is lost.
        (with(&[VhoRule::Reordering]), Notification { kind: Kind::BreakBeforeMake, ..handoff(4, 6) }),
    ] {
        let mut s = ten_in_flight(config);
        tell(&mut s, &notification);
        s.answer(1000, &[(2000, 4001)]);
        assert_eq!(entered(&s), 1, "{notification:?}");
    }
}

#[test]
fn each_duplicate_lets_a_new_segment_go_while_fast_retransmit_waits() {
    let config = Config { limited_transmit: true, ..with(&[VhoRule::Reordering]) };
    let mut s = ten_in_flight(config);
    tell(&mut s, &handoff(4, 6));
    for sacked in 1..=7 {
        s.answer(1000, &[(2000, 2000 + 1000 * sacked)]);
        assert_eq!(s.newly_sent(), (10 + sacked).to_string());
    }
}

#[test]
fn once_all_from_before_is_acknowledged_three_duplicates_count_again() {
    let mut s = ten_in_flight(with(&[VhoRule::Reordering]));
    tell(&mut s, &handoff(4, 6));
    s.answer(11_000, &[]);
    s.answer(11_000, &[(12_000, 14_001)]);
    assert_eq!(s.pair.client.counters().fast_retransmits, 1);
}

#[test]
fn a_fast_retransmit_that_dsacks_show_not_needed_is_taken_back() {
    let recovered = |dsack: bool| {
        let mut s = ten_in_flight(with(&[VhoRule::Reordering]));
        tell(&mut s, &handoff(4, 6));
        s.answer(1000, &[(2000, 9001)]);
        assert_eq!((s.newly_sent().as_str(), s.window().0), ("1 11-12", 5000));
        // The original of segment 1 has come after all, and then the repetition.
        s.answer(10_000, &[]);
        s.answer(11_000, if dsack { &[(1000, 2000)] } else { &[] });
        s.window().0
    };
    assert!(recovered(true) >= 10_000);
    assert!(recovered(false) < 6000);
}

#[test]
fn connected_again_in_rto_recovery_the_first_unacknowledged_segment_goes_at_once() {
    for kind in [Kind::BreakBeforeMake, Kind::Resumed] {
        // Of 250 ms, from 100 ms on; the next expiry is at 850 ms.
        let mut s = ten_in_flight(with(&[VhoRule::Retransmit]));
        s.run(400, |_| Fate::Drop);
        assert_eq!((s.timeouts().len(), s.newly_sent().as_str()), (1, "1"), "{kind:?}");
        assert_eq!(tell(&mut s, &told(kind, 20)), "1");
        assert_eq!(s.window(), (1000, 40_000), "ssthresh is the BDP");
        assert_eq!(timer(&s), Some(s.snapshot().rto), "the timer begins anew");
        assert_eq!(s.snapshot().rto, MS(500), "with its backoff");
        // What was outstanding follows in slow start.
        s.answer(2000, &[]);
        assert_eq!(s.newly_sent(), "2-3");
    }
}

#[test]
fn otherwise_nothing_goes_at_once() {
    for (config, notification, late) in [
        // Not in RTO recovery.
        (with(&[VhoRule::Retransmit]), told(Kind::Resumed, 20), 300),
        // Nothing was lost.
        (with(&[VhoRule::Retransmit]), handoff(10, 20), 400),
        (without(VhoRule::Retransmit), told(Kind::Resumed, 20), 400),
    ] {
        let mut s = ten_in_flight(config);
        s.run(late, |_| Fate::Drop);
        s.newly_sent();
        let before = timer(&s);
        assert_eq!(tell(&mut s, &notification), "", "{notification:?}");
        assert_eq!(timer(&s), before, "{notification:?}");
    }
}

/// ssthresh after a handshake before whose end the client is told of a link.
fn opened(config: Config, all: &[Notification]) -> (Pair, u64) {
    let mut pair = Pair::new(config.clone(), config, MS(50));
    for notification in all {
        pair.client.on_notification(pair.now, notification);
    }
    pair.run_for(MS(150), |_| Fate::Deliver);
    let ssthresh = pair.client.snapshot(pair.now).ssthresh;
    (pair, ssthresh)
}

fn opening(rules: &[VhoRule]) -> Config {
    Config { vho: rules.iter().copied().collect(), ..plain("sack") }
}

#[test]
fn a_connection_begins_with_the_bdp_as_ssthresh() {
    let alone = opening(&[VhoRule::InitialSsthresh]);
    let (mut pair, ssthresh) = opened(alone.clone(), &[told(Kind::Start, 20)]);
    assert_eq!(ssthresh, 40_000);
    // More flows begin: the share is smaller.
    let now = pair.now;
    pair.client.on_notification(now, &Notification { number: 2, flows: 4, ..told(Kind::Start, 20) });
    assert_eq!(pair.client.snapshot(now).ssthresh, 10_000);
    assert_eq!(opened(opening(&[VhoRule::HandoffSsthresh]), &[told(Kind::Start, 20)]).1, u64::MAX);
    assert_eq!(opened(alone, &[]).1, u64::MAX);
}

#[test]
fn what_a_loss_has_set_stands_as_a_connection_begins() {
    let mut s = bulk(Config { initial_ssthresh: None, ..with(&[VhoRule::InitialSsthresh]) }, 60);
    s.in_flight().answer(1000, &[]).answer(1000, &[(2000, 5000)]);
    let after_loss = s.window().1;
    tell(&mut s, &told(Kind::Start, 20));
    assert_eq!(s.window().1, after_loss);
}

#[test]
fn after_a_handoff_ssthresh_is_the_bdp() {
    let ssthresh = |config, notification| {
        let mut s = ten_in_flight(config);
        tell(&mut s, &notification);
        s.window()
    };
    for kind in [Kind::MakeBeforeBreak, Kind::BreakBeforeMake] {
        assert_eq!(ssthresh(with(&[VhoRule::HandoffSsthresh]), told(kind, 20)), (10_000, 40_000), "{kind:?}");
        assert_eq!(ssthresh(without(VhoRule::HandoffSsthresh), told(kind, 20)), (10_000, 1000), "{kind:?}");
    }
    assert_eq!(ssthresh(with(&[VhoRule::HandoffSsthresh]), told(Kind::Resumed, 20)).1, 1000);
    // RFC 5681 §3.1: two segments at least.
    let narrow = Notification { flows: 9, ..told(Kind::MakeBeforeBreak, 3) };
    assert_eq!(ssthresh(with(&[VhoRule::HandoffSsthresh]), narrow).1, 2000);
}

#[test]
fn a_notification_counts_once_and_in_order() {
    let mut s = ten_in_flight(with(&[VhoRule::HandoffSsthresh]));
    let numbered = |number, new| Notification { number, ..told(Kind::MakeBeforeBreak, new) };
    let mut seen = Vec::new();
    for notification in [numbered(7, 20), numbered(7, 30), numbered(6, 30), numbered(8, 40)] {
        tell(&mut s, &notification);
        seen.push(s.window().1 / 1000);
    }
    assert_eq!(seen, [40, 40, 40, 80]);
}

#[test]
fn whatever_a_sender_of_any_profile_is_told_its_data_arrives() {
    let links = [0, 3, 400, u64::MAX / 1_000_000_000].map(link);
    let broken = AccessLink { rate: BitRate::from_bps(0), delay: Duration::MAX };
    let wide = AccessLink { rate: BitRate::from_bps(u64::MAX), delay: Duration::MAX };
    let links: Vec<_> = links.into_iter().chain([broken, wide]).collect();
    let kinds = [Kind::Start, Kind::MakeBeforeBreak, Kind::BreakBeforeMake, Kind::Resumed];
    for profile in PROFILES {
        let vho: VhoRules = VhoRule::ALL.into_iter().collect();
        let mut s = bulk(Config { vho, ..plain(profile.name) }, 60);
        let mut number = 0;
        for (at, new) in (0..).step_by(70).zip(links.iter().chain(&links)) {
            s.run(at, |sent| if sent.at.as_nanos() % 7 == 0 { Fate::Drop } else { Fate::Deliver });
            for kind in kinds {
                number += 1;
                let notification =
                    Notification { kind, number, flows: number as u16, new: *new, old: Some(links[1]) };
                let now = s.pair.now;
                s.pair.client.on_notification(now, &notification);
            }
        }
        s.run(60_000, |_| Fate::Deliver);
        s.pair.read_all();
        let (una, ..) = s.pair.client.send_positions();
        assert_eq!(una, 60_001, "{}", profile.name);
    }
}
