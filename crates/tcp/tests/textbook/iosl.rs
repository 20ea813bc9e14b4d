//! The connection control of the ID-oriented socket layer: [iosl] §IV and §VI.A, rule by rule.

use handfast_core::{BitRate, Duration, Instant};
use handfast_tcp::{Config, IoslRules, Radio, Resumption, State, StoredPath};
use handfast_wire::tcp::Segment;

use crate::script::{MS, Script, bulk, bulk_to, data, lose, ten};
use crate::support::{Fate, Pair, Sent, Side};

/// A bulk transfer whose client has the layer.
fn layered(config: Config, segments: u32) -> Script {
    let mut s = bulk(config, segments);
    s.pair.client.attach_iosl(IoslRules::default());
    s
}

/// One that is not connected yet.
fn opening() -> Pair {
    let mut pair = Pair::new(ten("sack"), ten("sack"), MS(50));
    pair.client.attach_iosl(IoslRules::default());
    pair
}

const PROFILES: [&str; 7] = ["tahoe", "reno", "newreno", "sack", "rack", "cubic", "linux"];

impl Script {
    /// The client's layer suspends it; what it sends then is lost.
    fn suspend(&mut self) {
        self.pair.client.suspend(self.pair.now);
        self.run_to_now(Fate::Drop);
    }

    fn resume(&mut self, why: Resumption, fate: Fate) {
        self.pair.client.resume(self.pair.now, why);
        self.run_to_now(fate);
    }

    fn run_to_now(&mut self, fate: Fate) {
        self.pair.run_until(self.pair.now, |_| fate);
    }

    /// Runs over a wire that delivers nothing, both ways.
    fn cut(&mut self, ms: u64) {
        self.run(ms, |_| Fate::Drop);
    }
}

#[test]
fn a_sender_stands_still_and_goes_on_as_if_nothing_had_been() {
    for profile in PROFILES {
        let mut s = layered(ten(profile), 400);
        s.run(300, |_| Fate::Deliver);
        let before = s.window();
        assert!(before.0 >= 10_000, "{profile}");
        s.suspend();
        s.newly_sent();
        s.cut(20_000);
        assert_eq!((s.newly_sent().as_str(), s.timeouts()), ("", vec![]), "{profile}: nothing leaves");
        s.resume(Resumption::Back, Fate::Deliver);
        assert_eq!(s.window(), before, "{profile}");
        // The first segment at once, the others within a round trip of 100 ms; none twice.
        s.run(20_095, |_| Fate::Deliver);
        let rounds = s.rounds();
        assert!(rounds.len() >= 9 && rounds[0].starts_with("20000:"), "{profile}: {rounds:?}");
        assert_eq!(rounds.len(), s.pair.client_data().len(), "{profile}: one at a time: {rounds:?}");
        s.run(60_000, |_| Fate::Deliver);
        assert_eq!((s.pair.read_by_server, s.timeouts()), (400_000, vec![]), "{profile}");
    }
}

#[test]
fn the_window_is_not_halved_by_what_the_path_lost() {
    for profile in PROFILES {
        let mut s = layered(ten(profile), 2000);
        s.run(2000, |_| Fate::Deliver);
        let (before, _) = s.window();
        s.suspend();
        s.cut(3000);
        s.resume(Resumption::Back, Fate::Deliver);
        s.run(3500, |_| Fate::Deliver);
        assert!(s.window().0 >= before, "{profile}: {before} {:?}", s.window());
        assert!(
            !s.events().iter().any(|e| e.0 > 3000 && format!("{:?}", e.1) == "RecoveryEntered"),
            "{profile}"
        );
    }
}

#[test]
fn after_a_false_alarm_nothing_goes_again() {
    for profile in PROFILES {
        let mut s = layered(ten(profile), 400);
        s.run(300, |_| Fate::Deliver);
        s.suspend();
        // Acknowledgements of what is in flight still come.
        s.run(450, |_| Fate::Deliver);
        s.resume(Resumption::FalseAlarm, Fate::Deliver);
        s.run(60_000, |_| Fate::Deliver);
        assert_eq!(s.pair.client.counters().retransmitted_segments, 0, "{profile}");
        assert_eq!(s.pair.read_by_server, 400_000, "{profile}");
    }
}

