//! One to four losses in a window: what Fall and Floyd (1996), "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", show,
//! with ten segments in flight and segments 2, 4, 6, 8 lost. And losses of retransmissions, and at the end of a flight.

use crate::script::{bulk, ten};

/// What `name` sends until it has repaired the losses, and when its timer expired.
fn repair(name: &str, lost: &[u64], until: u64) -> (Vec<String>, Vec<u64>) {
    let mut s = bulk(ten(name), 60);
    s.lose(until, lost);
    (s.rounds(), s.timeouts())
}

fn expect(name: &str, lost: &[u64], rounds: &[&str], timeouts: &[u64]) {
    let until = rounds.last().and_then(|r| r.split(':').next()).and_then(|t| t.parse().ok()).unwrap_or(0);
    let (seen, expired) = repair(name, lost, until);
    assert_eq!(seen, rounds, "{name}, {lost:?} lost");
    assert_eq!(expired, timeouts, "{name}, {lost:?} lost");
}

#[test]
fn one_loss() {
    // Tahoe empties the path and begins again with one segment; the others keep half a window in flight
    // (Fall and Floyd, section 5.1). ssthresh is 5: 10 in flight, halved.
    expect("tahoe", &[2], &["0: 0-9", "100: 10-11 2", "200: 12-13", "300: 14-17", "400: 18-22"], &[]);
    for name in ["reno", "newreno", "sack"] {
        expect(name, &[2], &["0: 0-9", "100: 10-11 2 12-13", "200: 14-18", "300: 19-24"], &[]);
    }
}

#[test]
fn two_losses() {
    // Tahoe sends 5 again, which had arrived.
    expect("tahoe", &[2, 4], &["0: 0-9", "100: 10-11 2", "200: 4-5", "300: 12-14"], &[]);
    // Reno leaves recovery at the partial acknowledgement, finds the second loss by its own three duplicates and
    // halves again.
    expect(
        "reno",
        &[2, 4],
        &["0: 0-9", "100: 10-11 2 12", "200: 13-14", "300: 4", "400: 15-19", "500: 20-24"],
        &[],
    );
    // NewReno repairs one hole a round trip (RFC 6582 §3.2 step 3).
    expect("newreno", &[2, 4], &["0: 0-9", "100: 10-11 2 12", "200: 13-14 4 15-16", "300: 17-21"], &[]);
    // SACK repairs both at once (RFC 6675 §4 NextSeg (1)).
    expect("sack", &[2, 4], &["0: 0-9", "100: 10-11 2 4 12", "200: 13-17", "300: 18-23"], &[]);
}

#[test]
fn three_losses() {
    // Tahoe sends 5, 7 and 8 again, which had arrived.
    expect("tahoe", &[2, 4, 6], &["0: 0-9", "100: 10-11 2", "200: 4-5", "300: 6-8", "400: 12-15"], &[]);
    // Reno runs out of duplicates and waits for the timer: 250 ms after the last new acknowledgement, at 200.
    expect(
        "reno",
        &[2, 4, 6],
        &["0: 0-9", "100: 10-11 2", "200: 12-13", "450: 4", "550: 6-7", "650: 14-16"],
        &[450],
    );
    expect(
        "newreno",
        &[2, 4, 6],
        &["0: 0-9", "100: 10-11 2", "200: 12-13 4 14", "300: 15-16 6 17-18", "400: 19-23"],
        &[],
    );
    expect("sack", &[2, 4, 6], &["0: 0-9", "100: 10-11 2 4 6", "200: 12-16", "300: 17-22"], &[]);
}

#[test]
fn four_losses() {
    expect("tahoe", &[2, 4, 6, 8], &["0: 0-9", "100: 10-11 2", "200: 4-5", "300: 6-8", "400: 9-16"], &[]);
    expect(
        "reno",
        &[2, 4, 6, 8],
        &["0: 0-9", "100: 10-11 2", "200: 12", "450: 4", "550: 6-7", "650: 8-10", "750: 13-16"],
        &[450],
    );
    // NewReno's timer was restarted by the first partial acknowledgement only, at 200 (RFC 6582 §3.2 step 3, the impatient
    // variant): it expires while the third is being repaired.
    expect(
        "newreno",
        &[2, 4, 6, 8],
        &["0: 0-9", "100: 10-11 2", "200: 12 4 13", "300: 14 6 15-16", "400: 17 8 18-20", "450: 8"],
        &[450],
    );
    // SACK: the pipe has to drain below half the flight first.
    expect("sack", &[2, 4, 6, 8], &["0: 0-9", "100: 10-11 2", "200: 4 6 8 12-13", "300: 14-18"], &[]);
}

#[test]
fn tahoe_repeats_what_arrived_and_the_others_do_not() {
    for (name, repeated) in [("tahoe", 6), ("newreno", 3), ("sack", 3)] {
        let mut s = bulk(ten(name), 60);
        s.lose(2000, &[2, 4, 6]);
        let counters = s.pair.client.counters();
        assert_eq!(counters.retransmitted_segments, repeated, "{name}");
        assert_eq!(counters.retransmitted_bytes, 1000 * repeated, "{name}");
        assert_eq!(counters.data_segments_sent, 60 + repeated, "{name}");
        assert_eq!(s.pair.server.counters().duplicate_segments_received, repeated - 3, "{name}");
        assert_eq!(s.pair.read_by_server, 60_000, "{name}");
    }
}

#[test]
fn a_retransmission_lost_again_waits_for_the_timer() {
    // RFC 5681 §3.2 and RFC 6675 send each octet once a recovery. The timer runs from the acknowledgement at 100.
    expect("tahoe", &[2, 2], &["0: 0-9", "100: 10-11 2", "350: 2", "450: 12-13"], &[350]);
    for name in ["reno", "newreno", "sack"] {
        expect(
            name,
            &[2, 2],
            &["0: 0-9", "100: 10-11 2 12-13", "200: 14-17", "300: 18-21", "350: 2", "450: 22-23"],
            &[350],
        );
    }
}

#[test]
fn a_lost_last_segment_waits_for_the_timer() {
    // Without data behind it nothing tells of its loss.
    for name in ["tahoe", "reno", "newreno", "sack"] {
        let mut s = bulk(ten(name), 10);
        s.lose(1000, &[9]);
        assert_eq!(s.rounds(), ["0: 0-9", "350: 9"], "{name}");
    }
}
