//! Airtime: how long the frames of 802.11 b and g take.

mod exchange;
mod rate;

pub use exchange::{Exchange, Physical, Preamble, Slots};
pub use rate::{Rate, Rates};
