//! Generators: the nodes, links and flows of large topologies, named systematically.

use super::flows::{Flows, count};
use super::links::Links;
use super::nodes::Nodes;
use super::{ride, wlan};
use crate::file::{Dumbbell, EventTable, GenerateTable, Line, LinkShape, Located, Name};
use crate::model::{NodeId, NodeKind};
use handfast_document::{Checked, Span};

/// At most so many senders, or switches of a line: two nodes a pair stay below the bound on nodes.
pub(super) const MOST: usize = 99_999;

/// What the generators add to.
pub(super) struct Topology<'a> {
    pub(super) nodes: &'a mut Nodes,
    pub(super) links: &'a mut Links,
    pub(super) flows: &'a mut Flows,
    /// The handovers of generated stations, as the file would write them.
    pub(super) roams: Vec<EventTable>,
}

impl Topology<'_> {
    pub(super) fn generate(&mut self, table: &GenerateTable) -> Checked<()> {
        if let Some(dumbbell) = &table.dumbbell {
            self.dumbbell(dumbbell)?;
        }
        if let Some(line) = &table.line {
            self.line(line)?;
        }
        if let Some(wlan) = &table.wlan {
            wlan::generate(self, wlan)?;
        }
        if let Some(ride) = &table.ride {
            ride::generate(self, ride)?;
        }
        Ok(())
    }

    fn dumbbell(&mut self, table: &Located<Dumbbell>) -> Checked<()> {
        let span = &table.pairs.span;
        let prefix = prefix(table.prefix.as_ref());
        let pairs = count(Some(&table.pairs), MOST)?;
        let pattern = self.flows.pattern(&table.flows, span)?;
        let left = self.nodes.add(&format!("{prefix}left"), NodeKind::Switch, None, span)?;
        let right = self.nodes.add(&format!("{prefix}right"), NodeKind::Switch, None, span)?;
        self.link(format!("{prefix}bottleneck"), [left, right], &table.bottleneck)?;
        for k in 1..=pairs {
            let (sender, receiver) = (format!("{prefix}sender{k}"), format!("{prefix}receiver{k}"));
            let ends = [self.host(&sender, span)?, self.host(&receiver, span)?];
            self.link(format!("{prefix}access-sender{k}"), [ends[0], left], &table.access)?;
            self.link(format!("{prefix}access-receiver{k}"), [right, ends[1]], &table.access)?;
            self.flows.add(&format!("{prefix}flow{k}"), ends, &pattern, k - 1)?;
        }
        Ok(())
    }

    fn line(&mut self, table: &Located<Line>) -> Checked<()> {
        let span = &table.switches.span;
        let prefix = prefix(table.prefix.as_ref());
        let switches = count(Some(&table.switches), MOST)?;
        let sender = self.host(&format!("{prefix}sender"), span)?;
        let mut last = sender;
        for k in 1..=switches {
            let switch = self.nodes.add(&format!("{prefix}switch{k}"), NodeKind::Switch, None, span)?;
            self.link(format!("{prefix}hop{k}"), [last, switch], &table.link)?;
            last = switch;
        }
        let receiver = self.host(&format!("{prefix}receiver"), span)?;
        self.link(format!("{prefix}hop{}", switches + 1), [last, receiver], &table.link)?;
        let pattern = self.flows.pattern(&table.flows, span)?;
        for k in 1..=count(table.count.as_ref(), MOST)? {
            self.flows.add(&format!("{prefix}flow{k}"), [sender, receiver], &pattern, k - 1)?;
        }
        Ok(())
    }

    fn host(&mut self, name: &str, span: &Span) -> Checked<NodeId> {
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

pub(super) fn prefix(given: Option<&Name>) -> &str {
    given.map_or("", |name| &**name)
}
