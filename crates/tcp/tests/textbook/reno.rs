//! Fast retransmit and fast recovery acknowledgement by acknowledgement: RFC 5681 §3.2, RFC 6582, RFC 3042.

use handfast_tcp::Config;
use handfast_wire::Payload;
use handfast_wire::tcp::Segment;

use crate::script::{Script, ack, bulk, bulk_to, ten};
use crate::support::{Fate, Side, plain};

/// 0 to 9 in flight, then 0 acknowledged: 1 to 10 in flight.
fn one_acknowledged(config: Config, segments: u32) -> Script {
    let mut s = bulk(config, segments);
    s.in_flight().answer(1000, &[]);
    s.newly_sent();
    s
}

#[test]
fn tahoe_falls_to_one_segment_at_the_third_duplicate() {
    let mut s = one_acknowledged(ten("tahoe"), 60);
    s.answer(1000, &[]).answer(1000, &[]);
    assert_eq!((s.newly_sent(), s.window().0), (String::new(), 10_000), "two are not enough");
    s.answer(1000, &[]);
    // Jacobson 1988: half the flight, then slow start from one segment.
    assert_eq!((s.newly_sent().as_str(), s.window()), ("1", (1000, 5000)));
    s.answer(1000, &[]).answer(1000, &[]).answer(1000, &[]);
    assert_eq!((s.newly_sent(), s.window()), (String::new(), (1000, 5000)), "the path empties");
    s.answer(3000, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("3-4", (2000, 5000)));
}

#[test]
fn reno_step_by_step() {
    for name in ["reno", "newreno"] {
        let mut s = one_acknowledged(ten(name), 60);
        s.answer(1000, &[]).answer(1000, &[]);
        assert_eq!((s.newly_sent(), s.window().0), (String::new(), 10_000));
        // RFC 5681 §3.2 steps 2 and 3: ssthresh = 10 / 2, the lost segment, cwnd = ssthresh + 3.
        s.answer(1000, &[]);
        assert_eq!((s.newly_sent().as_str(), s.window()), ("1", (8000, 5000)));
        // Steps 4 and 5: each further duplicate adds one; the eleventh segment of cwnd is new data.
        s.answer(1000, &[]).answer(1000, &[]);
        assert_eq!((s.newly_sent(), s.window().0), (String::new(), 10_000));
        s.answer(1000, &[]);
        assert_eq!((s.newly_sent().as_str(), s.window().0), ("11", 11_000));
        // Step 6: all that was outstanding is acknowledged, and the window deflates.
        s.answer(11_000, &[]);
        if name == "reno" {
            assert_eq!((s.newly_sent().as_str(), s.window()), ("12-15", (5000, 5000)));
        } else {
            // RFC 6582 §3.2 step 3 (1): min (ssthresh, max (FlightSize, SMSS) + SMSS), and 11 alone is in flight.
            assert_eq!((s.newly_sent().as_str(), s.window()), ("12", (2000, 5000)));
        }
    }
}

