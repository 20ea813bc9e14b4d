//! Why a connection stood still.
//!
//! A driver gives a [`Watcher`] samples of all connections, and what changes in the network. It answers with [`Stall`]s: when
//! a connection waited, for how long, and for what.
#![forbid(unsafe_code)]

mod arrivals;
mod connection;
mod diagnosis;
mod network;
mod sample;
mod stall;
mod watcher;

pub use network::{Change, InterfaceId};
pub use sample::{ConnectionId, Sample, State};
pub use stall::{Cause, Direction, End, Path, Phase, Stall};
pub use watcher::{Limits, Watcher};
