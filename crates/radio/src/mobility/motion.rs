//! A station's movement in the course of a run.

use std::sync::Arc;

use handfast_core::{Duration, Instant, Stream};

use super::walk::Heading;
use super::{Leg, Linear, RandomWalk, RandomWaypoint, Trace};
use crate::Place;

/// How a station moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mobility {
    /// Not at all.
    Still,
    /// Straight on.
    Linear(Linear),
    /// At random, turning at intervals.
    RandomWalk(RandomWalk),
    /// At random, from place to place.
    RandomWaypoint(RandomWaypoint),
    /// As somebody was seen to move.
    Trace(Arc<Trace>),
}

/// No leg is shorter, so that a way of no length cannot stop time.
const SHORTEST: Duration = Duration::from_millis(1);

/// One station on its way. Time only goes forward.
#[derive(Clone, Debug)]
pub struct Motion {
    mobility: Mobility,
    /// Where it was at the start.
    home: Place,
    leg: Leg,
    heading: Option<Heading>,
    stream: Stream,
}

impl Motion {
    /// At the start it is at `home`; a trace and an area may know better.
    pub fn new(mobility: &Mobility, home: Place, stream: Stream) -> Self {
        let home = match mobility {
            Mobility::Trace(trace) => trace.start(),
            Mobility::RandomWalk(RandomWalk { area, .. })
            | Mobility::RandomWaypoint(RandomWaypoint { area, .. }) => area.clamp(home),
            Mobility::Still | Mobility::Linear(_) => home,
        };
        let leg = Leg::rest(home, Instant::ZERO, Duration::ZERO);
        let mut this = Self { mobility: mobility.clone(), home, leg, heading: None, stream };
        this.turn(Instant::ZERO, false);
        this
    }

    /// Where it is at `now`, which is no earlier than any moment asked for before.
    pub fn place(&mut self, now: Instant) -> Place {
        while self.leg.arrive <= now && self.leg.arrive < Instant::MAX {
            let moved = self.leg.from != self.leg.to;
            self.turn(self.leg.arrive, moved);
        }
        self.leg.at(now)
    }

    /// The leg that it is on.
    pub fn leg(&self) -> &Leg {
        &self.leg
    }

    /// Begins the leg after the one that ends at `now`; `moved`: that one was no rest.
    fn turn(&mut self, now: Instant, moved: bool) {
        let here = self.leg.to;
        let mut leg = match &self.mobility {
            Mobility::Still => Leg::rest(here, now, Duration::MAX),
            Mobility::Linear(linear) => linear.next(self.home, here, now),
            Mobility::RandomWalk(walk) => walk.next(&mut self.heading, &mut self.stream, here, now),
            Mobility::RandomWaypoint(waypoint) => waypoint.next(moved, &mut self.stream, here, now),
            Mobility::Trace(trace) => trace.next(here, now),
        };
        leg.arrive = leg.arrive.max(now + SHORTEST);
        self.leg = leg;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Area, Speeds, Then};
    use super::*;
    use handfast_core::Speed;
    use proptest::prelude::*;

    const METRE: i64 = 1_000;

    fn motion(mobility: &Mobility, seed: u64) -> Motion {
        Motion::new(mobility, Place { x: 2 * METRE, y: 3 * METRE }, Stream::new(seed, "station"))
    }

    fn seconds(n: u64) -> Instant {
        Instant::from_millis(n * 1_000)
    }

    #[test]
    fn a_straight_line_ends_or_comes_back() {
        let towards = Place { x: 2 * METRE, y: 13 * METRE };
        let linear = |then| Mobility::Linear(Linear { towards, speed: "3.6km/h".parse().unwrap(), then });
        let seen = |then| {
            let mut motion = motion(&linear(then), 1);
            [0, 5, 10, 15, 20, 25].map(|second| motion.place(seconds(second)).y / METRE)
        };
        assert_eq!(seen(Then::Stop), [3, 8, 13, 13, 13, 13]);
        assert_eq!(seen(Then::Bounce), [3, 8, 13, 8, 3, 8]);
    }

    #[test]
    fn a_line_to_where_one_is_takes_no_time_and_stops_none() {
        let towards = Place { x: 2 * METRE, y: 3 * METRE };
        let linear = Linear { towards, speed: "1m/s".parse().unwrap(), then: Then::Bounce };
        assert_eq!(motion(&Mobility::Linear(linear), 1).place(seconds(60)), towards);
        assert_eq!(motion(&Mobility::Still, 1).place(seconds(60)), towards);
    }

    #[test]
    fn a_waypoint_is_held_for_the_pause() {
        let area = Area::new(Place::default(), Place { x: 10 * METRE, y: 10 * METRE });
        let speed = Speed::from_mm_per_hour(3_600_000);
        let pause = Duration::from_secs(5);
        let mobility = Mobility::RandomWaypoint(RandomWaypoint { area, speed: Speeds(speed, speed), pause });
        let mut motion = motion(&mobility, 3);
        let arrive = motion.leg().arrive;
        let there = motion.place(arrive);
        assert_eq!(motion.leg().arrive, arrive + pause);
        assert_eq!(motion.place(arrive + Duration::from_nanos(pause.as_nanos() - 1)), there);
        assert_ne!(motion.place(arrive + pause + Duration::from_secs(1)), there);
    }

    fn areas() -> impl Strategy<Value = Area> {
        let corner = (-50 * METRE..50 * METRE, -50 * METRE..50 * METRE).prop_map(|(x, y)| Place { x, y });
        (corner.clone(), corner).prop_map(|(a, b)| Area::new(a, b))
    }

    fn random_mobilities() -> impl Strategy<Value = (Mobility, Area, Speed)> {
        let speed = |mm| Speed::from_mm_per_hour(mm);
        (areas(), 1_u64..20_000_000, 0_u64..20_000_000, 1_u64..30_000, prop::bool::ANY).prop_map(
            move |(area, low, more, millis, walk)| {
                let (high, time) = (speed(low + more), Duration::from_millis(millis));
                let speed = Speeds(speed(low), high);
                let mobility = if walk {
                    Mobility::RandomWalk(RandomWalk { area, speed, every: time })
                } else {
                    Mobility::RandomWaypoint(RandomWaypoint { area, speed, pause: time })
                };
                (mobility, area, high)
            },
        )
    }

    proptest! {
        #[test]
        fn random_movement_stays_inside_and_within_its_speed(
            (mobility, area, fastest) in random_mobilities(),
            seed in 0_u64..1000,
            steps in prop::collection::vec(1_u64..5_000, 1..200),
        ) {
            let (mut one, mut same) = (motion(&mobility, seed), motion(&mobility, seed));
            let mut now = Instant::ZERO;
            let mut last = one.place(now);
            prop_assert!(area.contains(last));
            for millis in steps {
                let step = Duration::from_millis(millis);
                now += step;
                let (turns, here) = (one.leg().depart, one.place(now));
                prop_assert!(area.contains(here), "{here} is outside");
                // Each leg begins and ends at whole millimetres.
                let legs = 2 + now.since(turns).as_millis();
                let most = fastest.length_in(step).0 + 3 * legs.min(step.as_millis() + 4);
                prop_assert!(last.distance(here).0 <= most, "{last} to {here} in {step}");
                prop_assert_eq!(here, same.place(now));
                last = here;
            }
        }
    }
}
