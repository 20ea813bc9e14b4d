//! What time brings about.

use handfast_core::{Duration, Instant};

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
        let linger = self.linger_until().filter(|_| !self.is_left);
        [acknowledge, confirm, dial, self.look_at(), self.expires_at(), linger].into_iter().flatten().min()
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
        self.look(now);
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
        let is_open = self.done_since.is_none() && self.failed.is_none();
        self.away_since.filter(|_| is_open).map(|since| since + self.expiry())
    }

    /// Until when a session that is over is remembered: by then the peer has come back, or given it up. While there is a path it is
    /// remembered in any case.
    pub(super) fn linger_until(&self) -> Option<Instant> {
        let since = self.done_since?.max(self.away_since?);
        Some(since + self.expiry() + self.config.linger)
    }

    pub(super) fn expiry(&self) -> Duration {
        match self.peer {
            Some((_, expiry)) if self.is_opened => expiry.min(self.config.expiry),
            _ => self.config.opening,
        }
    }
}
