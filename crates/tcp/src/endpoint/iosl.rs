//! What the ID-oriented socket layer asks of a connection ([`crate::help::iosl`]).

use handfast_core::{Duration, Instant};

use super::{Endpoint, Timer};
use crate::help::Help;
use crate::help::iosl::Iosl;
use crate::{Event, IoslRules, Radio, Resumption, State, StoredPath};

/// [iosl] §VI.A: "the receiver sends three duplicate ACKs corresponding to the last received packet to restart the connection". The
/// first one opens the window, and these follow it. Three of them would make a sender without SACK halve its window for what it has
/// just sent.
const DUPLICATES: u8 = 2;

impl Endpoint {
    /// From now on the ID-oriented socket layer controls this end.
    pub fn attach_iosl(&mut self, rules: IoslRules) {
        let help = self.help.get_or_insert_with(|| Help::with(&self.config));
        help.iosl = Some(Iosl::new(rules));
    }

    /// The layer says how the radio is. Nothing without [`Endpoint::attach_iosl`].
    pub fn on_radio(&mut self, radio: Radio) {
        if let Some(iosl) = self.iosl() {
            iosl.on_radio(radio);
        }
    }

    /// The path is about to fail, or has failed. A sender sends nothing more and its timers stand still; a receiver offers a window
    /// of zero at once ([iosl] §VI.A, "freeze mode"). Nothing without [`Endpoint::attach_iosl`], or if it is suspended already.
    pub fn suspend(&mut self) {
        let Self { help, tx, .. } = self;
        let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) else { return };
        if iosl.suspend(tx) && self.is_synchronised() {
            self.rx.frozen = true;
            self.rx.ack_now = true;
        }
    }

    /// The path is there. A sender goes on with the cwnd and ssthresh that it had before, paced over a round trip; a receiver offers its
    /// window again. One that was not suspended, since nobody could tell it in time, gets back what a timeout has taken.
    pub fn resume(&mut self, now: Instant, why: Resumption) {
        let Self { help, tx, .. } = self;
        let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) else { return };
        let was_suspended = iosl.is_suspended();
        let Some(saved) = iosl.resume(tx) else { return };
        if !self.is_synchronised() {
            self.send_syn_again(now);
            return;
        }
        if was_suspended && std::mem::take(&mut self.rx.frozen) {
            self.rx.ack_now = true;
            self.rx.duplicates = DUPLICATES;
        }
        if why == Resumption::Back && self.tx.una < self.tx.max {
            self.lose_outstanding(now);
        }
        let packet = self.packet();
        let Self { help, tx, .. } = self;
        if let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) {
            iosl.restore(now, tx, &saved, packet);
        }
        self.time_anew(now);
    }

    /// cwnd and ssthresh as they are, or were before the connection was suspended: for one that takes its place on another path.
    pub fn stored_path(&self) -> StoredPath {
        let iosl = self.help.as_ref().and_then(|help| help.iosl.as_ref());
        let (cwnd, ssthresh) = iosl
            .and_then(|iosl| iosl.windows_before(&self.tx))
            .unwrap_or((self.tx.window.cwnd(), self.tx.window.ssthresh()));
        StoredPath { cwnd, ssthresh }
    }

    /// What another connection had is for this one, as soon as it is established ([iosl] §IV.B: "establishes a new connection with
    /// restored transport layer parameters"). Nothing without [`Endpoint::attach_iosl`].
    pub fn restore_path(&mut self, stored: StoredPath) {
        if let Some(iosl) = self.iosl() {
            iosl.store(stored);
        }
    }

    fn iosl(&mut self) -> Option<&mut Iosl> {
        self.help.as_mut()?.iosl.as_mut()
    }

    /// Whether it is suspended.
    #[inline]
    pub(super) fn is_suspended(&self) -> bool {
        let iosl = self.help.as_ref().and_then(|help| help.iosl.as_ref());
        iosl.is_some_and(Iosl::is_suspended)
    }

    /// Whatever was outstanding went into the void. That is no sign of congestion: its caller restores the window.
    fn lose_outstanding(&mut self, now: Instant) {
        self.recovery.lose(now, &mut self.tx, &self.config);
        self.spurious.give_up_frto();
        self.emit(Event::Resumed);
    }

    /// The timers go on where the path is there again: what it left unanswered says nothing of it.
    fn time_anew(&mut self, now: Instant) {
        self.tx.retries = 0;
        self.tx.probes = 0;
        self.tx.rtt.forget_backoff();
        self.timers.stop(Timer::Retransmit);
        self.timers.stop(Timer::Persist);
        self.time_outstanding(now);
    }

    /// The handshake has not got through: what it waits for goes at once.
    fn send_syn_again(&mut self, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.tx.nxt = 0;
            self.time_anew(now);
        }
    }

    /// An acknowledgement was processed.
    #[cold]
    pub(super) fn help_acked(&mut self) {
        let packet = self.packet();
        let Self { help, tx, .. } = self;
        if let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) {
            iosl.on_ack(tx, packet);
        }
    }

    /// Whether a sample of the round-trip time counts.
    #[cold]
    pub(super) fn help_counts(&mut self, sample: Duration) -> bool {
        let Self { help, tx, .. } = self;
        let iosl = help.as_mut().and_then(|help| help.iosl.as_mut());
        iosl.is_none_or(|iosl| iosl.counts(tx, sample))
    }

    /// Whether what the windows let go waits for its turn in a restored window.
    #[cold]
    pub(super) fn waits_for_release(&mut self, now: Instant) -> bool {
        let Self { help, tx, .. } = self;
        let iosl = help.as_mut().and_then(|help| help.iosl.as_mut());
        let Some(due) = iosl.and_then(|iosl| iosl.release_due(now, tx)) else { return false };
        self.timers.set(Timer::Pace, self.timers.get(Timer::Pace).map_or(due, |set| set.min(due)));
        true
    }

    /// A segment leaves with so many octets.
    #[cold]
    pub(super) fn help_sent(&mut self, now: Instant, octets: u64) {
        let Self { help, tx, .. } = self;
        if let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) {
            iosl.on_sent(now, tx, octets);
        }
    }
}
