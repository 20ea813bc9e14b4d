//! The receiver's window: closed, narrow, scaled (RFC 9293 §3.8.6, RFC 7323 §2), and cwnd validation (RFC 2861).

use handfast_core::Bytes;
use handfast_tcp::{Config, Death, Event, InitialWindow, State};
use handfast_wire::Payload;
use handfast_wire::tcp::Segment;

use crate::script::{MS, Script, ack, bulk, bulk_to, ten};
use crate::support::{CLIENT_STREAM, Fate, Side, plain};

/// A receiver with a buffer of so many octets, whose application does not read.
fn narrow(client: Config, buffer: u64, segments: u32) -> Script {
    let server = Config { receive_buffer: Bytes(buffer), sack: client.sack, ..plain("sack") };
    let mut s = bulk_to(client, server, segments);
    s.pair.reading = false;
    s
}

#[test]
fn a_closed_window_is_probed_at_growing_intervals() {
    // RFC 9293 §3.8.6.1: one octet, first after an RTO (250 ms after the acknowledgement), then doubling.
    for name in ["newreno", "sack"] {
        let mut s = narrow(ten(name), 4000, 10);
        s.run(4000, |_| Fate::Deliver);
        let probes = ["350: [4000+1]", "850: [4000+1]", "1850: [4000+1]", "3850: [4000+1]"];
        assert_eq!(s.rounds(), [&["0: 0-3"][..], &probes].concat(), "{name}");
        s.pair.reading = true;
        s.pair.read_all();
        s.run(4500, |_| Fate::Deliver);
        assert_eq!(s.pair.read_by_server, 10_000, "{name}");
        assert_eq!(s.pair.client.counters().retransmitted_segments, 0, "a probe is none: {name}");
    }
}

#[test]
fn answered_probes_never_end_the_connection() {
    // RFC 9293 §3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in response to the probe
    // segments, the sending TCP peer must allow the connection to stay open". Nor are the answers duplicate ACKs.
    for name in ["newreno", "sack"] {
        let mut s = narrow(Config { data_retries: 3, rto_max: MS(2000), ..ten(name) }, 4000, 10);
        s.run(600_000, |_| Fate::Deliver);
        assert_eq!(s.pair.client.state(), State::Established, "{name}");
        let counters = s.pair.client.counters();
        assert_eq!((counters.fast_retransmits, counters.timeouts), (0, 0), "{name}");
        assert_eq!(s.window().0, 10_000, "{name}");
    }
}

#[test]
fn unanswered_probes_do() {
    let mut s = narrow(Config { data_retries: 3, ..ten("sack") }, 4000, 10);
    let start = s.start;
    s.run(60_000, move |sent| if sent.at < start + MS(200) { Fate::Deliver } else { Fate::Drop });
    assert_eq!(s.rounds().len(), 4, "three probes");
    assert_eq!(s.events(), [(3850, Event::Died(Death::Timeout))]);
}

#[test]
fn a_lost_window_update_is_found_by_the_next_probe() {
    let mut s = narrow(ten("sack"), 4000, 10);
    s.run(500, |_| Fate::Deliver);
    s.pair.reading = true;
    s.pair.read_all();
    s.run(700, |_| Fate::Drop);
    assert_eq!(s.pair.log.last().map(|l| (l.from, l.segment.window)), Some((Side::Server, 4000)));
    s.run(1000, |_| Fate::Deliver);
    // The probe at 850 is taken now, and its acknowledgement opens the window.
    assert_eq!(
        s.rounds()[1..],
        ["350: [4000+1]", "850: [4000+1]", "950: [4001+1000] [5001+1000] [6001+1000]"]
    );
}

#[test]
fn a_probe_that_ends_the_data_ends_the_probing() {
    // The receiver takes the last octet and closes its window again: there is nothing left to probe for.
    let mut s = narrow(Config { data_retries: 3, ..ten("sack") }, 4000, 4);
    s.pair.client_writes(4000, 1);
    s.run(360, |_| Fate::Deliver);
    let taken = Segment { window: 0, ..ack(4001, &[]) };
    s.pair.inject(Side::Client, &taken, |_| Fate::Drop);
    s.run(600_000, |_| Fate::Drop);
    assert_eq!((s.pair.client.state(), s.pair.client.deadline()), (State::Established, None));
}

