//! Is the peer still there? The user timeout (RFC 9293 §3.9.1, RFC 5482 §3.1) and keep-alive (RFC 9293 §3.8.4).
//!
//! Both share one timer: the user timeout runs while something is unacknowledged, keep-alive while nothing is. Expiries are not
//! moved with each segment; one that comes too early looks again.

use handfast_core::Instant;
use handfast_wire::Payload;
use handfast_wire::tcp::Flags;

use super::{Endpoint, Timer};
use crate::{Config, Death, Event, State, Transmit};

/// What both rules remember; absent where neither is configured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alive {
    /// When the peer was last heard of.
    heard: Instant,
    /// Since when something has been unacknowledged without progress.
    waiting: Option<Instant>,
    /// Keep-alive probes since the peer was last heard of.
    probes: u8,
    probe_due: bool,
}

impl Alive {
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        (config.user_timeout.is_some() || config.keepalive_idle.is_some()).then(Box::default)
    }
}

impl Endpoint {
    /// The connection is established, or a segment of it has arrived.
    pub(super) fn heard(&mut self, now: Instant) {
        let Some(alive) = &mut self.alive else { return };
        alive.heard = now;
        alive.probes = 0;
        alive.probe_due = false;
    }

    /// Something that must be acknowledged has left; only the oldest counts. `again`: whether it has left before; Linux counts from the
    /// first repetition (`retransmits_timed_out` goes by `retrans_stamp`).
    #[inline]
    pub(super) fn begin_waiting(&mut self, now: Instant, again: impl FnOnce() -> bool) {
        let Some(alive) = &mut self.alive else { return };
        if alive.waiting.is_none() && (!self.config.linux_details || again()) {
            alive.waiting = Some(now);
            self.arm_alive(now);
        }
    }

    /// The peer has acknowledged something, or answered a probe of its closed window (RFC 9293 §3.8.6.1: such a connection
    /// stays open as long as there are answers).
    pub(super) fn note_answer(&mut self, now: Instant) {
        let Self { alive, tx, config, .. } = self;
        let Some(alive) = alive else { return };
        // The octet of a probe counts from the probe on, not from the answer to the one before.
        let outstanding = tx.una < tx.max && tx.wnd > 0 && !config.linux_details;
        alive.waiting = outstanding.then_some(now);
        self.arm_alive(now);
    }

    pub(super) fn arm_alive(&mut self, now: Instant) {
        // Its timer is this one too.
        if self.state == State::TimeWait {
            return;
        }
        match self.alive_deadline() {
            Some(at) => self.timers.set(Timer::Life, at.max(now)),
            None => self.timers.stop(Timer::Life),
        }
    }

    /// Something waits to be sent or to be acknowledged: that is as good as a probe.
    fn is_busy(&self) -> bool {
        self.tx.una < self.tx.stream_end()
    }

    fn alive_deadline(&self) -> Option<Instant> {
        let alive = self.alive.as_ref()?;
        if let Some(since) = alive.waiting {
            return self.config.user_timeout.map(|limit| since + limit);
        }
        Some(alive.heard + self.config.keepalive_idle?)
    }

    pub(super) fn on_alive_timeout(&mut self, now: Instant) {
        if let Some(at) = self.alive_deadline().filter(|&at| at > now) {
            self.timers.set(Timer::Life, at);
            return;
        }
        let (limit, busy) = (self.config.keepalive_probes, self.is_busy());
        let Some(alive) = &mut self.alive else { return };
        if alive.waiting.is_some() {
            self.end(Event::Died(Death::UserTimeout));
        } else if busy {
            self.timers.set(Timer::Life, now + self.config.keepalive_interval);
        } else if alive.probes >= limit {
            let reset = (self.tx.seq(self.tx.max), Some(self.rx.rcv_nxt()));
            self.end(Event::Died(Death::KeepAlive));
            // `tcp_keepalive_timer`
            self.reset_due = self.config.linux_details.then_some(reset);
        } else {
            alive.probes += 1;
            alive.probe_due = true;
            self.timers.set(Timer::Life, now + self.config.keepalive_interval);
        }
    }

    /// RFC 9293 §3.8.4: an empty segment with an octet number that the peer has acknowledged; it must answer.
    pub(super) fn keepalive_probe(&mut self, now: Instant) -> Option<Transmit> {
        let due = self.alive.as_mut().is_some_and(|alive| std::mem::take(&mut alive.probe_due));
        if !due || self.is_busy() {
            return None;
        }
        self.counters.segments_sent += 1;
        Some(self.build(now, self.tx.max - 1, Payload::EMPTY, Flags::ACK))
    }
}
