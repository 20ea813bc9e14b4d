//! Spurious timeouts: F-RTO (RFC 5682), Eifel detection (RFC 3522) and the response (RFC 4015), on connections whose path is
//! held up, and on ones whose path really loses.

use handfast_core::Duration;
use handfast_tcp::{Config, Detector, Event, Frto, InitialWindow};

use crate::script::{MS, Script, bulk, held, outage, stamped, ten};
use crate::support::{Fate, Side, plain};

fn frto(variant: Frto) -> Config {
    let name = if variant == Frto::Sack { "sack" } else { "newreno" };
    Config { frto: variant, ..ten(name) }
}

fn eifel(name: &str) -> Config {
    stamped(&Config { eifel: true, ..ten(name) })
}

fn spurious(s: &Script) -> Vec<(u64, Detector)> {
    let mut found = Vec::new();
    for (at, event) in s.events() {
        if let Event::SpuriousTimeout(detector) = event {
            found.push((at, detector));
        }
    }
    found
}

/// 0 to 9 are in flight and the timer has expired once, at 300; what follows is up to the test.
fn timed_out(config: Config) -> Script {
    let mut s = bulk(config, 60);
    s.run(310, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "0-9 0");
    s
}

#[test]
fn frto_resumes_after_a_delay_without_loss() {
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = bulk(frto(variant), 60);
        s.run(650, held(s.start, 0, 500));
        // RFC 5682 step 2b: the first acknowledgement releases 10 and 11. Step 3b: the second shows that the originals arrive.
        // RFC 4015 step 7: nothing else is repeated. Step 8: cwnd = 10 in flight + 1 acknowledged; ssthresh as it was.
        assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "600: 10-20"], "{variant:?}");
        assert_eq!(spurious(&s), [(600, Detector::Frto)], "{variant:?}");
        assert_eq!(s.window(), (11_000, 10_000), "{variant:?}");
        assert_eq!(s.pair.client.counters().retransmitted_segments, 1, "{variant:?}");
    }
}

#[test]
fn without_detection_everything_goes_again() {
    let mut s = bulk(frto(Frto::Off), 60);
    s.run(650, held(s.start, 0, 500));
    assert_eq!(s.rounds()[2], "600: 1-15");
    assert_eq!(s.window().1, 5000);
}

#[test]
fn frto_falls_back_when_the_data_is_lost() {
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = bulk(frto(variant), 60);
        s.run(650, outage(s.start, 0, 200));
        // Step 2b at 400; step 3a at 500, when the new data shows as a duplicate: slow start from SND.UNA.
        assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "400: 10-11", "500: 1-2", "600: 3-6"], "{variant:?}");
        assert_eq!((spurious(&s).len(), s.window().1), (0, 5000), "{variant:?}");
    }
}

#[test]
fn without_new_data_frto_gives_up() {
    // Step 2b: "the recommended action is to refrain from entering step 3".
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = bulk(frto(variant), 10);
        s.run(450, outage(s.start, 0, 200));
        assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "400: 1-2"], "{variant:?}");
    }
}

#[test]
fn frto_does_not_come_back_when_new_data_appears() {
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = bulk(frto(variant), 10);
        s.run(310, |_| Fate::Drop).answer(1000, &[]);
        s.newly_sent();
        s.pair.client_writes(10_000, 5000);
        s.answer(2000, &[]);
        assert_eq!(s.newly_sent(), "3-4", "{variant:?}");
    }
}

#[test]
fn a_duplicate_ends_the_basic_rule_and_not_the_sack_one() {
    // RFC 5682 §2.1 step 2a.
    let mut s = timed_out(frto(Frto::Basic));
    s.answer(0, &[]).answer(1000, &[]);
    assert_eq!(s.newly_sent(), "1-2");
    // §3.1 step 2: "Stay in step 2 and wait for the next new acknowledgment".
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(0, &[(5000, 6000)]).answer(1000, &[]);
    assert_eq!(s.newly_sent(), "10-11");
}

