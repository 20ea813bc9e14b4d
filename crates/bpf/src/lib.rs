//! eBPF programs for connections: [`Sender`] freezes those that send, [`Receiver`] closes the
//! window of those that receive, [`Sockets`] leads those of a cgroup to an end of sessions, and
//! [`Datagrams`] what they send by UDP.
//!
//! Each is loaded and attached when it is made, and the kernel takes it off when it is dropped, also because the process was killed. What a
//! program was told of somebody who is away expires.
#![cfg(target_os = "linux")]

mod datagrams;
mod network;
mod place;
mod programs;
mod receiver;
mod sender;
mod sockets;

pub use datagrams::{Alias, Datagrams};
pub use network::Network;
pub use receiver::{LastSegment, Receiver};
pub use sender::{Sender, SenderCounters};
pub use sockets::{Ends, Sockets};

/// Why nothing can be loaded at all; [`None`]: it was built with what it needs.
pub fn missing() -> Option<&'static str> {
    programs::MISSING
}
