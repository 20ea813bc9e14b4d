//! `[nodes]`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Level, Metres};
use super::radio::{At, MobilityKind};
use super::words::Word;
use super::{Located, Name};
use crate::model::NodeKind;

/// A node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// What it is.
    pub(crate) kind: Word<NodeKind>,
    /// The role it plays: schemes attach their agents to roles, not to names.
    pub(crate) role: Option<Located<Name>>,
    /// `station`: the access point that it is associated with at the start. Default: that of its first link to one.
    pub(crate) ap: Option<Located<String>>,
    /// `ap`, `station`: where it is at the start, in metres.
    pub(crate) at: Option<Located<At>>,
    /// `ap`: the IP network that it belongs to: a station that goes from one network to another gets another address, and its
    /// connections have lost theirs (a vertical handover); in the simulator only. Default: access points that name none are one
    /// network.
    pub(crate) network: Option<Located<Name>>,
    /// `ap`: its channel. Default: 1.
    pub(crate) channel: Option<Located<u8>>,
    /// `ap`: what it sends with. Default: "20dBm".
    pub(crate) power: Option<Located<Level>>,
    /// `ap`: how far away it is understood. Default: as far as 6 Mbit/s must be, -82 dBm.
    pub(crate) range: Option<Located<Metres>>,
    /// `station`: how it moves; with `[radio]`.
    pub(crate) mobility: Option<Located<MobilityKind>>,
}
