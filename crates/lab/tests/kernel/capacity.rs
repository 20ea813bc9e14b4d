//! The measurement of what the loop carries.

use handfast_core::{BitRate, Duration};
use handfast_lab::capacity::{Site, try_rate};

use crate::bench::{VETHS, set_up_kernel};
use crate::spaces::spaces;

#[test]
fn a_transfer_at_a_modest_rate_uses_it_and_moves_the_frames_that_it_should() {
    let Some(mut spaces) = spaces() else { return };
    let hosts = ["a", "b"].map(|name| spaces.add(name));
    for (n, space) in hosts.iter().enumerate() {
        spaces.wire(space, VETHS[n], &format!("02:00:00:00:00:0{}", n + 1));
        set_up_kernel(space, n);
    }
    let receiver = "10.0.0.2:5001".parse().unwrap();
    let names = || VETHS.map(str::to_owned);
    let site = Site { hub: spaces.hub(), ends: names(), hosts, interfaces: names(), receiver };
    let (step, _) = try_rate(&site, BitRate::from_bps(12_000_000), Duration::from_millis(700)).unwrap();
    // 1,000 packets a second, and acknowledgements of at least every second one.
    assert!(step.used > 0.8 && step.used < 1.1, "{step:?}");
    assert!(step.frames_per_s > 1_200.0 && step.frames_per_s < 2_300.0, "{step:?}");
    assert!(step.lateness_p50_us > 0.0 && step.lateness_p50_us <= step.lateness_p99_us, "{step:?}");
}