#[test]
fn part_of_the_retransmission_or_everything_ends_both() {
    for variant in [Frto::Basic, Frto::Sack] {
        // Step 2a: part of the retransmission.
        let mut s = timed_out(frto(variant));
        s.answer(500, &[]);
        s.newly_sent();
        s.answer(1000, &[]);
        assert!(!s.newly_sent().contains("10"), "{variant:?}");
        // Step 2a: the acknowledgement covers `recover`.
        let mut s = timed_out(frto(variant));
        s.answer(10_000, &[]).answer(11_000, &[]);
        assert_eq!((spurious(&s).len(), s.window().1), (0, 5000), "{variant:?}");
    }
}

#[test]
fn a_second_timeout_ends_frto() {
    // Step 1: RTO recovery is underway.
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = timed_out(frto(variant));
        s.run(910, |_| Fate::Drop);
        s.newly_sent();
        s.answer(1000, &[]);
        assert_eq!(s.newly_sent(), "1-2", "{variant:?}");
    }
}

#[test]
fn a_timeout_in_fast_recovery_is_not_judged() {
    // RFC 5682 §3.1 step 1: RecoveryPoint is not below SND.UNA.
    let mut s = bulk(frto(Frto::Sack), 60);
    s.in_flight().answer(1000, &[(2000, 5000)]);
    s.run(500, |_| Fate::Drop);
    s.newly_sent();
    s.answer(5000, &[]);
    assert_eq!(s.newly_sent(), "5-6");
}

#[test]
fn the_sack_rule_looks_at_where_newly_sacked_octets_lie() {
    // RFC 5682 §3.1 step 3b: octets from before the timeout are SACKed.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]);
    assert_eq!(s.newly_sent(), "10-11");
    s.answer(1000, &[(5000, 6000)]);
    assert_eq!(spurious(&s), [(310, Detector::Frto)]);
    // Up to the last of them.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]).answer(1000, &[(9000, 10_000)]);
    assert_eq!(spurious(&s).len(), 1);
    // Step 3a comes first where an acknowledgement holds both.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]).answer(1000, &[(10_000, 11_000), (5000, 6000)]);
    assert_eq!(spurious(&s).len(), 0);
    // What was SACKed before says nothing again.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(0, &[(5000, 6000)]).answer(1000, &[(5000, 6000)]).answer(1000, &[(5000, 6000)]);
    assert_eq!((s.newly_sent().as_str(), spurious(&s).len()), ("10-11 1-2", 0));
    // Step 3a: octets sent after it; cwnd of no more than three segments, from SND.UNA on.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]).answer(1000, &[(10_000, 11_000)]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("10-11 1-2", (2000, 5000)));
    // Step 3a, second sentence: a duplicate that SACKs nothing new.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]).answer(1000, &[]);
    assert_eq!(s.newly_sent(), "10-11 1-2");
    // Step 3a: more than everything from before is acknowledged; 11 alone is in flight and does not go again.
    let mut s = timed_out(frto(Frto::Sack));
    s.answer(1000, &[]).answer(11_000, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("10-13", (3000, 5000)));
    assert_eq!(spurious(&s).len(), 0);
}

#[test]
fn a_window_update_decides_nothing() {
    // Step 3: "Other types of ACKs are ignored without any action".
    for variant in [Frto::Basic, Frto::Sack] {
        let mut s = timed_out(frto(variant));
        s.answer(1000, &[]);
        let update = handfast_wire::tcp::Segment { window: 46_000, ..crate::script::ack(1000, &[]) };
        s.pair.inject(Side::Client, &update, |_| Fate::Drop);
        assert_eq!(s.newly_sent(), "10-11", "{variant:?}");
        s.answer(2000, &[]);
        assert_eq!(spurious(&s).len(), 1, "{variant:?}");
    }
}

