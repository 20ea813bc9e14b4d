//! Explicit loss and handoff notification at the base station.
//!
//! Islam and Uddin, "An explicit loss and handoff notification scheme in TCP for cellular mobile system", cited as `[eln]`:
//! §3.3 is the way towards the mobile, §3.5 the way back, §3.2 the advertisements. What the ends do is in the TCP endpoint;
//! what the paper leaves open is in docs/explanation/deviations.md.

mod base_station;
mod caches;
pub mod spec;

pub use base_station::{BaseStation, Config, Counters};
