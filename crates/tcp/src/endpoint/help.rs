//! What the network tells the connection, handed on to what acts on it ([`crate::help`]).

use std::ops::ControlFlow;

use handfast_core::Instant;
use handfast_wire::Notification;
use handfast_wire::tcp::Segment;

use super::{Endpoint, Timer};
use crate::Event;
use crate::cc::Request;
use crate::help::vho::{self, Facts, Vho};
use crate::send::piece::Piece;
use crate::send::sender::Sender;

/// Headers of a segment without options: IPv4 and TCP.
pub(super) const HEADERS: u64 = 20 + 20;
/// The timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

impl Endpoint {
    /// The other end's access link is another one, or is back, or is told of as the connection begins. The driver has asked
    /// nobody whether it is true: as [vho], this trusts the network.
    pub fn on_notification(&mut self, now: Instant, notification: &Notification) {
        let timer = self.tell_help(|vho, tx, facts| vho.on_notification(tx, facts, notification));
        if timer == Some(vho::Timer::Restarts) {
            self.restart_loss_timer(now);
        }
        self.startup_notified(notification);
    }

    /// The size of segments is known.
    #[inline]
    pub(super) fn help_established(&mut self, now: Instant) {
        if self.help.is_some() {
            self.tell_help(Vho::on_established);
            let packet = self.packet();
            let Self { help, tx, .. } = self;
            if let Some(iosl) = help.as_mut().and_then(|help| help.iosl.as_mut()) {
                iosl.on_established(now, tx, packet);
            }
        }
    }

    fn tell_help<T>(&mut self, tell: impl FnOnce(&mut Vho, &mut Sender, &Facts<'_>) -> T) -> Option<T> {
        let (packet, in_flight) = (self.packet(), self.in_flight());
        let goes_back = self.recovery.counts_duplicates();
        let Self { help, tx, config, .. } = self;
        let facts = Facts { config, packet, in_flight, goes_back };
        Some(tell(&mut help.as_mut()?.vho, tx, &facts))
    }

    /// IP bytes of a full-sized segment.
    pub(super) fn packet(&self) -> u64 {
        self.tx.window.smss + HEADERS + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    fn restart_loss_timer(&mut self, now: Instant) {
        if !self.timers.is_set(Timer::Retransmit) {
            return;
        }
        // Otherwise it stands for something else.
        if self.recovery.waits_for_rto() {
            self.timers.set(Timer::Retransmit, self.expiry(now, self.rto()));
        }
    }

    /// What the windows let go leaves as usual, or something else in its place, or nothing.
    #[cold]
    pub(super) fn help_chooses(&mut self, now: Instant) -> ControlFlow<Option<Piece>> {
        if self.waits_for_release(now) { ControlFlow::Break(None) } else { self.probes_path(now) }
    }

    /// Fast retransmit is about to begin.
    #[inline]
    pub(super) fn help_before_recovery(&mut self) {
        let Self { help, tx, recovery, .. } = self;
        let Some(help) = help else { return };
        if let Some(iosl) = &mut help.iosl {
            iosl.before_recovery();
        }
        if recovery.counts_duplicates() {
            help.vho.before_recovery(tx.una, tx.window.cwnd(), tx.window.ssthresh());
        }
    }

    /// Fast retransmit has begun, and has reduced the window.
    #[inline]
    pub(super) fn help_after_entering_recovery(&mut self) {
        let help = self.help.as_ref().filter(|_| self.recovery.counts_duplicates());
        if let Some(window) = help.and_then(|help| help.vho.narrowed(self.tx.una)) {
            self.tx.request(Request::Both(window));
        }
    }

    /// So many octets go again.
    #[inline]
    pub(super) fn help_sent_again(&mut self, octets: u64) {
        if let Some(help) = &mut self.help {
            help.vho.sent_again(octets);
            if let Some(path) = &mut help.path {
                path.sent_again();
            }
        }
    }

    /// The first SACK block reports octets that have arrived twice.
    #[inline]
    pub(super) fn help_dsack(&mut self, segment: &Segment) {
        let Self { help, tx, .. } = self;
        let Some(help) = help else { return };
        let octets = segment.sack.as_slice().first().map_or(0, |b| b.end.distance(b.start).max(0) as u64);
        if help.vho.on_dsack(tx, octets) {
            self.emit(Event::RecoveryLeft);
        }
    }
}