#[test]
fn with_rack_the_same_acknowledgements_are_duplicates() {
    // Step 2a: a duplicate by RFC 5681 or by what it SACKs ends the basic rule. RACK's probe at 200 was 10.
    for duplicate in [None, Some(&[][..]), Some(&[(5000, 6000)])] {
        let sacks = duplicate.unwrap_or_default();
        let mut s = bulk(Config { frto: Frto::Basic, ..ten("rack") }, 60);
        s.run(510, |_| Fate::Drop);
        assert_eq!(s.newly_sent(), "0-10 0");
        if duplicate.is_some() {
            s.answer(0, sacks);
        }
        s.answer(1000, sacks);
        let next = if duplicate.is_some() { "1-2" } else { "11-12" };
        assert!(s.newly_sent().starts_with(next), "{sacks:?}");
        // Step 3b, and a window update decides nothing.
        let update = handfast_wire::tcp::Segment { window: 46_000, ..crate::script::ack(1000, sacks) };
        s.pair.inject(Side::Client, &update, |_| Fate::Drop);
        s.answer(2000, &[(3000, 4000)]);
        assert_eq!(spurious(&s).len(), usize::from(duplicate.is_none()), "{sacks:?}");
    }
}

#[test]
fn with_rack_the_sack_rule_looks_at_the_same_places() {
    // §3.1 step 3: `recover` is the end of 10, the probe; 11 and 12 are the new data of step 2b.
    let answers: [(&[(u64, u64)], usize); 5] = [
        (&[(5000, 6000)], 1),
        (&[(10_000, 11_000)], 1),
        (&[(11_000, 12_000)], 0),
        (&[(5000, 6000), (11_000, 12_000)], 0),
        (&[(10_000, 12_000)], 0),
    ];
    for (sacks, found) in answers {
        for known in [false, true] {
            let mut s = bulk(Config { frto: Frto::Sack, ..ten("rack") }, 60);
            s.run(510, |_| Fate::Drop);
            // What was SACKed before the first acknowledgement says nothing again.
            s.answer(0, if known { &[(5000, 6000)] } else { &[] });
            s.newly_sent();
            s.answer(1000, &[]);
            assert_eq!(s.newly_sent(), "11-12", "{sacks:?}");
            s.answer(1000, sacks);
            let expected = if known && sacks == [(5000, 6000)] { 0 } else { found };
            assert_eq!(spurious(&s).len(), expected, "{sacks:?}, {known}");
        }
    }
}

#[test]
fn after_a_spurious_timeout_fast_retransmit_works_again() {
    // RFC 5682 §2.1 step 3b: "set the value of the "recover" variable to SND.UNA".
    for name in ["reno", "newreno"] {
        let mut s = timed_out(Config { frto: Frto::Basic, ..ten(name) });
        s.answer(1000, &[]).answer(2000, &[]);
        assert_eq!(spurious(&s).len(), 1);
        s.newly_sent();
        for _ in 0..3 {
            s.answer(2000, &[]);
        }
        assert_eq!(s.newly_sent(), "2", "{name}");
    }
}

#[test]
fn the_response_lets_out_at_most_an_initial_window() {
    // RFC 4015 step 8: cwnd = FlightSize + min (bytes_acked, IW). Eight in flight after three round trips, IW of one.
    let mut s =
        bulk(Config { initial_window: InitialWindow::One, initial_ssthresh: None, ..frto(Frto::Basic) }, 60);
    let start = s.start;
    s.run(700, move |sent| if sent.at < start + MS(300) { Fate::Deliver } else { Fate::Drop });
    assert_eq!(s.timeouts().len(), 1);
    s.answer(8000, &[]).answer(15_000, &[]);
    assert_eq!(spurious(&s).len(), 1);
    // 15 and 16 in flight, seven acknowledged; ssthresh was never set.
    assert_eq!(s.window(), (3000, u64::MAX));
}

#[test]
fn eifel_tells_at_the_first_acknowledgement() {
    let mut s = bulk(eifel("newreno"), 60);
    s.run(650, held(s.start, 0, 500));
    // RFC 3522 step 4: the echo is of the original. RFC 4015 step 8: nine in flight and one acknowledged.
    assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "600: 10-19"]);
    assert_eq!(spurious(&s), [(600, Detector::Eifel)]);
    assert_eq!(s.window(), (10_000, 10_000));
}

