//! Real time: the machines of the simulator between real kernels.
//!
//! A lab's hosts are network namespaces. Each thread that acts for one of them enters it ([`Netns::enter`]); frames are
//! taken and given back by packet sockets ([`PacketSocket`]). Linux only, and mostly for root.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod announcer;
pub mod capacity;
mod capture;
mod controlled;
mod environment;
mod error;
mod facts;
mod forwarding;
mod kernel;
mod lateness;
mod names;
mod netns;
mod packet_loop;
mod plan;
pub mod relay;
mod roaming;
mod run;
mod sdtp;
mod traffic;
mod wire_endpoint;

pub use controlled::Controlled;
pub use error::LabError;
pub use forwarding::ForwardingTables;
pub use handfast_io::{
    Arrival, BATCH, Clock, Inbox, Interface, MAX_FRAME, PacketSocket, Sent, Watch, offloads_off, real_time,
};
pub use lateness::{BOUND as LATENESS_BOUND, Lateness};
pub use netns::{Entered, Netns};
pub use packet_loop::{Ends, Faults, FlowKey, LoopOptions, LoopReport, PacketLoop, QueueSample};
pub use plan::{Forwarding, Node, Peer, Plan, Wire};
pub use run::{LabOptions, Spaces, run};
pub use sdtp::{SdtpLine, SdtpNode};
pub use wire_endpoint::{ConnectionId, Dropped, Identity, Stack, WireHost};
