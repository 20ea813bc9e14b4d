//! What time brings about.

use handfast_core::Instant;

use super::{Pool, Session};
use crate::iosl::frame::{Frame, Reason};

impl Session {
    /// When [`Self::on_timer`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        if let Some((_, at)) = self.failed {
            return self.farewell.as_ref().map(|_| at + self.config.confirm);
        }
        let acknowledge = self.acknowledge_at.filter(|_| self.paths.sending().is_some());
        let confirm = self.paths.confirm_by(self.config.confirm);
        let dial = self.dial_at();
        [acknowledge, confirm, dial, self.expires_at(), self.linger_until().filter(|_| !self.is_left)]
            .into_iter()
            .flatten()
            .min()
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Instant, pool: &mut Pool) {
        if self.failed.is_some() {
            if self.deadline().is_some_and(|by| by <= now) {
                self.farewell = None;
                self.paths.close();
            }
            return;
        }
        self.paths.on_timer(now, self.config.confirm);
        self.is_acknowledging |= self.acknowledge_at.take_if(|at| *at <= now).is_some();
        if self.expires_at().is_some_and(|at| at <= now) {
            self.farewell = Some(Frame::Expire);
            self.fail(now, Reason::Expired, pool);
        }
        if self.linger_until().is_some_and(|until| until <= now) {
            self.leave();
        }
        self.changed(now, pool);
    }

    pub(super) fn expires_at(&self) -> Option<Instant> {
        let expiry = match self.peer {
            Some((_, expiry)) if self.is_opened => expiry.min(self.config.expiry),
            _ => self.config.opening,
        };
        let is_open = self.done_since.is_none() && self.failed.is_none();
        self.away_since.filter(|_| is_open).map(|since| since + expiry)
    }

    pub(super) fn linger_until(&self) -> Option<Instant> {
        self.done_since.map(|since| since + self.config.linger)
    }
}
