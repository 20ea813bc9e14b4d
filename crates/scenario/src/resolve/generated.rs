//! What the generators add to.

use super::flows::Flows;
use super::links::Links;
use super::nodes::Nodes;
use crate::file::{EventTable, LinkShape, Located, Name};
use crate::model::{NodeId, NodeKind};
use handfast_document::{Checked, Span};

/// At most so many senders, or switches of a line: two nodes a pair stay below the bound on nodes.
pub(super) const MOST: usize = 99_999;

/// What the generators add to.
pub(super) struct Generated<'a> {
    pub(super) nodes: &'a mut Nodes,
    pub(super) links: &'a mut Links,
    pub(super) flows: &'a mut Flows,
    /// The handovers of generated stations, as the file would write them.
    pub(super) roams: Vec<EventTable>,
}

impl Generated<'_> {
    pub(super) fn host(&mut self, name: &str, span: &Span) -> Checked<NodeId> {
        self.nodes.add(name, NodeKind::Host, None, span)
    }

    pub(super) fn link(
        &mut self,
        name: String,
        between: [NodeId; 2],
        shape: &Located<LinkShape>,
    ) -> Checked<()> {
        self.links.add_alike(name, between, shape, None)
    }
}

/// What generated names begin with.
pub(super) fn prefix(given: Option<&Name>) -> &str {
    given.map_or("", |name| &**name)
}
