//! Each rule by the packets that it makes.

#[path = "../support/mod.rs"]
mod support;

mod failover;
mod handshake;
mod layer;
mod listener;
mod losses;
mod shutdown;
mod suspended;
mod window;
