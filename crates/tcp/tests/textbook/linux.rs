//! The profile `linux` against what its kernel did (docs/reference/linux-profile.md): when SYNs leave, how round trips are timed.

use handfast_core::Duration;
use handfast_tcp::{Config, Death, Event, RttEstimation, profile};

use crate::script::{MS, Script, bulk, ten};
use crate::support::{Fate, Pair, Side, plain};

fn linux() -> Config {
    profile("linux").expect("the profile exists").config()
}

#[test]
fn syns_leave_when_the_kernels_do() {
    // Measured: 0, 1015, 2039, 3063, 4087, 5111, 7127, 11,223, 19,419 ms. The wheel rounds 4 s and more to 256 ms, by where the clock
    // stands.
    let mut pair = Pair::new(linux(), plain("sack"), MS(50));
    let start = pair.now;
    pair.run_for(MS(300_000), |_| Fate::Drop);
    let sent: Vec<u64> = pair.log.iter().map(|l| l.at.since(start).as_millis()).collect();
    assert_eq!(sent[..7], [0, 1016, 2040, 3064, 4088, 5112, 7128]);
    assert!((11_000..11_400).contains(&sent[7]) && (19_200..19_700).contains(&sent[8]), "{sent:?}");
    // tcp_syn_retries and tcp_syn_linear_timeouts: ten retransmissions.
    assert_eq!(sent.len(), 11);
    assert_eq!(pair.events.last().map(|e| e.2), Some(Event::Died(Death::HandshakeTimeout)));
}

#[test]
fn a_passive_opens_retransmissions_double_from_the_first() {
    let mut pair = Pair::new(plain("sack"), linux(), MS(50));
    let start = pair.now;
    let first = |sent: &crate::support::Sent| sent.from == Side::Client && sent.at == start;
    pair.run_for(MS(10_000), |sent| if first(sent) { Fate::Deliver } else { Fate::Drop });
    let answers = pair.log.iter().filter(|l| l.from == Side::Server);
    let sent: Vec<u64> = answers.map(|l| l.at.since(start).as_millis()).collect();
    // 1, 2 and 4 s apart, and what the wheel adds.
    let apart: Vec<u64> = sent.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(apart.len() == 3 && apart[0] < 1040 && (2000..2040).contains(&apart[1]), "{apart:?}");
    assert!((4000..4260).contains(&apart[2]), "{apart:?}");
}

#[test]
fn round_trips_are_timed_finer_than_the_timestamp_clock() {
    // tcp_clean_rtx_queue: 100.6 ms; by timestamps it would be 100 or 101.
    let server = Config { delayed_ack: Duration::ZERO, ..plain("sack") };
    for (config, finer) in [(linux(), true), (Config { timestamps: true, ..plain("rack") }, false)] {
        let stamped = Config { timestamps: true, ..server.clone() };
        let mut pair = Pair::new(config, stamped, Duration::from_micros(50_300));
        pair.client_writes(0, 3_000_000);
        pair.run_for(MS(3000), |_| Fate::Deliver);
        let srtt = pair.client.snapshot(pair.now).srtt;
        let error = srtt.abs_diff(Duration::from_micros(100_600));
        assert_eq!(error < Duration::from_micros(20), finer, "{srtt}");
    }
}

#[test]
fn a_retransmitted_segment_falls_back_to_timestamps() {
    // Karn's rule for the log: the answer to a repetition is timed by what it echoes, 100 ms, not by the first transmission.
    let stamped = Config { timestamps: true, delayed_ack: Duration::ZERO, ..plain("sack") };
    let mut pair = Pair::new(linux(), stamped, MS(50));
    pair.run_for(MS(200), |_| Fate::Deliver);
    pair.client_writes(0, 500);
    let mut first = true;
    pair.run_for(MS(3000), |sent| {
        let lost =
            sent.from == Side::Client && !sent.segment.payload.is_empty() && std::mem::take(&mut first);
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    let srtt = pair.client.snapshot(pair.now).srtt;
    assert!(srtt.abs_diff(MS(100)) < MS(2), "{srtt}");
}

#[test]
fn segments_that_are_sacked_are_timed() {
    // tcp_ack_update_rtt: "if (seq_rtt_us < 0) seq_rtt_us = sack_rtt_us". The handshake took 100 ms.
    for (rtt_estimation, times) in [(RttEstimation::Linux, true), (RttEstimation::Rfc6298, false)] {
        let srtt = |s: &Script| s.snapshot().srtt;
        let mut s = bulk(Config { rtt_estimation, loss_probes: false, ..ten("rack") }, 20);
        s.run(180, |_| Fate::Drop);
        assert_eq!(srtt(&s), MS(100));
        // 5 and 6 left 180 ms ago.
        s.answer(0, &[(5000, 7000)]);
        assert_eq!(srtt(&s), if times { MS(110) } else { MS(100) });
        // 0 goes again after the timeout; what says that it arrived does not say which of the two (Karn).
        let expired = (200..900).find(|&ms| !s.run(ms, |_| Fate::Drop).timeouts().is_empty());
        let before = srtt(&s);
        s.run(expired.expect("a timeout") + 10, |_| Fate::Drop);
        s.answer(1000, &[(5000, 7000)]);
        assert_eq!(srtt(&s), before);
        // A sample ends the backoff (RFC 6298 §5), this one too.
        let rto = s.snapshot().rto;
        s.answer(1000, &[(8000, 9000), (5000, 7000)]);
        assert_eq!(srtt(&s) != before, times, "{rto}");
    }
}

#[test]
fn rto_max_is_linux_with_a_bound() {
    let capped = profile("rto-max").expect("the profile exists").config();
    assert_eq!(capped, Config { rto_max: MS(1000), ..linux() });
    let mut pair = Pair::new(capped, plain("sack"), MS(50));
    pair.run_for(MS(200), |_| Fate::Deliver);
    pair.client_writes(0, 100_000);
    pair.log.clear();
    pair.run_for(MS(10_000), |_| Fate::Drop);
    let sent: Vec<u64> =
        pair.log.iter().filter(|l| l.from == Side::Client).map(|l| l.at.as_nanos() / 1_000_000).collect();
    let longest = sent.windows(2).map(|w| w[1] - w[0]).max();
    assert!(longest.is_some_and(|ms| (1000..=1036).contains(&ms)), "{longest:?}");
}
