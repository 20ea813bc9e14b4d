//! What a sender waits for, and how long in all (Linux's `tcp_chrono`): for `TCP_INFO`.

use handfast_core::{Duration, Instant};

/// What holds the sender up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Waits {
    /// Nothing is to be sent, or outstanding.
    #[default]
    Idle,
    /// The network: cwnd, or an acknowledgement.
    Busy,
    /// The peer's window.
    ReceiveWindow,
    /// The application, which waits for room in the send buffer.
    SendBuffer,
}

/// The times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chrono {
    now: Waits,
    since: Instant,
    busy: Duration,
    receive_window: Duration,
    send_buffer: Duration,
}

impl Chrono {
    /// From `now` on the sender waits for `what`.
    pub(super) fn note(&mut self, now: Instant, what: Waits) {
        if what != self.now {
            *self = Self { now: what, since: now, ..self.at(now) };
        }
    }

    /// Counted up to `now`.
    fn at(&self, now: Instant) -> Self {
        let mut counted = *self;
        let passed = now.since(self.since);
        match self.now {
            Waits::Idle => return counted,
            Waits::Busy => {}
            Waits::ReceiveWindow => counted.receive_window += passed,
            Waits::SendBuffer => counted.send_buffer += passed,
        }
        counted.busy += passed;
        counted.since = now;
        counted
    }

    /// `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`: microseconds; the first holds the others.
    pub(super) fn us(&self, now: Instant) -> [u64; 3] {
        let counted = self.at(now);
        [counted.busy, counted.receive_window, counted.send_buffer].map(|time| time.as_nanos() / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_holds_the_others_and_stops_when_nothing_is_outstanding() {
        let mut chrono = Chrono::default();
        let ms = Instant::from_millis;
        chrono.note(ms(10), Waits::Busy);
        chrono.note(ms(20), Waits::SendBuffer);
        chrono.note(ms(25), Waits::ReceiveWindow);
        assert_eq!(chrono.us(ms(26)), [16_000, 1_000, 5_000]);
        chrono.note(ms(30), Waits::Idle);
        assert_eq!(chrono.us(ms(90)), [20_000, 5_000, 5_000]);
    }
}
