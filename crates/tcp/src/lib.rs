//! A TCP endpoint as a machine: no clock, no socket, no thread.
//!
//! The driver hands in segments and expired deadlines, asks for segments to send, and learns the next deadline:
//!
//! ```text
//! on_segment(now, &Segment)   on_timer(now)   poll_transmit(now, budget) -> Option<Segment>   deadline() -> Option<Instant>
//! ```
#![forbid(unsafe_code)]

mod autotune;
mod config;
mod endpoint;
mod event;
mod growth;
mod help;
mod in_place;
mod linux_rtt;
mod pace;
mod pieces;
mod profile;
mod quick_ack;
mod rack;
mod receive_buffer;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sender;
mod spurious;
mod startup;
mod timer_wheel;
mod validation;
mod window;

pub use config::{
    Acks, Config, Estimation, Frto, InitialWindow, Nagle, QuickStartRequest, Recovery, RttEstimation, Undo,
    VhoRule, VhoRules,
};
pub use endpoint::Endpoint;
pub use event::{Counters, Death, Detector, Event, Footprint, LossCounters, Snapshot, State};
pub use growth::Growth;
pub use profile::{PROFILES, Profile, profile};
