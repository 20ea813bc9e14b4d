//! A run from the scenario to its result.

mod attach;
mod build;
mod dialogues;
mod layout;
mod network;
mod open;
mod options;
mod places;
mod refused;
mod report;
mod simulation;
mod transports;

pub use options::Options;
pub use simulation::{run, run_with};
