//! The retransmission timer: RFC 6298, and what RFC 5681 §3.1 does at its expiry. The handshake gave a sample of 100 ms: the first
//! RTO is 100 + 4 * 50 = 300 ms, after another sample of 100 ms 100 + 4 * 37.5 = 250 ms.

use handfast_core::{Bytes, Duration};
use handfast_tcp::{Config, Death, Event, InitialWindow, State};
use handfast_wire::tcp::Flags;

use crate::script::{MS, bulk, outage, stamped, ten};
use crate::support::{Fate, Pair, Side, data_of, plain};

fn one(config: &Config) -> Config {
    Config { initial_window: InitialWindow::One, ..config.clone() }
}

#[test]
fn the_timeout_doubles_up_to_its_bound() {
    // RFC 6298 §5.5; §2.5: with a maximum.
    let mut s = bulk(ten("newreno"), 1);
    s.run(9500, |_| Fate::Drop);
    assert_eq!(s.timeouts(), [300, 900, 2100, 4500, 9300]);
    let mut s = bulk(Config { rto_max: Duration::from_secs(1), ..ten("newreno") }, 1);
    s.run(4000, |_| Fate::Drop);
    assert_eq!(s.timeouts(), [300, 900, 1900, 2900, 3900]);
}

#[test]
fn a_dead_peer_is_given_up() {
    // R2 of RFC 9293 §3.8.3.
    let mut s = bulk(Config { data_retries: 3, ..ten("newreno") }, 1);
    s.run(60_000, |_| Fate::Drop);
    assert_eq!(s.rounds(), ["0: 0", "300: 0", "900: 0", "2100: 0"]);
    assert_eq!(s.events().last(), Some(&(4500, Event::Died(Death::Timeout))));
}

#[test]
fn new_acknowledgements_restart_the_timer_and_the_last_stops_it() {
    // RFC 6298 §5.3: 250 ms after the acknowledgement at 100.
    let mut s = bulk(ten("newreno"), 2);
    s.lose(380, &[1]);
    assert_eq!(s.rounds(), ["0: 0-1", "350: 1"]);
    // §5.2.
    s.run(460, |_| Fate::Deliver);
    assert_eq!(s.pair.client.deadline(), None);
}

#[test]
fn a_retransmitted_segment_gives_no_sample() {
    // Karn's algorithm (RFC 6298 §3): the backed-off RTO of 600 ms stays in force for 1.
    let mut s = bulk(one(&ten("newreno")), 3);
    s.lose(1090, &[0, 1, 2]);
    assert_eq!(s.rounds(), ["0: 0", "300: 0", "400: 1-2", "1000: 1"]);
    // A timestamp tells which transmission was answered (RFC 7323 §4.1): RTO 250 ms at once.
    let mut s = bulk(stamped(&one(&ten("newreno"))), 3);
    s.lose(700, &[0, 1, 2]);
    assert_eq!(s.rounds(), ["0: 0", "300: 0", "400: 1-2", "650: 1"]);
}

#[test]
fn a_sample_of_fresh_data_ends_the_backoff() {
    // RFC 6298 §5: 1, sent once, is acknowledged at 500; the RTO is 250 ms again when 3 is lost.
    let mut s = bulk(one(&ten("newreno")), 4);
    s.lose(800, &[0, 3]);
    assert_eq!(s.rounds(), ["0: 0", "300: 0", "400: 1-2", "500: 3", "750: 3"]);
}

#[test]
fn ssthresh_falls_at_the_first_timeout_of_a_segment_only() {
    // RFC 5681 §3.1: half of ten; then "the value of ssthresh is held constant".
    let mut s = bulk(ten("newreno"), 60);
    for (ms, expired) in [(310, 1), (910, 2), (2110, 3)] {
        s.run(ms, |_| Fate::Drop);
        assert_eq!((s.timeouts().len(), s.window()), (expired, (1000, 5000)));
    }
}

#[test]
fn after_a_timeout_slow_start_repeats_everything() {
    // RFC 5681 §3.1: one segment, slow start up to ssthresh = 5, then congestion avoidance.
    for name in ["tahoe", "reno", "newreno", "sack"] {
        let mut s = bulk(ten(name), 60);
        s.run(750, outage(s.start, 0, 200));
        assert_eq!(
            s.rounds(),
            ["0: 0-9", "300: 0", "400: 1-2", "500: 3-6", "600: 7-11", "700: 12-17"],
            "{name}"
        );
    }
}

