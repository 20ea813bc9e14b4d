//! Airtime: how long the frames of 802.11 b and g take, and who is served next on the one medium that all stations of an access
//! point share with it in both directions.

mod exchange;
mod medium;
mod rate;

pub use exchange::{Exchange, Physical, Preamble, Slots};
pub use medium::{Event, Lane, LaneId, Medium, Served};
pub use rate::{Rate, Rates};
