//! Snoop: a base station that keeps the segments which its mobiles have not acknowledged, and sends them again itself.
//!
//! Balakrishnan, Seshan and Katz, "Improving reliable transport and handoff performance in cellular wireless networks"
//! (Wireless Networks 1, 1995), cited as `[snoop]`; §4.1 has the two routines. What they leave open, and what SACK changes,
//! is in docs/explanation/deviations.md.

mod agent;
mod cache;
mod config;
mod connection;
mod estimate;
pub mod spec;

pub use agent::Snoop;
pub use config::{Config, Counters};
