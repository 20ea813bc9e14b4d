//! A run from the scenario to its result.

pub(crate) mod build;
pub(crate) mod options;
mod report;
mod simulation;

pub use options::{Options, RunError};
pub use simulation::{run, run_with};