#[test]
fn a_window_may_close_before_what_was_sent() {
    // RFC 9293 §3.8.6: a sender must survive a shrinking window, and retransmits what is beyond it only by the timer.
    let mut s = bulk(ten("newreno"), 60);
    s.in_flight();
    let shrunk = Segment { window: 2, ..ack(1000, &[]) };
    s.pair.inject(Side::Client, &shrunk, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "");
    s.run(400, |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "1");
}

#[test]
fn a_sender_waits_for_a_segment_or_half_the_buffer() {
    // RFC 9293 §3.8.6.2.1: 500 of 2500 octets of window are left: less than a segment, less than half. The override
    // timeout lets them go.
    let mut s = narrow(ten("sack"), 2500, 10);
    s.run(400, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0-1", "350: [2000+500]"]);
    // A buffer smaller than a segment: half of it suffices.
    let mut s = narrow(ten("sack"), 800, 10);
    s.run(0, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: [0+800]"]);
    let mut s = narrow(ten("sack"), 1990, 10);
    s.run(400, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0", "350: [1000+990]"], "990 octets are less than half of 1990");
    // All there is goes.
    let mut s = narrow(ten("sack"), 9000, 1);
    s.pair.client_writes(1000, 500);
    s.run(0, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0 [1000+500]"]);
}

#[test]
fn a_narrow_window_repeated_does_not_hold_the_sender_up() {
    // The override timeout runs on while the peer's own data brings the same narrow window again and again.
    let mut s = narrow(ten("sack"), 2500, 10);
    for k in 0..50 {
        s.pair.server.write(Payload::Synthetic { stream: 2, offset: k * 10, len: 10 });
        s.run(k * 20, |_| Fate::Deliver);
    }
    assert_eq!(s.rounds(), ["0: 0-1", "350: [2000+500]", "700: [2500+1]"]);
}

#[test]
fn a_receiver_opens_its_window_by_a_segment_or_half_the_buffer() {
    // RFC 9293 §3.8.6.2.2, and no update below two segments.
    let mut s = narrow(ten("sack"), 4000, 4);
    s.run(200, |_| Fate::Deliver);
    s.replies();
    for (octets, update) in [(1000, None), (900, None), (100, Some(2000)), (1500, None), (500, Some(4000))] {
        let mut left = octets;
        while left > 0 {
            left -= s.pair.server.read(left).map_or(left, |p| p.len());
        }
        let now = s.ms(s.pair.now);
        s.run(now + 1, |_| Fate::Deliver);
        assert_eq!(s.replies().last().map(|r| r.window), update, "{octets}");
    }
}

#[test]
fn half_the_buffer_read_is_worth_an_update() {
    // Where two segments are more than that.
    let mut s = narrow(ten("sack"), 3000, 3);
    s.run(200, |_| Fate::Deliver);
    s.replies();
    for (octets, update) in [(1499, None), (1, Some(1500))] {
        s.pair.server.read(octets);
        let now = s.ms(s.pair.now);
        s.run(now + 1, |_| Fate::Deliver);
        assert_eq!(s.replies().last().map(|r| r.window), update, "{octets}");
    }
}

#[test]
fn a_buffer_smaller_than_a_segment_opens_by_halves() {
    let mut s = narrow(ten("sack"), 800, 3);
    s.pair.reading = true;
    s.run(600, |_| Fate::Deliver);
    assert_eq!(s.rounds()[..3], ["0: [0+800]", "100: [800+800]", "200: [1600+800]"]);
    assert_eq!(s.pair.read_by_server, 3000);
}

#[test]
fn scaling_needs_both_sides() {
    // RFC 7323 §2.2 and §2.3; the window of a SYN is never scaled.
    let with = Config { receive_buffer: Bytes(1_000_000), ..plain("sack") };
    let without = Config { window_scaling: false, ..with.clone() };
    for (client, server, window, scaled) in
        [(&with, &with, 62_500, true), (&with, &without, 64_535, false), (&without, &with, 64_535, false)]
    {
        let mut pair = crate::support::Pair::new(client.clone(), server.clone(), MS(50));
        pair.run_for(MS(300), |_| Fate::Deliver);
        pair.client_writes(0, 2_000_000);
        pair.reading = false;
        pair.run_for(MS(5000), |_| Fate::Deliver);
        let syns: Vec<_> = pair.log.iter().filter(|l| l.segment.window_scale.is_some()).collect();
        assert!(syns.iter().all(|l| l.segment.window == 65_535));
        let offers = pair.log.iter().filter(|l| l.from == Side::Server && l.segment.mss.is_none());
        assert_eq!(offers.map(|l| l.segment.window).max(), Some(window));
        let limit = if scaled { 1_000_000 } else { 65_535 };
        assert_eq!(pair.server.readable(), limit, "all that the window takes, the last part by override");
    }
}

#[test]
fn segments_are_as_large_as_both_sides_allow() {
    // RFC 9293 §3.7.1 and RFC 6691 §2: the smaller MSS, less the options that each segment carries.
    for (ours, theirs, timestamps, smss) in
        [(1460, 1000, false, 1000), (536, 1460, false, 536), (1460, 1460, true, 1448)]
    {
        let config = |mss| Config { mss, timestamps, ..plain("sack") };
        let mut s = bulk_to(config(ours), config(theirs), 20);
        s.run(0, |_| Fate::Deliver);
        assert_eq!(s.pair.client_data()[0].1, smss);
        assert_eq!(s.pair.client.smss(), smss);
    }
}

#[test]
fn an_idle_sender_halves_its_window_each_rto() {
    // RFC 2861 §3.1: 28 segments in three round trips bring cwnd to 22; the RTO is 200 ms; the last segment left at 200.
    let config = Config { cwnd_validation: true, ..plain("sack") };
    for (pause, halved) in
        [(190, "28-49"), (250, "28-38"), (450, "28-32"), (1000, "28-31"), (10_000, "28-31")]
    {
        let mut s = bulk(config.clone(), 28);
        s.run(200 + pause, |_| Fate::Deliver);
        assert_eq!(s.window().0, 22_000);
        s.pair.client_writes(28_000, 40_000);
        s.newly_sent();
        s.run(200 + pause, |_| Fate::Deliver);
        assert_eq!(s.newly_sent(), halved, "{pause}");
        // ssthresh remembers three quarters of it; it was never set before.
        assert_eq!(s.window().1, u64::MAX);
    }
    // Switched off, it does nothing: 32 after three round trips of slow start.
    let mut s = bulk(plain("sack"), 28);
    s.run(10_000, |_| Fate::Deliver);
    s.pair.client_writes(28_000, 40_000);
    s.newly_sent();
    s.run(10_000, |_| Fate::Deliver);
    assert_eq!(s.newly_sent(), "28-59");
}

#[test]
fn an_application_that_uses_little_keeps_little() {
    // RFC 2861 §3.2: a segment every 50 ms and ten allowed: half of the unused part goes each RTO. Not at the first write.
    let config = Config { cwnd_validation: true, initial_window: InitialWindow::Ten, ..plain("sack") };
    let mut s = bulk(config, 1);
    s.run(0, |_| Fate::Deliver);
    assert_eq!(s.window().0, 10_000, "T_prev is when the connection began");
    for k in 1..60 {
        s.pair.client.write(Payload::Synthetic { stream: CLIENT_STREAM, offset: k * 1000, len: 1000 });
        s.run(k * 50, |_| Fate::Deliver);
    }
    assert!(s.window().0 <= 4000, "{:?}", s.window());
    assert_eq!(s.pair.client.counters().retransmitted_segments, 0);
}
