//! Timestamps (RFC 7323): which segments carry them, TS.Recent, PAWS, and what they take from a segment's room.

use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::script::MS;
use crate::support::plain;

const NOW: Instant = Instant::from_millis(1000);
const PEER: u32 = 7_000_000;

fn stamped() -> Config {
    Config { timestamps: true, mss: 1012, ..plain("sack") }
}

fn next(end: &mut Endpoint) -> Option<Segment> {
    end.poll_transmit(NOW, Bytes(u64::MAX)).map(|transmit| transmit.segment)
}

/// A segment of the peer's, whose SYN had number 0: `seq` and `len` octets of payload, `TSval` that much above its SYN's.
fn from_peer(flags: Flags, seq: u32, len: u32, tsval: i64) -> Segment {
    Segment {
        src_port: 4000,
        dst_port: 80,
        seq: SeqNum(seq),
        ack: if flags.contains(Flags::ACK) { SeqNum(101) } else { SeqNum(0) },
        flags,
        window: 60_000,
        timestamps: Some(Timestamps { val: PEER.wrapping_add_signed(tsval as i32), ecr: 0 }),
        payload: Payload::Synthetic { stream: 1, offset: u64::from(seq.saturating_sub(1)), len },
        ..Segment::EMPTY
    }
}

/// An established server.
fn server(config: Config) -> Endpoint {
    let mut server = Endpoint::listen(Arc::new(config), 80, SeqNum(100));
    server.on_segment(
        NOW,
        &Received::plain(&Segment {
            mss: Some(1012),
            sack_permitted: true,
            ..from_peer(Flags::SYN, 0, 0, 0)
        }),
    );
    next(&mut server).expect("a SYN-ACK");
    server.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 0, 1)));
    assert_eq!(server.state(), State::Established);
    server
}

/// What the acknowledgement of a segment echoes, above the SYN's timestamp.
fn echo(server: &mut Endpoint, segment: &Segment) -> Option<i64> {
    server.on_segment(NOW, &Received::plain(segment));
    let answer = next(server)?;
    answer.timestamps.map(|ts| i64::from(ts.ecr) - i64::from(PEER))
}

#[test]
fn every_segment_carries_them_once_agreed_but_resets_of_no_connection() {
    // RFC 7323 §3.2: "TSopt MUST be sent in every non-<RST> segment for the duration of the connection".
    let mut s = server(stamped());
    s.write(Payload::Synthetic { stream: 2, offset: 0, len: 2500 });
    s.close(NOW);
    s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 5, 100, 2)));
    let sent: Vec<Segment> = std::iter::from_fn(|| next(&mut s)).collect();
    assert!(sent.len() >= 3);
    assert!(sent.iter().all(|segment| segment.timestamps.is_some()), "{sent:?}");
}

#[test]
fn ts_recent_follows_the_segment_that_spans_the_last_acknowledgement() {
    // RFC 7323 §4.3 (2): SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent.
    let mut s = server(stamped());
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1, 100, 10)), Some(10));
    // (B) of the section: out of order, the echo stays with the last segment that advanced the window.
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 201, 100, 30)), Some(10));
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 301, 100, 40)), Some(10));
    // (C): what fills the hole is what the echo times.
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 101, 100, 20)), Some(20));
}

#[test]
fn a_segment_that_goes_again_leaves_its_timestamp_as_linux_has_it() {
    // RFC 9293 §3.10.7.4, table 5, refuses a segment that lies before RCV.NXT. `tcp_sequence` takes what does not end before RCV.NXT as
    // it was last sent, and `tcp_replace_ts_recent` its timestamp: the answer names the repetition, not the segment that it repeats.
    for (linux_details, echoes) in [(true, 30), (false, 20)] {
        let mut s = server(Config { linux_details, ..stamped() });
        assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1, 100, 10)), Some(10));
        assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 101, 100, 20)), Some(20));
        let again = from_peer(Flags::ACK, 101, 100, 30);
        assert_eq!(echo(&mut s, &again), Some(echoes), "{linux_details}");
        // What ends before it is refused by both.
        assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1, 100, 40)), Some(echoes), "{linux_details}");
        assert_eq!((s.readable(), s.counters().duplicate_segments_received), (200, 2), "{linux_details}");
    }
}

