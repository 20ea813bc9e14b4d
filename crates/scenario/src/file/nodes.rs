//! `[nodes]`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::words::Word;
use super::{Located, Name};
use crate::model::NodeKind;

/// A node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// What it is.
    pub(crate) kind: Word<NodeKind>,
    /// The role it plays: schemes attach their agents to roles, not to names.
    pub(crate) role: Option<Located<Name>>,
    /// `station`: the access point that it is associated with at the start. Default: that of its first link to one.
    pub(crate) ap: Option<Located<String>>,
}
