//! The SDN-based transmission protocol: switches in the path keep packets, notice losses, and repair them.
//!
//! Chen et al., "An SDN-Based Transmission Protocol with In-Path Packet Caching and Retransmission", cited as `[sdtp]`. What
//! it leaves open is in docs/explanation/deviations.md.

mod arrivals;
pub mod auth;
mod cache;
pub mod caching;
pub mod line;
pub mod map;
pub mod placement;
pub mod resequence;
