//! How far Linux opens its receive window (`tcp_input.c`: `tcp_grow_window`, dynamic right-sizing in `tcp_rcv_space_adjust`; names
//! as there).
//!
//! The window begins at 64 KiB. It follows what arrives at twice its size, up to a clamp; the clamp follows what the
//! application reads in a round trip. So a sender whose application keeps up never meets it, and one whose application is slow
//! meets a window of a few round trips' reading, not the whole buffer.

use handfast_core::{Duration, Instant};

/// `TCP_INIT_CWND`, segments: what a sender is expected to send in its first round trip.
pub(super) const FIRST_ROUND: u64 = 10;

/// Segments smaller than this do not open the window (`tcp_event_data_recv`).
pub(super) const LEAST: u64 = 128;

/// What of a buffer counts as window, in 256ths: `scaling_ratio`, the payload of a full segment in the memory it takes.
const SCALING_RATIO: u64 = 158;

/// `tcp_rmem[1]`.
const INITIAL_BUFFER: u64 = 131_072;

/// What a timestamp shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// `TSecr`.
    pub(crate) ecr: u32,
    /// The time since we sent it.
    pub(crate) rtt: Duration,
}

/// The window's state besides the buffer's size, which it changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Autotune {
    /// `tcp_rmem[2]` as window space.
    most: u64,
    mss: u64,
    /// `rcv_ssthresh`: the largest window to offer now.
    ssthresh: u64,
    /// `rcvq_space.space`: octets read in the best round trip.
    space: u64,
    /// `rcvq_space.seq` and `.time`: where and when the measurement began.
    read_from: u64,
    since: Instant,
    /// `rcv_rtt_est`: zero before an estimate.
    rtt: Duration,
    /// `rcv_rtt_last_tsecr`: of several segments with one echo the first counts.
    echo: Option<u32>,
    /// Without timestamps, the time a window of data takes: it ends at this position.
    window_end: u64,
    window_start: Option<Instant>,
    /// When the last segment arrived: `read` has no clock of its own.
    now: Instant,
}

impl Autotune {
    /// `rcvq_space.space`
    pub(crate) fn space(&self) -> u64 {
        self.space
    }

    /// For a buffer of at most `most` octets; returns the space to begin with too.
    pub(crate) fn new(most: u64, mss: u64) -> (Self, u64) {
        let space = (INITIAL_BUFFER * SCALING_RATIO / 256).min(most);
        // tcp_select_initial_window: whole segments, and the window of a SYN is not scaled.
        let first = space.min(u64::from(u16::MAX));
        let ssthresh = if first > mss { first / mss * mss } else { first };
        let tune = Self {
            most,
            mss,
            ssthresh,
            space: ssthresh.min(FIRST_ROUND * mss),
            read_from: 0,
            since: Instant::ZERO,
            rtt: Duration::ZERO,
            echo: None,
            window_end: 0,
            window_start: None,
            now: Instant::ZERO,
        };
        (tune, space)
    }

    /// The buffer can never be larger than this: the peer does not scale windows.
    pub(crate) fn bound(&mut self, most: u64) {
        self.most = self.most.min(most);
    }

    /// The window begins with so much: the path before had it. Never more than the buffer can be; what it is now.
    pub(crate) fn begin_with(&mut self, window: u64) -> u64 {
        self.ssthresh = self.ssthresh.max(window.min(self.most));
        self.ssthresh
    }

