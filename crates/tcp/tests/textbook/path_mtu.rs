//! The largest packet that the path carries: ICMP's word (RFC 1191), probes (RFC 4821) and black holes.

use std::sync::Arc;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, MtuProbing, Received, Recovery, State, Undo, profile};
use handfast_wire::tcp::{Flags, Segment};

use crate::script::{Script, bulk, stamped, ten};
use crate::support::Fate;

/// Ten segments of 1000 octets are in flight, and all are lost.
fn ten_lost(config: Config) -> Script {
    let mut s = bulk(config, 10);
    s.run(0, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "0-9");
    s
}

fn sent_now(s: &mut Script) -> String {
    let now = s.pair.now.since(s.start).as_millis();
    s.run(now, |_| Fate::Drop);
    s.newly_sent()
}

#[test]
fn what_does_not_fit_goes_again_in_smaller_segments_and_the_window_stays_as_many_segments() {
    for name in ["newreno", "sack", "rack", "linux"] {
        let mut s = ten_lost(ten(name));
        let (cwnd, ssthresh) = s.window();
        s.pair.client.set_path_mss(600, true);
        assert_eq!(s.pair.client.smss(), 600, "{name}");
        let sent = sent_now(&mut s);
        assert!(sent.starts_with("[0+600] [600+600] [1200+600]"), "{name}: {sent}");
        let now = s.window();
        assert_eq!(now.0, cwnd / 1000 * 600, "{name}: as many segments");
        assert!(now.1 >= ssthresh / 1000 * 600, "{name}: no congestion");
        assert!(s.timeouts().is_empty());
    }
}

#[test]
fn what_is_told_without_resending_counts_for_what_leaves_next() {
    let mut s = ten_lost(ten("rack"));
    s.pair.client.set_path_mss(600, false);
    assert_eq!(sent_now(&mut s), "");
    s.pair.client_writes(10_000, 1200);
    s.answer(10_000, &[]);
    assert_eq!(s.newly_sent(), "[10000+600] [10600+600]");
}

#[test]
fn what_was_known_before_the_handshake_holds_for_it_and_for_the_next() {
    let now = Instant::from_millis(1000);
    let mut server = Endpoint::listen(Arc::new(ten("rack")), 80, SeqNum(100));
    server.set_path_mss(600, false);
    let syn = Segment { flags: Flags::SYN, mss: Some(1000), window: 9000, ..Segment::EMPTY };
    let reset = Segment { flags: Flags::RST, seq: SeqNum(1), ..Segment::EMPTY };
    for _ in 0..2 {
        server.on_segment(now, &Received::plain(&syn));
        assert_eq!(server.smss(), 600);
        // Of the path to this peer: the next has nothing of it.
        server.set_path_mss(300, false);
        server.on_segment(now, &Received::plain(&reset));
        assert_eq!(server.state(), State::Listen);
    }
}

#[test]
fn options_take_from_what_the_path_carries() {
    let mut s = ten_lost(stamped(&ten("rack")));
    s.pair.client.set_path_mss(600, true);
    assert_eq!(s.pair.client.smss(), 588);
}

#[test]
fn it_lasts_until_all_that_was_outstanding_is_acknowledged_and_is_no_reason_to_reduce() {
    let mut s = ten_lost(Config { recovery: Recovery::Rack, undo: Undo::Linux, ..ten("rack") });
    s.pair.client.set_path_mss(500, true);
    sent_now(&mut s);
    assert!(s.pair.client.report().timed_out, "TCP_CA_Loss");
    s.run(50, |_| Fate::Drop);
    s.answer(10_000, &[]);
    assert!(!s.pair.client.report().timed_out);
    assert!(s.window().0 >= 5000, "{:?}", s.window());
}

fn probing() -> MtuProbing {
    MtuProbing { always: true, base: 500, ..MtuProbing::default() }
}

#[test]
fn a_probe_that_arrives_makes_segments_larger() {
    let mut s = bulk(Config { initial_ssthresh: None, ..ten("linux") }, 1000);
    let now = s.pair.now;
    s.pair.client.set_mtu_probing(now, probing());
    assert_eq!(s.pair.client.smss(), 500);
    s.run(3000, |_| Fate::Deliver);
    assert!(s.pair.client.smss() > 990, "{}", s.pair.client.smss());
    assert!(s.timeouts().is_empty());
    assert_eq!(s.pair.client.counters().retransmitted_segments, 0);
}

#[test]
fn a_probe_that_is_lost_costs_no_window() {
    let mut s = bulk(Config { initial_ssthresh: None, ..ten("linux") }, 200);
    let now = s.pair.now;
    s.pair.client.set_mtu_probing(now, probing());
    s.run(5000, |sent| if sent.segment.payload.len() > 600 { Fate::Drop } else { Fate::Deliver });
    assert!((592..=600).contains(&s.pair.client.smss()), "{}", s.pair.client.smss());
    assert_eq!(s.snapshot().acknowledged, 200_000);
    let sent_again = s.pair.client.counters().retransmitted_segments;
    assert!(sent_again <= 2 * 7, "{sent_again}: two segments in the place of each probe, and nothing else");
    assert_eq!(
        (s.snapshot().ssthresh, s.timeouts().len()),
        (u64::MAX, 0),
        "nothing was taken for congestion"
    );
}

#[test]
fn a_black_hole_makes_segments_smaller_until_they_get_through() {
    let config = profile("linux").map(|linux| Config { mss: 1000, ..linux.config() }).unwrap_or_default();
    let mut s = bulk(Config { timestamps: false, ..config }, 10);
    let now = s.pair.now;
    let patience = Duration::from_secs(3);
    s.pair.client.set_mtu_probing(now, MtuProbing { base: 800, patience, ..MtuProbing::default() });
    assert_eq!(s.pair.client.smss(), 1000);
    s.run(60_000, |sent| if sent.segment.payload.len() > 500 { Fate::Drop } else { Fate::Deliver });
    assert_eq!(s.pair.client.smss(), 400);
    assert_eq!(s.snapshot().acknowledged, 10_000);
}
