//! The help in the path, as machines: a folder per system.
#![forbid(unsafe_code)]

mod agent;
mod connection;
pub mod eln;
mod recent;
pub mod sdn;
pub mod snoop;
pub mod vho;

pub use agent::{Agent, LinkEvent, Verdict, View};
pub use connection::ConnectionKey;
