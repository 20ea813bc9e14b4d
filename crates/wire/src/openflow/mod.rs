//! `OpenFlow` 1.3: the messages between a switch and its controller.
//!
//! Section numbers are those of the `OpenFlow` Switch Specification 1.3.5 (ONF TS-023). Types keep what they do not know as
//! bytes: a message that parses is emitted byte for byte as it came, but for what may be written in several ways. Padding
//! is emitted as zeros, OXM fields in the order of [`Match`], and of a hello only the version bitmap, as others are to be
//! skipped (§7.5.1).
//!
//! Whether a message makes sense is for switch and controller to say: prerequisites of fields, values outside their mask,
//! ports that are not there. Only what no type here can hold is an error of [`Message::parse`].

mod action;
mod codec;
mod error;
mod flow;
mod message;
mod oxm;
mod packet;
mod port;
mod session;
mod stats;
mod tables;

pub use action::{Action, Instruction};
pub use error::{EmitError, ParseError, Part};
pub use flow::{FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason};
pub use message::{Body, Message};
pub use oxm::{EthAddr, Masked, Match};
pub use packet::{PacketIn, PacketInReason, PacketOut};
pub use port::{Port, PortNo, PortReason, PortStatus};
pub use session::{Error, FeaturesReply, Hello, Role, RoleMessage, SwitchConfig};
pub use stats::{FlowStats, FlowStatsRequest, MultipartReply, MultipartRequest};
pub use tables::{TableFeatures, TableStats};

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
