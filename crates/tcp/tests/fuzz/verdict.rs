//! What must hold at every moment, when an end dies, and at the end of a case.

use handfast_core::Duration;
use handfast_tcp::{Death, State};

use crate::case::{Op, Side};
use crate::world::{End, World};

impl World {
    /// Dead only if the operations hold an outage beyond the stated limit, or the other end had died of one.
    pub fn judge_death(&mut self, side: Side, death: Death) {
        let excused = match death {
            Death::Reset => false,
            Death::HandshakeTimeout => self.limits.excuses_handshake(self, side),
            Death::Timeout => self.limits.excuses(self, side),
            Death::UserTimeout => self.limits.excuses_user_timeout(self, side),
            Death::KeepAlive => self.limits.excuses_keepalive(self, side),
            Death::Aborted => panic!("{side:?}: nobody aborted"),
        };
        let other_died = self.end(side.other()).died.is_some();
        let end = self.end(side);
        assert!(
            excused || other_died,
            "{side:?} died of {death:?}, {} after the last answer",
            self.now.since(self.ends[side as usize].progress)
        );
        end.died = Some(death);
    }

    /// What holds at every moment; true where SND.UNA has moved.
    pub fn observe(&mut self, side: Side) -> bool {
        let now = self.now;
        let end = self.end(side);
        let moved = end.ledger.check_positions(&end.endpoint);
        if moved {
            end.longest = end.longest.max(now.since(end.progress));
            end.progress = now;
        }
        let (cwnd, smss) = (end.endpoint.cwnd(), end.endpoint.smss());
        assert!(cwnd >= smss, "{side:?}: cwnd {cwnd} is below one segment of {smss}");
        let snapshot = end.endpoint.snapshot(now);
        assert!(snapshot.rto <= end.config.rto_max, "{side:?}: RTO {}", snapshot.rto);
        let least = end.config.initial_ssthresh.map_or(2 * smss, |s| s.get().min(2 * smss));
        assert!(snapshot.ssthresh >= least, "{side:?}: ssthresh {}", snapshot.ssthresh);
        moved
    }

    /// Whatever waits to be sent or acknowledged has a timer that will see to it.
    pub fn check_alive(&mut self, side: Side) {
        self.note_progress();
        let End { endpoint, ledger, .. } = self.end(side);
        let (una, _, max) = endpoint.send_positions();
        let waits = !ledger.suspended && (una < max || endpoint.unsent() > 0);
        let active = !matches!(endpoint.state(), State::Closed | State::Listen);
        assert!(
            !(waits && active) || endpoint.deadline().is_some(),
            "{side:?}: {:?} with {} unsent and no timer",
            endpoint.state(),
            endpoint.unsent()
        );
    }

    /// Delivers everything, with no more harm; both ends close.
    pub fn finish(&mut self) {
        for end in &mut self.ends {
            end.fates.clear();
        }
        let gone = self.outages.last().map_or(self.now, |o| o.to);
        let arrives = self.wire.keys().next_back().map_or(self.now, |k| k.0);
        self.run_until(gone.max(arrives).max(self.now));
        for side in Side::BOTH {
            self.apply(Op::Read { side });
        }
        if !self.run_within(self.limits.until_connected(), |w| w.ends.iter().all(|e| e.connected)) {
            return;
        }
        for side in Side::BOTH {
            self.apply(Op::Close { side });
        }
        if !self.run_within(self.limits.until_complete(self), Self::is_complete) {
            return;
        }
        for side in Side::BOTH {
            let (mine, theirs) = (&self.ends[side as usize], &self.ends[side.other() as usize]);
            assert_eq!(mine.ledger.read, theirs.ledger.written, "{side:?}: octets read");
        }
        let closed = |w: &Self| w.ends.iter().all(|e| e.endpoint.state() == State::Closed);
        self.run_within(self.limits.until_closed(), closed);
        self.run_until(self.now + self.limits.until_closed());
        assert!(self.next_moment().is_none(), "something is left to happen: {}", self.describe());
    }

    /// Runs until `done`; false where an end has died (excused, or the run would have stopped).
    fn run_within(&mut self, span: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let deadline = self.now + span;
        loop {
            if self.ends.iter().any(|e| e.died.is_some()) {
                self.run_until(self.now + Duration::from_secs(3600));
                return false;
            }
            if done(self) {
                return true;
            }
            let next = self.next_moment().filter(|&at| at <= deadline);
            let Some(at) = next else { panic!("not done within {span}: {}", self.describe()) };
            self.run_until(at);
        }
    }

    fn is_complete(&self) -> bool {
        self.ends.iter().all(|e| matches!(e.endpoint.state(), State::TimeWait | State::Closed))
    }

    fn describe(&self) -> String {
        let line = |side: Side| {
            let end = &self.ends[side as usize];
            format!(
                "{side:?} {:?} {:?}, {} of {} octets read, {} unsent, {:?}, deadline {:?}; ",
                end.endpoint.state(),
                end.endpoint.send_positions(),
                end.ledger.read,
                self.ends[side.other() as usize].ledger.written,
                end.endpoint.unsent(),
                end.endpoint.snapshot(self.now),
                end.endpoint.deadline()
            )
        };
        format!("at {}: {}{}", self.now, line(Side::Client), line(Side::Server))
    }
}
