//! Long connectivity disruptions (RFC 6069).

use handfast_core::SeqNum;
use handfast_tcp::State;

use crate::script::{MS, Script, bulk, ten};
use crate::support::{CLIENT_ISS, Fate};

/// Nothing arrives from the beginning on; two timeouts have expired.
fn twice_timed_out(name: &str) -> Script {
    let mut s = bulk(ten(name), 10);
    while s.timeouts().len() < 2 {
        let next = s.pair.client.deadline().map_or(0, |at| s.ms(at));
        s.run(next, |_| Fate::Drop);
    }
    s
}

fn told(s: &mut Script, seq: SeqNum) {
    let now = s.pair.now;
    s.pair.client.on_unreachable(now, seq);
}

#[test]
fn the_last_doubling_is_taken_back_and_the_timer_with_it() {
    for name in ["newreno", "sack", "rack"] {
        let mut s = twice_timed_out(name);
        let at = s.timeouts()[1];
        let (rto, deadline) = (s.snapshot().rto, s.pair.client.deadline());
        s.run(at + 10, |_| Fate::Drop);
        told(&mut s, CLIENT_ISS + 1);
        assert_eq!(s.snapshot().rto, rto / 2, "{name}");
        assert_eq!(s.pair.client.deadline(), deadline.map(|was| s.start + MS(s.ms(was)) - rto / 2), "{name}");
    }
}

/// Nothing arrives, and a router answers each repetition; when the connection ended, ms, if it did within so long.
fn ends_within(s: &mut Script, limit: u64) -> Option<u64> {
    while s.pair.client.state() != State::Closed {
        let next = s.pair.client.deadline().map_or(0, |at| s.ms(at));
        if next > limit {
            return None;
        }
        s.run(next, |_| Fate::Drop);
        told(s, CLIENT_ISS + 1);
    }
    Some(s.pair.now.since(s.start).as_millis())
}

#[test]
fn repetitions_that_routers_answer_do_not_end_the_connection_before_its_time() {
    for name in ["newreno", "sack", "rack"] {
        let mut s = twice_timed_out(name);
        told(&mut s, CLIENT_ISS + 1);
        assert_eq!(ends_within(&mut s, 60_000), None, "{name}");
        let answered = s.timeouts().len();
        assert!(answered > 15, "{name}: {answered} are more than R2 as a count");
        // The first word came with the second timeout; sixteen intervals from the least RTO on, doubled up to the greatest.
        let config = ten(name);
        let bound: u64 =
            (0..16).map(|n| (config.rto_min.as_millis() << n).min(config.rto_max.as_millis())).sum();
        let end = ends_within(&mut s, 2 * bound).unwrap_or(0);
        assert!((bound..bound + 10_000).contains(&end), "{name}: {end} ms, of {bound}");
    }
}

#[test]
fn without_a_least_rto_its_time_is_that_of_the_first_one() {
    let mut config = ten("sack");
    config.rto_min = handfast_core::Duration::ZERO;
    let mut s = bulk(config, 10);
    while s.timeouts().len() < 2 {
        let next = s.pair.client.deadline().map_or(0, |at| s.ms(at));
        s.run(next, |_| Fate::Drop);
    }
    told(&mut s, CLIENT_ISS + 1);
    assert_eq!(ends_within(&mut s, 60_000), None);
}

#[test]
fn who_names_another_segment_or_is_late_changes_nothing() {
    let mut s = twice_timed_out("sack");
    let deadline = s.pair.client.deadline();
    told(&mut s, CLIENT_ISS + 1001);
    assert_eq!(s.pair.client.deadline(), deadline);
    let mut s = bulk(ten("sack"), 10);
    s.in_flight();
    let deadline = s.pair.client.deadline();
    told(&mut s, CLIENT_ISS + 1);
    assert_eq!(s.pair.client.deadline(), deadline, "nothing has timed out");
}