    /// The largest window to offer.
    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// A segment of `len` octets has arrived; the buffer now holds data up to `next`, and has `free` octets left.
    /// `echoed`: the timestamp that it echoes and the round-trip time that shows, if it has one. Whether the window has opened.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        len: u64,
        next: u64,
        free: u64,
        echoed: Option<Echo>,
    ) -> bool {
        self.now = now;
        match echoed {
            Some(echo) => self.measure_echo(len, echo),
            None => self.measure_window(now, next, free),
        }
        // tcp_grow_window
        let room = if len >= LEAST { free.saturating_sub(self.ssthresh) } else { 0 };
        self.ssthresh += (2 * self.mss.max(len)).min(room);
        room > 0
    }

    /// `tcp_rcv_rtt_measure_ts`.
    fn measure_echo(&mut self, len: u64, echo: Echo) {
        if self.echo == Some(echo.ecr) {
            return;
        }
        self.echo = Some(echo.ecr);
        if len >= self.mss / 2 {
            self.note_rtt(echo.rtt, false);
        }
    }

    /// `tcp_rcv_rtt_measure`: a window of data takes at least a round trip.
    fn measure_window(&mut self, now: Instant, next: u64, free: u64) {
        if let Some(start) = self.window_start {
            if next < self.window_end {
                return;
            }
            self.note_rtt(now.since(start), true);
        }
        self.window_start = Some(now);
        self.window_end = next + free.min(self.ssthresh);
    }

    /// `tcp_rcv_rtt_update`: smoothed, except that a lower bound by the window only ever lowers it.
    fn note_rtt(&mut self, sample: Duration, window_dependent: bool) {
        if self.rtt == Duration::ZERO || sample < self.rtt {
            self.rtt = sample.max(Duration::from_nanos(1));
        } else if !window_dependent {
            self.rtt = self.rtt.saturating_sub(self.rtt / 8) + sample / 8;
        }
    }

    /// The application has read up to position `copied`; `waiting` octets are left, `beyond` lie behind holes. Returns the
    /// buffer's size if it is to be at least that (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`).
    pub(crate) fn on_read(&mut self, copied: u64, waiting: u64, beyond: u64) -> Option<u64> {
        if self.rtt == Duration::ZERO || self.now.since(self.since) < self.rtt {
            return None;
        }
        let read = (copied - self.read_from).saturating_sub(waiting);
        self.read_from = copied;
        self.since = self.now;
        if read <= self.space {
            return None;
        }
        // "DRS is always one RTT late"; "slow start: allow the sender to double its rate".
        let twice = 2 * read;
        let growth = u128::from(twice) * u128::from(read - self.space) / u128::from(self.space.max(1));
        self.space = read;
        let window = u128::from(twice) + 2 * growth + u128::from(beyond);
        Some(u64::try_from(window).unwrap_or(u64::MAX).min(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An echo of 100 ms; each number is another timestamp.
    fn echo(ecr: u32) -> Echo {
        Echo { ecr, rtt: Duration::from_millis(100) }
    }

    #[test]
    fn it_begins_with_whole_segments_of_64_kib() {
        let (tune, space) = Autotune::new(20_000_000, 1460);
        assert_eq!((tune.ssthresh(), space), (64_240, 80_896));
        let (tune, space) = Autotune::new(1000, 1460);
        assert_eq!((tune.ssthresh(), space), (1000, 1000));
    }

    #[test]
    fn each_segment_opens_it_by_two_up_to_what_is_free() {
        let (mut tune, _) = Autotune::new(20_000_000, 1000);
        tune.on_segment(Instant::ZERO, 1000, 1000, 70_000, Some(echo(1)));
        assert_eq!(tune.ssthresh(), 67_000);
        tune.on_segment(Instant::ZERO, 100, 1100, 70_000, Some(echo(1)));
        assert_eq!(tune.ssthresh(), 67_000, "too small to count");
        for _ in 0..5 {
            tune.on_segment(Instant::ZERO, 1000, 2000, 70_000, Some(echo(1)));
        }
        assert_eq!(tune.ssthresh(), 70_000);
    }

    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let (mut tune, _) = Autotune::new(1_000_000, 1000);
        tune.on_segment(Instant::from_millis(200), 1000, 1000, 70_000, Some(echo(1)));
        assert_eq!(tune.on_read(10_000, 0, 0), None, "no more than the first window");
        tune.on_segment(Instant::from_millis(250), 1000, 1000, 70_000, Some(echo(1)));
        assert_eq!(tune.on_read(90_000, 0, 0), None, "not a round trip yet");
        tune.on_segment(Instant::from_millis(300), 1000, 1000, 70_000, Some(echo(1)));
        // 20 kB after 10: twice that, and twice the same again.
        assert_eq!(tune.on_read(30_000, 0, 500), Some(40_000 + 2 * 40_000 + 500));
        // A second segment with the same echo waited behind the first, and says nothing about the round trip.
        let late = Some(Echo { ecr: 1, rtt: Duration::from_millis(900) });
        tune.on_segment(Instant::from_millis(300), 1000, 1000, 70_000, late);
        assert_eq!(tune.rtt, Duration::from_millis(100));
        tune.on_segment(Instant::from_millis(400), 1000, 1000, 70_000, Some(echo(1)));
        assert_eq!(tune.on_read(2_000_000, 0, 0), Some(1_000_000));
    }

    #[test]
    fn without_timestamps_a_window_of_data_bounds_the_round_trip() {
        let (mut tune, _) = Autotune::new(1_000_000, 1000);
        tune.on_segment(Instant::from_millis(100), 1000, 1000, 5000, None);
        tune.on_segment(Instant::from_millis(150), 1000, 5000, 5000, None);
        assert_eq!(tune.rtt, Duration::ZERO);
        tune.on_segment(Instant::from_millis(180), 1000, 6000, 5000, None);
        assert_eq!(tune.rtt, Duration::from_millis(80));
        tune.on_segment(Instant::from_millis(980), 1000, 20_000, 5000, None);
        assert_eq!(tune.rtt, Duration::from_millis(80), "a pause raises nothing");
    }

    #[test]
    fn the_round_trip_is_smoothed_by_eighths_and_falls_at_once() {
        // `tcp_rcv_rtt_update`: "m -= (new_sample >> 3); new_sample += m", and "if (m < new_sample) new_sample = m".
        let ms = Duration::from_millis;
        let (mut tune, _) = Autotune::new(1_000_000, 1000);
        let samples = [(100, false), (180, false), (900, true), (109, true), (109, false)];
        let after = samples.map(|(sample, window_dependent)| {
            tune.note_rtt(ms(sample), window_dependent);
            tune.rtt.as_millis()
        });
        assert_eq!(after, [100, 110, 110, 109, 109]);
        tune.note_rtt(Duration::ZERO, false);
        assert_eq!(tune.rtt, Duration::from_nanos(1), "zero would mean none");
    }

    #[test]
    fn small_segments_show_no_round_trip_and_open_nothing() {
        // `tcp_rcv_rtt_measure_ts` wants a full one (here half of one), `tcp_event_data_recv` 128 octets.
        for (len, rtt) in [(499, 0), (500, 100)] {
            let (mut tune, _) = Autotune::new(1_000_000, 1000);
            tune.on_segment(Instant::ZERO, len, len, 70_000, Some(echo(1)));
            assert_eq!(tune.rtt.as_millis(), rtt, "{len}");
        }
        for (len, free, opens) in
            [(127, 70_000, false), (128, 70_000, true), (128, 65_001, true), (128, 65_000, false)]
        {
            let (mut tune, _) = Autotune::new(1_000_000, 1000);
            assert_eq!(tune.on_segment(Instant::ZERO, len, len, free, Some(echo(1))), opens, "{len}, {free}");
        }
        // A segment larger than the MSS counts as it is (offloading may join some).
        let (mut tune, _) = Autotune::new(1_000_000, 1000);
        tune.on_segment(Instant::ZERO, 1500, 1500, 90_000, Some(echo(1)));
        assert_eq!(tune.ssthresh(), 68_000);
    }

    #[test]
    fn a_window_of_data_is_what_may_be_sent_and_no_more() {
        // `tcp_rcv_rtt_measure`: "rcv_rtt_est.seq = tp->rcv_nxt + tp->rcv_wnd".
        let measured = |free: u64, next: u64| {
            let (mut tune, _) = Autotune::new(1_000_000, 1000);
            tune.on_segment(Instant::from_millis(100), 1000, 1000, free, None);
            tune.on_segment(Instant::from_millis(150), 1000, next, free, None);
            tune.rtt.as_millis()
        };
        assert_eq!((measured(5000, 5999), measured(5000, 6000)), (0, 50));
        // 65,000, opened by two segments just after the measurement began.
        assert_eq!((measured(90_000, 65_999), measured(90_000, 66_000)), (0, 50));
    }

    #[test]
    fn reading_counts_once_a_round_trip_and_beyond_the_last_most() {
        // `tcp_rcv_space_adjust`: "time < (tp->rcv_rtt_est.rtt_us >> 3)", "copied <= tp->rcvq_space.space".
        let read = |ms: u64, copied: u64, waiting: u64| {
            let (mut tune, _) = Autotune::new(1_000_000, 1000);
            tune.on_segment(Instant::from_millis(ms), 1000, 1000, 70_000, Some(echo(1)));
            let size = tune.on_read(copied, waiting, 0);
            (size, tune.read_from)
        };
        assert_eq!(read(99, 20_000, 0), (None, 0));
        // 20 kB after ten segments: 40, and twice 40 * 10 / 10.
        assert_eq!(read(100, 20_000, 0), (Some(120_000), 20_000));
        assert_eq!((read(100, 10_000, 0), read(100, 21_000, 11_000)), ((None, 10_000), (None, 21_000)));
        assert_eq!(read(100, 11_000, 0).0, Some(22_000 + 2 * 2200));
    }

    #[test]
    fn whole_segments_and_ten_of_them_to_begin_with() {
        // `tcp_init_buffer_space`: "rcvq_space.space = min3 (rcv_ssthresh, rcv_wnd, TCP_INIT_CWND * advmss)".
        for (most, mss, ssthresh, space) in
            [(20_000_000, 1000, 65_000, 10_000), (1460, 1460, 1460, 1460), (3000, 1460, 2920, 2920)]
        {
            let (tune, _) = Autotune::new(most, mss);
            assert_eq!((tune.ssthresh(), tune.space), (ssthresh, space), "{most}, {mss}");
        }
        let (mut tune, _) = Autotune::new(1_000_000, 1000);
        tune.bound(65_535);
        tune.bound(100_000);
        assert_eq!(tune.most, 65_535);
    }
}
