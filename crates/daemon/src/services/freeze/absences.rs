//! Who is away, who has said so, and for how long that may last.

use std::collections::BTreeMap;

use handfast_bpf::Network;
use handfast_core::{Duration, Instant};

/// Who has said that somebody is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// `handfastd session away`.
    Command,
    /// The radio's signal.
    Signal,
}

/// A map of the kernel's program has room for 1,024; these and the peers of the file fit.
pub(super) const MOST: usize = 512;

/// Those that are away.
#[derive(Debug, Default)]
pub(super) struct Absences {
    /// Until when they may be: somebody may forget to say that they are back.
    until: BTreeMap<(Network, Who), Instant>,
}

impl Absences {
    /// They are away. False: too many are.
    pub(super) fn begin(&mut self, of: Network, who: Who, until: Instant) -> bool {
        let has_room = self.until.len() < MOST || self.until.contains_key(&(of, who));
        if has_room {
            self.until.entry((of, who)).or_insert(until);
        }
        has_room
    }

    /// One who said so says that they are back. Whether they are: somebody else may have said that they are away.
    pub(super) fn end(&mut self, of: Network, who: Who) -> bool {
        self.until.remove(&(of, who)).is_some() && !self.networks().any(|other| other == of)
    }

    /// All that have been away for too long end: who is back by that.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Network> {
        let late: Vec<_> =
            self.until.iter().filter(|(_, until)| **until <= now).map(|(key, _)| *key).collect();
        late.into_iter().filter(|(of, who)| self.end(*of, *who)).map(|(of, _)| of).collect()
    }

    /// When the next of them ends by itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until.values().min().copied()
    }

    /// Who is away; twice where two have said so.
    pub(super) fn networks(&self) -> impl Iterator<Item = Network> {
        self.until.keys().map(|(of, _)| *of)
    }

    /// All in a network of whom somebody has said that they are away.
    pub(super) fn within(&self, of: Network, who: Who) -> Vec<Network> {
        let said = self.until.keys().filter(|(away, by)| *by == who && of.covers(*away));
        said.map(|(away, _)| *away).collect()
    }

    /// How much longer the kernel is to believe it, at most.
    pub(super) fn until(&self, of: Network, at_most: Instant) -> Instant {
        let until = [Who::Command, Who::Signal].into_iter().filter_map(|who| self.until.get(&(of, who)));
        until.max().map_or(at_most, |until| (*until).min(at_most))
    }
}

/// How long one may be away, unless the file says otherwise.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn who_is_away_by_two_is_back_by_both() {
        let of = "192.0.2.1".parse().unwrap();
        let mut absences = Absences::default();
        assert!(absences.begin(of, Who::Command, at(50)) && absences.begin(of, Who::Signal, at(70)));
        assert_eq!(absences.until(of, at(60)), at(60));
        assert!(!absences.end(of, Who::Signal));
        assert_eq!(absences.until(of, at(60)), at(50));
        assert!(absences.end(of, Who::Command));
        assert!(!absences.end(of, Who::Command), "it was not away");
    }

    #[test]
    fn a_wider_network_finds_what_is_in_it() {
        let parse = |text: &str| text.parse::<Network>().unwrap();
        let mut absences = Absences::default();
        for (of, who) in
            [("192.0.2.1", Who::Command), ("192.0.2.2", Who::Signal), ("192.0.3.1", Who::Command)]
        {
            assert!(absences.begin(parse(of), who, at(50)));
        }
        assert_eq!(absences.within(parse("192.0.2.0/24"), Who::Command), [parse("192.0.2.1")]);
        assert_eq!(absences.within(parse("::/0"), Who::Command).len(), 2);
        assert_eq!(absences.within(parse("192.0.2.2"), Who::Command), []);
    }

    #[test]
    fn nobody_is_away_for_ever_and_not_everybody_is() {
        let mut absences = Absences::default();
        for n in 0..=u8::MAX {
            for m in 0..2 {
                assert!(absences.begin(std::net::IpAddr::from([192, 0, m, n]).into(), Who::Command, at(50)));
            }
        }
        let one_more = "198.51.100.1".parse().unwrap();
        assert!(!absences.begin(one_more, Who::Command, at(50)));
        let first = "192.0.0.0".parse().unwrap();
        // To say it again makes it no longer.
        assert!(absences.begin(first, Who::Command, at(90)));
        assert_eq!(absences.deadline(), Some(at(50)));
        assert_eq!(absences.expire(at(49)), []);
        assert_eq!(absences.expire(at(50)).len(), MOST);
        assert_eq!((absences.deadline(), absences.networks().count()), (None, 0));
    }
}
