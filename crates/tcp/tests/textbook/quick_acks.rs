//! When Linux acknowledges (`icsk_ack`): quick ACKs, full-sized segments, the adaptive delay, ping-pong mode, compression.

use handfast_core::{Bytes, Duration};
use handfast_tcp::{Acks, Config};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

use crate::script::{MS, Script, bulk_to, data, said};
use crate::support::{Fate, plain};

fn config() -> Config {
    Config { acks: Acks::Linux, delayed_ack: MS(40), ..plain("sack") }
}

/// A server that receives what the test makes up, as Linux does. The handshake took 100 ms.
fn server() -> Script {
    bulk_to(config(), config(), 0)
}

/// Its acknowledgement of a segment, if it comes at once.
fn at_once(s: &mut Script, offset: u64, len: u32) -> Option<i32> {
    s.give(&data(offset, len)).first().map(|ack| said(ack).0)
}

/// `count` full segments in order from `first` on, one a millisecond: how many were acknowledged at once.
fn stream(s: &mut Script, first: u64, count: u64) -> Vec<u64> {
    (first..first + count)
        .filter(|&k| {
            let now = s.ms(s.pair.now);
            s.run(now + 1, |_| Fate::Drop);
            at_once(s, k * 1000, 1000).is_some()
        })
        .collect()
}

/// How long after now the delayed acknowledgement comes.
fn delay(s: &mut Script) -> u64 {
    let now = s.pair.now;
    let at = s.pair.server.deadline().expect("an acknowledgement is owed");
    s.run(s.ms(at), |_| Fate::Drop);
    assert_eq!(s.replies().len(), 1);
    at.since(now).as_millis()
}

