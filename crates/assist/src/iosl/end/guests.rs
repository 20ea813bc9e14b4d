//! Handshakes that others have begun. Each costs more to read than all that a session says in the same time, and anybody may begin
//! one: so they have a bound, wait for their turn, and sessions go on between two of them.

use std::net::IpAddr;

use handfast_core::Instant;

use super::crowd::{Crowd, neighbourhood};
use super::suspects::Suspects;
use super::turns::Turns;
use super::{End, PathId};

/// Handshakes that others have begun, by where they come from.
#[derive(Debug)]
pub(super) struct Guests {
    most: usize,
    /// From where nobody was refused a while ago when they came.
    good: Crowd<IpAddr, PathId>,
    bad: Crowd<IpAddr, PathId>,
    suspects: Suspects<IpAddr>,
    /// Of which there is something to read.
    good_turns: Turns<IpAddr, PathId>,
    bad_turns: Turns<IpAddr, PathId>,
}

impl Guests {
    /// None, and never more than `most`, at least one.
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            good: Crowd::new(most),
            bad: Crowd::new(most),
            suspects: Suspects::default(),
            good_turns: Turns::default(),
            bad_turns: Turns::default(),
        }
    }

    /// One comes. Who gives way to it; it may be itself.
    pub(super) fn insert(&mut self, now: Instant, from: IpAddr, path: PathId) -> Option<PathId> {
        let group = neighbourhood(from);
        let is_bad = self.suspects.has(now, group);
        let is_full = self.good.len() + self.bad.len() >= self.most;
        let other = match self.bad.in_the_way(group) {
            _ if !is_full => None,
            Some(other) => Some(other),
            None if is_bad => return Some(path),
            None => self.good.in_the_way(group),
        };
        if let Some(other) = other {
            self.remove(other);
        }
        if is_bad { &mut self.bad } else { &mut self.good }.insert(group, path);
        other
    }

    /// Its handshake is over, or it is gone.
    pub(super) fn remove(&mut self, path: PathId) {
        for (crowd, turns) in [(&mut self.good, &mut self.good_turns), (&mut self.bad, &mut self.bad_turns)] {
            if let Some(group) = crowd.group_of(path) {
                turns.remove(group, path);
                crowd.remove(path);
            }
        }
    }

    /// It was refused, or has broken a rule: who comes from there is suspect for a while.
    pub(super) fn suspect(&mut self, now: Instant, path: PathId) {
        let group = self.good.group_of(path).or_else(|| self.bad.group_of(path));
        if let Some(group) = group {
            self.suspects.add(now, group);
        }
    }

    /// There is something to read of it: whether it is one of these, and has its turn.
    fn wait(&mut self, path: PathId) -> bool {
        for (crowd, turns) in [(&self.good, &mut self.good_turns), (&self.bad, &mut self.bad_turns)] {
            if let Some(group) = crowd.group_of(path) {
                turns.push(group, path);
                return true;
            }
        }
        false
    }

    /// Whose turn it is.
    fn next(&mut self) -> Option<PathId> {
        self.good_turns.pop().or_else(|| self.bad_turns.pop())
    }

    fn is_waited(&self) -> bool {
        !(self.good_turns.is_empty() && self.bad_turns.is_empty())
    }
}

impl End {
    /// There is something to read on a path. Whether that waits: it belongs to a handshake that somebody else has begun, and is read
    /// when [`Self::next_guest`] says so. A driver that has sessions to serve asks this before it reads.
    pub fn defers(&mut self, path: PathId) -> bool {
        self.guests.wait(path)
    }

    /// The next path whose handshake is to be read. Between two the driver sees how long it has been at this.
    pub fn next_guest(&mut self) -> Option<PathId> {
        self.guests.next()
    }

    /// Whether [`Self::next_guest`] has one.
    pub fn has_guests(&self) -> bool {
        self.guests.is_waited()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(1_000);

    fn from(net: u8) -> IpAddr {
        [10, 0, net, 1].into()
    }

    fn guests(those: &[(u8, u64)]) -> Guests {
        let mut guests = Guests::new(4);
        for &(net, path) in those {
            assert_eq!(guests.insert(NOW, from(net), PathId(path)), None);
        }
        guests
    }

    #[test]
    fn the_bound_holds_and_who_comes_from_many_places_pushes_out_its_own() {
        let mut guests = guests(&[(1, 1), (2, 2), (3, 3), (4, 4)]);
        assert_eq!(guests.insert(NOW, from(2), PathId(5)), Some(PathId(2)));
        assert_eq!(guests.insert(NOW, from(4), PathId(6)), Some(PathId(4)));
        assert_eq!(guests.insert(NOW, from(9), PathId(7)), Some(PathId(1)), "who is new, the oldest");
        assert_eq!(guests.good.len(), 4);
        guests.remove(PathId(7));
        assert_eq!(guests.insert(NOW, from(8), PathId(8)), None);
    }

    #[test]
    fn there_is_room_for_one_at_least() {
        let mut guests = Guests::new(0);
        assert_eq!(guests.insert(NOW, from(1), PathId(1)), None);
        assert_eq!(guests.insert(NOW, from(2), PathId(2)), Some(PathId(1)));
    }

    #[test]
    fn a_suspect_gives_way_first_and_pushes_out_nobody_else() {
        let mut guests = guests(&[(1, 1), (2, 2), (3, 3)]);
        guests.suspect(NOW, PathId(1));
        guests.suspect(NOW, PathId(99));
        assert_eq!(guests.insert(NOW, from(1), PathId(4)), None, "there is room");
        assert_eq!(guests.insert(NOW, from(1), PathId(5)), Some(PathId(4)));
        assert_eq!(guests.insert(NOW, from(2), PathId(6)), Some(PathId(5)));
        assert_eq!(guests.insert(NOW, from(1), PathId(7)), Some(PathId(7)), "itself");
        let later = NOW + handfast_core::Duration::from_secs(10);
        assert_eq!(guests.insert(later, from(1), PathId(8)), Some(PathId(1)), "as anybody: its own");
    }

    #[test]
    fn a_suspect_that_is_refused_again_stays_one() {
        let mut guests = guests(&[(1, 1)]);
        guests.suspect(NOW, PathId(1));
        assert_eq!(guests.insert(NOW, from(1), PathId(2)), None);
        let later = NOW + handfast_core::Duration::from_secs(9);
        guests.suspect(later, PathId(2));
        assert!(guests.suspects.has(later + handfast_core::Duration::from_secs(9), neighbourhood(from(1))));
    }

    #[test]
    fn suspects_come_last_and_who_is_gone_has_no_turn() {
        let mut guests = guests(&[(1, 1)]);
        guests.suspect(NOW, PathId(1));
        for (net, path) in [(1, 2), (3, 3), (4, 4)] {
            assert_eq!(guests.insert(NOW, from(net), PathId(path)), None);
        }
        assert!(!guests.is_waited());
        for path in [2, 4, 3, 1] {
            assert!(guests.wait(PathId(path)));
        }
        assert!(!guests.wait(PathId(99)), "none of these");
        guests.remove(PathId(4));
        assert!(guests.is_waited());
        let order: Vec<_> = std::iter::from_fn(|| guests.next()).map(|path| path.0).collect();
        assert_eq!(order, [3, 1, 2], "the first one came before anybody was suspect");
        assert!(!guests.is_waited());
        assert!(guests.wait(PathId(2)) && guests.is_waited());
        guests.remove(PathId(2));
        assert!(!guests.is_waited());
    }
}
