//! What the ID-oriented socket layer asks of a connection ([`crate::help::iosl`]).

use handfast_core::{Duration, Instant};

use super::{Endpoint, Timer};
use crate::cc;
use crate::help::Help;
use crate::help::iosl::Iosl;
use crate::send::sender::Sender;
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

    /// The station is on another link. Nothing without [`Endpoint::attach_iosl`].
    pub fn on_moved(&mut self) {
        self.layer(|iosl, tx| iosl.on_moved(tx));
    }

    /// The path is about to fail, or has failed. A sender sends nothing more and its timers stand still, keep-alive and the user
    /// timeout included; a receiver offers a window of zero at once ([iosl] §VI.A, "freeze mode"). Nothing without
    /// [`Endpoint::attach_iosl`], or if it is suspended already.
    pub fn suspend(&mut self, now: Instant) {
        if self.layer(|iosl, tx| iosl.suspend(now, tx)) == Some(true) && self.is_synchronised() {
            self.rx.frozen = true;
            self.rx.ack_now = true;
        }
    }

    /// The path is there. A sender goes on: after a false alarm with the window that it has, otherwise with the cwnd and ssthresh that
    /// it had before, paced over a round trip. A receiver offers its window again. One that was not suspended, since nobody could
    /// tell it in time, gets back what a timeout has taken.
    pub fn resume(&mut self, now: Instant, why: Resumption) {
        let before = self.layer(|iosl, tx| iosl.windows_before(tx)).flatten();
        let Some(span) = self.layer(|iosl, _| iosl.unfreeze(now)) else { return };
        self.tx.validation.was_suspended(span.unwrap_or(Duration::ZERO));
        if !self.is_synchronised() {
            self.resume_handshake(now, why, span.is_some());
            return;
        }
        if std::mem::take(&mut self.rx.frozen) {
            self.rx.ack_now = true;
            self.rx.duplicates = DUPLICATES;
        }
        let had_failed = span.is_some() || self.tx.progress.after_loss();
        if let (Resumption::Back, Some(before), true) = (why, before, had_failed) {
            self.restore(now, &before, span);
        } else if span.is_some() {
            self.time_anew(now);
        }
    }

    /// What was outstanding is lost, and the window is what it was.
    fn restore(&mut self, now: Instant, before: &cc::Saved, span: Option<Duration>) {
        if self.tx.una < self.tx.max {
            self.lose_outstanding(now);
        }
        let packet = self.packet();
        self.layer(|iosl, tx| iosl.restore(now, tx, before, packet));
        if let Some(span) = span {
            // RFC 9438 §5.8: while nothing was sent the window does not grow.
            self.tx.cc.on_idle(now, span);
        }
        self.time_anew(now);
    }

    /// cwnd and ssthresh as they are, or were before the connection was suspended: for one that takes its place on another path.
    pub fn stored_path(&self) -> StoredPath {
        let iosl = self.help.as_ref().and_then(|help| help.iosl.as_ref());
        let before = iosl.and_then(|iosl| iosl.windows_before(&self.tx));
        let (cwnd, ssthresh) = before
            .map_or((self.tx.window.cwnd(), self.tx.window.ssthresh()), |saved| (saved.cwnd, saved.ssthresh));
        StoredPath { cwnd, ssthresh }
    }

    /// What another connection had is for this one, as soon as it is established ([iosl] §IV.B: "establishes a new connection with
    /// restored transport layer parameters"). Nothing without [`Endpoint::attach_iosl`].
    pub fn restore_path(&mut self, stored: StoredPath) {
        if let Some(iosl) = self.iosl() {
            iosl.store(stored);
        }
    }

    /// The same for one that is established already: at once, and paced over a round trip. Nothing without
    /// [`Endpoint::attach_iosl`].
    pub fn take_over(&mut self, now: Instant, stored: StoredPath) {
        self.restore_path(stored);
        if self.is_synchronised() {
            let packet = self.packet();
            self.layer(|iosl, tx| iosl.on_established(now, tx, packet));
        }
    }

    /// What it offers its peer now, in octets.
    pub fn receive_window(&self) -> u64 {
        self.rx.window()
    }

    /// The receive window that another connection had is for this one: `rwnd` is among what the layer stores ([iosl] §VI.A). Before
    /// the handshake; never more than its buffer can be.
    pub fn restore_receive_window(&mut self, octets: u64) {
        self.rx.begin_with(octets);
    }

    fn iosl(&mut self) -> Option<&mut Iosl> {
        self.help.as_mut()?.iosl.as_mut()
    }

    /// Asks the layer something, if there is one.
    fn layer<T>(&mut self, ask: impl FnOnce(&mut Iosl, &mut Sender) -> T) -> Option<T> {
        let Self { help, tx, .. } = self;
        Some(ask(help.as_mut()?.iosl.as_mut()?, tx))
    }

    /// Whether it is suspended.
    #[inline]
    pub(super) fn is_suspended(&self) -> bool {
        let iosl = self.help.as_ref().and_then(|help| help.iosl.as_ref());
        iosl.is_some_and(Iosl::is_suspended)
    }

    /// Whatever was outstanding went into the void. That is no sign of congestion: its caller restores the window.
    fn lose_outstanding(&mut self, now: Instant) {
        if let Some(help) = &mut self.help {
            help.vho.on_timeout(&mut self.tx);
        }
        if let Some(eln) = &mut self.eln {
            eln.before_timeout(&self.tx);
        }
        self.recovery.lose(now, &mut self.tx, &self.config);
        self.spurious.give_up_frto();
        self.startup_loss();
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
        self.heard(now);
        self.note_answer(now);
    }

    /// A SYN that was lost, or did not leave, goes at once.
    fn resume_handshake(&mut self, now: Instant, why: Resumption, was_suspended: bool) {
        if !matches!(self.state, State::SynSent | State::SynReceived) {
            return;
        }
        if why == Resumption::Back {
            self.tx.nxt = 0;
            self.time_anew(now);
        } else if was_suspended {
            self.time_anew(now);
        }
    }

    /// An acknowledgement was processed.
    #[cold]
    pub(super) fn help_acked(&mut self) {
        self.path_acknowledged();
        let packet = self.packet();
        self.layer(|iosl, tx| iosl.on_ack(tx, packet));
    }

    /// Whether a sample of the round-trip time counts.
    #[cold]
    pub(super) fn help_counts(&mut self, sample: Duration) -> bool {
        // As in Linux (`tcp_clean_rtx_queue`) before the window grows.
        self.path_acknowledged();
        self.layer(|iosl, tx| iosl.counts(tx, sample)).unwrap_or(true)
    }

    /// Whether what the windows let go waits for its turn in a restored window.
    pub(super) fn waits_for_release(&mut self, now: Instant) -> bool {
        let Some(Some(due)) = self.layer(|iosl, tx| iosl.release_due(now, tx)) else { return false };
        self.timers.set(Timer::Pace, self.timers.get(Timer::Pace).map_or(due, |set| set.min(due)));
        true
    }

    /// A segment leaves with so many octets.
    #[cold]
    pub(super) fn help_sent(&mut self, now: Instant, octets: u64) {
        self.path_sent();
        self.layer(|iosl, tx| iosl.on_sent(now, tx, octets));
    }
}
