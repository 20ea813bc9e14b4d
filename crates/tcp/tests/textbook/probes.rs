//! Tail loss probes: RFC 8985 §7. The handshake gave SRTT = 100 ms and an RTO of 300 ms.

use handfast_core::Duration;
use handfast_tcp::{Config, Event};

use crate::script::{MS, Script, bulk, ten};
use crate::support::Fate;

fn probes(s: &Script) -> Vec<u64> {
    s.events().iter().filter(|e| e.1 == Event::LossProbe).map(|e| e.0).collect()
}

#[test]
fn after_two_round_trips_new_data_goes_beyond_cwnd() {
    // §7.2: PTO = 2 * SRTT. §7.3: new data, one segment more than cwnd, and afterwards the RTO from then on; no second probe.
    let mut s = bulk(ten("rack"), 60);
    s.run(510, |_| Fate::Drop);
    assert_eq!(s.rounds(), ["0: 0-9", "200: 10", "500: 0"]);
    assert_eq!((probes(&s), s.timeouts()), (vec![200], vec![500]));
    assert_eq!(s.pair.client.loss_counters().loss_probes, 1);
}

#[test]
fn without_new_data_the_last_segment_goes_again() {
    // §7.3; its SACK lets RACK find what is missing: no timeout.
    let mut s = bulk(ten("rack"), 10);
    s.lose(600, &[7, 8, 9]);
    assert_eq!(s.rounds(), ["0: 0-9", "300: 9", "400: 7", "500: 8"]);
    assert_eq!((probes(&s), s.timeouts()), (vec![300], vec![]));
}

#[test]
fn without_room_at_the_receiver_the_last_segment_goes_again() {
    let mut s = bulk(Config { window_scaling: false, ..ten("rack") }, 100);
    s.run(0, |_| Fate::Drop);
    s.newly_sent();
    let full = handfast_wire::tcp::Segment { window: 10_500, ..crate::script::ack(0, &[]) };
    s.pair.inject(crate::support::Side::Client, &full, |_| Fate::Drop);
    s.run(210, |_| Fate::Drop);
    assert_eq!((s.newly_sent().as_str(), probes(&s)), ("9", vec![200]));
}

#[test]
fn one_segment_in_flight_may_wait_for_a_delayed_acknowledgement() {
    // §7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay". With the RTO out of the way.
    let late = Config { rto_variance_min: Duration::from_millis(900), ..ten("rack") };
    let mut s = bulk(late.clone(), 1);
    s.run(500, |_| Fate::Drop);
    assert_eq!(probes(&s), [400]);
    let mut s = bulk(late, 2);
    s.run(500, |_| Fate::Drop);
    assert_eq!(probes(&s), [200]);
}

#[test]
fn the_probe_comes_no_later_than_the_timeout_would() {
    // §7.2: "If Now() + PTO > TCP_RTO_expiration()".
    let mut s = bulk(ten("rack"), 1);
    s.run(590, |_| Fate::Drop);
    assert_eq!((probes(&s), s.timeouts()), (vec![300], vec![]));
}

#[test]
fn acknowledgements_put_the_probe_off() {
    let mut s = bulk(ten("rack"), 10);
    s.run(100, |_| Fate::Drop);
    s.answer(5000, &[]);
    assert_eq!(s.pair.client.deadline(), Some(s.start + MS(300)));
    s.answer(10_000, &[]);
    assert_eq!(s.pair.client.deadline(), None);
}

#[test]
fn no_probe_in_recovery_or_with_a_hole() {
    // §7.2: the RTO, and RACK's own timer, see to those.
    let mut s = bulk(ten("rack"), 10);
    s.run(100, |_| Fate::Drop);
    s.answer(1000, &[(2000, 3000)]);
    s.run(800, |_| Fate::Drop);
    assert_eq!(probes(&s), []);
}

/// 9 is repaired by a probe; `more` then follows and is acknowledged. The window before and after.
fn repaired(lose: impl FnMut(&crate::support::Sent) -> Fate) -> ((u64, u64), (u64, u64)) {
    let mut s = bulk(ten("rack"), 10);
    s.run(420, lose);
    assert_eq!(probes(&s), [350]);
    let before = s.window();
    s.pair.client_writes(10_000, 1000);
    s.run(600, |_| Fate::Deliver);
    (before, s.window())
}

#[test]
fn a_loss_that_the_probe_has_repaired_is_answered() {
    // §7.4.2: the acknowledgement advances beyond TLP.end_seq without a DSACK: as at a fast recovery's end.
    let (before, after) = repaired(crate::script::lose(&[9]));
    assert_eq!((before.0, after), (10_000, (5500, 5500)), "it had grown to 11 meanwhile");
}

#[test]
fn a_probe_that_was_not_needed_changes_nothing() {
    // §7.4.2 case 1: 9 had arrived, and its acknowledgement was lost: a DSACK reports the probe.
    let mut last = 0;
    let (before, after) = repaired(|sent| {
        let answers_last = sent.from == crate::support::Side::Server && sent.at.as_nanos() > 0 && {
            last += 1;
            last == 10
        };
        if answers_last { Fate::Drop } else { Fate::Deliver }
    });
    assert_eq!((before, after), ((10_000, 1000), (11_000, 1000)), "growth as ever");
}

#[test]
fn a_bare_duplicate_tells_that_the_probe_arrived_twice() {
    // §7.4.2: "ACK is a dup ACK without any SACK option": the original had arrived too.
    for (duplicate, ssthresh) in [(true, 1000), (false, 5500)] {
        let mut s = bulk(ten("rack"), 10);
        s.run(100, |_| Fate::Drop);
        s.answer(9000, &[]);
        s.run(440, |_| Fate::Drop);
        assert_eq!(probes(&s).len(), 1);
        s.answer(10_000, &[]);
        if duplicate {
            s.answer(10_000, &[]);
        }
        s.pair.client_writes(10_000, 1000);
        s.run(441, |_| Fate::Drop);
        s.answer(11_000, &[]);
        assert_eq!(s.window().1, ssthresh);
    }
}

#[test]
fn a_recovery_makes_good_what_the_probe_might_have() {
    // Linux: `tcp_init_cwnd_reduction` and `tcp_retransmit_timer` forget the probe. Its loss is answered once.
    let mut s = bulk(ten("rack"), 10);
    s.run(300, |_| Fate::Drop);
    assert_eq!(probes(&s), [200]);
    s.answer(0, &[(9000, 10_000)]);
    assert!(s.events().contains(&(300, Event::RecoveryEntered)));
    let mut timed_out = bulk(ten("rack"), 10);
    timed_out.run(510, |_| Fate::Drop);
    assert_eq!((probes(&timed_out), timed_out.timeouts()), (vec![200], vec![500]));
    for mut s in [s, timed_out] {
        let ssthresh = s.window().1;
        s.pair.client_writes(10_000, 1000);
        s.answer(10_000, &[]).answer(11_000, &[]);
        assert_eq!(s.pair.client.loss_counters().loss_probe_recoveries, 0);
        assert_eq!((ssthresh, s.window().1), (5000, 5000));
    }
}
