//! `OpenFlow` 1.3: the messages between a switch and its controller.
//!
//! Section numbers are those of the `OpenFlow` Switch Specification 1.3.5 (ONF TS-023). Types keep what they do not know as
//! bytes, so that every message that parses is emitted as it came.

mod action;
mod flow;
mod message;
mod oxm;
mod packet;
mod port;
mod session;
mod stats;

pub use action::{Action, Instruction};
pub use flow::{FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason};
pub use message::{Body, Message};
pub use oxm::{EthAddr, Masked, Match};
pub use packet::{PacketIn, PacketInReason, PacketOut};
pub use port::{Port, PortNo, PortReason, PortStatus};
pub use session::{Error, FeaturesReply, Hello, Role, RoleMessage, SwitchConfig};
pub use stats::{FlowStats, FlowStatsRequest, MultipartReply, MultipartRequest};

/// The version in every header: 1.3.
pub const VERSION: u8 = 4;
/// No packet is kept at the switch: all of it travels in the message (`OFP_NO_BUFFER`).
pub const NO_BUFFER: u32 = u32::MAX;
/// An [`Action::Output`] to the controller sends the whole packet (`OFPCML_NO_BUFFER`).
pub const WHOLE_PACKET: u16 = u16::MAX;
/// Of a table: all of them (`OFPTT_ALL`).
pub const ALL_TABLES: u8 = u8::MAX;
/// Of a group: any (`OFPG_ANY`).
pub const ANY_GROUP: u32 = u32::MAX;
