//! How a session gets a path, and another one.

use handfast_core::{Duration, Instant};

use super::{Event, Greeting, Pool, Session, Violation};
use crate::iosl::frame::Reason;

impl Session {
    /// Whether a path is to be dialled now.
    pub fn wants_dial(&self, now: Instant) -> bool {
        self.dial_at().is_some_and(|at| at <= now)
    }

    /// Whether its peer can be dialled. Where it cannot no time comes to do it.
    pub fn set_reachable(&mut self, is_reachable: bool) {
        self.is_reachable = is_reachable;
    }

    /// Dials: the epoch of the path.
    pub fn dial(&mut self, now: Instant, pool: &mut Pool) -> Option<u64> {
        let epoch = self.paths.dial(now);
        if epoch.is_none() {
            self.fail(now, Reason::Protocol, pool);
        }
        epoch
    }

    /// The peer asks for a path, on which this end then answers. The path it had stays until the peer has used the new one.
    ///
    /// # Errors
    /// Why not.
    pub fn on_offer(
        &mut self,
        now: Instant,
        epoch: u64,
        greeting: &Greeting,
        pool: &mut Pool,
    ) -> Result<(), Reason> {
        if let Some(reason) = self.failed() {
            return Err(reason);
        }
        self.check(greeting, pool)?;
        self.paths.on_offer(now, epoch, self.outgoing.acked())?;
        if self.is_waiting() {
            self.paths.try_candidate(now);
        }
        self.greeted(greeting);
        self.changed(now, pool);
        let told = (self.received(), self.incoming.credit());
        if let Some(path) = self.paths.get_mut(epoch) {
            // The answer says it.
            path.told = told;
        }
        Ok(())
    }

    /// The peer has answered on a path that this end has dialled.
    /// Whether it is used from now on.
    pub fn on_answer(&mut self, now: Instant, epoch: u64, greeting: &Greeting, pool: &mut Pool) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if let Err(reason) = self.check(greeting, pool) {
            self.fail(now, reason, pool);
            return false;
        }
        let dial = self.paths.on_answer(now, epoch, self.outgoing.acked());
        if let Some(dial) = dial {
            self.greeted(greeting);
            self.used(now, dial.since);
        }
        self.changed(now, pool);
        dial.is_some()
    }

    /// The peer has refused a path.
    pub fn on_refused(&mut self, now: Instant, epoch: u64, reason: Reason, pool: &mut Pool) {
        let is_passing = reason == Reason::StaleEpoch || reason == Reason::Busy && self.is_opened;
        if is_passing || self.paths.get_mut(epoch).is_some() {
            return self.on_cut(now, epoch, pool);
        }
        self.paths.cut(epoch);
        if self.is_done() {
            return self.leave();
        }
        self.fail(now, reason, pool);
    }

    /// What was sealed on a path has been opened: who is there has the keys. Whether that is news.
    pub fn confirm(&mut self, now: Instant, epoch: u64, pool: &mut Pool) -> bool {
        let since = self.paths.confirm(now, epoch).filter(|_| self.failed.is_none());
        if let Some(since) = since {
            self.used(now, since);
            self.changed(now, pool);
        }
        since.is_some()
    }

    /// A path is gone, or an attempt to dial.
    pub fn on_cut(&mut self, now: Instant, epoch: u64, pool: &mut Pool) {
        self.paths.cut(epoch);
        // Who has not been told by now will not be.
        self.farewell.take_if(|_| self.paths.sending().is_none());
        self.changed(now, pool);
    }

    /// Stops sending, and has the peer stop: the link below is about to go.
    pub fn suspend(&mut self, now: Instant, pool: &mut Pool) {
        self.is_suspended = true;
        self.withdraw();
        self.changed(now, pool);
    }

    /// The link is back: goes on, on the path in use if it is there still.
    pub fn resume(&mut self, now: Instant, pool: &mut Pool) {
        self.is_suspended = false;
        self.paths.dial_at_once(now);
        self.ask(now);
        self.changed(now, pool);
    }

    /// This end's address changes: a new path, while the one in use may go on until there is one. Dials from before do not count.
    pub fn migrate(&mut self, now: Instant, pool: &mut Pool) {
        self.migrating_since = Some(now);
        self.resume(now, pool);
    }

    /// The peer's acknowledgment in a greeting.
    fn check(&mut self, greeting: &Greeting, pool: &mut Pool) -> Result<(), Reason> {
        self.on_ack(greeting.received, pool).map_err(|Violation| Reason::Protocol)
    }

    fn greeted(&mut self, greeting: &Greeting) {
        self.peer = Some((greeting.capabilities, greeting.expiry));
        self.outgoing.on_credit(greeting.credit);
    }

    /// Both ends use a path that is new, and was asked for then.
    fn used(&mut self, now: Instant, asked: Instant) {
        let is_first = !std::mem::replace(&mut self.is_opened, true);
        self.migrating_since.take_if(|since| *since <= asked);
        if let Some(epoch) = self.paths.sending() {
            self.on_sent(now, epoch);
        }
        let away = self.away_since.map_or(Duration::ZERO, |since| now.since(since));
        self.events.push(if is_first { Event::Opened } else { Event::Resumed { away } });
    }

    /// When to dial, if there is a reason to.
    pub(super) fn dial_at(&self) -> Option<Instant> {
        let is_missing = self.paths.current().is_none() || self.migrating_since.is_some();
        // Who is done itself dials all the same until the peer is: what is missing there may be the last acknowledgment.
        let is_needed = is_missing && !self.is_left && self.failed.is_none();
        let may = self.config.dials
            && (self.is_opener || self.is_opened)
            && !self.is_suspended
            && self.is_reachable
            && !self.paths.is_dialling();
        (is_needed && may).then(|| self.paths.redial_at())
    }
}
