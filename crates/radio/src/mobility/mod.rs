//! Where a station is when: straight legs at constant speed, one after another.

mod area;
mod leg;
mod linear;
mod motion;
mod recording;
mod setdest;
mod sighting;
mod walk;
mod waypoint;

pub use area::Area;
pub use leg::Leg;
pub use linear::{Linear, Then};
pub use motion::{Mobility, Motion};
pub use recording::{Recording, Trace};
pub use sighting::{RecordingError, Sighting};
pub use walk::RandomWalk;
pub use waypoint::RandomWaypoint;

use handfast_core::{Speed, Stream};

/// Speeds from the first to the second, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds(pub Speed, pub Speed);

impl Speeds {
    /// One of them, all equally likely.
    fn draw(self, stream: &mut Stream) -> Speed {
        let (low, high) = (self.0.as_mm_per_hour(), self.1.as_mm_per_hour());
        let span = high.saturating_sub(low).saturating_add(1);
        Speed::from_mm_per_hour(low.saturating_add(stream.below(span)))
    }
}
