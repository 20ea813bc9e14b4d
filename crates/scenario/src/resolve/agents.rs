//! Agents: attached to nodes by role.

use super::nodes::Nodes;
use crate::file::AgentTable;
use crate::model::Agent;
use handfast_document::{Checked, Problem};

/// The kinds of agents. The five systems each bring theirs.
const KINDS: &[&str] = &[];

pub(super) fn resolve(tables: &[AgentTable], nodes: &Nodes) -> Checked<Vec<Agent>> {
    tables.iter().map(|table| agent(table, nodes)).collect()
}

fn agent(table: &AgentTable, nodes: &Nodes) -> Checked<Agent> {
    let Some(role) = table.at.value.strip_prefix("role:") else {
        let problem = Problem::at(table.at.span.clone(), "agents are attached to roles, not to names");
        return Err(problem.expected("expected a role such as \"role:controller\""));
    };
    let playing = |role: &str| -> Vec<usize> {
        let nodes = nodes.list.iter().enumerate();
        nodes.filter(|(_, node)| node.role.as_deref() == Some(role)).map(|(id, _)| id).collect()
    };
    let at = playing(role);
    if at.is_empty() {
        let problem =
            Problem::at(table.at.span.clone(), format!("no node plays the role `{}`", role.escape_debug()));
        return Err(problem.nearest(role, nodes.list.iter().filter_map(|node| node.role.as_deref())));
    }
    if !KINDS.contains(&table.kind.value.as_str()) {
        let title = format!("there is no agent of the kind `{}`", table.kind.value.escape_debug());
        let problem = Problem::at(table.kind.span.clone(), title);
        return Err(problem.nearest(&table.kind.value, KINDS.iter().copied()));
    }
    Ok(Agent { kind: table.kind.value.clone(), at })
}
