//! A message: its transaction and what it says.

use bytes::Bytes;

use super::{
    Error, FeaturesReply, FlowMod, FlowRemoved, Hello, MultipartReply, MultipartRequest, PacketIn, PacketOut,
    PortStatus, RoleMessage, SwitchConfig,
};

/// One message (§7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Transaction: an answer carries that of its question.
    pub xid: u32,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The versions spoken (§7.5.1).
    Hello(Hello),
    /// What went wrong (§7.5.4).
    Error(Error),
    /// Is anybody there? (§7.5.2)
    EchoRequest(Bytes),
    /// The same bytes back (§7.5.3).
    EchoReply(Bytes),
    /// What are you? (§7.3.1)
    FeaturesRequest,
    /// The switch's answer.
    FeaturesReply(FeaturesReply),
    /// How fragments are treated and how much of a packet that misses is sent (§7.3.2).
    SetConfig(SwitchConfig),
    /// A packet for the controller (§7.4.1).
    PacketIn(PacketIn),
    /// A flow entry is gone (§7.4.2).
    FlowRemoved(FlowRemoved),
    /// A port came, went or changed (§7.4.3).
    PortStatus(PortStatus),
    /// A packet from the controller (§7.3.7).
    PacketOut(PacketOut),
    /// A change of flow entries (§7.3.4.1).
    FlowMod(FlowMod),
    /// A question for statistics or descriptions (§7.3.5).
    MultipartRequest(MultipartRequest),
    /// Part of its answer.
    MultipartReply(MultipartReply),
    /// Finish what was sent before this (§7.3.8).
    BarrierRequest,
    /// Done.
    BarrierReply,
    /// Who commands (§7.3.9).
    RoleRequest(RoleMessage),
    /// Who commands now.
    RoleReply(RoleMessage),
    /// A type that is not spoken here, kept.
    Unknown {
        /// Its type.
        kind: u8,
        /// All after the header.
        body: Bytes,
    },
}
