//! The help in the path, as machines: a folder per system.
//!
//! The list of kinds at the end is where an agent is registered.
#![forbid(unsafe_code)]

pub mod ack_filter;
mod agent;
mod connection;
pub mod eln;
pub mod quick_start;
mod ranges;
mod recent;
pub mod sdn;
pub mod sdtp;
pub mod snoop;
pub mod spec;
pub mod vho;

pub use agent::{Agent, LinkEvent, Verdict, View};
pub use connection::ConnectionKey;

spec::agents! {
    "sdn" => Sdn(sdn::spec::Sdn), "a controller that has switches hold what comes for a station while it is away";
    "snoop" => Snoop(snoop::spec::Snoop), "base stations that keep segments and send again what the radio loses";
    "eln" => Eln(eln::spec::Eln), "base stations that mark acknowledgements: what is missing was lost on the radio, or by a handoff";
    "vho" => Vho(vho::spec::Vho), "stations that tell their peers of their access link when a connection begins, and of each change";
    "quick-start" => QuickStart(quick_start::QuickStartRouters), "routers that approve the rates senders ask for (RFC 4782)";
    "ack-filter" => AckFilter(ack_filter::AckFilterSpec), "base stations that pass on the last of several acknowledgments (RFC 3449)";
}
