//! Which segments are taken: PAWS and TS.Recent (RFC 7323 §4.3, §5), blind attacks (RFC 5961), sequence numbers that wrap.

use handfast_core::Duration;
use handfast_tcp::{Config, Death, Event, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::script::{MS, Script, ack, bulk, bulk_to, data, said, ten};
use crate::support::{CLIENT_STREAM, Fate, Pair, SERVER_ISS, Side, plain};

fn server(timestamps: bool) -> Script {
    let config = Config { timestamps, delayed_ack: MS(40), ..plain("sack") };
    let mut s = bulk_to(config.clone(), config, 0);
    s.run(1000, |_| Fate::Deliver);
    s.replies();
    s
}

/// The client's timestamp clock at the server: what it last echoed.
fn now(s: &mut Script) -> u32 {
    let stale = Segment { timestamps: Some(Timestamps { val: 0, ecr: 0 }), ..data(0, 1) };
    let old = s.give(&Segment { seq: stale.seq + u32::MAX, ..stale }).pop();
    old.and_then(|r| r.timestamps).map_or(0, |ts| ts.ecr)
}

fn stamped(offset: u64, len: u32, val: u32) -> Segment {
    Segment { timestamps: Some(Timestamps { val, ecr: 0 }), ..data(offset, len) }
}

fn echo(replies: &[Segment]) -> Vec<u32> {
    replies.iter().map(|r| r.timestamps.map_or(0, |ts| ts.ecr)).collect()
}

#[test]
fn an_older_timestamp_is_refused_with_an_acknowledgement() {
    // RFC 7323 §5.3 R1.
    let mut s = server(true);
    let t = now(&mut s);
    assert_eq!(s.give(&stamped(0, 100, t + 10)), []);
    let replies = s.give(&stamped(100, 100, t + 9));
    assert_eq!((said(&replies[0]).0, echo(&replies)), (100, vec![t + 10]));
    assert_eq!(s.pair.server.readable() + s.pair.read_by_server, 100);
    // An equal one is good.
    s.give(&stamped(100, 100, t + 10));
    assert_eq!(s.pair.read_by_server, 200);
}

#[test]
fn a_segment_without_the_option_is_dropped_in_silence() {
    // RFC 7323 §3.2.
    let mut s = server(true);
    assert_eq!(s.give(&data(0, 100)), []);
    assert_eq!(s.pair.read_by_server, 0);
}

#[test]
fn a_reset_needs_no_timestamp() {
    // RFC 7323 §5.2: RST segments are not subject to PAWS.
    for timestamps in [None, Some(Timestamps { val: 0, ecr: 0 })] {
        let mut s = server(true);
        let rst = Segment { flags: Flags::RST, timestamps, payload: Payload::EMPTY, ..data(0, 0) };
        s.give(&rst);
        assert_eq!(s.pair.server.state(), State::Closed);
    }
}

#[test]
fn the_echo_is_of_the_earliest_segment_not_acknowledged() {
    // RFC 7323 §4.3: SEG.SEQ <= Last.ACK.sent. Two segments under one delayed ACK: the first one's timestamp.
    let mut s = server(true);
    let t = now(&mut s);
    assert_eq!(s.give(&stamped(0, 100, t + 10)), []);
    assert_eq!(echo(&s.give(&stamped(100, 100, t + 20))), [t + 10]);
    // Beyond a hole: not the segment that caused the ACK. One that fills the hole: that one.
    assert_eq!(echo(&s.give(&stamped(300, 100, t + 30))), [t + 10]);
    assert_eq!(echo(&s.give(&stamped(200, 100, t + 40))), [t + 40]);
}

#[test]
fn after_24_days_an_old_timestamp_is_taken() {
    // RFC 7323 §5.5: TS.Recent has lost its meaning, and is replaced.
    for (days, taken) in [(23, false), (25, true)] {
        let mut s = server(true);
        let t = now(&mut s);
        s.give(&stamped(0, 100, t + 10));
        s.run(days * 24 * 3600 * 1000, |_| Fate::Drop);
        s.give(&stamped(100, 100, t - 10));
        let replies = s.give(&stamped(200, 100, t - 9));
        assert_eq!(s.pair.read_by_server, if taken { 300 } else { 100 }, "{days}");
        assert_eq!(echo(&replies), [if taken { t - 10 } else { t + 10 }], "{days}");
    }
}

#[test]
fn only_the_exact_reset_counts() {
    // RFC 5961 §3.2: RCV.NXT resets; elsewhere in the window a challenge ACK; outside nothing.
    for (offset, replies, state) in [
        (0u32, 0, State::Closed),
        (1, 1, State::Established),
        (60_000, 1, State::Established),
        (7_000_000, 0, State::Established),
        (u32::MAX, 0, State::Established),
    ] {
        let mut s = server(false);
        let rst = Segment { flags: Flags::RST, payload: Payload::EMPTY, ..data(0, 0) };
        let answers = s.give(&Segment { seq: rst.seq + offset, ..rst });
        assert_eq!((answers.len(), s.pair.server.state()), (replies, state), "{offset}");
        if state == State::Closed {
            let last = s.pair.events.last().map(|e| e.2);
            assert_eq!(last, Some(Event::Died(Death::Reset)));
        }
    }
}

#[test]
fn a_syn_is_challenged_wherever_it_lies() {
    // RFC 5961 §4.2.
    for offset in [0u32, 10_000, u32::MAX, 1 << 30] {
        let mut s = server(false);
        let syn = Segment { flags: Flags::SYN, payload: Payload::EMPTY, ..data(0, 0) };
        let answers = s.give(&Segment { seq: syn.seq + offset, ..syn });
        assert_eq!(
            answers.iter().map(|a| (said(a), a.flags)).collect::<Vec<_>>(),
            [((0, vec![]), Flags::ACK)]
        );
        assert_eq!(s.pair.server.state(), State::Established);
    }
}

#[test]
fn an_acknowledgement_out_of_range_takes_the_data_with_it() {
    // RFC 9293 §3.10.7.4: of something not yet sent. RFC 5961 §5.2: older than the largest window.
    for (beyond, taken) in [(1u32, 0), (0u32.wrapping_sub(7_000_000), 0), (0, 100)] {
        let mut s = server(false);
        let forged = Segment { ack: SERVER_ISS + 1 + beyond, ..data(0, 100) };
        let answers = s.give(&forged).len();
        assert_eq!((answers, s.pair.read_by_server), (usize::from(taken == 0), taken), "{beyond}");
    }
}

#[test]
fn an_acknowledgement_is_too_old_by_the_largest_window() {
    // RFC 5961 §5.2: SND.UNA - MAX.SND.WND <= SEG.ACK.
    for (behind, taken) in [(60_000u32, 100), (60_001, 0)] {
        let small = Config { receive_buffer: handfast_core::Bytes(60_000), ..plain("sack") };
        let mut s = bulk_to(plain("sack"), small, 1000);
        s.run(10_000, |_| Fate::Deliver);
        assert_eq!(s.pair.read_by_server, 1_000_000);
        let payload = Payload::Synthetic { stream: 2, offset: 0, len: 100 };
        let ack = ack(1_000_000, &[]);
        let old = Segment { ack: ack.ack + 0u32.wrapping_sub(behind), window: 60_000, payload, ..ack };
        s.pair.inject(Side::Client, &old, |_| Fate::Drop);
        assert_eq!(s.pair.read_by_client, taken, "{behind}");
    }
}

#[test]
fn only_echoes_of_what_was_sent_are_samples() {
    // RFC 7323 §4.1: ten segments in flight, and an echo from this very tick counts half a tick. Appendix G: with
    // ceiling (10 / 2) samples expected a round trip, SRTT = 100 - (100 - 0.5) / (8 * 5).
    let mut s = bulk(crate::script::stamped(&ten("newreno")), 60);
    s.run(0, |_| Fate::Drop);
    let sent = s.pair.log.iter().filter_map(|l| l.segment.timestamps).next_back().map_or(0, |ts| ts.val);
    let echoing = |acked: u64, ecr: u32| Segment {
        timestamps: Some(Timestamps { val: 1_000_000, ecr }),
        ..ack(acked, &[])
    };
    s.pair.inject(Side::Client, &echoing(1000, sent.wrapping_add(1)), |_| Fate::Drop);
    assert_eq!((s.snapshot().srtt, s.window().0), (MS(100), 10_000), "an echo from the future");
    assert_eq!(s.pair.client.send_positions().0, 1001);
    s.pair.inject(Side::Client, &echoing(2000, sent), |_| Fate::Drop);
    assert_eq!(s.snapshot().srtt, Duration::from_nanos(97_512_500));
}

#[test]
fn a_segment_holds_one_kind_of_payload() {
    // Real and synthetic data do not mix in a segment; nothing is lost where they meet, nor when it is sent again.
    let mut s = bulk_to(plain("sack"), plain("sack"), 0);
    s.pair.client.write(Payload::Bytes(bytes::Bytes::from_static(&[7; 10])));
    s.pair.client.write(Payload::Synthetic { stream: CLIENT_STREAM, offset: 10, len: 2000 });
    let mut n = 0;
    s.run(5000, |sent| {
        n += u32::from(!sent.segment.payload.is_empty());
        if n == 1 || n == 2 { Fate::Drop } else { Fate::Deliver }
    });
    let lens: Vec<usize> =
        s.pair.log.iter().map(|l| l.segment.payload.len()).filter(|&len| len > 0).collect();
    assert_eq!(lens, [10, 1000, 1000, 10, 1000]);
    assert_eq!(s.pair.read_by_server, 2010);
}

#[test]
fn a_segment_without_ack_is_dropped() {
    // RFC 9293 §3.10.7.4, fifth.
    let mut s = server(false);
    assert_eq!(s.give(&Segment { flags: Flags::NONE, ..data(0, 100) }), []);
    assert_eq!(s.pair.read_by_server, 0);
}

#[test]
fn what_lies_beyond_the_window_is_cut_off() {
    // RFC 9293 §3.10.7.4, first: the part inside is taken.
    let config = Config { receive_buffer: handfast_core::Bytes(2000), ..plain("sack") };
    let mut s = bulk_to(plain("sack"), config, 0);
    s.pair.reading = false;
    s.give(&data(0, 1500));
    let answers = s.give(&data(1000, 1500));
    assert_eq!(said(&answers[0]), (2000, vec![(1000, 1500)]));
    // Entirely beyond: an acknowledgement and nothing else (MUST-25 of §3.10.7.4).
    let answers = s.give(&data(2000, 10));
    assert_eq!((said(&answers[0]), answers[0].window), ((2000, vec![]), 0));
    assert_eq!(s.pair.server.readable(), 2000);
}

#[test]
fn an_older_segment_does_not_bring_an_older_window() {
    // RFC 9293 §3.10.7.4: SND.WL1 and SND.WL2.
    let mut s = bulk_to(
        Config { initial_window: handfast_tcp::InitialWindow::Ten, ..plain("newreno") },
        plain("newreno"),
        60,
    );
    s.in_flight();
    let octets = |offset: u32, window: u16| Segment {
        seq: SERVER_ISS + 1 + offset,
        window,
        payload: Payload::Synthetic { stream: 2, offset: u64::from(offset), len: 100 },
        ..ack(9000, &[])
    };
    // 20 * 128 = 2560 octets from the newer segment; the older one, which comes second, says 46875 * 128.
    s.pair.inject(Side::Client, &octets(100, 20), |_| Fate::Drop);
    assert_eq!(s.newly_sent(), "10", "9000 + 2560 octets");
    s.pair.inject(Side::Client, &octets(0, 46_875), |_| Fate::Drop);
    assert_eq!((s.pair.read_by_client, s.newly_sent()), (200, String::new()));
}

#[test]
fn sequence_numbers_wrap_and_nobody_notices() {
    // 5 GB in segments of 60000 octets, past both wraps of the client's numbers.
    let config = Config { mss: 60_000, ..plain("sack") };
    let mut pair = Pair::connected(config.clone(), config);
    let total = 5_000_000_000;
    pair.client_writes(0, 4_000_000_000);
    pair.client_writes(4_000_000_000, 1_000_000_000);
    let mut sent = 0;
    while pair.read_by_server < total && sent < 2000 {
        let mut n = 0;
        // A loss now and then, also where the numbers wrap.
        pair.run_for(MS(100), |s| {
            n += u32::from(s.from == Side::Client);
            if sent % 50 == 0 && n == 5 { Fate::Drop } else { Fate::Deliver }
        });
        pair.log.clear();
        sent += 1;
    }
    assert_eq!(pair.read_by_server, total);
    assert_eq!(pair.client.counters().timeouts, 0);
    assert!(pair.now.since(handfast_core::Instant::ZERO) < Duration::from_secs(200));
}
