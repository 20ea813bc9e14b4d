//! Virtual time: a scenario's machines, driven by one event queue.
//!
//! [`run`] simulates a scenario under one scheme and seed and gives a [`RunResult`]; the same inputs give the same bytes.
//! Equal times are ordered by (node, number in the node); changes to the network come before what machines do at that
//! time. Parallelism is across runs only.

mod agents;
mod engine;
mod error;
mod hosts;
mod net;
mod run;

pub use agents::plugin::{Maker, Plugins};
pub use agents::sdn::{ControlChannel, ControlPlane, Departure};
pub use error::RunError;
pub use handfast_results::Control;
pub use handfast_results::result::{
    Document, FlowHandover, FlowResult, HandoverResult, RunResult, SCHEMA, SegmentResult,
};
pub use handfast_results::series;
pub use run::{Options, run, run_with};
