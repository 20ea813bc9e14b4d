//! The rectangle in which random movement stays.

use handfast_core::Stream;

use crate::Place;

/// A rectangle, its edges included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    low: Place,
    high: Place,
}

impl Area {
    /// The rectangle with these opposite corners.
    pub fn new(a: Place, b: Place) -> Self {
        let low = Place { x: a.x.min(b.x), y: a.y.min(b.y) };
        let high = Place { x: a.x.max(b.x), y: a.y.max(b.y) };
        Self { low, high }
    }

    /// Whether `place` is in it.
    pub fn contains(&self, place: Place) -> bool {
        (self.low.x..=self.high.x).contains(&place.x) && (self.low.y..=self.high.y).contains(&place.y)
    }

    /// The nearest place in it.
    #[must_use]
    pub fn clamp(&self, place: Place) -> Place {
        let x = place.x.clamp(self.low.x, self.high.x);
        Place { x, y: place.y.clamp(self.low.y, self.high.y) }
    }

    /// A place in it, all equally likely.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Place {
        let mut along = |low: i64, high: i64| {
            low.saturating_add(stream.below(high.abs_diff(low).saturating_add(1)) as i64)
        };
        Place { x: along(self.low.x, self.high.x), y: along(self.low.y, self.high.y) }
    }

    /// The part of the way from `from`, which is in it, by `(dx, dy)` millimetres until an edge stops it: 1 where none does; and
    /// which coordinates meet their edge there.
    pub(crate) fn stop(&self, from: Place, (dx, dy): (f64, f64)) -> (f64, [bool; 2]) {
        let [x, y] = [part(from.x, dx, self.low.x, self.high.x), part(from.y, dy, self.low.y, self.high.y)];
        let first = x.min(y);
        if first >= 1.0 { (1.0, [false; 2]) } else { (first, [x <= first, y <= first]) }
    }
}

/// The part of a way by `delta` along one coordinate until its edge.
fn part(from: i64, delta: f64, low: i64, high: i64) -> f64 {
    let edge = if delta > 0.0 { high } else { low };
    let room = edge.abs_diff(from) as f64;
    if delta.abs() <= room { 1.0 } else { room / delta.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_stops_the_way_and_is_named() {
        let area = Area::new(Place { x: 10, y: 0 }, Place { x: 0, y: 10 });
        let middle = Place { x: 5, y: 5 };
        assert_eq!(area.stop(middle, (5.0, -5.0)), (1.0, [false, false]));
        assert_eq!(area.stop(middle, (10.0, 0.0)), (0.5, [true, false]));
        assert_eq!(area.stop(middle, (-10.0, 20.0)), (0.25, [false, true]));
        assert_eq!(area.stop(middle, (-20.0, -20.0)), (0.25, [true, true]));
        assert_eq!(area.clamp(Place { x: -3, y: 40 }), Place { x: 0, y: 10 });
    }
}
