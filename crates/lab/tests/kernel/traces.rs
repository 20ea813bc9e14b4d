//! Kernels talk across a link that follows a trace.

use std::sync::Arc;

use handfast_core::Instant;
use handfast_net::trace::{AtEnd, Trace};
use handfast_scenario::LinkTrace;

use crate::bench::{Bench, kernel_client, kernel_server, link, noise, plain};
use crate::spaces::spaces;

#[test]
fn a_download_follows_steps_of_2_and_8_mbit_a_second() {
    let Some(mut spaces) = spaces() else { return };
    let mut scenario = link(plain(100, 5));
    let trace = Trace::parse("time_ms,rate_mbps\n0,2\n500,8\n1000,0\n", AtEnd::Repeat).unwrap();
    scenario.traces.insert((0, 0), LinkTrace::Recorded(Arc::new(trace)));
    let bench = Bench::start(&mut spaces, scenario, &[0, 1]);
    let at = "10.0.0.2:5001".parse().unwrap();
    let receiver = kernel_server(&bench.hosts[1], at, Vec::new());
    let sent = noise(1, 3_000_000);
    assert!(kernel_client(&bench.hosts[0], at, sent.clone()).join().unwrap().is_empty());
    assert!(receiver.join().unwrap() == sent);
    let report = bench.finish();
    let delivered = |ms: u64| {
        let at = Instant::from_millis(ms);
        report.queues.iter().find(|sample| sample.at == at && sample.channel == 0).unwrap().counters.delivered
    };
    // Full packets in the last 300 ms of each step, when the queue has something of whatever came before.
    let median = |first: u64| {
        let mut counts: Vec<_> = (0..3)
            .map(|round| round * 1000 + first)
            .map(|ms| delivered(ms + 490) - delivered(ms + 190))
            .collect();
        counts.sort_unstable();
        counts[1]
    };
    // 50 and 200 of 1,500 bytes each.
    let (slow, fast) = (median(1000), median(1500));
    assert!((40..=56).contains(&slow) && (160..=215).contains(&fast), "{slow} {fast}");
    assert!(report.faults.is_clean(), "{}", report.faults);
}
