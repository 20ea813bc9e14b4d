//! Where theory gives numbers: the square-root law of Mathis, Semke, Mahdavi and Ott (1997), and equal behaviour without loss.

use handfast_core::{Bytes, Stream};
use handfast_tcp::Config;

use crate::script::{MS, bulk, bulk_to};
use crate::support::{Fate, Pair, Sent, Side, data_of, plain};

/// Segments delivered in `seconds` over a wire of 100 ms round trips that never limits, at loss rate `p`, times RTT sqrt(p): the
/// constant C of the law.
fn constant(name: &str, p: f64, seconds: u64, mut lost: impl FnMut() -> bool) -> f64 {
    // It begins at the law's window, so that the first slow start does not count.
    let half = (1.5 / p).sqrt() / 1.5 * 1000.0;
    let config = Config { initial_ssthresh: Some(Bytes(half as u64)), ..plain(name) };
    let mut pair = Pair::connected(config.clone(), config);
    let mut wire = |s: &Sent| {
        let data = s.from == Side::Client && data_of(&s.segment).is_some();
        if data && lost() { Fate::Drop } else { Fate::Deliver }
    };
    for k in 0..4 {
        pair.client_writes(k * 1_000_000_000, 1_000_000_000);
    }
    let mut warm = 0;
    for second in 0..seconds {
        if second == seconds / 10 {
            warm = pair.read_by_server;
        }
        pair.run_for(MS(1000), &mut wire);
        pair.log.clear();
    }
    let segments = (pair.read_by_server - warm) as f64 / 1000.0;
    let round_trips = (seconds - seconds / 10) as f64 * 10.0;
    segments / round_trips * p.sqrt()
}

/// Every `1 / p`th segment is lost.
fn periodic(name: &str, p: f64, seconds: u64) -> f64 {
    let (mut n, period) = (0, (1.0 / p) as u64);
    constant(name, p, seconds, || {
        n += 1;
        n % period == 0
    })
}

/// Each segment is lost with probability `p`.
fn random(name: &str, p: f64, seconds: u64) -> f64 {
    let mut stream = Stream::new(7, "mathis");
    constant(name, p, seconds, || stream.chance(p))
}

/// C of the law without delayed acknowledgements is sqrt(3/2) = 1.22 (Mathis et al., equation 3): a sawtooth between W/2 and
/// W. The round trips of recovery, in which the window does not grow, take a share that rises with the loss rate.
const BAND: std::ops::RangeInclusive<f64> = 1.02..=1.35;

#[test]
fn throughput_follows_the_square_root_of_the_loss_rate() {
    for name in ["newreno", "sack"] {
        for (p, seconds) in [(1e-4, 250), (1e-3, 150), (1e-2, 150)] {
            for (how, c) in [("periodic", periodic(name, p, seconds)), ("random", random(name, p, seconds))] {
                assert!(BAND.contains(&c), "{name}, {how}, p = {p}: {c:.3}");
            }
        }
    }
}

#[test]
fn other_algorithms_do_not_follow_it() {
    // The control. CUBIC's response is steeper (RFC 9438 §5.2); Tahoe spends more than a round trip on each loss.
    let cubic = periodic("cubic", 1e-4, 150);
    let tahoe = periodic("tahoe", 1e-2, 150);
    assert!(cubic > *BAND.end() && tahoe < *BAND.start(), "{cubic:.3} {tahoe:.3}");
}

#[test]
fn without_loss_sack_and_newreno_are_the_same() {
    for delayed_ack in [MS(0), MS(40)] {
        let sent = |name: &str| {
            let server = Config { delayed_ack, ..plain(name) };
            let mut s = bulk_to(plain(name), server, 3000);
            s.run(3000, |_| Fate::Deliver);
            assert_eq!(s.pair.read_by_server, 3_000_000);
            s.rounds()
        };
        assert_eq!(sent("sack"), sent("newreno"));
    }
    // With a loss they differ: the comparison above can fail.
    let sent = |name: &str| bulk(plain(name), 3000).lose(3000, &[10, 12, 14]).rounds();
    assert_ne!(sent("sack"), sent("newreno"));
}
