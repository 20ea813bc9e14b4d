//! A scenario laid out for a run, the same for virtual time and real time: topology, addresses, paths, the timeline of changes,
//! the machines of links and media, and the capacity limit.
//!
//! Nothing here moves a packet or measures a flow.
#![forbid(unsafe_code)]

pub mod address;
mod airtime;
pub mod association;
pub mod change;
mod check;
pub mod fabric;
pub mod fades;
pub mod interfaces;
pub mod limit;
mod machines;
mod paths;
pub mod radios;
mod signals;
mod starts;
pub mod streams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timeline;
pub mod topology;
pub mod traces;

pub use check::check;
pub use machines::{Shared, links, media};
pub use paths::{Paths, Reroute, paths};
pub use starts::starts;
pub use streams::{StreamId, Streams};