#[test]
fn what_a_false_alarm_was_wrong_about_is_found_by_the_timer() {
    let mut s = layered(ten("sack"), 400);
    s.run(300, |_| Fate::Deliver);
    s.suspend();
    s.cut(5000);
    s.resume(Resumption::FalseAlarm, Fate::Drop);
    // It waits once for what is outstanding, without the backoff of the cut.
    s.cut(5500);
    assert_eq!(s.timeouts().len(), 1, "{:?}", s.timeouts());
}

#[test]
fn one_that_nobody_could_suspend_gets_back_what_timeouts_took() {
    for profile in PROFILES {
        let mut s = layered(ten(profile), 2000);
        s.run(1000, |_| Fate::Deliver);
        let (before, _) = s.window();
        s.cut(9000);
        assert!(s.timeouts().len() >= 3 && s.window().0 <= 2000, "{profile}: {:?}", s.timeouts());
        // What its peer would be told to restore.
        assert!(s.pair.client.stored_path().cwnd >= before, "{profile}");
        s.resume(Resumption::Back, Fate::Deliver);
        assert!(s.window().0 >= before, "{profile}: {before} {:?}", s.window());
        s.run(9100, |_| Fate::Deliver);
        assert_eq!(s.snapshot().rto, s.snapshot().rto.min(MS(1100)), "{profile}: no backoff");
        s.run(80_000, |_| Fate::Deliver);
        assert_eq!(s.pair.read_by_server, 2_000_000, "{profile}");
    }
}

#[test]
fn one_in_order_ignores_a_resumption() {
    let mut s = layered(ten("sack"), 400);
    s.run(300, |_| Fate::Deliver);
    let before = s.window();
    s.newly_sent();
    s.resume(Resumption::Back, Fate::Deliver);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("", before));
}

#[test]
fn without_the_layer_nothing_of_it_happens() {
    let mut s = bulk(ten("sack"), 400);
    s.pair.client.on_radio(Radio { rate: BitRate::from_bps(1000), is_weak: true });
    s.pair.client.suspend(s.pair.now);
    s.run(300, |_| Fate::Deliver);
    assert!(s.window().0 > 10_000);
    s.resume(Resumption::Back, Fate::Deliver);
    s.run(60_000, |_| Fate::Deliver);
    assert_eq!(s.pair.read_by_server, 400_000);
}

fn windows(acks: &[Segment]) -> Vec<u64> {
    acks.iter().map(|ack| u64::from(ack.window)).collect()
}

#[test]
fn a_receiver_closes_its_window_at_once_and_says_three_times_that_it_opens_it() {
    // Window scaling is off, so that windows are easy to read.
    let server = Config { window_scaling: false, ..ten("sack") };
    let mut s = bulk_to(ten("sack"), server, 1);
    s.pair.server.attach_iosl(IoslRules::default());
    s.in_flight();
    let open = windows(&s.give(&data(0, 1000)))[0];
    assert!(open > 0);
    s.pair.server.suspend(s.pair.now);
    s.run_to_now(Fate::Drop);
    assert_eq!(windows(&s.replies()), [0]);
    s.pair.server.suspend(s.pair.now);
    s.run_to_now(Fate::Drop);
    assert_eq!(windows(&s.replies()), [], "once");
    // What is on its way is taken.
    let answers = s.give(&data(1000, 1000));
    assert_eq!((windows(&answers), s.pair.read_by_server), (vec![0], 2000));
    s.pair.server.resume(s.pair.now, Resumption::Back);
    s.run_to_now(Fate::Drop);
    let answers = s.replies();
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|ack| (ack.ack, ack.window) == (answers[0].ack, answers[0].window)));
    assert!(windows(&answers)[0] > 0);
    assert_eq!(windows(&s.give(&data(2000, 1000))).len(), 1, "no more of them");
}

/// A sender of any kind without a layer, which is downloaded from; the window is closed a round trip before the cut.
#[test]
fn a_sender_without_the_layer_waits_for_the_window_and_goes_on_with_its_own() {
    for profile in PROFILES {
        let mut s = bulk(ten(profile), 2000);
        s.pair.server.attach_iosl(IoslRules::default());
        s.run(1000, |_| Fate::Deliver);
        let (before, _) = s.window();
        s.pair.server.suspend(s.pair.now);
        s.run(1120, |_| Fate::Deliver);
        assert_eq!(s.snapshot().flight_size, 0, "{profile}: all has arrived");
        s.cut(4000);
        s.pair.server.resume(s.pair.now, Resumption::Back);
        s.run(4300, |_| Fate::Deliver);
        assert_eq!(s.timeouts(), [], "{profile}");
        assert!(s.window().0 >= before, "{profile}: {before} {:?}", s.window());
    }
}

