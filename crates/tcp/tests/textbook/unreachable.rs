//! Long connectivity disruptions (RFC 6069).

use handfast_core::SeqNum;

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
