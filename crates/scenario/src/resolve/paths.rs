//! Whether the topology makes sense: every node linked, every flow's ends connected; and the way between two ends.

use std::collections::{BTreeMap, VecDeque};

use handfast_core::Duration;

use super::flows::Flows;
use super::links::Links;
use super::nodes::Nodes;
use crate::model::{Link, NodeId, NodeKind, radio};
use handfast_document::{Checked, Problem};

/// At most so many nodes with several links: routes between them are a table with an entry for each pair.
const MOST_BRANCHING: usize = 5_000;

pub(super) fn check(nodes: &Nodes, links: &Links, flows: &Flows) -> Checked<()> {
    check_degrees(nodes, links)?;
    let islands = Islands::new(nodes, &links.list);
    for (flow, span) in flows.list.iter().zip(&flows.spans) {
        if !islands.connected(flow.from, flow.to) {
            let name = |id: NodeId| &nodes.list[id].name;
            let title = format!("no path leads from `{}` to `{}`", name(flow.from), name(flow.to));
            return Err(
                Problem::at(span.clone(), title).help("only switches and access points forward packets")
            );
        }
    }
    if flows.list.is_empty() {
        return Err(
            Problem::at(0..0, "the scenario has no flow").help("give one as `[[flows]]` or by `[generate]`")
        );
    }
    Ok(())
}

/// Every node has a link, and not too many have several.
fn check_degrees(nodes: &Nodes, links: &Links) -> Checked<()> {
    let mut degrees = vec![0u32; nodes.list.len()];
    for end in links.list.iter().flat_map(|link| link.between) {
        degrees[end] += 1;
    }
    let wants_link = |id: NodeId| nodes.list[id].kind != NodeKind::Controller;
    if let Some(id) = (0..degrees.len()).find(|&id| degrees[id] == 0 && wants_link(id)) {
        let problem =
            Problem::at(nodes.spans[id].clone(), format!("node `{}` has no link", nodes.list[id].name));
        return Err(problem.expected("expected in the `between` of a link"));
    }
    let mut branching = degrees.iter().enumerate().filter(|&(_, &degree)| degree > 1);
    match branching.nth(MOST_BRANCHING) {
        Some((id, _)) => {
            let title = format!("more than {MOST_BRANCHING} nodes with several links");
            Err(Problem::at(nodes.spans[id].clone(), title))
        }
        None => Ok(()),
    }
}

/// Which nodes packets can pass between: islands of forwarding nodes, and the islands that each host touches.
pub(super) struct Islands<'a> {
    nodes: &'a Nodes,
    /// Of each host, sorted: the islands' representatives, and the hosts with a direct link.
    touched: Vec<Vec<NodeId>>,
    /// Of each node the representative of its island.
    island: Vec<NodeId>,
}

impl<'a> Islands<'a> {
    pub(super) fn new(nodes: &'a Nodes, links: &[Link]) -> Self {
        let mut parent: Vec<NodeId> = (0..nodes.list.len()).collect();
        for &Link { between: [a, b], .. } in links {
            if nodes.forwards(a) && nodes.forwards(b) {
                let (a, b) = (root(&mut parent, a), root(&mut parent, b));
                parent[a] = b;
            }
        }
        let mut touched = vec![Vec::new(); nodes.list.len()];
        for &Link { between: [a, b], .. } in links {
            for (host, neighbour) in [(a, b), (b, a)] {
                if !nodes.forwards(host) {
                    touched[host].push(root(&mut parent, neighbour));
                }
            }
        }
        for islands in &mut touched {
            islands.sort_unstable();
            islands.dedup();
        }
        let island = (0..parent.len()).map(|node| root(&mut parent, node)).collect();
        Self { nodes, touched, island }
    }

    /// Whether packets can pass between a forwarding node and a host.
    pub(super) fn reaches(&self, from: NodeId, host: NodeId) -> bool {
        self.touched[host].binary_search(&self.island[from]).is_ok()
    }

    /// Whether two hosts share an island or a link.
    fn connected(&self, a: NodeId, b: NodeId) -> bool {
        let (few, many) = match (&self.touched[a], &self.touched[b]) {
            (a, b) if a.len() <= b.len() => (a, b),
            (a, b) => (b, a),
        };
        let direct = self.touched[a].binary_search(&b).is_ok();
        let shared = |&island: &NodeId| self.nodes.forwards(island) && many.binary_search(&island).is_ok();
        direct || few.iter().any(shared)
    }
}

/// The representative of a node's set, with path halving.
fn root(parent: &mut [NodeId], mut node: NodeId) -> NodeId {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

/// Propagation delay there and back over the way with the fewest links from one node to another.
pub(super) fn round_trip(nodes: &Nodes, links: &[Link], from: NodeId, to: NodeId) -> Option<Duration> {
    let mut neighbours: BTreeMap<NodeId, Vec<(NodeId, Duration)>> = BTreeMap::new();
    for link in links {
        let [a, b] = link.between;
        // A station's radio is at one access point.
        if radio(&nodes.list, link.between).is_some_and(|(station, ap)| nodes.list[station].ap != Some(ap)) {
            continue;
        }
        let both = link.forward.delay + link.backward.delay;
        neighbours.entry(a).or_default().push((b, both));
        neighbours.entry(b).or_default().push((a, both));
    }
    let mut reached = BTreeMap::from([(from, Duration::ZERO)]);
    let mut next = VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        if node != from && !nodes.forwards(node) {
            continue;
        }
        for &(neighbour, delay) in neighbours.get(&node).into_iter().flatten() {
            if !reached.contains_key(&neighbour) {
                reached.insert(neighbour, reached[&node] + delay);
                next.push_back(neighbour);
            }
        }
    }
    reached.get(&to).copied()
}
