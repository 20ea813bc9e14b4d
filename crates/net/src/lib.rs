//! Queues, links and losses as sans-IO machines.

mod config;

pub use config::{Direction, DownMode, Loss, QueueLimit};
