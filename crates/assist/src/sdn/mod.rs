//! SDN-assisted TCP: an `OpenFlow` controller that keeps the segments of a station that is between two access points.
//!
//! `[sdn]` is Singh and Pandey, "An SDN-based true end-to-end TCP for wireless LAN" (2021). While a station is away, the
//! switches send what is for it to the controller ([`Policy::Spurious`], Algorithm 1), which holds each segment once and
//! makes up no acknowledgment. When the station is back they are released in order, at the rate that its radio carries;
//! their acknowledgments tell the sender that its timeouts were spurious, and it goes on as if nothing had happened.
//! Datagrams, QUIC's included, are held beside them for a second at most.
//!
//! The controller owns no connection and no clock. Its driver passes on what switches and access points say
//! ([`Controller::on_message`], [`Controller::on_notice`]), calls [`Controller::on_timer`] at [`Controller::deadline`], and
//! does what stands in the [`Outbox`].

mod announce;
mod classify;
mod config;
mod controller;
mod counters;
mod datagrams;
mod departed;
mod fabric;
mod frame;
mod hold;
mod infrastructure;
mod notice;
mod outbox;
mod pace;
mod passage;
mod queue;
mod reconfigure;
mod release;
mod report;
mod rules;
mod sender_ports;
mod session;
mod shared;
pub mod spec;
mod station;
mod station_id;
mod tracking;
mod zwa;

pub use classify::{Class, ConnectionKey};
pub use config::{Config, DatagramLimits, Limits, Mode, NotTcp, Policy, Release, Steering, Treatment};
pub use controller::Controller;
pub use counters::Counters;
pub use datagrams::DatagramCounts;
pub use fabric::{AccessPoint, ApId, Fabric};
pub use notice::{Notice, What};
pub use outbox::{ConnId, Ignored, Outbox, Output, Record, Unhelped};
pub use report::Report;
pub use rules::{COOKIE, COOKIE_MASK};
pub use session::{Claim, TableUse};
pub use station_id::StationId;
