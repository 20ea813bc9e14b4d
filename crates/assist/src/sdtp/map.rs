//! The network as the controller knows it (`[sdtp]` §III-A, "a table of local link status"), and paths through it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use handfast_core::{BitRate, Duration};

use super::line::{Hop, Line};

/// A node of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// A link of a map, both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub usize);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It sends and receives, and forwards nothing.
    Host,
    /// Hosts are behind it: connections begin and end here.
    Edge,
    /// It forwards.
    Switch,
}

/// What is known of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFacts {
    /// How long a packet takes.
    pub delay: Duration,
    /// How likely it loses a packet: in the direction in which it was connected, and back.
    pub loss: [f64; 2],
    /// What it carries.
    pub rate: BitRate,
    /// Whether it carries anything now.
    pub is_up: bool,
}

#[derive(Clone, Debug)]
struct Link {
    ends: [NodeId; 2],
    facts: LinkFacts,
}

/// A way through a map: each link leads from the node of its place to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its nodes, in order.
    pub nodes: Vec<NodeId>,
    /// Its links, in order.
    pub links: Vec<LinkId>,
    /// How long a packet takes.
    pub delay: Duration,
}

/// What a path must not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Avoid {
    /// This link.
    pub link: Option<LinkId>,
    /// Links that carry less.
    pub slower_than: BitRate,
}

/// Nodes and the links between them.
#[derive(Clone, Debug, Default)]
pub struct Map {
    kinds: Vec<Kind>,
    links: Vec<Link>,
    /// The links of each node.
    at: Vec<Vec<LinkId>>,
}

impl Map {
    /// Adds a node.
    pub fn node(&mut self, kind: Kind) -> NodeId {
        self.kinds.push(kind);
        self.at.push(Vec::new());
        NodeId(self.kinds.len() - 1)
    }

    /// Adds a link between two nodes of the map.
    pub fn connect(&mut self, from: NodeId, to: NodeId, facts: LinkFacts) -> LinkId {
        let link = LinkId(self.links.len());
        self.links.push(Link { ends: [from, to], facts });
        for end in [from, to] {
            self.at[end.0].push(link);
        }
        link
    }

    /// What is known of a link; it may change.
    pub fn link(&mut self, link: LinkId) -> &mut LinkFacts {
        &mut self.links[link.0].facts
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> Kind {
        self.kinds[node.0]
    }

    /// The path with the least delay; of several the one with the fewest links. Hosts forward nothing.
    pub fn shortest(&self, from: NodeId, to: NodeId, avoid: &Avoid) -> Option<Path> {
        let mut came_by: Vec<Option<LinkId>> = vec![None; self.kinds.len()];
        let mut best = vec![None; self.kinds.len()];
        let mut queue = BinaryHeap::from([Reverse((Duration::ZERO, 0u32, from))]);
        best[from.0] = Some((Duration::ZERO, 0));
        while let Some(Reverse((delay, hops, node))) = queue.pop() {
            if node == to {
                return Some(self.path(from, to, delay, &came_by));
            }
            if best[node.0] != Some((delay, hops)) || (node != from && self.kind(node) == Kind::Host) {
                continue;
            }
            for &link in &self.at[node.0] {
                let facts = &self.links[link.0].facts;
                let next = self.other_end(link, node);
                let reached = (delay + facts.delay, hops + 1);
                if avoid.allows(link, facts) && best[next.0].is_none_or(|best| reached < best) {
                    (best[next.0], came_by[next.0]) = (Some(reached), Some(link));
                    queue.push(Reverse((reached.0, reached.1, next)));
                }
            }
        }
        None
    }

    /// The nodes that a link connects.
    pub fn ends(&self, link: LinkId) -> [NodeId; 2] {
        self.links[link.0].ends
    }

    fn other_end(&self, link: LinkId, node: NodeId) -> NodeId {
        let [one, other] = self.ends(link);
        if one == node { other } else { one }
    }

    fn path(&self, from: NodeId, to: NodeId, delay: Duration, came_by: &[Option<LinkId>]) -> Path {
        let (mut nodes, mut links) = (vec![to], Vec::new());
        let mut node = to;
        while let Some(link) = came_by[node.0].filter(|_| node != from) {
            node = self.other_end(link, node);
            nodes.push(node);
            links.push(link);
        }
        nodes.reverse();
        links.reverse();
        Path { nodes, links, delay }
    }

    /// The part of a path between its first and its last node that is no host.
    pub fn line(&self, path: &Path) -> Option<Line> {
        let hops = path.links.iter().zip(&path.nodes).zip(path.nodes.iter().skip(1));
        let inner =
            hops.filter(|((_, from), to)| [from, to].iter().all(|node| self.kind(***node) != Kind::Host));
        Line::new(inner.map(|((link, from), _)| self.hop(*link, *from)).collect())
    }

    fn hop(&self, link: LinkId, from: NodeId) -> Hop {
        let Link { ends, facts } = &self.links[link.0];
        let [there, back] = facts.loss;
        let (loss, loss_back) = if ends[0] == from { (there, back) } else { (back, there) };
        Hop { delay: facts.delay, loss, loss_back }
    }
}

impl Avoid {
    fn allows(&self, link: LinkId, facts: &LinkFacts) -> bool {
        facts.is_up && self.link != Some(link) && facts.rate >= self.slower_than
    }
}
