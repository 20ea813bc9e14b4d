//! The sending side of an application: which of its bytes may be written by when.

use handfast_core::{Bytes, Instant};
use handfast_tcp::Death;

use super::paced::Paced;
use super::{App, Description, reconnecting};

/// What an application wants to send. It keeps count; whoever carries the bytes takes as many as it has room for.
#[derive(Debug)]
pub struct Source {
    written: u64,
    /// It may write so many bytes from its start on.
    allowed: u64,
    /// It may write more later. In a place of its own: few applications do, and with thousands of flows each cache line counts.
    paced: Option<Box<Paced>>,
    stop: Instant,
    /// After the bytes that are allowed there is nothing more.
    is_last: bool,
    reconnects: bool,
}

impl Source {
    /// An application that starts at `start`, and is stopped at `stop` if it has not ended by itself.
    pub fn new(app: App, start: Instant, stop: Option<Instant>) -> Self {
        let Description { writes, total, stays, reconnects, .. } = app.description();
        let paced = writes.map(|(size, interval)| Box::new(Paced::new(size, interval, start)));
        let allowed = if paced.is_some() { 0 } else { total.map_or(u64::MAX, Bytes::get) };
        let (is_last, reconnects) = (total.is_some() && !stays, reconnects.is_some());
        Self { written: 0, allowed, paced, stop: stop.unwrap_or(Instant::MAX), is_last, reconnects }
    }

    /// One of answers, which has nothing before it is asked.
    pub fn of_answers() -> Self {
        Self { written: 0, allowed: 0, paced: None, stop: Instant::MAX, is_last: false, reconnects: false }
    }

    /// So many bytes more are asked for.
    pub fn allow(&mut self, bytes: u64) {
        self.allowed += bytes;
    }

    /// Nobody waits for more than is written.
    pub fn finish(&mut self) {
        (self.allowed, self.is_last) = (self.written, true);
    }

    /// When it next wants more, or wants to stop; [`Instant::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        if self.is_last && self.paced.is_none() && self.is_written() {
            return Instant::MAX;
        }
        self.paced.as_ref().map_or(Instant::MAX, |paced| paced.next()).min(self.stop)
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        if let Some(paced) = &mut self.paced {
            self.allowed += paced.due(now, self.stop);
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
    #[inline]
    pub fn next(&self) -> (u64, u64) {
        (self.written, self.allowed - self.written)
    }

    /// Whether it has more to write than there is room for. One that writes at set times never waits for room.
    #[inline]
    pub fn is_greedy(&self) -> bool {
        !self.is_written() && self.paced.is_none()
    }

    /// Whether it wants a new connection after one has died of that.
    pub fn reconnects(&self, death: Death) -> bool {
        self.reconnects && reconnecting::tries_again(death)
    }

    /// Goes on from that byte: what comes after it has been written in vain.
    pub fn go_back_to(&mut self, position: u64) {
        self.written = position;
    }

    /// So many were taken.
    #[inline]
    pub fn on_written(&mut self, bytes: u64) {
        self.written += bytes;
    }

    #[inline]
    fn is_written(&self) -> bool {
        self.written == self.allowed
    }

    /// Whether the last byte is written.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.is_last && self.is_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_transfer_is_done_with_its_last_byte() {
        let mut source = Source::new(App::Transfer(Bytes(1000)), at(5), None);
        assert_eq!((source.next(), source.is_done()), ((0, 1000), false));
        source.on_written(600);
        assert_eq!((source.next(), source.is_done()), ((600, 400), false));
        source.on_written(400);
        assert!(source.is_done() && source.deadline() == Instant::MAX);
    }

    #[test]
    fn a_paced_source_catches_up_and_ends() {
        let app = App::Paced { size: Bytes(10), interval: Duration::from_millis(2) };
        let mut source = Source::new(app, at(4), Some(at(10)));
        assert_eq!(source.deadline(), at(4));
        source.on_timer(at(7));
        assert_eq!((source.next(), source.deadline()), ((0, 20), at(8)));
        source.on_timer(at(20));
        assert_eq!(source.next(), (0, 30), "at 4, 6 and 8 ms; the stop comes first at 10 ms");
        assert!(!source.is_done());
        source.on_written(30);
        assert!(source.is_done() && source.deadline() == Instant::MAX);
    }

    #[test]
    fn a_silent_source_keeps_its_connection_until_its_stop() {
        let mut source = Source::new(App::Silent, at(0), Some(at(10)));
        assert_eq!((source.next(), source.deadline()), ((0, 0), at(10)));
        assert!(!source.is_greedy() && !source.is_done());
        source.on_timer(at(10));
        assert!(source.is_done());
    }

    #[test]
    fn a_bulk_source_ends_at_its_stop() {
        let mut source = Source::new(App::Bulk, at(0), Some(at(10)));
        source.on_written(123);
        assert_eq!(source.deadline(), at(10));
        source.on_timer(at(9));
        assert!(!source.is_done());
        source.on_timer(at(10));
        assert!(source.is_done());
    }
}
