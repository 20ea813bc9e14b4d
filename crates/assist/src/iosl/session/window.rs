//! How far ahead of its program a peer may send: little at first, and more where the program reads what comes.
//!
//! What was granted is not taken back (as RFC 9293 §3.8.6 has it for windows of TCP). So nobody is granted what it has no use for:
//! idle sessions would keep the memory from those that carry something.

use handfast_core::{Duration, Instant};

/// By what a window grows: from 4 KiB, it is ahead of TCP's initial window and slow start (RFC 6928, RFC 5681) from the second
/// round trip on.
const GROWTH: u64 = 4;

/// A window that was not needed for so many spans is halved (as RFC 7661 §4.4 has it for the congestion window).
const UNUSED: u64 = 16;

#[derive(Debug)]
pub(super) struct Window {
    least: u64,
    size: u64,
    /// What the program has read since then.
    read: u64,
    since: Instant,
}

impl Window {
    pub(super) fn new(now: Instant, least: u64) -> Self {
        Self { least, size: least, read: 0, since: now }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Of a session that was kept.
    pub(super) fn restore(&mut self, size: u64) {
        self.size = size.max(self.least);
    }

    /// The program has read so many octets. Who reads half a window within `span` (two round trips) may be held up by it.
    pub(super) fn on_read(&mut self, now: Instant, octets: u64, span: Duration, most: u64) {
        let age = now.since(self.since);
        if age > span {
            if age > span.saturating_mul(UNUSED) {
                self.size = (self.size / 2).max(self.least);
            }
            (self.since, self.read) = (now, 0);
        }
        self.read += octets;
        if self.read >= self.size.div_ceil(2) {
            self.size = self.size.saturating_mul(GROWTH).min(most.max(self.least));
            (self.since, self.read) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(1_000 + ms)
    }

    /// Reads so much each so many milliseconds.
    fn read(window: &mut Window, from: u64, times: u64, every: u64, octets: u64) -> u64 {
        for time in 0..times {
            window.on_read(at(from + time * every), octets, SPAN, 1 << 20);
        }
        window.size()
    }

    #[test]
    fn who_reads_what_comes_gets_more_up_to_a_bound() {
        let mut window = Window::new(at(0), 4_096);
        assert_eq!(read(&mut window, 0, 1, 1, 2_047), 4_096);
        assert_eq!(read(&mut window, 1, 1, 1, 1), 16_384);
        assert_eq!(read(&mut window, 20, 100, 20, 1 << 20), 1 << 20);
    }

    #[test]
    fn who_reads_slowly_keeps_what_it_has_and_who_rests_loses_half() {
        let mut window = Window::new(at(0), 4_096);
        assert_eq!(read(&mut window, 0, 1_000, 100, 2_000), 4_096, "20 kB/s: 1 kB in 50 ms");
        assert_eq!(read(&mut window, 200_000, 1, 1, 4_096), 16_384);
        assert_eq!(read(&mut window, 260_000, 1, 1, 100), 8_192);
        assert_eq!(read(&mut window, 320_000, 2, 60_000, 100), 4_096, "and never less");
    }
}