#[test]
fn a_repetition_counts_while_its_acknowledgement_waits_as_linux_has_it() {
    // As above, and what it acknowledges counts too: here all that the server has sent.
    for (linux_details, echoes, left) in [(true, 20, 0), (false, 10, 500)] {
        let mut s = server(Config { linux_details, delayed_ack: MS(40), ..stamped() });
        assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1, 100, 10)), None);
        s.write(Payload::Synthetic { stream: 2, offset: 0, len: 500 });
        next(&mut s).expect("the payload, with the acknowledgement");
        assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 101, 100, 10)), None);
        let again = Segment { ack: SeqNum(601), ..from_peer(Flags::ACK, 101, 100, 20) };
        assert_eq!(echo(&mut s, &again), Some(echoes), "{linux_details}");
        assert_eq!((s.snapshot(NOW).flight_size, s.readable()), (left, 200), "{linux_details}");
    }
}

#[test]
fn with_delayed_acknowledgements_the_earliest_segment_is_echoed() {
    // RFC 7323 §4.3 (A).
    let mut s = server(Config { delayed_ack: MS(40), ..stamped() });
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1, 1000, 10)), None);
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 1001, 1000, 20)), Some(10));
}

#[test]
fn an_older_timestamp_is_answered_and_dropped() {
    // RFC 7323 §5.3 R1.
    let mut s = server(stamped());
    echo(&mut s, &from_peer(Flags::ACK, 1, 100, 10));
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 101, 100, 9)), Some(10));
    assert_eq!(s.readable(), 100);
    // An equal one is not older.
    assert_eq!(echo(&mut s, &from_peer(Flags::ACK, 101, 100, 10)), Some(10));
    assert_eq!(s.readable(), 200);
}

#[test]
fn resets_are_not_judged_by_their_timestamps() {
    // RFC 7323 §5.3 R1 ("and the RST bit is not set"), and §3.2: one without the option counts too.
    for timestamps in [Some(Timestamps { val: PEER - 1000, ecr: 0 }), None] {
        let mut s = server(stamped());
        s.on_segment(
            NOW,
            &Received::plain(&Segment { timestamps, ..from_peer(Flags::RST | Flags::ACK, 1, 0, 0) }),
        );
        assert_eq!(s.state(), State::Closed, "{timestamps:?}");
    }
}

#[test]
fn a_timestamp_that_is_24_days_old_protects_nothing_any_more() {
    // RFC 7323 §5.5: the timestamp clock may have wrapped.
    let mut s = server(stamped());
    let later = NOW + MS(1000) * (24 * 24 * 3600 + 10);
    let segment = from_peer(Flags::ACK, 1, 100, -1000);
    s.on_segment(later, &Received::plain(&segment));
    assert_eq!(s.readable(), 100);
    let answer = s.poll_transmit(later, Bytes(u64::MAX)).and_then(|a| a.segment.timestamps);
    assert_eq!(answer.map(|ts| ts.ecr), Some(PEER - 1000));
}

#[test]
fn a_repeated_syn_has_a_timestamp_of_its_own_and_its_echo_is_a_sample() {
    // RFC 7323 §4.1: with timestamps even retransmissions give samples; without, Karn's rule leaves RFC 6298's 3 s.
    for (timestamps, rto) in [(true, MS(200)), (false, MS(3000))] {
        let config = Config { timestamps, ..stamped() };
        let mut client = Endpoint::connect(Arc::new(config), 80, 4000, SeqNum(100), NOW);
        let first = next(&mut client).expect("a SYN");
        let again_at = NOW + MS(1000);
        client.on_timer(again_at);
        let again = client.poll_transmit(again_at, Bytes(u64::MAX)).expect("the SYN again").segment;
        let apart = |s: &Segment| s.timestamps.map(|ts| ts.val);
        assert_eq!(apart(&again), apart(&first).map(|val| val.wrapping_add(1000)));
        let answer = Segment {
            timestamps: again.timestamps.map(|ts| Timestamps { val: PEER, ecr: ts.val }),
            ..from_peer(Flags::SYN | Flags::ACK, 0, 0, 0)
        };
        let now = again_at + MS(20);
        client.on_segment(now, &Received::plain(&answer));
        assert_eq!(client.state(), State::Established);
        assert_eq!(client.snapshot(now).rto, rto, "SRTT 20 ms and four times 10, or no sample");
    }
}

#[test]
fn a_syn_ack_echoes_the_syn_that_it_answers() {
    let mut s = Endpoint::listen(Arc::new(stamped()), 80, SeqNum(100));
    for tsval in [5, 1005] {
        s.on_segment(NOW, &Received::plain(&from_peer(Flags::SYN, 0, 0, tsval)));
        let answer = next(&mut s).and_then(|a| a.timestamps).expect("a SYN-ACK with timestamps");
        assert_eq!(i64::from(answer.ecr) - i64::from(PEER), tsval);
    }
}