/// A server that has used up its quick ACKs; `next` is the segment it waits for.
fn settled() -> (Script, u64) {
    let mut s = server();
    let quick = stream(&mut s, 0, 18);
    assert_eq!(quick.len(), 17);
    (s, 18)
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_each() {
    // tcp_event_data_recv: "The _first_ data packet received, initialize delayed ACK engine". Then every second.
    let mut s = server();
    assert_eq!(stream(&mut s, 0, 24), [(0..16).collect(), vec![17, 19, 21, 23]].concat());
}

#[test]
fn a_small_window_has_fewer_quick_acks() {
    // tcp_incr_quickack: half a window of segments, at least two.
    for (window, quick) in [(16_000, 8), (5000, 2)] {
        let small = Config { receive_buffer: Bytes(window), ..config() };
        let mut s = bulk_to(config(), small, 0);
        let first = stream(&mut s, 0, quick + 1);
        assert_eq!(first, (0..quick).collect::<Vec<_>>(), "{window}");
    }
}

#[test]
fn two_segments_count_when_they_are_full() {
    // "More than one full frame received": small segments wait for the timer, or for the application to have read them.
    let (mut s, next) = settled();
    s.pair.reading = false;
    assert_eq!(at_once(&mut s, next * 1000, 400), None);
    assert_eq!(at_once(&mut s, next * 1000 + 400, 400), None);
    assert_eq!(at_once(&mut s, next * 1000 + 800, 400), Some(next as i32 * 1000 + 1200));
}

#[test]
fn an_application_that_has_read_a_whole_write_acknowledges_it() {
    // tcp_cleanup_rbuf with ICSK_ACK_PUSHED: a small segment ends a write, and nobody answers by data.
    let (mut s, next) = settled();
    assert_eq!(at_once(&mut s, next * 1000, 400), Some(next as i32 * 1000 + 400));
    // So does PSH on a full one; without it the delay runs.
    assert_eq!(at_once(&mut s, next * 1000 + 400, 1000), None);
    delay(&mut s);
    let pushed = Segment { flags: Flags::ACK | Flags::PSH, ..data(next * 1000 + 1400, 1000) };
    assert_eq!(s.give(&pushed).len(), 1);
}

#[test]
fn the_delay_follows_the_time_between_segments() {
    let (mut s, next) = settled();
    // A millisecond between segments: ATO is at its least.
    assert_eq!(at_once(&mut s, next * 1000, 1000), None);
    assert_eq!(delay(&mut s), 40);
    // The timer ran out: ATO doubles; then a gap of 79 ms since the last segment: 80 / 2 + 79, bounded by SRTT, 100 ms.
    let now = s.ms(s.pair.now);
    s.run(now + 39, |_| Fate::Drop);
    assert_eq!(at_once(&mut s, (next + 1) * 1000, 1000), None);
    assert_eq!(delay(&mut s), 100);
    // 0.2 s is TCP_DELACK_MAX, and a segment soon after the last brings ATO down again: (119 * 2) / 2 + 20.
    assert_eq!(at_once(&mut s, (next + 2) * 1000, 1000), None);
}

#[test]
fn silence_of_more_than_an_rto_brings_quick_acks_back() {
    let (mut s, next) = settled();
    let now = s.ms(s.pair.now);
    s.run(now + 2000, |_| Fate::Drop);
    s.replies();
    assert_eq!(stream(&mut s, next, 4).len(), 4);
}

#[test]
fn a_duplicate_brings_quick_acks_back() {
    // tcp_enter_quickack_mode.
    let (mut s, next) = settled();
    assert_eq!(stream(&mut s, next, 3).len(), 1);
    at_once(&mut s, 0, 1000);
    assert_eq!(stream(&mut s, next + 3, 4).len(), 4);
}

#[test]
fn a_server_that_answers_lets_its_data_carry_the_acknowledgements() {
    // Ping-pong mode (tcp_pingpong_thresh 1): no quick ACKs, and nothing at once for a read write.
    let mut s = server();
    assert!(at_once(&mut s, 0, 100).is_some());
    s.pair.server.write(Payload::Synthetic { stream: 2, offset: 0, len: 10 });
    s.run(0, |_| Fate::Drop);
    assert_eq!(s.replies().len(), 1);
    assert_eq!(at_once(&mut s, 100, 100), None);
    // The timer runs out without an answer: the mode ends.
    assert!((40..=200).contains(&delay(&mut s)));
    assert!(at_once(&mut s, 200, 100).is_some());
}

#[test]
fn holes_are_reported_at_once_three_times_then_by_the_millisecond() {
    // tcp_comp_sack_delay_ns; "dup_ack_counter < TCP_FASTRETRANS_THRESH".
    let (mut s, next) = settled();
    let beyond: Vec<bool> = (1..=6).map(|k| at_once(&mut s, (next + k) * 1000, 1000).is_some()).collect();
    assert_eq!(beyond, [true, true, true, false, false, false]);
    let now = s.pair.now;
    assert_eq!(s.pair.server.deadline(), Some(now + MS(1)));
    s.run(s.ms(now) + 1, |_| Fate::Drop);
    let replies = s.replies();
    let (from, to) = ((next as i32 + 1) * 1000, (next as i32 + 7) * 1000);
    assert_eq!(replies.iter().map(said).collect::<Vec<_>>(), [(next as i32 * 1000, vec![(from, to)])]);
    // What fills the hole is acknowledged at once.
    assert_eq!(at_once(&mut s, next * 1000, 1000), Some(to));
}

#[test]
fn compression_hides_no_block() {
    // tcp_sack_compress_send_ack: every other segment is missing, and an ACK with timestamps has room for three blocks.
    let (mut s, next) = settled();
    let beyond: Vec<bool> =
        (0..7).map(|k| at_once(&mut s, (next + 1 + 2 * k) * 1000, 1000).is_some()).collect();
    assert_eq!(beyond, [true, true, true, false, true, false, true]);
}

#[test]
fn no_compression_without_sack() {
    let bare = Config { sack: false, ..config() };
    let mut s = bulk_to(bare.clone(), bare, 0);
    let beyond = (1..=6).filter(|&k| at_once(&mut s, k * 1000, 1000).is_some()).count();
    assert_eq!(beyond, 6);
}

#[test]
fn timers_are_the_wheels() {
    // 40 ms are ten jiffies of 4 ms, and the wheel adds one; the clock stands at an edge.
    let tick = Config { timer_tick: MS(4), ..config() };
    let mut s = bulk_to(tick.clone(), tick, 0);
    stream(&mut s, 0, 16);
    assert_eq!(s.ms(s.pair.now) % 4, 0);
    assert_eq!(at_once(&mut s, 16_000, 1000), None);
    assert_eq!(delay(&mut s), 44);
    assert_eq!(Duration::ZERO, config().timer_tick);
}

#[test]
fn while_the_window_opens_each_segment_is_acknowledged() {
    // tcp_grow_window: "icsk_ack.quick |= 1". 64 KiB grow to 79 in six or seven steps; the quick ACKs last as many segments longer.
    let tuned = Config { receive_autotuning: true, ..config() };
    let mut s = bulk_to(config(), tuned, 0);
    let quick = stream(&mut s, 0, 40);
    // 65 kB, two segments of 1000 octets a step, up to 80,896: eight steps, then sixteen.
    assert_eq!(quick[..24], (0..24).collect::<Vec<_>>());
    assert_eq!(quick[24..], [25, 27, 29, 31, 33, 35, 37, 39]);
}

#[test]
fn in_quick_ack_mode_nothing_is_compressed() {
    let mut s = server();
    stream(&mut s, 0, 2);
    let beyond = (3..=10).filter(|&k| at_once(&mut s, k * 1000, 1000).is_some()).count();
    assert_eq!(beyond, 8);
}

#[test]
fn while_the_window_opens_sacks_are_not_compressed() {
    // `tcp_data_queue_ofo` asks `tcp_grow_window` too. Eight segments open the window, three more are duplicates that count.
    let tuned = Config { receive_autotuning: true, ..config() };
    let mut s = bulk_to(config(), tuned, 0);
    let at_once: Vec<_> = (1..=14).filter(|&k| at_once(&mut s, k * 1000, 1000).is_some()).collect();
    assert_eq!(at_once, (1..=11).collect::<Vec<_>>());
}
