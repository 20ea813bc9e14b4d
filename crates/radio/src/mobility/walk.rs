//! Random walk: a new direction and speed at intervals, reflected by the edges (Camp, Boleng and Davies 2002, §2.1).

use core::f64::consts::TAU;

use handfast_core::{Duration, Instant, Speed, Stream};

use super::{Area, Leg, Speeds};
use crate::Place;

/// A random walk within an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomWalk {
    /// Where.
    pub area: Area,
    /// How fast: one of these, drawn anew with each direction.
    pub speed: Speeds,
    /// After how long direction and speed are drawn anew, above zero.
    pub every: Duration,
}

/// What is left of a direction: an edge splits its way in legs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// A vector of length 1.
    direction: (f64, f64),
    speed: Speed,
    until: Instant,
}

impl RandomWalk {
    /// The leg that begins at `now` at `here`, which is in the area.
    pub(super) fn next(
        &self,
        heading: &mut Option<Heading>,
        stream: &mut Stream,
        here: Place,
        now: Instant,
    ) -> Leg {
        let mut on = match heading.filter(|heading| heading.until > now) {
            Some(heading) => heading,
            None => self.draw(stream, now),
        };
        let mut leg = self.leg(&mut on, here, now);
        if leg.arrive <= now {
            // It began at an edge and has turned away from it; in a corner two edges turn it.
            leg = self.leg(&mut on, here, now);
        }
        *heading = Some(on);
        leg
    }

    fn draw(&self, stream: &mut Stream, now: Instant) -> Heading {
        let angle = stream.unit() * TAU;
        let direction = (libm::cos(angle), libm::sin(angle));
        Heading { direction, speed: self.speed.draw(stream), until: now + self.every }
    }

    /// The way until the next turn or edge; an edge reflects the direction.
    fn leg(&self, on: &mut Heading, here: Place, now: Instant) -> Leg {
        let time = on.until.since(now);
        let length = on.speed.length_in(time).0 as f64;
        let way = (on.direction.0 * length, on.direction.1 * length);
        let (part, edges) = self.area.stop(here, way);
        if edges[0] {
            on.direction.0 = -on.direction.0;
        }
        if edges[1] {
            on.direction.1 = -on.direction.1;
        }
        // Lengths of ways are below 2^53, so the sums are exact enough for whole millimetres.
        let to = |from: i64, way: f64| from.saturating_add(libm::round(way * part) as i64);
        let to = self.area.clamp(Place { x: to(here.x, way.0), y: to(here.y, way.1) });
        let arrive = now + Duration::from_nanos((time.as_nanos() as f64 * part) as u64);
        Leg { from: here, to, depart: now, arrive }
    }
}
