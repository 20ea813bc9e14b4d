//! Each rule of RFC 8684, shown by two ends and what lies between them.

#[path = "../support/mod.rs"]
mod support;

mod carries;
mod fallback;
mod handshake;
mod moves;
mod signals;