/// A rate that carries so many packets of 1,040 bytes in a round trip of 100 ms.
fn carrying(packets: u64) -> BitRate {
    BitRate::from_bps(packets * 1040 * 8 * 10)
}

#[test]
fn a_weak_radio_decides_the_window_and_a_strong_one_bounds_it() {
    for profile in ["reno", "sack", "rack", "cubic"] {
        let mut s = layered(ten(profile), 4000);
        s.run(200, |_| Fate::Deliver);
        s.pair.client.on_radio(Radio { rate: carrying(100), is_weak: true });
        s.run(301, |_| Fate::Deliver);
        assert_eq!(s.window().0, 90_000, "{profile}: line 22, alpha 0.9");
        s.pair.client.on_radio(Radio { rate: carrying(50), is_weak: true });
        s.run(401, |_| Fate::Deliver);
        assert_eq!(s.window().0, 45_000, "{profile}");
        // Line 26: above 1.1 times what the link holds.
        s.pair.client.on_radio(Radio { rate: carrying(25), is_weak: false });
        s.run(501, |_| Fate::Deliver);
        let (cwnd, _) = s.window();
        assert!((25_000..=27_500).contains(&cwnd), "{profile}: {cwnd}");
    }
}

#[test]
fn a_radio_that_carries_nothing_leaves_two_segments() {
    let mut s = layered(ten("sack"), 400);
    s.run(200, |_| Fate::Deliver);
    s.pair.client.on_radio(Radio { rate: carrying(0), is_weak: true });
    s.run(301, |_| Fate::Deliver);
    assert_eq!(s.window().0, 2000);
}

#[test]
fn round_trips_of_a_fluctuation_do_not_count() {
    for timestamps in [false, true] {
        let mut s =
            layered(Config { timestamps, mss: if timestamps { 1012 } else { 1000 }, ..ten("sack") }, 4000);
        s.run(300, |_| Fate::Deliver);
        let before = s.snapshot().srtt;
        s.pair.client.on_radio(Radio { rate: carrying(100), is_weak: true });
        s.run(1500, |_| Fate::Late(MS(60)));
        assert_eq!(s.snapshot().srtt, before);
        s.pair.client.on_radio(Radio { rate: carrying(100), is_weak: false });
        s.run(3000, |_| Fate::Late(MS(60)));
        assert!(s.snapshot().srtt > before + MS(20), "{:?}", s.snapshot().srtt);
    }
}

#[test]
fn the_round_trip_of_a_cut_does_not_count() {
    let mut s = layered(Config { timestamps: true, mss: 1012, ..ten("sack") }, 400);
    s.run(300, |_| Fate::Deliver);
    let before = s.snapshot().srtt;
    s.suspend();
    // Segments arrive, their acknowledgements are held up for four seconds.
    s.run(4300, |_| Fate::Deliver);
    s.pair.run_until(s.pair.now, |_| Fate::Deliver);
    s.resume(Resumption::Back, Fate::Deliver);
    s.run(8000, |_| Fate::Deliver);
    let after = s.snapshot().srtt;
    assert!(after < before + MS(5), "{before:?} {after:?}");
}

#[test]
fn another_connection_begins_with_what_was_stored() {
    let mut pair = opening();
    let stored = StoredPath { cwnd: 60_000, ssthresh: 45_000 };
    pair.client.restore_path(stored);
    pair.run_for(MS(200), |_| Fate::Deliver);
    let snapshot = pair.client.snapshot(pair.now);
    assert_eq!((snapshot.cwnd, snapshot.ssthresh), (60_000, 45_000));
    pair.client_writes(0, 100_000);
    let start = pair.now;
    pair.log.clear();
    pair.run_for(MS(99), |_| Fate::Deliver);
    // Sixty segments, spread over the round trip.
    assert_eq!(pair.client_data().len(), 60);
    let half = pair.log.iter().filter(|s| s.from == Side::Client && s.at <= start + MS(50)).count();
    assert!((29..=32).contains(&half), "{half}");
    assert_eq!(pair.client.stored_path(), StoredPath { cwnd: snapshot.cwnd, ssthresh: 45_000 });
}

