//! The deadlines of a driver's machines: one entry a machine, and when to wake up next.
#![forbid(unsafe_code)]

use handfast_core::Instant;

/// When each machine wants to be called. For a handful of machines: each operation looks at all entries.
#[derive(Clone, Debug)]
pub struct Timers<K>(Vec<(K, Instant)>);

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Eq> Timers<K> {
    /// The machine wants to be called at `at` and not before; [`None`]: not at all.
    pub fn set(&mut self, machine: K, at: Option<Instant>) {
        match (self.0.iter().position(|&(other, _)| other == machine), at) {
            (Some(place), Some(at)) => self.0[place].1 = at,
            (Some(place), None) => drop(self.0.swap_remove(place)),
            (None, Some(at)) => self.0.push((machine, at)),
            (None, None) => {}
        }
    }

    /// The machine wants to be called at `at`, or before that where it was said before.
    pub fn set_by(&mut self, machine: K, at: Instant) {
        match self.0.iter_mut().find(|(other, _)| *other == machine) {
            Some((_, before)) => *before = at.min(*before),
            None => self.0.push((machine, at)),
        }
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.0.iter().map(|&(_, at)| at).min()
    }

    /// The machine with the earliest deadline, if that has come. Its entry is removed.
    pub fn due(&mut self, now: Instant) -> Option<K> {
        let (place, &(machine, at)) = self.0.iter().enumerate().min_by_key(|(_, (_, at))| *at)?;
        (at <= now).then(|| {
            self.0.swap_remove(place);
            machine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_machine_has_one_entry() {
        let mut timers = Timers::default();
        timers.set('a', Some(at(5)));
        timers.set('b', Some(at(3)));
        timers.set('a', Some(at(2)));
        assert_eq!(timers.next(), Some(at(2)));
        timers.set('a', None);
        timers.set('c', None);
        assert_eq!(timers.next(), Some(at(3)));
        timers.set('b', None);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn what_was_said_before_is_not_put_off() {
        let mut timers = Timers::default();
        for ms in [5, 7, 4, 6] {
            timers.set_by('a', at(ms));
        }
        assert_eq!((timers.next(), timers.due(at(9)), timers.next()), (Some(at(4)), Some('a'), None));
        timers.set_by('a', at(7));
        assert_eq!(timers.next(), Some(at(7)));
    }

    #[test]
    fn what_is_due_comes_in_order_of_time_and_once() {
        let mut timers = Timers::default();
        for (machine, ms) in [('a', 5), ('b', 3), ('c', 9)] {
            timers.set(machine, Some(at(ms)));
        }
        let mut due = || timers.due(at(5));
        assert_eq!([due(), due(), due()], [Some('b'), Some('a'), None]);
        assert_eq!(timers.next(), Some(at(9)));
    }
}