#[test]
fn eifel_sees_through_repeated_timeouts() {
    // RFC 3522 step 2: RetransmitTS is that of the first retransmission; RFC 4015 step 0: the state is from before it.
    let mut s = bulk(eifel("newreno"), 60);
    s.run(1150, held(s.start, 0, 1000));
    assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "900: 0", "1100: 10-19"]);
    assert_eq!(spurious(&s), [(1100, Detector::Eifel)]);
    assert_eq!(s.window().1, 10_000);
}

#[test]
fn eifel_leaves_a_genuine_timeout_alone() {
    let mut s = bulk(eifel("newreno"), 60);
    s.run(450, outage(s.start, 0, 200));
    assert_eq!(s.rounds(), ["0: 0-9", "300: 0", "400: 1-2"]);
    assert_eq!((spurious(&s).len(), s.window()), (0, (2000, 5000)));
}

#[test]
fn lost_acknowledgements_are_no_spurious_timeout() {
    // RFC 3522 step 5: everything is acknowledged, or a DSACK says so.
    for name in ["newreno", "sack"] {
        let mut s = bulk(eifel(name), 10);
        let start = s.start;
        s.run(450, move |sent| {
            let lost = sent.from == Side::Server && sent.at < start + MS(200);
            if lost { Fate::Drop } else { Fate::Deliver }
        });
        assert_eq!(s.timeouts(), [300], "{name}");
        assert_eq!((spurious(&s).len(), s.window().1), (0, 5000), "{name}");
    }
}

#[test]
fn a_peer_that_reports_duplicates_is_believed_when_it_does_not() {
    // RFC 3522 step 5: once a DSACK has come, its absence on an acknowledgement of everything says that the original
    // arrived before the retransmission.
    for (twice, found) in [(true, 1), (false, 0)] {
        let mut s = bulk(eifel("sack"), 1);
        s.run(
            200,
            |sent| if twice && sent.from == Side::Client { Fate::Twice(MS(1)) } else { Fate::Deliver },
        );
        s.pair.client_writes(1000, 1000);
        s.run(1000, held(s.start, 200, 700));
        assert_eq!((s.timeouts().len(), spurious(&s).len()), (1, found));
    }
}

#[test]
fn the_rto_comes_from_before_the_spurious_timeout() {
    // RFC 4015 step 9: SRTT = max (SRTT_prev, sample) with SRTT_prev = 100 + 2 G, from the first sample of new data (10, at
    // 700): not from those of what was held up for 500 ms.
    let mut s = bulk(eifel("newreno"), 11);
    s.run(650, held(s.start, 0, 500));
    assert!(s.snapshot().srtt > MS(120), "{:?}", s.snapshot());
    s.run(750, |_| Fate::Deliver);
    assert_eq!((s.snapshot().srtt, s.snapshot().rto), (MS(102), MS(302)));
    // A path that stays slow: the sample counts.
    let mut s = bulk(eifel("newreno"), 11);
    s.pair.delay = MS(500);
    s.run(3000, |_| Fate::Deliver);
    assert_eq!(spurious(&s).len(), 1);
    assert_eq!((s.snapshot().srtt, s.snapshot().rto), (Duration::from_secs(1), Duration::from_secs(3)));
}

#[test]
fn cubic_goes_on_where_it_was() {
    // RFC 9438 §4.9.2: the curve from before the spurious timeout; without the response ssthresh and W_max fall.
    let grown = |frto: Frto, to: u64| {
        let mut s = bulk(Config { frto, limited_transmit: false, ..plain("cubic") }, 5000);
        let start = s.start;
        s.lose(3000, &[40]).run(6000, held(start, 3000, to));
        (s.pair.client.counters().spurious_timeouts, s.window().0)
    };
    let (_, undisturbed) = grown(Frto::Sack, 3000);
    let (spurious, restored) = grown(Frto::Sack, 3400);
    let (_, reduced) = grown(Frto::Off, 3400);
    assert_eq!(spurious, 1);
    assert!(
        restored + 5000 > undisturbed && restored > reduced + 20_000,
        "{undisturbed} {restored} {reduced}"
    );
}
