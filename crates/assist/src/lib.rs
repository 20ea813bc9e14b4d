//! The help in the path, as machines: a folder per system.
//!
//! `registry.rs` lists the kinds: there an agent is registered.
#![forbid(unsafe_code)]

mod agent;
mod code;
mod connection;
pub mod profile;
mod ranges;
mod recent;
mod registry;
mod shim;
pub mod spec;

pub use agent::{Agent, LinkEvent, Verdict, View};
pub use connection::ConnectionKey;
pub use registry::*;
pub use sdtp::spec::Sdtp;
