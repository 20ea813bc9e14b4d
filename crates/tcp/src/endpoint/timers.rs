//! The timers of a connection, and what their expiry does.

use handfast_core::Instant;

use super::Endpoint;
use crate::recovery::{Expired, TimerChange};
use crate::spurious::Before;
use crate::{Death, Event, State};

/// Which timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// RFC 6298 §5; for SYN and FIN too.
    Retransmit,
    /// RFC 9293 §3.8.6.1.
    Persist,
    /// RFC 9293 §3.8.6.3.
    DelayedAck,
    /// The next departure of a schedule.
    Pace,
    /// User timeout and keep-alive; 2 MSL in TIME-WAIT, which knows neither.
    Life,
}

impl Timer {
    pub(super) const ALL: [Self; 5] =
        [Self::Retransmit, Self::Persist, Self::DelayedAck, Self::Pace, Self::Life];

    /// Whether its expiry says something of the path, or sends something over it: a connection that is suspended lets it pass.
    pub(super) fn waits_for_path(self, state: State) -> bool {
        match self {
            Self::Retransmit | Self::Persist | Self::Pace => true,
            Self::Life => state != State::TimeWait,
            Self::DelayedAck => false,
        }
    }
}

/// When each timer expires; [`Instant::MAX`] where it is off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers([Instant; Timer::ALL.len()]);

impl Default for Timers {
    fn default() -> Self {
        Self([Instant::MAX; Timer::ALL.len()])
    }
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Instant::MAX;
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.0[timer as usize] != Instant::MAX
    }

    /// When it expires, if it is on.
    pub(super) fn get(&self, timer: Timer) -> Option<Instant> {
        self.is_set(timer).then_some(self.0[timer as usize])
    }

    pub(super) fn set_if_off(&mut self, timer: Timer, at: Instant) {
        if !self.is_set(timer) {
            self.set(timer, at);
        }
    }

    pub(super) fn take_if_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_set(timer) && self.0[timer as usize] <= now;
        if due {
            self.stop(timer);
        }
        due
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.0.iter().copied().min().filter(|&at| at != Instant::MAX)
    }
}

impl Endpoint {
    pub(super) fn on_expiry(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Retransmit if self.tx.una == 0 => self.on_handshake_timeout(),
            Timer::Retransmit => self.on_loss_timer(now),
            Timer::Persist => self.on_persist_timeout(now),
            Timer::DelayedAck => self.on_delayed_ack_timeout(),
            Timer::Pace => self.on_pace_timeout(now),
            Timer::Life if self.state == State::TimeWait => self.end(Event::Closed),
            Timer::Life => self.on_alive_timeout(now),
        }
    }

    /// SYN or SYN-ACK was not acknowledged in time.
    fn on_handshake_timeout(&mut self) {
        // RFC 6298 §5.5 doubles from the first; Linux's tcp_syn_linear_timeouts keeps an active open's first ones apart by
        // the same RTO, and adds them to the retries.
        let linear = if self.state == State::SynSent { self.config.syn_linear_timeouts } else { 0 };
        if self.tx.retries >= self.config.syn_retries.saturating_add(linear) {
            self.end(Event::Died(Death::HandshakeTimeout));
            return;
        }
        self.report_timeout();
        self.startup_handshake_timeout();
        self.tx.retries += 1;
        if self.tx.retries > linear {
            self.tx.rtt.back_off();
        }
        self.tx.nxt = 0;
    }

    pub(super) fn on_retransmission_timeout(&mut self, now: Instant) {
        if self.tx.una == self.tx.max {
            return;
        }
        if self.give_up(now) {
            return;
        }
        self.report_timeout();
        let first = self.tx.retries == 0;
        self.path_timed_out(now, first);
        if let Some(help) = &mut self.help {
            help.vho.on_timeout(&mut self.tx);
            if let Some(iosl) = &mut help.iosl {
                iosl.before_timeout(&self.tx);
            }
        }
        self.spurious.before_timeout(&self.config, &Before::of(&self.tx), first);
        if let Some(eln) = &mut self.eln {
            eln.before_timeout(&self.tx);
        }
        self.recovery.on_timeout(now, &mut self.tx, &self.config, first);
        self.tell_losses(now);
        self.tx.answers.on_loss(self.tx.max);
        self.startup_loss();
    }

    /// The retransmission timer has expired, or whatever else it stood for (RFC 8985 §8).
    fn on_loss_timer(&mut self, now: Instant) {
        let expired = self.recovery.on_timer(&context!(self, now));
        if let Expired::Reordering(Some(found)) = &expired {
            self.tx.cc.on_overdue(found.lost);
        }
        match &expired {
            Expired::Timeout => self.on_retransmission_timeout(now),
            Expired::Reordering(Some(found)) if found.begins => {
                self.enter_recovery();
                self.recovery.reduce(&mut self.tx, false, found);
            }
            _ => {}
        }
        if let Expired::Reordering(Some(_)) = &expired {
            self.tell_losses(now);
        }
        let change = self.recovery.time_expiry(&context!(self, now), &expired);
        self.change_timer(now, change);
    }

    #[inline]
    pub(super) fn change_timer(&mut self, now: Instant, change: TimerChange) {
        let delay = match change {
            TimerChange::Stays => return,
            TimerChange::Stops => return self.timers.stop(Timer::Retransmit),
            TimerChange::Rto => self.rto(),
            TimerChange::After(delay) => delay,
        };
        self.timers.set(Timer::Retransmit, self.expiry(now, delay));
    }

    fn report_timeout(&mut self) {
        self.counters.timeouts += 1;
        let event = Event::Timeout { rto: self.rto(), in_a_row: self.tx.retries.saturating_add(1) };
        self.emit(event);
    }

    /// R2 (RFC 9293 §3.8.3): the peer has not answered for too long.
    fn give_up(&mut self, now: Instant) -> bool {
        let dead = self.counted_retries() >= self.config.data_retries || self.is_disrupted_too_long(now);
        if dead {
            self.end(Event::Died(Death::Timeout));
        }
        dead
    }

    fn on_persist_timeout(&mut self, now: Instant) {
        if self.tx.corked && self.tx.una == self.tx.max && self.tx.wnd > 0 {
            // It is no closed window that holds the data back: they have waited long enough for more.
            self.tx.corked = false;
            return;
        }
        if self.help.is_some() && self.asks_driver_again(now) || self.give_up(now) {
            return;
        }
        self.tx.retries = self.tx.retries.saturating_add(1);
        self.tx.probes = self.tx.probes.saturating_add(1);
        self.tx.probe_due = true;
        self.set_persist(now);
    }

    /// RFC 6298 §5.1: what is outstanding has a timer. What probed a closed window has the persist timer until the window opens;
    /// where cwnd lets nothing follow then, no segment would start the other.
    #[inline]
    pub(super) fn time_outstanding(&mut self, now: Instant) {
        let timed = self.timers.is_set(Timer::Retransmit) || self.timers.is_set(Timer::Persist);
        if self.tx.una < self.tx.max && !timed {
            let expiry = self.expiry(now, self.rto());
            self.timers.set(Timer::Retransmit, expiry);
        }
    }

    /// RFC 9293 §3.8.6.1: the first probe after one RTO, then at exponentially growing intervals.
    pub(super) fn set_persist(&mut self, now: Instant) {
        let interval = self.rto().saturating_mul(1 << self.tx.probes.min(32)).min(self.config.rto_max);
        let expiry = self.expiry(now, interval);
        self.timers.set_if_off(Timer::Persist, expiry);
    }

    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers = Timers::default();
        self.timers.set(Timer::Life, now + self.config.time_wait);
    }
}
