//! What is measured of a run, and its result: meters of flows, outages, time series, `result.json`.
//!
//! A backend moves the packets, feeds the meters and fills in [`report::FlowFacts`]; every figure is computed here, once, so that
//! rows of the simulator and of the lab compare.
#![forbid(unsafe_code)]

pub mod capture;
pub mod control;
mod delays;
pub mod describe;
pub mod flow_series;
pub mod handover;
pub mod metrics;
pub mod outages;
mod packet_series;
pub mod report;
pub mod result;
pub mod sampler;
pub mod series;
mod table;

pub use control::Control;
pub use handfast_host::meter;
