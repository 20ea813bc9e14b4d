//! The receive window as Linux opens it (`tcp_grow_window`, `tcp_rcv_space_adjust`): what a sender sees of it.

use handfast_core::Bytes;
use handfast_tcp::Config;

use crate::script::{MS, Script, bulk_to, data};
use crate::support::{Fate, Side, plain};

fn server(buffer: u64) -> Config {
    Config { receive_autotuning: true, receive_buffer: Bytes(buffer), ..plain("sack") }
}

/// The windows that the server offers after its SYN, in octets.
fn windows(s: &Script) -> Vec<u64> {
    let shift = if s.pair.server.footprint().runs == 0 { 7 } else { 0 };
    let acks = s.pair.log.iter().filter(|l| l.from == Side::Server);
    acks.map(|l| u64::from(l.segment.window) << shift).collect()
}

#[test]
fn a_fast_reader_is_never_in_the_senders_way() {
    let sender = Config { slow_start_segments: 1, ..plain("sack") };
    let mut s = bulk_to(sender, server(6_000_000), 4000);
    s.run(1000, |_| Fate::Deliver);
    // Doubled each round trip from the initial window of four segments, as with the whole buffer offered.
    let mut whole = bulk_to(plain("sack"), plain("sack"), 4000);
    whole.run(1000, |_| Fate::Deliver);
    assert_eq!(s.rounds(), whole.rounds());
    let offered = windows(&s);
    assert!(offered[0] < 70_000, "it begins with 64 KiB: {}", offered[0]);
    assert!(offered.last().is_some_and(|&w| w > 1_000_000), "{:?}", offered.last());
}

#[test]
fn a_slow_reader_is_offered_what_it_reads_not_the_buffer() {
    let mut s = bulk_to(plain("sack"), server(6_000_000), 4000);
    s.pair.reading = false;
    s.run(30_000, |_| Fate::Deliver);
    let arrived = s.pair.server.readable();
    // tcp_rmem[1], as far as it counts as window.
    assert!((78_000..=80_896).contains(&arrived), "{arrived}");
    let mut whole = bulk_to(plain("sack"), plain("sack"), 4000);
    whole.pair.reading = false;
    whole.run(30_000, |_| Fate::Deliver);
    assert!(whole.pair.server.readable() > 3_900_000);
}

#[test]
fn a_window_that_doubles_is_announced() {
    // tcp_cleanup_rbuf: not each read that frees two segments.
    let mut s = bulk_to(plain("sack"), server(6_000_000), 76);
    s.pair.reading = false;
    s.run(2000, |_| Fate::Deliver);
    s.replies();
    let read = |s: &mut Script, n: usize| {
        assert_eq!(s.pair.server.read(n).map(|p| p.len()), Some(n));
        let now = s.ms(s.pair.now);
        s.run(now, |_| Fate::Drop);
        s.replies().len()
    };
    // 76 segments of 80,896 octets wait; the window is 4 or 5 segments.
    assert_eq!(read(&mut s, 3000), 0);
    assert_eq!(read(&mut s, 3000), 1);
    assert_eq!(read(&mut s, 3000), 0);
}

#[test]
fn the_syn_offers_whole_segments_and_never_more_than_the_buffer() {
    for (buffer, window) in [(6_000_000, 65_000), (10_000, 10_000)] {
        let mut s = bulk_to(plain("sack"), server(buffer), 0);
        let answer = s.give(&data(2000, 1000));
        assert_eq!(answer.len(), 1);
        let offered = u64::from(answer[0].window) << if buffer > 65_535 { 7 } else { 0 };
        // An out-of-order segment takes no room, and opens the window by two of its size as far as there is space.
        assert!(offered >= window - 128 && offered <= 67_000, "{offered}");
        s.run(s.ms(s.pair.now) + MS(1).as_millis(), |_| Fate::Drop);
    }
}
