//! What events refer to.

use std::collections::BTreeSet;

use handfast_core::Duration;

use super::flows::Flows;
use super::links::Links;
use super::nodes::Nodes;
use super::radios::Radios;
use crate::model::NodeId;

/// What events refer to.
pub(super) struct Network<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) links: &'a Links,
    pub(super) radios: &'a Radios,
    pub(super) flows: &'a Flows,
    pub(super) duration: Duration,
    /// The stations that move.
    pub(super) moving: &'a BTreeSet<NodeId>,
}
