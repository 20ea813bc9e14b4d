//! Same scenario, scheme and seed, same bytes; and looking changes nothing.

use crate::support::{OUTAGE, bytes, scenario};
use handfast_sim::Options;
use handfast_sim::series::Collected;

const SCHEMES: [&str; 6] = ["tahoe", "reno", "newreno", "sack", "cubic", "linux"];

fn sampled(seed: u64) -> Options {
    Options { seed, series: true, ..Options::default() }
}

#[test]
fn a_run_can_be_repeated_in_the_process_and_beside_others() {
    let scenario = scenario(OUTAGE);
    for scheme in SCHEMES {
        let once = bytes(&scenario, scheme, &sampled(7));
        let others = std::thread::scope(|scope| {
            let threads = [7, 8].map(|seed| {
                scope.spawn({
                    let scenario = &scenario;
                    move || bytes(scenario, scheme, &sampled(seed))
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(once == others[0], "{scheme}: seed 7 gave two results");
        assert!(once != others[1], "{scheme}: seeds 7 and 8 gave one result");
    }
}

#[test]
fn time_series_do_not_disturb_the_run() {
    let scenario = scenario(OUTAGE);
    for scheme in SCHEMES {
        let (with, series) = bytes(&scenario, scheme, &sampled(3));
        let (without, nothing) = bytes(&scenario, scheme, &Options { seed: 3, ..Options::default() });
        assert_eq!(with, without, "{scheme}");
        assert_eq!(nothing, Collected::default());
        assert_ne!(series, nothing);
    }
}

#[test]
fn packets_that_cross_a_real_wire_at_every_hop_change_nothing() {
    let scenario = scenario(OUTAGE);
    for scheme in SCHEMES {
        let verified = Options { verify_wire: true, ..sampled(5) };
        assert!(bytes(&scenario, scheme, &verified) == bytes(&scenario, scheme, &sampled(5)), "{scheme}");
    }
}

#[test]
fn each_seed_has_its_own_phase_and_losses() {
    let scenario = scenario(OUTAGE);
    let results: Vec<_> = (0..5).map(|seed| crate::support::result(&scenario, "sack", seed)).collect();
    for (i, one) in results.iter().enumerate() {
        for other in &results[i + 1..] {
            assert_ne!(one.handovers[0].down_s.to_bits(), other.handovers[0].down_s.to_bits());
            assert_ne!(one.flows[0].start_s, other.flows[0].start_s);
            assert_ne!(
                one.flows[0].metrics.delivered_bytes().unwrap(),
                other.flows[0].metrics.delivered_bytes().unwrap()
            );
        }
    }
}
