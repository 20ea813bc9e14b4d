//! `handfastd`: the machines of the help on real networks.
//!
//! What is here moves bytes between sockets and machines, and looks at the clock. What is done for a station is decided
//! by the machines, which run in the simulator as they are.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod ask;
pub mod association;
mod clock;
pub mod config;
pub mod controller;
pub mod conversation;
mod log;
mod obstacles;
pub mod recording;
pub mod switched_off;

pub use ask::ask;
pub use config::changes;
pub use log::{Log, start as start_log};
pub use obstacles::obstacles;
