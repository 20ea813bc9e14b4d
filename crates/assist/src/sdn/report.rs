//! The sessions of access points' agents: what an agent says is numbered, so that nothing old, repeated or made up counts.

use std::collections::BTreeMap;

use handfast_wire::openflow::EthAddr;

use super::{ApId, Ignored, What};

/// An agent's word on one of its stations, numbered in its session. The controller numbers the associations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The access point.
    pub ap: ApId,
    /// What [`super::Controller::hello`] has answered.
    pub session: u64,
    /// Rises by one with each report of the session, from one on.
    pub seq: u64,
    /// The station's Ethernet address.
    pub station: EthAddr,
    /// What happened.
    pub what: What,
}

/// So many reports in a row may be lost.
const MOST_MISSED: u64 = 1024;
/// Sessions that a controller may begin before their numbers reach those of one that begins a millisecond later.
const SESSIONS: u32 = 10;

#[derive(Debug)]
struct Session {
    number: u64,
    seq: u64,
}

/// The session of each access point that has said hello.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    current: BTreeMap<ApId, Session>,
    last: u64,
}

impl Sessions {
    /// The controller begins at this time, in milliseconds: its sessions are none of an earlier one's. The number stays
    /// below 2^53, which JSON's readers keep apart.
    pub(crate) fn began(&mut self, at: u64) {
        self.last = (at << SESSIONS) & ((1 << 52) - 1);
    }

    /// An agent begins to speak for an access point; whoever did before speaks for it no longer.
    pub(crate) fn begin(&mut self, ap: ApId) -> u64 {
        self.last += 1;
        self.current.insert(ap, Session { number: self.last, seq: 0 });
        self.last
    }

    /// The number of an access point's session, if it has one.
    pub(crate) fn of(&self, ap: ApId) -> Option<u64> {
        self.current.get(&ap).map(|session| session.number)
    }

    /// Whether a report is the next of its session, or near it.
    pub(crate) fn judge(&self, report: &Report) -> Result<(), Ignored> {
        match self.current.get(&report.ap) {
            Some(session) if session.number == report.session => match report.seq {
                seq if seq <= session.seq => Err(Ignored::Repeated),
                seq if seq - session.seq > MOST_MISSED => Err(Ignored::Missed),
                _ => Ok(()),
            },
            _ => Err(Ignored::OldSession),
        }
    }

    /// A report counts.
    pub(crate) fn take(&mut self, report: &Report) -> Result<(), Ignored> {
        self.judge(report)?;
        if let Some(session) = self.current.get_mut(&report.ap) {
            session.seq = report.seq;
        }
        Ok(())
    }

    /// Access points have other numbers from now on.
    pub(crate) fn renumber(&mut self, moved: &[Option<ApId>]) {
        let new = |(ap, session): (ApId, Session)| Some((moved.get(ap.0 as usize).copied()??, session));
        self.current = std::mem::take(&mut self.current).into_iter().filter_map(new).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ap: u32, session: u64, seq: u64) -> Report {
        Report { ap: ApId(ap), session, seq, station: [2; 6], what: What::Associated }
    }

    #[test]
    fn what_is_old_repeated_or_far_ahead_does_not_count() {
        let mut sessions = Sessions::default();
        sessions.began(5);
        assert_eq!(sessions.take(&report(0, 5121, 1)), Err(Ignored::OldSession), "nobody said hello");
        assert!(sessions.of(ApId(0)).is_none());
        let first = sessions.begin(ApId(0));
        assert_eq!(
            (first, sessions.of(ApId(0)).is_some(), sessions.of(ApId(1)).is_some()),
            (5 * 1024 + 1, true, false)
        );
        assert_eq!(sessions.take(&report(1, first, 1)), Err(Ignored::OldSession), "another's session");
        assert_eq!(sessions.take(&report(0, first, 0)), Err(Ignored::Repeated), "numbers begin at one");
        assert_eq!(sessions.take(&report(0, first, 1)), Ok(()));
        assert_eq!(sessions.take(&report(0, first, 1)), Err(Ignored::Repeated));
        assert_eq!(sessions.take(&report(0, first, 1 + 1024)), Ok(()), "1,023 are missing");
        assert_eq!(sessions.take(&report(0, first, 1025 + 1025)), Err(Ignored::Missed));
        assert_eq!(sessions.take(&report(0, first, u64::MAX)), Err(Ignored::Missed));
        assert_eq!(sessions.take(&report(0, first, 1026)), Ok(()), "what was refused changed nothing");
        let second = sessions.begin(ApId(0));
        assert_eq!(sessions.take(&report(0, first, 1027)), Err(Ignored::OldSession));
        assert_eq!(sessions.take(&report(0, second, 1)), Ok(()));
    }

    #[test]
    fn sessions_follow_their_access_points_and_numbers_stay_small() {
        let mut sessions = Sessions::default();
        sessions.began(u64::MAX);
        let numbers = [0, 1, 2].map(|ap| sessions.begin(ApId(ap)));
        assert!(numbers.iter().all(|&number| number < 1 << 53));
        sessions.renumber(&[Some(ApId(1)), None]);
        assert_eq!([0, 1, 2].map(|ap| sessions.of(ApId(ap)).is_some()), [false, true, false]);
        assert_eq!(sessions.judge(&report(1, numbers[0], 1)), Ok(()));
    }
}
