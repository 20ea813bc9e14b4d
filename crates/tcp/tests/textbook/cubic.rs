//! CUBIC on a connection: RFC 9438.

use handfast_core::Bytes;
use handfast_tcp::{Config, InitialWindow};

use crate::script::{Script, bulk, outage, ten};
use crate::support::{Fate, plain};

#[test]
fn a_loss_leaves_seven_tenths() {
    // RFC 9438 §4.6; ten in flight.
    let mut s = bulk(ten("cubic"), 60);
    s.lose(250, &[2]);
    assert_eq!(s.rounds(), ["0: 0-9", "100: 10-11 2 12-15", "200: 16-22"]);
    assert_eq!(s.window().1, 7000);
}

#[test]
fn a_timeout_leaves_one_segment_and_a_threshold_of_seven_tenths() {
    // RFC 9438 §4.8.
    let mut s = bulk(ten("cubic"), 60);
    s.run(310, outage(s.start, 0, 200));
    assert_eq!(s.window(), (1000, 7000));
    s.run(750, |_| Fate::Deliver);
    assert_eq!(s.rounds()[1..], ["300: 0", "400: 1-2", "500: 3-6", "600: 7-13", "700: 14-20"]);
}

#[test]
fn the_window_follows_the_cubic_curve() {
    // RFC 9438 figure 1 and 2: W(t) = 0.4 (t - K)^3 + W_max, K = cbrt (0.3 W_max / 0.4), from the end of recovery on.
    let config =
        Config { initial_ssthresh: Some(Bytes(1_000_000)), cwnd_clamp: Some(1200), ..plain("cubic") };
    let mut s = bulk(config, 400_000);
    let start = s.start;
    let mut lost = false;
    // A loss when the window has reached about a thousand segments.
    s.run(1500, |sent| {
        let now = sent.at.since(start).as_millis() >= 1100;
        let drop = now && !lost && crate::support::data_of(&sent.segment).is_some();
        lost |= drop;
        if drop { Fate::Drop } else { Fate::Deliver }
    });
    let left = s.events().iter().find(|e| e.1 == handfast_tcp::Event::RecoveryLeft).map(|e| e.0);
    let left = left.expect("recovery has ended");
    let w_max = s.window().1 as f64 / 0.7 / 1000.0;
    let k = libm::cbrt(0.3 * w_max / 0.4);
    for second in 1..=10 {
        s.run(left + second * 1000, |_| Fate::Deliver);
        s.pair.log.clear();
        let curve = 0.4 * (second as f64 - k) * (second as f64 - k) * (second as f64 - k) + w_max;
        let cwnd = s.window().0 as f64 / 1000.0;
        assert!((cwnd / curve - 1.0).abs() < 0.02, "{second} s: {cwnd:.1}, the curve says {curve:.1}");
    }
}

/// A connection in congestion avoidance at a hundred segments, 750 ms old.
fn hundred() -> Script {
    let config = Config { initial_ssthresh: Some(Bytes(100_000)), ..plain("cubic") };
    let mut s = bulk(config, 1_000_000);
    s.run(750, |_| Fate::Deliver);
    s
}

#[test]
fn after_a_timeout_the_curve_starts_from_where_slow_start_ends() {
    // RFC 9438 §4.8: K = 0 and W_max = cwnd in the first congestion avoidance stage; with the W_max of before it would be back
    // at 87 segments within a second.
    let mut s = hundred();
    let start = s.start;
    s.run(1150, outage(start, 750, 1000));
    assert_eq!(s.timeouts().len(), 1);
    let ssthresh = s.window().1;
    assert!((70_000..75_000).contains(&ssthresh), "{ssthresh}");
    // One segment to 70 takes seven round trips; ten more in the Reno-friendly region add half a segment each.
    s.run(3000, |_| Fate::Deliver);
    let cwnd = s.window().0;
    assert!((ssthresh..ssthresh + 10_000).contains(&cwnd), "{cwnd} {ssthresh}");
}

#[test]
fn silence_is_no_time_on_the_curve() {
    // RFC 9438 §5.8: after half a minute without data the window is what it was, not half a minute further.
    let config = Config { cwnd_validation: true, initial_window: InitialWindow::Ten, ..ten("cubic") };
    let mut s = bulk(config, 100);
    s.run(1000, |_| Fate::Deliver);
    let before = s.window().0;
    s.run(31_000, |_| Fate::Deliver);
    s.pair.client_writes(100_000, 1_000_000);
    s.run(31_450, |_| Fate::Deliver);
    let after = s.window().0;
    assert!(after < before + 4000, "{before} {after}");
}
