//! A TCP endpoint as a machine: no clock, no socket, no thread.
//!
//! The driver hands in segments and expired deadlines, asks for segments to send, and learns the next deadline:
//!
//! ```text
//! on_segment(now, &Received)   on_timer(now)   poll_transmit(now, budget) -> Option<Transmit>   deadline() -> Option<Instant>
//! ```
#![forbid(unsafe_code)]

mod cc;
mod config;
mod endpoint;
mod event;
mod help;
mod inline_list;
mod options;
mod phase;
mod profile;
mod receive;
mod recovery;
mod rtt;
mod send;
mod spurious;
mod startup;
mod transfer;
mod trim;
mod urgent;

pub use cc::{BbrReport, CongestionControl, PragueReport, ShadowWindow, coupling};
pub use config::{
    Acks, Config, EcnOption, Estimation, Frto, InitialWindow, IoslRules, Nagle, QuickStartRequest, Radio,
    Recovery, Resumption, RttEstimation, StoredPath, Undo, VhoRule, VhoRules,
};
pub use endpoint::{Endpoint, Report, Touch};
pub use event::{
    Counters, Death, Detector, EcnFailures, EcnMode, EcnReport, Event, Footprint, LossCounters, OptionSeen,
    Snapshot, State,
};
pub use help::MtuProbing;
pub use options::{DEFAULT_MSS, MAX_SHIFT, MIN_MSS};
pub use profile::{PROFILES, Profile, profile};
pub use receive::memory::{MemoryReport, ReceiveMemory};
pub use receive::receive_buffer::{Arrival, ReceiveBuffer};
pub use send::send_buffer::SendBuffer;
pub use transfer::{Received, Transmit};
pub use urgent::{NoUrgent, Reading, UrgentIn, UrgentOut};
