//! The 802.11 station's association: which access point, from when to when.

mod config;
mod low_ack;
mod schedule;
mod station;

pub use config::{Config, Scan};
pub use low_ack::LowAck;
pub use schedule::{AccessPoint, Roam, Schedule};
pub use station::{Air, Cause, Event, Heard, Station};