#[test]
fn another_connection_offers_the_window_that_was_stored() {
    let offers = |restored: Option<u64>| {
        let mut pair = Pair::new(ten("linux"), ten("linux"), MS(50));
        pair.server.attach_iosl(IoslRules::default());
        if let Some(octets) = restored {
            pair.server.restore_receive_window(octets);
        }
        pair.run_for(MS(200), |_| Fate::Deliver);
        pair.client_writes(0, 1000);
        pair.run_for(MS(300), |_| Fate::Deliver);
        pair.server.receive_window()
    };
    let without = offers(None);
    assert!(without < 100_000, "{without}");
    let with = offers(Some(1_000_000));
    assert!((1_000_000..1_010_000).contains(&with), "{with}");
    let most = offers(Some(u64::MAX));
    assert_eq!(most, ten("linux").receive_buffer.get(), "its buffer is the bound");
}

#[test]
fn what_was_stored_is_bounded_by_what_the_new_link_holds() {
    let mut pair = opening();
    pair.client.restore_path(StoredPath { cwnd: 600_000, ssthresh: 1 });
    pair.client.on_radio(Radio { rate: carrying(100), is_weak: false });
    pair.run_for(MS(200), |_| Fate::Deliver);
    let snapshot = pair.client.snapshot(pair.now);
    assert_eq!((snapshot.cwnd, snapshot.ssthresh), (100_000, 2000));
}

#[test]
fn a_handshake_waits_as_well_and_goes_on_at_once() {
    let mut pair = opening();
    pair.client.suspend(pair.now);
    pair.run_for(Duration::from_secs(20), |_| Fate::Drop);
    assert!(pair.log.iter().all(|s| s.from != Side::Client), "no SYN leaves");
    let now = pair.now;
    pair.client.resume(now, Resumption::Back);
    pair.run_for(MS(110), |_| Fate::Deliver);
    assert_eq!(pair.client.state(), State::Established);
    assert_eq!(pair.log.iter().find(|s| s.from == Side::Client).map(|s| s.at), Some(now));
}

#[test]
fn a_syn_that_was_lost_goes_again_when_the_path_is_back() {
    let mut pair = opening();
    pair.run_for(MS(10), |_| Fate::Drop);
    pair.client.suspend(pair.now);
    pair.run_for(Duration::from_secs(20), |_| Fate::Drop);
    assert_eq!(pair.log.len(), 1);
    pair.client.resume(pair.now, Resumption::Back);
    pair.run_for(MS(110), |_| Fate::Deliver);
    assert_eq!(pair.client.state(), State::Established);
}

#[test]
fn losses_after_a_return_are_repaired_and_reduce_the_window() {
    for profile in PROFILES {
        let after = |loses: bool| {
            let mut s = layered(ten(profile), 2000);
            s.run(1000, |_| Fate::Deliver);
            s.suspend();
            s.cut(3000);
            s.resume(Resumption::Back, Fate::Deliver);
            s.run(3500, |_| Fate::Deliver);
            let next = s.pair.client.snapshot(s.pair.now).sent / 1000 + 3;
            s.lose(4000, if loses { std::slice::from_ref(&next) } else { &[] });
            let window = s.window().0;
            s.run(80_000, lose(&[]));
            assert_eq!(s.pair.read_by_server, 2_000_000, "{profile}");
            window
        };
        assert!(after(true) < after(false), "{profile}");
    }
}

#[test]
fn what_a_loss_takes_while_suspended_stays_taken_after_a_false_alarm() {
    for profile in ["reno", "newreno", "sack", "rack", "cubic", "linux"] {
        let mut s = layered(ten(profile), 2000);
        s.run(1000, |_| Fate::Deliver);
        let (before, _) = s.window();
        let next = s.pair.client.snapshot(s.pair.now).sent / 1000 + 1;
        s.lose(1101, &[next]);
        s.pair.client.suspend(s.pair.now);
        s.run(1210, |_| Fate::Deliver);
        s.resume(Resumption::FalseAlarm, Fate::Deliver);
        s.run(1900, |_| Fate::Deliver);
        let (after, ssthresh) = s.window();
        assert!(after < before && ssthresh < before, "{profile}: {before} {after} {ssthresh}");
    }
}

