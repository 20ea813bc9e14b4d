//! One straight leg at constant speed, or a rest.

use handfast_core::{Duration, Instant, Speed};

use crate::Place;

/// From one place to another; whoever arrives stays until the next leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Where it begins.
    pub from: Place,
    /// Where it ends.
    pub to: Place,
    /// When it begins.
    pub depart: Instant,
    /// When it ends; [`Instant::MAX`]: never, and `to` is `from`.
    pub arrive: Instant,
}

impl Leg {
    /// A stay for `time`.
    pub fn rest(place: Place, now: Instant, time: Duration) -> Self {
        Self { from: place, to: place, depart: now, arrive: now + time }
    }

    /// A way at `speed`; at speed zero a stay for ever.
    pub fn travel(from: Place, to: Place, now: Instant, speed: Speed) -> Self {
        match speed.time_for(from.distance(to)) {
            Some(time) => Self { from, to, depart: now, arrive: now + time },
            None => Self::rest(from, now, Duration::MAX),
        }
    }

    /// Where one is at `now`: before the beginning at its beginning, after the end at its end.
    pub fn at(&self, now: Instant) -> Place {
        let (gone, whole) = (now.since(self.depart), self.arrive.since(self.depart));
        if gone >= whole {
            return self.to;
        }
        let along = |from: i64, to: i64| {
            let way = i128::from(to - from) * i128::from(gone.as_nanos());
            // No longer than the way itself.
            from + (way / i128::from(whole.as_nanos())) as i64
        };
        Place { x: along(self.from.x, self.to.x), y: along(self.from.y, self.to.y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_even() {
        let to = Place { x: 6_000, y: -8_000 };
        let leg = Leg::travel(Place::default(), to, Instant::from_millis(1_000), "2m/s".parse().unwrap());
        assert_eq!(leg.arrive, Instant::from_millis(6_000));
        assert_eq!(leg.at(Instant::ZERO), Place::default());
        assert_eq!(leg.at(Instant::from_millis(3_500)), Place { x: 3_000, y: -4_000 });
        assert_eq!(leg.at(Instant::from_millis(9_000)), to);
    }

    #[test]
    fn without_speed_nobody_leaves() {
        let leg = Leg::travel(Place::default(), Place { x: 1, y: 0 }, Instant::ZERO, Speed::default());
        assert_eq!(leg.at(Instant::MAX - Duration::from_nanos(1)), Place::default());
    }
}
