//! Nodes.

use super::names::Names;
use crate::file::{Located, Named, NodeTable};
use crate::model::{Node, NodeId, NodeKind};
use handfast_document::{Checked, Problem, Span};

/// The nodes so far.
pub(super) struct Nodes {
    pub(super) list: Vec<Node>,
    /// Where each was declared.
    pub(super) spans: Vec<Span>,
    names: Names,
}

impl Nodes {
    const MOST: usize = 200_000;

    pub(super) fn of_file(tables: &Named<NodeTable>) -> Checked<Self> {
        let mut nodes = Self { list: Vec::new(), spans: Vec::new(), names: Names::new("node") };
        for (name, table) in &tables.0 {
            let role = table.role.as_ref().map(|role| role.to_string());
            nodes.add(&name.value, table.kind.0, role, &name.span)?;
        }
        Ok(nodes)
    }

    pub(super) fn add(
        &mut self,
        name: &str,
        kind: NodeKind,
        role: Option<String>,
        span: &Span,
    ) -> Checked<NodeId> {
        let id = self.list.len();
        if id >= Self::MOST {
            return Err(Problem::at(span.clone(), format!("more than {} nodes", Self::MOST)));
        }
        self.list.push(Node { name: name.to_owned(), kind, role, ap: None, more_aps: Vec::new() });
        self.spans.push(span.clone());
        self.names.insert(name, id, span)?;
        Ok(id)
    }

    pub(super) fn find(&self, name: &Located<String>) -> Checked<NodeId> {
        self.names.find(name)
    }

    /// The node called `name`, which must have endpoints.
    pub(super) fn find_host(&self, name: &Located<String>) -> Checked<NodeId> {
        let id = self.find(name)?;
        let why = match self.list[id].kind {
            NodeKind::Host | NodeKind::Station => return Ok(id),
            NodeKind::Switch | NodeKind::AccessPoint => "only forwards",
            NodeKind::Controller => "is a controller: it has no endpoints",
        };
        let problem = Problem::at(name.span.clone(), format!("`{}` {why}", name.value));
        Err(problem.expected("expected a node of kind \"host\" or \"station\""))
    }

    /// The node called `name`, which must be one that has links.
    pub(super) fn find_linked(&self, name: &Located<String>) -> Checked<NodeId> {
        let id = self.find(name)?;
        if self.list[id].kind == NodeKind::Controller {
            let title = format!("`{}` is a controller: it has no links of its own", name.value);
            let problem = Problem::at(name.span.clone(), title);
            return Err(problem.help("it reaches every switch and access point; agents say how fast"));
        }
        Ok(id)
    }

    /// The node called `name`, which must be a station.
    pub(super) fn find_station(&self, name: &Located<String>) -> Checked<NodeId> {
        let id = self.find(name)?;
        if self.list[id].kind == NodeKind::Station {
            return Ok(id);
        }
        let stations = self.list.iter().filter(|node| node.kind == NodeKind::Station);
        let problem = Problem::at(name.span.clone(), format!("`{}` is no station", name.value));
        Err(problem
            .expected("expected a node of kind \"station\"")
            .nearest(&name.value, stations.map(|node| node.name.as_str())))
    }

    /// Whether packets for others pass through a node.
    pub(super) fn forwards(&self, id: NodeId) -> bool {
        self.list[id].kind.forwards()
    }
}