#[test]
fn a_window_that_the_radio_took_comes_back_with_it() {
    let mut s = layered(ten("sack"), 8000);
    s.run(3000, |_| Fate::Deliver);
    let (before, _) = s.window();
    assert!(before >= 30_000);
    let client = &mut s.pair.client;
    client.on_radio(Radio { rate: carrying(10), is_weak: true });
    s.run(3201, |_| Fate::Deliver);
    assert_eq!(s.window().0, 9000);
    s.suspend();
    assert_eq!(s.pair.client.stored_path().cwnd, before);
    s.cut(5000);
    s.pair.client.on_radio(Radio { rate: carrying(20), is_weak: false });
    s.resume(Resumption::Back, Fate::Deliver);
    assert_eq!(s.window().0, 20_000, "what the radio carries now");
    s.run(5301, |_| Fate::Deliver);
    s.pair.client.on_radio(Radio { rate: carrying(1000), is_weak: false });
    s.run(5601, |_| Fate::Deliver);
    assert!(s.window().0 >= before, "{before} {:?}", s.window());
}

#[test]
fn what_congestion_takes_afterwards_stays_taken() {
    for profile in ["newreno", "sack", "rack", "cubic", "linux"] {
        let mut s = layered(ten(profile), 20_000);
        s.run(3000, |_| Fate::Deliver);
        let (before, _) = s.window();
        s.pair.client.on_radio(Radio { rate: carrying(5), is_weak: true });
        s.run(3201, |_| Fate::Deliver);
        // Strong again, and still a little less than the window was.
        let almost = before / 1000 - 1;
        s.pair.client.on_radio(Radio { rate: carrying(almost), is_weak: false });
        s.run(4001, |_| Fate::Deliver);
        assert!(s.window().0 >= almost * 1000, "{profile}: it comes back: {before} {:?}", s.window());
        let next = s.pair.client.snapshot(s.pair.now).sent / 1000 + 3;
        s.lose(4350, &[next]);
        let (after, _) = s.window();
        assert!(after < before * 4 / 5, "{profile}: {before} {after}");
    }
}

#[test]
fn what_marks_of_congestion_take_stays_taken() {
    // RFC 3168 §6.1.2: as a loss.
    for profile in ["newreno", "rack"] {
        let mut s = layered(Config { ecn: true, ..ten(profile) }, 20_000);
        s.run(3000, |_| Fate::Deliver);
        let (before, _) = s.window();
        s.pair.client.on_radio(Radio { rate: carrying(20), is_weak: true });
        s.run(3201, |_| Fate::Deliver);
        assert_eq!(s.window().0, 18_000, "{profile}: nine tenths");
        // A mark while the radio is weak, which decides the window once the marked window is acknowledged.
        let mut marked = None;
        let mut wire = |sent: &Sent| match marked {
            _ if sent.from == Side::Server || sent.segment.payload.is_empty() => Fate::Deliver,
            Some(at) if sent.at == at => Fate::Late(MS(30)),
            Some(_) => Fate::Deliver,
            None => {
                marked = Some(sent.at);
                Fate::Mark
            }
        };
        let heard = (3202..3600).find(|&ms| s.run(ms, &mut wire).window().1 > 1000).expect("the echo");
        s.run(heard + 20, &mut wire);
        // With RACK it falls over a round trip.
        let (cwnd, ssthresh) = s.window();
        assert!(cwnd.min(ssthresh) < 14_000, "{profile}: {:?}", s.window());
        s.run(heard + 120, &mut wire);
        assert_eq!(s.window().0, 18_000, "{profile}");
        // Strong again: what was stored as the signal became weak is not restored over the mark.
        s.pair.client.on_radio(Radio { rate: carrying(before / 1000), is_weak: false });
        s.run(heard + 250, |_| Fate::Deliver);
        assert!(before >= 40_000 && s.window().0 < 30_000, "{profile}: {before} {:?}", s.window());
    }
}

