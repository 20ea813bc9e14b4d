//! The SDN-based transmission protocol: switches in the path keep packets, notice losses, and repair them.
//!
//! Chen et al., "An SDN-Based Transmission Protocol with In-Path Packet Caching and Retransmission", cited as `[sdtp]`. What
//! it leaves open is in docs/explanation/deviations.md.

mod announced;
mod disorder;
mod expected;
mod interarrival;
mod requests;
mod retransmission;
mod retransmission_rtt;
mod thresholds;
mod windows;

pub use disorder::Level;
pub use expected::ExpectedPackets;
pub use requests::{Counters, RepeatOf};
pub use retransmission::{Arrival, Output, Retransmission};
pub use thresholds::{Inform, Thresholds};
pub use windows::Window;
