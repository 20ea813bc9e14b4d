//! Random waypoint: to a place drawn at random, a pause, to the next one (Johnson and Maltz 1996).

use handfast_core::{Duration, Instant, Stream};

use super::{Area, Leg, Speeds};
use crate::Place;

/// Random waypoints within an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomWaypoint {
    /// Where.
    pub area: Area,
    /// How fast: one of these, drawn anew for each way. Above zero: with speeds near zero ever more stations would be on a
    /// way without end (Yoon, Liu and Noble 2003).
    pub speed: Speeds,
    /// How long it stays at each place.
    pub pause: Duration,
}

impl RandomWaypoint {
    /// The leg that begins at `now`; `arrived`: a way has just ended.
    pub(super) fn next(&self, arrived: bool, stream: &mut Stream, here: Place, now: Instant) -> Leg {
        if arrived && self.pause > Duration::ZERO {
            return Leg::rest(here, now, self.pause);
        }
        let to = self.area.draw(stream);
        Leg::travel(here, to, now, self.speed.draw(stream))
    }
}
