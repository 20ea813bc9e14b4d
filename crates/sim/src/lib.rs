//! Virtual time: a scenario's machines, driven by one event queue.
//!
//! [`run`] simulates a scenario under one scheme and seed and gives a [`RunResult`]; the same inputs give the same bytes.
//! Equal times are ordered by (node, number in the node); changes to the network come before what machines do at that
//! time. Parallelism is across runs only.

mod advertisements;
mod agents;
mod air;
mod app;
mod build;
mod capture;
mod control;
mod dues;
mod ends;
mod entry;
mod far;
mod flight;
mod heap;
mod helpers;
mod hop;
mod lanes;
mod low_ack;
mod network;
mod notify;
mod packets;
mod pages;
mod plugin;
mod prefetch;
mod queue;
mod quick_start;
mod ready;
mod report;
mod run;
mod sdn;
mod side;
mod tally;
mod tandem;
mod wheel;

pub use agents::sdn::{ControlChannel, ControlPlane, Departure};
pub use control::{Options, RunError};
pub use handfast_measure::Control;
pub use handfast_measure::result::{
    Aggregate, Document, FlowHandover, FlowResult, HandoverResult, RunResult, SCHEMA,
};
pub use handfast_measure::series;
pub use plugin::{Maker, Plugins};
pub use run::{run, run_with};
