//! What is above an endpoint, for the simulator, the lab and the field alike: demultiplexing, applications, sessions, meters.
//!
//! The parts, from the network upwards:
//! - [`ports`]: which connection or listener a segment is for;
//! - [`stack`]: a host's TCP, many connections, without a link layer;
//! - [`session`]: between an application and the connections that carry its bytes;
//! - [`app`]: what applications send and when, one application a file;
//! - [`dialogue`]: applications of two ends, of which one asks and the other answers;
//! - [`over_tcp`]: both ends of these over TCP;
//! - [`transport`]: transports besides TCP, one a file; QUIC would be one;
//! - [`sctp`]: an application's stream over SCTP;
//! - [`mptcp`]: the same over Multipath TCP;
//! - [`meter`]: what is measured of a flow;
//! - [`probe`]: what is measured of its packets, where it asks for that;
//! - [`rank`]: percentiles by nearest rank.
#![forbid(unsafe_code)]

pub mod app;
pub mod dialogue;
pub mod meter;
pub mod mptcp;
pub mod over_tcp;
pub mod ports;
pub mod probe;
pub mod rank;
pub mod sctp;
pub mod session;
pub mod stack;
pub mod transport;

pub use app::App;
