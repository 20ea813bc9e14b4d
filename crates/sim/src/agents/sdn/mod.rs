//! The SDN controller with its switches, in virtual time.

mod control_channel;
mod control_plane;

pub use control_channel::ControlChannel;
pub use control_plane::{ControlPlane, Departure};