#[test]
fn a_window_that_was_restored_once_is_not_restored_again() {
    // No radio reports, as where no modem can be asked.
    let mut s = layered(ten("sack"), 20_000);
    s.run(3000, |_| Fate::Deliver);
    let (before, _) = s.window();
    s.suspend();
    s.cut(4000);
    s.resume(Resumption::Back, Fate::Deliver);
    s.run(5000, |_| Fate::Deliver);
    let next = s.pair.client.snapshot(s.pair.now).sent / 1000 + 3;
    s.lose(5300, &[next]);
    let (reduced, _) = s.window();
    assert!(reduced < before);
    s.suspend();
    s.cut(6000);
    s.resume(Resumption::Back, Fate::Deliver);
    assert_eq!(s.window().0, reduced);
}

#[test]
fn another_path_has_another_least_round_trip() {
    let mut s = layered(ten("sack"), 8000);
    s.run(1000, |_| Fate::Deliver);
    s.pair.client.on_moved();
    s.pair.delay = MS(200);
    s.pair.client.on_radio(Radio { rate: carrying(20), is_weak: true });
    s.run(3000, |_| Fate::Deliver);
    // 0.9 of 20 packets a 100 ms, in 400 ms.
    assert_eq!(s.window().0, 72_000);
}

#[test]
fn a_suspension_is_no_time_in_which_a_window_grows() {
    let grown = |suspends: bool| {
        let mut s = layered(ten("cubic"), 20_000);
        s.lose(2000, &[100]);
        if suspends {
            s.suspend();
            s.cut(62_000);
            s.resume(Resumption::Back, Fate::Deliver);
        }
        let ms = if suspends { 63_000 } else { 3000 };
        s.run(ms, |_| Fate::Deliver);
        s.window().0
    };
    assert!(grown(true) <= grown(false) + 5000, "{} {}", grown(true), grown(false));
}

#[test]
fn nobody_gives_up_a_connection_that_is_suspended() {
    let config = Config {
        keepalive_idle: Some(Duration::from_secs(30)),
        keepalive_interval: Duration::from_secs(10),
        keepalive_probes: 3,
        user_timeout: Some(Duration::from_secs(60)),
        ..ten("sack")
    };
    let mut s = bulk_to(config, ten("sack"), 400);
    s.pair.client.attach_iosl(IoslRules::default());
    s.run(300, |_| Fate::Deliver);
    s.suspend();
    s.cut(600_000);
    s.resume(Resumption::Back, Fate::Deliver);
    s.run(660_000, |_| Fate::Deliver);
    assert_eq!((s.pair.client.state(), s.pair.read_by_server), (State::Established, 400_000));
}

#[test]
fn suspending_and_resuming_at_once_costs_no_time() {
    // A suspension that ends in the same instant changes nothing.
    let at = |suspends: bool| {
        let mut s = layered(ten("sack"), 400);
        s.run(300, |_| Fate::Deliver);
        if suspends {
            s.pair.client.suspend(s.pair.now);
            s.pair.client.resume(s.pair.now, Resumption::FalseAlarm);
        }
        let done = |s: &mut Script| -> Instant {
            while s.pair.read_by_server < 400_000 {
                let next = s.pair.now + MS(1);
                s.pair.run_until(next, |_| Fate::Deliver);
            }
            s.pair.now
        };
        done(&mut s)
    };
    assert!(at(true) <= at(false) + MS(100));
}

/// RFC 2861 §3.1 is about an application that does not send: a suspended connection may not.
#[test]
fn a_suspension_is_no_pause_of_the_application() {
    for (suspends, keeps) in [(true, true), (false, false)] {
        let config = Config { cwnd_validation: true, ..ten("sack") };
        let mut s = layered(config, 40);
        s.run(450, |_| Fate::Deliver);
        assert_eq!(s.pair.read_by_server, 40_000, "all is acknowledged");
        let (before, _) = s.window();
        assert!(before >= 12_000, "{before}");
        if suspends {
            s.suspend();
            s.cut(20_000);
        } else {
            s.run(20_000, |_| Fate::Deliver);
        }
        s.pair.client_writes(40_000, 40_000);
        s.resume(Resumption::Back, Fate::Deliver);
        s.run(20_020, |_| Fate::Deliver);
        assert_eq!(s.window().0 >= before, keeps, "{before} {:?}", s.window());
    }
}
