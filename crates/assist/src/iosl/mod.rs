//! The ID-oriented socket layer: sessions that freeze, resume and migrate.
//!
//! Arunachalam et al., "A Session-Based Cross-Layer Approach for Seamless Connectivity in Next-Generation Mobile Networks", cited as
//! `[iosl]`.

mod agenda;
pub mod end;
pub mod frame;
pub mod hints;
pub mod ids;
pub mod network;
pub mod probe;
pub mod sctp;
pub mod secure;
pub mod session;
pub mod spec;
pub mod udp;
pub mod validation;