#[test]
fn an_acknowledgement_with_data_or_another_window_is_no_duplicate() {
    // RFC 5681 §2: no data, no FIN, the same window.
    let mut s = one_acknowledged(ten("newreno"), 60);
    for window in [46_000, 46_001, 46_002, 46_003] {
        let ack = Segment { window, ..ack(1000, &[]) };
        s.pair.inject(Side::Client, &ack, |_| Fate::Drop);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
    let first = ack(1000, &[]);
    for k in 0..4 {
        let payload = Payload::Synthetic { stream: 2, offset: 10 * k, len: 10 };
        let ack = Segment { seq: first.seq + 10 * k as u32, window: 46_003, payload, ..first.clone() };
        s.pair.inject(Side::Client, &ack, |_| Fate::Drop);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
    assert_eq!(s.pair.read_by_client, 40);
}

#[test]
fn duplicates_count_in_a_row_and_while_data_is_outstanding() {
    // RFC 5681 §3.2: an acknowledgement of new data begins the count anew, and what limited transmit had sent counts again.
    let mut s = one_acknowledged(Config { limited_transmit: true, ..ten("newreno") }, 60);
    s.answer(1000, &[]).answer(1000, &[]).answer(2000, &[]).answer(2000, &[]).answer(2000, &[]);
    assert_eq!(s.pair.client.counters().fast_retransmits, 0);
    assert_eq!(s.newly_sent(), "11-13", "two beyond cwnd, and no more than two again");
    s.answer(2000, &[]);
    // 2 to 13 in flight, one of them beyond cwnd by limited transmit since the last new acknowledgement.
    assert_eq!((s.newly_sent().as_str(), s.window().1), ("2", 5500));
    // RFC 5681 §2 (a): with nothing outstanding there is no duplicate.
    let mut s = bulk(ten("newreno"), 10);
    s.in_flight().answer(10_000, &[]);
    for _ in 0..5 {
        s.answer(10_000, &[]);
    }
    assert_eq!((s.pair.client.counters().fast_retransmits, s.window().0), (0, 11_000));
}

#[test]
fn newreno_deflates_by_what_a_partial_acknowledgement_covers() {
    let mut s = one_acknowledged(ten("newreno"), 60);
    for _ in 0..3 {
        s.answer(1000, &[]);
    }
    s.newly_sent();
    // RFC 6582 §3.2 step 3: 8 - 3 + 1; the next hole; what is in flight (4 to 10) leaves no room for more.
    s.answer(4000, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("4", (6000, 5000)));
    // Less than a segment: nothing is added back. (8000 - 7000 in flight would be room for one more segment.)
    s.answer(4500, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("[4500+1000]", (5500, 5000)));
    // Everything up to `recover`, with an empty path behind it: one segment more than nothing in flight.
    s.answer(11_000, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window()), ("11-12", (2000, 5000)));
}

#[test]
fn a_partial_acknowledgement_lets_new_data_out_where_the_window_allows() {
    let mut s = one_acknowledged(ten("newreno"), 60);
    for _ in 0..6 {
        s.answer(1000, &[]);
    }
    assert_eq!(s.newly_sent(), "1 11");
    // cwnd 11 - 1 + 1, and ten segments (2 to 11) in flight.
    s.answer(2000, &[]);
    assert_eq!((s.newly_sent().as_str(), s.window().0), ("2 12", 11_000));
}

#[test]
fn newreno_does_not_take_its_own_repetitions_for_a_loss() {
    // RFC 6582 §3.2 steps 2 and 4: after a timeout, only an acknowledgement beyond `recover` may begin fast retransmit.
    for (name, acked, entered) in
        [("newreno", 10_000, 0), ("reno", 10_000, 0), ("newreno", 11_000, 1), ("reno", 11_000, 1)]
    {
        let mut s = bulk(ten(name), 60);
        s.run(400, |_| Fate::Drop);
        assert_eq!(s.timeouts(), [300]);
        s.answer(10_000, &[]);
        assert_eq!(s.window().0, 2000);
        if acked > 10_000 {
            s.answer(acked, &[]);
        }
        for _ in 0..3 {
            s.answer(acked, &[]);
        }
        assert_eq!(s.pair.client.counters().fast_retransmits, entered, "{name} {acked}");
    }
}

#[test]
fn newreno_guards_the_end_of_a_recovery_too() {
    // RFC 6582 §3.2 step 2: the acknowledgement must cover more than `recover`; here it covers exactly that.
    let mut s = one_acknowledged(ten("newreno"), 60);
    for acked in [1000, 1000, 1000, 11_000, 11_000, 11_000, 11_000] {
        s.answer(acked, &[]);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 1);
    s.answer(12_000, &[]);
    for _ in 0..3 {
        s.answer(12_000, &[]);
    }
    assert_eq!(s.pair.client.counters().fast_retransmits, 2);
}

#[test]
fn duplicates_during_slow_start_after_a_timeout_begin_nothing() {
    let mut s = bulk(ten("newreno"), 60);
    s.run(400, |_| Fate::Drop);
    s.newly_sent();
    s.answer(3000, &[]);
    assert_eq!(s.newly_sent(), "3-4");
    for _ in 0..5 {
        s.answer(3000, &[]);
    }
    assert_eq!((s.newly_sent(), s.window()), (String::new(), (2000, 5000)));
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    for name in ["reno", "newreno", "sack"] {
        let config = Config { limited_transmit: true, ..ten(name) };
        let mut s = one_acknowledged(config, 60);
        let sacked = |to| if name == "sack" { vec![(2000, to)] } else { vec![] };
        // RFC 3042 §2.
        s.answer(1000, &sacked(3000));
        assert_eq!((s.newly_sent().as_str(), s.window().0), ("11", 10_000), "{name}");
        s.answer(1000, &sacked(4000));
        assert_eq!((s.newly_sent().as_str(), s.window().0), ("12", 10_000), "{name}");
        // RFC 5681 §3.2 step 2: those two do not count in FlightSize: (12 - 2) / 2.
        s.answer(1000, &sacked(5000));
        assert_eq!((s.newly_sent().as_str(), s.window().1), ("1", 5000), "{name}");
    }
}

#[test]
fn limited_transmit_respects_the_receivers_window() {
    let config = Config { limited_transmit: true, ..ten("newreno") };
    let server = Config { receive_buffer: handfast_core::Bytes(10_000), ..plain("newreno") };
    let mut s = bulk_to(config, server, 60);
    s.in_flight();
    let ack = Segment { window: 10_000, ..ack(0, &[]) };
    for _ in 0..2 {
        s.pair.inject(Side::Client, &ack, |_| Fate::Drop);
    }
    assert_eq!(s.newly_sent(), "");
}
