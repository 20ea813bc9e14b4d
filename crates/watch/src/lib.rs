//! Why a connection stood still.
//!
//! A driver gives a [`Watcher`] samples of all connections, and what changes in the network. It answers with [`Stall`]s: when
//! a connection waited, for how long, and for what. Questions for names are watched too ([`Lookup`]).
#![forbid(unsafe_code)]

mod arrivals;
mod connection;
mod diagnosis;
mod lookups;
mod network;
mod sample;
mod stall;
mod watcher;

pub use lookups::{Lookup, PORT as DNS_PORT};
pub use network::{Change, InterfaceId};
pub use sample::{ConnectionId, Sample, State};
pub use stall::{Cause, Direction, End, Path, Phase, Stall};
pub use watcher::{Limits, Watcher};
