//! What goes on a wire: parsed headers, `parse` and `emit`, no state.

mod packet;
mod payload;
pub mod tcp;

pub use packet::{Body, Ethernet, Packet, Vlan};
pub use payload::Payload;
