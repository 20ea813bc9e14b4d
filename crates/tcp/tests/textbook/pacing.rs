//! A congestion control that paces, on a connection: TCP Vegas.

use handfast_tcp::{Config, CongestionControl, InitialWindow};

use crate::script::{Script, bulk, lose, outage};
use crate::support::{Fate, Side, data_of, plain};

fn vegas() -> Config {
    let congestion_control = CongestionControl::Vegas;
    Config { congestion_control, initial_window: InitialWindow::Ten, ..plain("sack") }
}

/// The gaps between data segments, microseconds.
fn gaps(s: &Script) -> Vec<u64> {
    let data = s.pair.log.iter().filter(|sent| sent.from == Side::Client && data_of(&sent.segment).is_some());
    let at: Vec<_> = data.map(|sent| sent.at).collect();
    at.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos() / 1000).collect()
}

#[test]
fn the_first_window_leaves_within_half_a_round_trip() {
    // Twice ten segments a round trip of 100 ms: one every 5 ms.
    let mut s = bulk(vegas(), 10);
    s.run(99, |_| Fate::Deliver);
    assert_eq!(gaps(&s), [5000; 9]);
    assert_eq!(s.rounds()[..3], ["0: 0", "5: 1", "10: 2"]);
}

#[test]
fn segments_never_leave_in_a_burst() {
    let mut s = bulk(vegas(), 5000);
    s.run(3000, |_| Fate::Deliver);
    let gaps = gaps(&s);
    assert!(gaps.len() > 1000, "{}", gaps.len());
    // The wire has no queue: the window opens until the peer's is the limit.
    assert!(gaps.iter().all(|&gap| gap > 0), "{gaps:?}");
}

#[test]
fn an_expired_timer_does_not_wait_for_the_pacer() {
    let mut s = bulk(vegas(), 60);
    s.run(2000, outage(s.start, 0, 900));
    let again = s.timeouts();
    assert!(!again.is_empty());
    let head = s.rounds().iter().filter(|line| line.ends_with(": 0")).count();
    assert_eq!(head, 1 + again.len(), "{:?}", s.rounds());
}

#[test]
fn what_is_lost_is_repaired_at_the_pace() {
    let mut s = bulk(vegas(), 200);
    s.run(3000, lose(&[3, 4, 20, 21]));
    assert_eq!(s.snapshot().acknowledged, 200_000);
    assert!(gaps(&s).iter().all(|&gap| gap > 0), "{:?}", s.rounds());
}
