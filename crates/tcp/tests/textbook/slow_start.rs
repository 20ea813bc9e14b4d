//! The initial window, slow start and congestion avoidance: RFC 5681 §3.1, RFC 3390, RFC 6928, RFC 3465.

use handfast_core::Bytes;
use handfast_tcp::{Config, InitialWindow};

use crate::script::{MS, bulk, bulk_to, ten};
use crate::support::{Fate, plain};

fn slow(initial_window: InitialWindow) -> Config {
    Config { initial_window, ..plain("newreno") }
}

#[test]
fn the_first_flight_is_the_initial_window() {
    use InitialWindow::{One, Rfc3390, Ten};
    // RFC 2001; RFC 3390 §1: min (4*MSS, max (2*MSS, 4380)); RFC 6928 §2: min (10*MSS, max (2*MSS, 14600)).
    for (window, mss, segments) in [
        (One, 1000, 1),
        (Rfc3390, 1000, 4),
        (Rfc3390, 1460, 3),
        (Rfc3390, 2200, 2),
        (Ten, 1000, 10),
        (Ten, 1460, 10),
        (Ten, 8000, 2),
    ] {
        let mut s = bulk(Config { mss, ..slow(window) }, 100);
        s.run(0, |_| Fate::Deliver);
        assert_eq!(
            s.pair.client_data(),
            (0..segments).map(|k| (k * u64::from(mss), u64::from(mss))).collect::<Vec<_>>()
        );
    }
}

#[test]
fn slow_start_adds_a_segment_for_each_acknowledgement() {
    // RFC 5681 §3.1 (2).
    let mut s = bulk(slow(InitialWindow::One), 100);
    s.run(350, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0", "100: 1-2", "200: 3-6", "300: 7-14"]);
}

#[test]
fn slow_start_counts_acknowledgements_not_octets() {
    // RFC 5681 §3.1 (2), min (N, SMSS): a delayed ACK of two segments adds one. RFC 3465 §2.2 with L = 2 adds two.
    let server = Config { delayed_ack: MS(40), ..plain("newreno") };
    let mut s = bulk_to(slow(InitialWindow::Rfc3390), server.clone(), 100);
    s.run(150, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0-3", "100: 4-9"]);
    let two = Config { slow_start_segments: 2, ..slow(InitialWindow::Rfc3390) };
    let mut s = bulk_to(two, server, 100);
    s.run(150, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0-3", "100: 4-11"]);
}

#[test]
fn after_a_timeout_an_acknowledgement_adds_one_segment_only() {
    // RFC 3465 §2.3: L = 2 is for the first slow start.
    let config = Config { slow_start_segments: 2, ..slow(InitialWindow::Ten) };
    let mut s = bulk(config, 100);
    s.run(310, |_| Fate::Drop).answer(4000, &[]);
    assert_eq!(s.window().0, 2000);
}

#[test]
fn divided_acknowledgements_gain_nothing() {
    // RFC 5681 §3.1: "robust against misbehaving receivers that attempt to induce the sender to artificially inflate cwnd".
    let mut s = bulk(slow(InitialWindow::Rfc3390), 100);
    s.in_flight();
    for octet in 1..=10 {
        s.answer(octet * 100, &[]);
    }
    assert_eq!(s.window().0, 5000);
}

#[test]
fn at_ssthresh_a_window_of_acknowledgements_adds_one_segment() {
    // RFC 5681 §3.1: congestion avoidance.
    let mut s = bulk(ten("newreno"), 100);
    s.run(350, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0-9", "100: 10-20", "200: 21-32", "300: 33-45"]);
    // Slow start ends where cwnd reaches ssthresh.
    let mut s = bulk(Config { initial_ssthresh: Some(Bytes(4000)), ..slow(InitialWindow::One) }, 100);
    s.run(450, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0", "100: 1-2", "200: 3-6", "300: 7-11", "400: 12-17"]);
}

#[test]
fn the_clamp_holds_the_window() {
    let mut s = bulk(Config { cwnd_clamp: Some(5), ..slow(InitialWindow::Rfc3390) }, 100);
    s.run(350, |_| Fate::Deliver);
    assert_eq!(s.rounds(), ["0: 0-3", "100: 4-8", "200: 9-13", "300: 14-18"]);
}

#[test]
fn a_window_that_the_receiver_closes_does_not_grow() {
    // RFC 5681 §3.1 lets cwnd grow only where it limits; RFC 2861 §3. The receiver takes five segments at a time.
    let small = Config { receive_buffer: Bytes(5000), ..plain("newreno") };
    let config = Config { cwnd_validation: true, ..slow(InitialWindow::Ten) };
    let mut s = bulk_to(config, small, 100);
    s.run(550, |_| Fate::Deliver);
    assert_eq!(s.window().0, 10_000);
    assert_eq!(s.rounds().len(), 6);
}
