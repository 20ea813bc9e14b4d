//! Real time: the machines of the simulator between real kernels.
//!
//! A lab's hosts are network namespaces. Each thread that acts for one of them enters it ([`Netns::enter`]); frames are
//! taken and given back by packet sockets ([`PacketSocket`]). Linux only, and mostly for root.
#![cfg(target_os = "linux")]

mod announcer;
pub mod capacity;
mod capture;
mod clock;
mod controlled;
mod environment;
mod error;
mod facts;
mod forwarding;
mod kernel;
mod lateness;
mod netns;
mod packet_loop;
mod plan;
pub mod relay;
mod roaming;
mod run;
mod sys;
mod traffic;
mod wait;
mod wire_endpoint;

pub use clock::Clock;
pub use controlled::Controlled;
pub use error::LabError;
pub use forwarding::ForwardingTables;
pub use lateness::{BOUND as LATENESS_BOUND, Lateness};
pub use netns::{Entered, Netns};
pub use packet_loop::{Ends, Faults, FlowKey, LoopOptions, LoopReport, PacketLoop, QueueSample};
pub use plan::{Forwarding, Node, Peer, Plan, Wire};
pub use run::{LabOptions, Spaces, run};
pub use sys::offload::offloads_off;
pub use sys::packet_socket::{Arrival, BATCH, Inbox, Interface, MAX_FRAME, PacketSocket, Sent};
pub use sys::priority::real_time;
pub use wait::Watch;
pub use wire_endpoint::{ConnectionId, Dropped, Identity, Stack, WireHost};
