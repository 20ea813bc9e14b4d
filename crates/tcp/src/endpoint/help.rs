//! What the network tells the connection, handed on to what acts on it ([`crate::help`]).

use handfast_core::Instant;
use handfast_wire::Notification;
use handfast_wire::tcp::Segment;

use super::{Endpoint, Timer};
use crate::Event;
use crate::cc::Request;
use crate::help::vho;
use crate::recovery::rack::Pending;

/// Headers of a segment without options: IPv4 and TCP.
const HEADERS: u64 = 20 + 20;
/// The timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

impl Endpoint {
    /// The other end's access link is another one, or is back, or is told of as the connection begins. The driver has asked
    /// nobody whether it is true: as [vho], this trusts the network.
    pub fn on_notification(&mut self, now: Instant, notification: &Notification) {
        let packet = self.packet();
        let timer = vho::on_notification(&mut self.tx, &self.config, notification, packet);
        if timer == vho::Timer::Restarts {
            self.restart_loss_timer(now);
        }
        self.startup_notified(notification);
    }

    /// The size of segments is known.
    #[inline]
    pub(super) fn help_established(&mut self) {
        if self.tx.help.is_some() {
            let packet = self.packet();
            vho::on_established(&mut self.tx, &self.config, packet);
        }
    }

    /// IP bytes of a full-sized segment.
    pub(super) fn packet(&self) -> u64 {
        self.tx.window.smss + HEADERS + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    fn restart_loss_timer(&mut self, now: Instant) {
        if !self.timers.is_set(Timer::Retransmit) {
            return;
        }
        let at = now + self.rto();
        match &self.tx.rack {
            None => self.timers.set(Timer::Retransmit, self.expiry(now, self.rto())),
            Some(rack) if rack.pending == Pending::Rto => self.arm(now, Pending::Rto, at),
            // It stands for something else.
            Some(_) => {}
        }
    }

    /// Fast retransmit is about to begin.
    #[inline]
    pub(super) fn help_before_recovery(&mut self) {
        let tx = &mut self.tx;
        if let Some(help) = &mut tx.help {
            help.vho.before_recovery(tx.una, tx.window.cwnd(), tx.window.ssthresh());
        }
    }

    /// Fast retransmit has begun, and has reduced the window.
    #[inline]
    pub(super) fn help_after_entering_recovery(&mut self) {
        let tx = &mut self.tx;
        if let Some(window) = tx.help.as_ref().and_then(|help| help.vho.narrowed(tx.una)) {
            tx.request(Request::Both(window));
        }
    }

    /// So many octets go again.
    #[inline]
    pub(super) fn help_sent_again(&mut self, octets: u64) {
        if let Some(help) = &mut self.tx.help {
            help.vho.sent_again(octets);
        }
    }

    /// The first SACK block reports octets that have arrived twice.
    #[inline]
    pub(super) fn help_dsack(&mut self, segment: &Segment) {
        if self.tx.help.is_none() {
            return;
        }
        let octets = segment.sack.as_slice().first().map_or(0, |b| b.end.distance(b.start).max(0) as u64);
        if vho::on_dsack(&mut self.tx, octets) {
            self.emit(Event::RecoveryLeft);
        }
    }
}