#[test]
fn a_timeout_repeats_one_segment() {
    // The first unacknowledged segment and nothing else (RFC 6298 §5.4), although cwnd would take ten.
    let mut s = bulk(ten("newreno"), 10);
    s.run(310, |_| Fate::Drop);
    assert_eq!(s.rounds(), ["0: 0-9", "300: 0"]);
}

#[test]
fn after_a_lost_syn_data_begins_with_three_seconds() {
    // RFC 6298 §5.7, although the handshake's own RTO was 1 s.
    let mut pair = Pair::new(plain("newreno"), plain("newreno"), MS(50));
    let mut syns = 0;
    pair.run_for(MS(1300), |s| {
        syns += u32::from(s.segment.flags == Flags::SYN);
        if syns == 1 { Fate::Drop } else { Fate::Deliver }
    });
    pair.client_writes(0, 1000);
    pair.run_for(MS(5000), |s| if s.from == Side::Client { Fate::Drop } else { Fate::Deliver });
    let times: Vec<_> = pair.log.iter().filter(|s| data_of(&s.segment).is_some()).map(|s| s.at).collect();
    assert_eq!(times[1].since(times[0]), Duration::from_secs(3));
}

#[test]
fn a_repeated_syn_ack_gives_no_sample() {
    // The client's ACK is lost, so that the server cannot tell which SYN-ACK the next segment answers.
    let mut pair = Pair::new(plain("newreno"), plain("newreno"), MS(50));
    let mut acks = 0;
    pair.run_for(MS(3000), |s| {
        let ack = s.from == Side::Client && s.segment.flags == Flags::ACK;
        acks += u32::from(ack);
        if ack && acks == 1 { Fate::Drop } else { Fate::Deliver }
    });
    assert_eq!(pair.server.counters().timeouts, 1);
    assert_eq!(pair.server.snapshot(pair.now).srtt, Duration::ZERO);
}

#[test]
fn the_fin_is_retransmitted_like_data() {
    let mut s = bulk(ten("newreno"), 1);
    s.pair.client.close(s.pair.now);
    let mut fins = 0;
    let run = |sent: &crate::support::Sent| {
        let fin = sent.segment.flags.contains(Flags::FIN);
        fins += u32::from(fin);
        if fin && fins <= 2 { Fate::Drop } else { Fate::Deliver }
    };
    s.run(1100, run);
    // With the data it closes, each time (RFC 9293 §3.10.4): one segment, not two.
    assert_eq!(
        (s.timeouts(), s.rounds()),
        (vec![300, 900], vec!["0: 0".into(), "300: 0".into(), "900: 0".into()])
    );
    assert_eq!((s.pair.read_by_server, s.pair.server.state()), (1000, State::CloseWait));
}

/// A NewReno sender repairs a hole a round trip; each duplicate meanwhile lets a new segment out, so `FlightSize` becomes many
/// windows. A timeout then must not take half of that for a window that the path has carried.
#[test]
fn a_timeout_during_fast_recovery_never_raises_ssthresh() {
    let config = Config { initial_ssthresh: Some(Bytes(20_000)), ..plain("newreno") };
    let mut pair = Pair::connected(config, plain("newreno"));
    pair.client_writes(0, 10_000_000);
    // Eight holes in one window, and the eighth's repair is lost as well.
    let holes: Vec<u64> = (0..8).map(|k| 60_000 + 2_000 * k).collect();
    let last = holes[7];
    let mut seen = std::collections::BTreeMap::new();
    let mut before = None;
    for _ in 0..400 {
        pair.run_for(Duration::from_millis(10), |s| {
            let Some((offset, _)) = data_of(&s.segment).filter(|_| s.from == Side::Client) else {
                return Fate::Deliver;
            };
            let times = seen.entry(offset).or_insert(0);
            *times += 1;
            let lost = *times == 1 && holes.contains(&offset) || *times <= 2 && offset == last;
            if lost { Fate::Drop } else { Fate::Deliver }
        });
        let now = pair.client.snapshot(pair.now);
        if pair.client.counters().timeouts == 0 {
            before = Some(now);
        } else {
            let before = before.expect("the timeout is not the first thing that happens");
            assert!(before.flight_size > 2 * before.ssthresh, "{before:?}");
            assert_eq!(now.ssthresh, before.ssthresh);
            return;
        }
    }
    panic!("the timer never expired");
}
