//! When something came through an interface, for whichever connection.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant};

/// Moments that are remembered, and how close they are: half a minute where something always comes.
const MOMENTS: usize = 512;
const APART: Duration = Duration::from_millis(50);

/// What came between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing: perhaps nobody had asked for anything.
    Nothing,
    /// Nothing before this moment, for long enough to be a stall, and something from then on.
    From(Instant),
    /// Something all the time.
    Always,
}

/// Of one interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    moments: VecDeque<Instant>,
}

impl Arrivals {
    pub(crate) fn note(&mut self, at: Instant) {
        // Connections are looked at one after the other, and each says when its own last packet came.
        let place = self.moments.partition_point(|&moment| moment <= at);
        let is_close = |other: Option<&Instant>| {
            other.is_some_and(|&other| at.since(other).max(other.since(at)) < APART)
        };
        if is_close(self.moments.get(place))
            || is_close(place.checked_sub(1).and_then(|one| self.moments.get(one)))
        {
            return;
        }
        self.moments.insert(place, at);
        if self.moments.len() > MOMENTS {
            self.moments.pop_front();
        }
    }

    /// What came after `from` and before `to`.
    pub(crate) fn heard(&self, from: Instant, to: Instant, least: Duration) -> Heard {
        let mut before = from;
        let mut heard = Heard::Nothing;
        for &moment in self.moments.iter().filter(|&&moment| moment > from && moment < to) {
            if moment.since(before) >= least {
                return Heard::From(moment);
            }
            heard = Heard::Always;
            before = moment;
        }
        // Then the others, too, may have fallen silent.
        if to.since(before) >= least { Heard::Nothing } else { heard }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn heard(moments: impl IntoIterator<Item = u64>) -> Heard {
        let mut arrivals = Arrivals::default();
        for at in moments {
            arrivals.note(ms(at));
        }
        arrivals.heard(ms(1000), ms(3000), Duration::from_millis(200))
    }

    #[test]
    fn silence_and_noise() {
        assert_eq!(heard([]), Heard::Nothing);
        assert_eq!(heard([999, 1000, 3000, 3100]), Heard::Nothing, "neither end counts");
        assert_eq!(heard((900..3100).step_by(100)), Heard::Always);
        assert_eq!(heard([1100, 2500, 2600, 2700]), Heard::From(ms(2500)), "what was under way came first");
        assert_eq!(heard([1199]), Heard::Nothing, "and then nothing");
        assert_eq!(heard([1200, 1300]), Heard::From(ms(1200)));
    }

    #[test]
    fn any_order_will_do() {
        assert_eq!(heard([2700, 2500, 1100, 2600]), Heard::From(ms(2500)));
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes() {
        let mut arrivals = Arrivals::default();
        for at in 0..100_000 {
            arrivals.note(ms(at));
        }
        assert_eq!(arrivals.moments.len(), MOMENTS);
        assert_eq!(arrivals.moments.back(), Some(&ms(99_950)));
    }
}
