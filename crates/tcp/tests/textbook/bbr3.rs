//! BBR version 3 on a connection: what losses, timeouts and pauses do to its window.

use handfast_core::Bytes;
use handfast_tcp::Config;

use crate::script::{Script, bulk, lose};
use crate::support::{Fate, Side, data_of, plain};

/// Its path is known and it cruises: 400 segments of 1000 octets a round trip of 100 ms, as its peer's window has them.
fn cruising(segments: u32) -> Script {
    let mut s = bulk(Config { receive_buffer: Bytes(400_000), ..plain("bbr3") }, segments);
    s.run(2200, |_| Fate::Deliver);
    s
}

/// Every tenth of the next 400 segments.
fn a_tenth(s: &Script) -> Vec<u64> {
    let sent = s.snapshot().sent / 1000;
    (0..40).map(|n| sent + 10 * n).collect()
}

fn kilobytes(s: &Script) -> u64 {
    s.window().0 / 1000
}

#[test]
fn a_round_with_losses_brings_it_to_what_arrives_and_by_three_tenths_at_most_until_it_probes() {
    // Twice the path, of which 400 segments are in flight: three tenths less is more than what arrives.
    let mut s = cruising(30_000);
    assert!((790..850).contains(&kilobytes(&s)), "{:?}", s.window());
    let lost = a_tenth(&s);
    s.run(2600, lose(&lost));
    assert!((553..595).contains(&kilobytes(&s)), "{:?}", s.window());
    s.run(5000, |_| Fate::Deliver);
    assert!((790..850).contains(&kilobytes(&s)), "{:?}", s.window());
}

#[test]
fn a_timeout_leaves_a_segment_and_the_window_comes_back_when_all_is_repaired() {
    let mut s = cruising(30_000);
    let before = kilobytes(&s);
    s.run(2700, |_| Fate::Drop);
    assert_eq!((kilobytes(&s), s.timeouts().len()), (1, 1), "{:?}", s.timeouts());
    s.run(3300, |_| Fate::Deliver);
    assert!(kilobytes(&s) >= before, "{:?} of {before}", s.window());
}

#[test]
fn a_pause_leaves_the_window_and_its_end_is_paced() {
    let mut s = cruising(5000);
    s.run(5000, |_| Fate::Deliver);
    assert_eq!(s.snapshot().acknowledged, 5_000_000);
    let before = kilobytes(&s);
    s.run(9000, |_| Fate::Deliver);
    s.pair.log.clear();
    s.pair.client_writes(5_000_000, 400_000);
    s.run(9050, |_| Fate::Deliver);
    let left = s.pair.log.iter().filter(|sent| sent.from == Side::Client && data_of(&sent.segment).is_some());
    // The bandwidth is 400 segments in 100 ms; without pacing all 400 would have left.
    let left = left.count();
    assert!((190..=204).contains(&left), "{left}");
    assert_eq!(kilobytes(&s), before);
}
