//! Straight on, once or to and fro.

use handfast_core::{Duration, Instant, Speed};

use super::Leg;
use crate::Place;

/// On a straight line towards a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Where to.
    pub towards: Place,
    /// How fast.
    pub speed: Speed,
    /// What happens there.
    pub then: Then,
}

/// What happens at the end of a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It stays there.
    Stop,
    /// It goes back to where it came from, and so on.
    Bounce,
}

impl Linear {
    /// The leg that begins at `now`, where one is at `here` and began at `home`.
    pub(super) fn next(&self, home: Place, here: Place, now: Instant) -> Leg {
        let to = match self.then {
            _ if here != self.towards => self.towards,
            Then::Stop => return Leg::rest(here, now, Duration::MAX),
            Then::Bounce => home,
        };
        Leg::travel(here, to, now, self.speed)
    }
}
