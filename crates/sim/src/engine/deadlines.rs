//! When connections have something to do, beside the time of their entries in the event queue.
//!
//! A retransmission timer is restarted by nearly every acknowledgement and hardly ever expires. An entry that it has left
//! behind comes up all the same; that this one means nothing is known here, in a few bytes a connection, so that with
//! thousands of flows nothing of the connection itself has to come from far.

use handfast_core::Instant;

use crate::engine::ids::ConnectionId;

/// By connection.
#[derive(Debug)]
pub(crate) struct Deadlines(Vec<Due>);

/// [`Instant::MAX`]: never, or no entry.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// The time of its entry: not after `wanted`, unless it has none.
    armed: Instant,
    wanted: Instant,
}

impl Deadlines {
    pub(crate) fn new(connections: usize) -> Self {
        Self(vec![Due { armed: Instant::MAX, wanted: Instant::MAX }; connections])
    }

    /// Makes room for one more connection.
    pub(crate) fn add(&mut self) {
        self.0.push(Due { armed: Instant::MAX, wanted: Instant::MAX });
    }

    /// A connection wants to be woken at `at`. Where its entry comes later than that, it goes there: the time that it has had.
    #[inline]
    pub(crate) fn want(&mut self, id: ConnectionId, at: Instant) -> Option<Instant> {
        let due = self.0.get_mut(id.index())?;
        due.wanted = at;
        (at < due.armed).then(|| std::mem::replace(&mut due.armed, at))
    }

    /// Whether it has something to do at `now`.
    #[inline]
    pub(crate) fn is_due(&self, id: ConnectionId, now: Instant) -> bool {
        self.0.get(id.index()).is_some_and(|due| due.wanted <= now)
    }

    /// Its entry is the next that comes up. Where it is not due by then, the entry goes to when it is.
    #[inline]
    pub(crate) fn postpone(&mut self, id: ConnectionId) -> Option<Instant> {
        let due = self.0.get_mut(id.index()).filter(|due| due.armed < due.wanted)?;
        due.armed = due.wanted;
        Some(due.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: fn(u64) -> Instant = Instant::from_nanos;

    #[test]
    fn an_entry_goes_forward_at_once_and_back_when_it_comes_up() {
        let mut deadlines = Deadlines::new(2);
        assert_eq!(deadlines.want(ConnectionId(1), T(50)), Some(Instant::MAX), "it had none");
        assert_eq!(deadlines.want(ConnectionId(1), T(90)), None);
        assert_eq!(deadlines.want(ConnectionId(1), T(20)), Some(T(50)));
        assert_eq!(deadlines.want(ConnectionId(1), T(20)), None, "it stands there");
        assert_eq!(deadlines.postpone(ConnectionId(1)), None);
        deadlines.want(ConnectionId(1), T(70));
        assert_eq!(
            (deadlines.postpone(ConnectionId(1)), deadlines.postpone(ConnectionId(1))),
            (Some(T(70)), None)
        );
        assert_eq!(deadlines.want(ConnectionId(1), T(69)), Some(T(70)));
    }

    #[test]
    fn it_is_due_when_it_wants_to_be() {
        let mut deadlines = Deadlines::new(2);
        assert!(!deadlines.is_due(ConnectionId(0), T(u64::MAX - 1)));
        deadlines.want(ConnectionId(0), T(50));
        assert_eq!([49, 50, 51].map(|at| deadlines.is_due(ConnectionId(0), T(at))), [false, true, true]);
        deadlines.want(ConnectionId(0), T(60));
        assert!(!deadlines.is_due(ConnectionId(0), T(50)));
    }

    #[test]
    fn one_that_wants_nothing_any_more_loses_its_entry() {
        let mut deadlines = Deadlines::new(1);
        deadlines.want(ConnectionId(0), T(50));
        assert_eq!(deadlines.want(ConnectionId(0), Instant::MAX), None);
        assert_eq!(deadlines.postpone(ConnectionId(0)), Some(Instant::MAX));
        assert_eq!(deadlines.postpone(ConnectionId(0)), None);
        assert_eq!(deadlines.want(ConnectionId(0), T(80)), Some(Instant::MAX), "a new one");
    }
}
