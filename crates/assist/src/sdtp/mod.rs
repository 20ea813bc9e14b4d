//! The SDN-based transmission protocol: switches in the path keep packets, notice losses, and repair them.
//!
//! Chen et al., "An SDN-Based Transmission Protocol with In-Path Packet Caching and Retransmission", cited as `[sdtp]`. What
//! it leaves open is in docs/explanation/deviations.md.

mod announced;
mod arrivals;
pub mod auth;
pub mod bump;
mod cache;
pub mod caching;
mod config;
mod connections;
mod control;
mod controller;
mod convert;
mod counters;
mod detection;
pub mod detours;
mod disorder;
mod edge;
mod enforced;
mod expected;
mod following;
mod handshake;
mod holding;
mod interarrival;
mod lanes;
mod lately;
pub mod line;
pub mod map;
mod messages;
mod node;
mod own_drops;
mod packet_ins;
pub mod placement;
mod planned;
mod planner;
mod repairs;
mod requests;
pub mod resequence;
mod retransmission;
mod retransmission_rtt;
mod seals;
pub mod spec;
mod thresholds;
mod windows;

pub use caching::Congestion;
pub use config::Config;
pub use connections::Lifetimes;
pub use control::{Activation, Admission, Instruction, Location, Name, Order, Report, Steering};
pub use controller::{Controller, Counted, Instructions};
pub use counters::{Kept, NodeCounters};
pub use disorder::Level;
pub use expected::ExpectedPackets;
pub use holding::HELD_COST;
pub use node::Node;
pub use packet_ins::Limits;
pub use planned::Placed;
pub use planner::Planner;
pub use repairs::Repairs;
pub use requests::{Counters, RepeatOf};
pub use retransmission::{Arrival, Output, Retransmission};
pub use seals::Sealing;
pub use thresholds::{Inform, Thresholds};
pub use windows::Window;
