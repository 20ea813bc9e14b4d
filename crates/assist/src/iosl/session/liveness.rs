//! Whether somebody is still at the other end of the path in use.
//!
//! Without traffic TCP never learns that the other end is gone, and with some it may retransmit for minutes (RFC 9293 §3.8.3: R2,
//! at least 100 s). So an end asks, by a frame that has to be answered, and gives a path up that has not answered.

use handfast_core::{Duration, Instant};

use super::Session;

/// An answer may take four times as long as the path took to come about, which was not always the network's fault.
fn patience(trip: Duration, least: Duration) -> Duration {
    trip.saturating_mul(4).clamp(least, least.saturating_mul(3))
}

impl Session {
    /// When the path in use is looked at next. An end that is frozen doesn't: its link may be gone, as was said.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.paths.current().filter(|_| !self.is_suspended).map(|path| path.look_at)
    }

    /// Asks, or gives the path up, if it is time.
    pub(super) fn look(&mut self, now: Instant) {
        if self.look_at().is_none_or(|at| now < at) {
            return;
        }
        let silence = self.silence();
        let Some(path) = self.paths.current_mut() else { return };
        let patience = patience(path.trip, self.config.answer);
        match path.asked.map(|asked| asked + patience) {
            Some(by) if by <= now => {
                let epoch = path.epoch;
                self.paths.give_up(epoch);
            }
            Some(by) => path.look_at = by,
            None if path.heard + silence <= now => self.ask(now),
            None => path.look_at = path.heard + silence,
        }
    }

    /// Asks the peer for a sign of life, unless it was asked.
    pub(super) fn ask(&mut self, now: Instant) {
        if let Some(path) = self.paths.current_mut().filter(|path| path.asked.is_none()) {
            (path.asked, path.is_asking) = (Some(now), true);
            path.look_at = now + patience(path.trip, self.config.answer);
        }
    }

    /// A frozen end waits for no answer.
    pub(super) fn withdraw(&mut self) {
        if let Some(path) = self.paths.current_mut() {
            (path.asked, path.is_asking) = (None, false);
        }
    }

    /// The peer has said something on a path.
    pub(super) fn on_heard(&mut self, now: Instant, epoch: u64) {
        self.paths.on_heard(epoch);
        if let Some(path) = self.paths.get_mut(epoch) {
            (path.heard, path.asked, path.is_asking) = (now, None, false);
            path.has_sent = false;
        }
    }

    /// Something goes out that the peer acknowledges, or would answer.
    pub(super) fn on_sent(&mut self, now: Instant, epoch: u64) {
        let silence = self.config.ask;
        if let Some(path) = self.paths.get_mut(epoch) {
            path.look_at = path.look_at.min(now + silence);
        }
    }

    /// Whether something has gone out on which the peer has said nothing yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.outgoing.is_under_way() || self.paths.current().is_some_and(|path| path.has_sent)
    }

    /// How long the peer may say nothing. The end that has opened the session asks first where both are idle: it is the one that may
    /// sit behind an address translator, whose binding what it sends keeps alive. A peer that is frozen is asked while the session
    /// can still be saved: it may have gone on, and not be heard.
    fn silence(&self) -> Duration {
        let idle = self.config.idle;
        if !self.is_connected() {
            return Duration::from_nanos(self.expiry().as_nanos() / 2);
        }
        if self.is_waiting() {
            return self.config.ask;
        }
        if self.is_opener { idle } else { idle + self.config.answer + self.config.answer }
    }
}
