//! Agents: attached to nodes by role. What the keys of a kind mean, its `spec.rs` in `handfast-assist` says.

use handfast_assist::spec::Seat;
use handfast_assist::{AgentKind, Kind};
use handfast_document::{Checked, Problem, nearest};

use super::nodes::Nodes;
use crate::file::{AgentTable, Located};
use crate::model::{Agent, NodeId, NodeKind};

pub(super) fn resolve(tables: &[AgentTable], nodes: &Nodes) -> Checked<Vec<Agent>> {
    tables.iter().map(|table| agent(table, nodes)).collect()
}

fn agent(table: &AgentTable, nodes: &Nodes) -> Checked<Agent> {
    let at = playing(&table.at, nodes)?;
    let word = table.kind.value.as_str();
    let Some(kind) = AgentKind::ALL.iter().find(|kind| kind.word == word) else {
        let title = format!("there is no agent of the kind `{}`", word.escape_debug());
        let problem = Problem::at(table.kind.span.clone(), title);
        return Err(problem.nearest(word, AgentKind::ALL.iter().map(|kind| kind.word)));
    };
    no_other_keys(table, kind)?;
    match kind.seat {
        Seat::Controller => in_one_controller(word, &table.at, &at, nodes)?,
        Seat::AccessPoints => all_are(NodeKind::AccessPoint, &table.at, &at, nodes)?,
        Seat::Stations => all_are(NodeKind::Station, &table.at, &at, nodes)?,
        Seat::Anywhere => {}
    }
    Ok(Agent { kind: kind.read(&table.keys, &table.kind)?, at })
}

/// The nodes that play the role.
fn playing(at: &Located<String>, nodes: &Nodes) -> Checked<Vec<NodeId>> {
    let Some(role) = at.value.strip_prefix("role:") else {
        let problem = Problem::at(at.span.clone(), "agents are attached to roles, not to names");
        return Err(problem.expected("expected a role such as \"role:controller\""));
    };
    let all = nodes.list.iter().enumerate();
    let found: Vec<_> =
        all.filter(|(_, node)| node.role.as_deref() == Some(role)).map(|(id, _)| id).collect();
    if found.is_empty() {
        let title = format!("no node plays the role `{}`", role.escape_debug());
        let problem = Problem::at(at.span.clone(), title);
        return Err(problem.nearest(role, nodes.list.iter().filter_map(|node| node.role.as_deref())));
    }
    Ok(found)
}

fn in_one_controller(kind: &str, role: &Located<String>, at: &[NodeId], nodes: &Nodes) -> Checked<()> {
    let title = match at {
        [id] if nodes.list[*id].kind == NodeKind::Controller => return Ok(()),
        [id] => {
            format!(
                "an agent of the kind `{kind}` sits in a controller, and `{}` is none",
                nodes.list[*id].name
            )
        }
        _ => format!("an agent of the kind `{kind}` sits in one controller, not in {}", at.len()),
    };
    Err(Problem::at(role.span.clone(), title)
        .expected("expected the role of one node of kind \"controller\""))
}

/// All nodes are of the kind in which the agent sits.
fn all_are(kind: NodeKind, role: &Located<String>, at: &[NodeId], nodes: &Nodes) -> Checked<()> {
    let other = at.iter().find(|&&id| nodes.list[id].kind != kind);
    let Some(&id) = other else { return Ok(()) };
    let (many, word) =
        if kind == NodeKind::Station { ("stations", "station") } else { ("access points", "ap") };
    let title = format!("an agent of this kind sits in {many}, and `{}` is none", nodes.list[id].name);
    Err(Problem::at(role.span.clone(), title)
        .expected(format!("expected the role of nodes of kind \"{word}\"")))
}

/// Refuses keys that the kind does not have.
fn no_other_keys(table: &AgentTable, kind: &Kind) -> Checked<()> {
    let own = |key: &str| kind.keys.contains(&key) || kind.older_keys.contains(&key);
    let Some((key, span)) = table.keys.keys().find(|(key, _)| !own(key)) else { return Ok(()) };
    let own: Vec<_> = kind.keys.iter().map(|key| format!("`{key}`")).collect();
    let expected = format!("expected `kind`, `at` or {}", own.join(", "));
    if AgentKind::ALL.iter().any(|other| other.keys.contains(&key)) {
        let title = format!("`{key}` means nothing to an agent of the kind `{}`", kind.word);
        return Err(Problem::at(span, title).expected(expected));
    }
    let problem = Problem::at(span, format!("unknown key `{}`", key.escape_debug())).expected(expected);
    Err(match nearest(key, kind.keys.iter().copied()) {
        Some(name) => problem.help(format!("did you mean `{name}`?")),
        None => problem,
    })
}
