//! The ID-oriented socket layer: sessions that freeze, resume and migrate.
//!
//! Arunachalam et al., "A Session-Based Cross-Layer Approach for Seamless Connectivity in Next-Generation Mobile Networks", cited as
//! `[iosl]`.

pub mod end;
pub mod frame;
pub mod ids;
pub mod inside;
pub mod network;
pub mod probe;
pub mod secure;
pub mod session;
pub mod spec;
pub mod validation;
