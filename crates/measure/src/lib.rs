//! What a run in virtual time and one in real time share, so that their rows compare: how a scenario is laid out (addresses,
//! paths, starts, outages, associations), what is measured of its flows, and the result.
//!
//! A backend moves the packets, feeds the meters and fills in [`report::FlowFacts`]; every figure is computed here.
#![forbid(unsafe_code)]

pub mod address;
mod airtime;
pub mod association;
pub mod capture;
pub mod control;
pub mod fabric;
pub mod handover;
pub mod limit;
pub mod meter;
pub mod outages;
pub mod plan;
pub mod report;
pub mod result;
pub mod sampler;
pub mod series;
mod signals;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timeline;
pub mod topology;

pub use control::Control;
