//! The sending application: what may be written by when.

use handfast_core::{Duration, Instant};
use handfast_scenario::{App, Flow};

/// What an application wants to send. It keeps count; the socket takes what it can.
#[derive(Debug)]
pub(super) struct Source {
    written: u64,
    /// What may have been written by now.
    allowed: u64,
    /// Writes at set times: how much, how often, and when next.
    paced: Option<(u64, Duration, Instant)>,
    stop: Instant,
    /// After `allowed` bytes there is nothing more.
    is_last: bool,
}

impl Source {
    /// The application of `flow`, which starts at `start`.
    pub(super) fn new(flow: &Flow, start: Instant) -> Self {
        let (allowed, paced) = match flow.app {
            App::Bulk => (u64::MAX, None),
            App::Transfer(size) => (size.get(), None),
            App::Paced { size, interval } => (0, Some((size.get(), interval, start))),
        };
        let is_last = matches!(flow.app, App::Transfer(_));
        Self { written: 0, allowed, paced, stop: flow.stop.unwrap_or(Instant::MAX), is_last }
    }

    /// When it next wants more, or wants to stop.
    pub(super) fn deadline(&self) -> Instant {
        let stop =
            if self.is_last && self.paced.is_none() && self.is_written() { Instant::MAX } else { self.stop };
        self.paced.map_or(Instant::MAX, |(_, _, next)| next).min(stop)
    }

    /// Does what is due.
    pub(super) fn on_time(&mut self, now: Instant) {
        while let Some((size, interval, next)) =
            self.paced.filter(|&(_, _, next)| next <= now && next < self.stop)
        {
            self.allowed += size;
            self.paced = Some((size, interval, next + interval));
        }
        if now >= self.stop && self.stop < Instant::MAX {
            // What was written at its time is still sent; a source that always has more has none now.
            if self.paced.take().is_none() {
                self.allowed = self.written;
            }
            self.is_last = true;
            self.stop = Instant::MAX;
        }
    }

    /// Position and number of the bytes that may be written now.
    pub(super) fn next(&self) -> (u64, u64) {
        (self.written, self.allowed - self.written)
    }

    /// The socket took so many.
    pub(super) fn on_written(&mut self, bytes: u64) {
        self.written += bytes;
    }

    fn is_written(&self) -> bool {
        self.written == self.allowed
    }

    /// Whether the last byte is written.
    pub(super) fn is_done(&self) -> bool {
        self.is_last && self.is_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Bytes;
    use handfast_plan::testing;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_transfer_is_done_with_its_last_byte() {
        let flow = Flow { app: App::Transfer(Bytes(1000)), ..testing::bulk(0, 1) };
        let mut source = Source::new(&flow, at(5));
        assert_eq!((source.next(), source.is_done()), ((0, 1000), false));
        source.on_written(600);
        assert_eq!((source.next(), source.is_done()), ((600, 400), false));
        source.on_written(400);
        assert!(source.is_done() && source.deadline() == Instant::MAX);
    }

    #[test]
    fn a_paced_source_catches_up_and_ends() {
        let app = App::Paced { size: Bytes(10), interval: Duration::from_millis(2) };
        let flow = Flow { app, stop: Some(at(10)), ..testing::bulk(0, 1) };
        let mut source = Source::new(&flow, at(4));
        assert_eq!(source.deadline(), at(4));
        source.on_time(at(7));
        assert_eq!((source.next(), source.deadline()), ((0, 20), at(8)));
        source.on_time(at(20));
        assert_eq!(source.next(), (0, 30), "at 4, 6 and 8 ms; the stop comes first at 10 ms");
        assert!(!source.is_done());
        source.on_written(30);
        assert!(source.is_done() && source.deadline() == Instant::MAX);
    }

    #[test]
    fn a_bulk_source_ends_at_its_stop() {
        let flow = Flow { stop: Some(at(10)), ..testing::bulk(0, 1) };
        let mut source = Source::new(&flow, at(0));
        source.on_written(123);
        source.on_time(at(9));
        assert!(!source.is_done());
        source.on_time(at(10));
        assert!(source.is_done());
    }
}
