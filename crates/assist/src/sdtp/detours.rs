//! Paths around links that are down (`[sdtp]` §III-A step 3: "if there is no available path, the controller deploys a new path").

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use handfast_core::{BitRate, Duration};
use handfast_net::Port;

use super::line::{Hop, Line};
use super::map::{Avoid, Kind, LinkFacts, LinkId, Map, NodeId, Path};
use super::placement::{self, Functions};
use super::planned::{Placed, Plan};
use super::spec::PlacementWord;

/// How the functions of a path are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placing {
    /// By a policy, for so many segments and this time between packets.
    By(PlacementWord, usize, Duration),
    /// These nodes, wherever a path has them.
    Given {
        /// They cache.
        caching: BTreeSet<IpAddr>,
        /// They ask for retransmissions, and cache.
        retransmission: BTreeSet<IpAddr>,
    },
}

impl Placing {
    /// The functions of a path's nodes.
    pub fn functions(&self, line: &Line, nodes: &[IpAddr]) -> Vec<Functions> {
        match self {
            Self::By(word, segments, interval) => word.functions(line, *segments, *interval),
            Self::Given { caching, retransmission } => {
                let inner = |of: &BTreeSet<IpAddr>| {
                    (1..line.last()).filter(|&place| of.contains(&nodes[place])).collect::<Vec<_>>()
                };
                placement::Placement::new(line.last(), inner(caching), inner(retransmission)).nodes().to_vec()
            }
        }
    }

    /// A path's nodes with their functions. There are as many as the line has.
    pub fn place(&self, line: &Line, nodes: &[IpAddr]) -> Vec<Placed> {
        Placed::on_line(line, &self.functions(line, nodes), |place| nodes[place])
    }
}

/// All links between nodes, and what is down.
#[derive(Clone, Debug)]
pub struct Detours {
    map: Map,
    nodes: BTreeMap<IpAddr, NodeId>,
    addresses: Vec<IpAddr>,
    links: BTreeMap<(IpAddr, Port), LinkId>,
    down: BTreeSet<LinkId>,
    placing: Placing,
}

impl Detours {
    /// Without nodes.
    pub fn new(placing: Placing) -> Self {
        Self {
            map: Map::default(),
            nodes: BTreeMap::new(),
            addresses: Vec::new(),
            links: BTreeMap::new(),
            down: BTreeSet::new(),
            placing,
        }
    }

    /// Adds a link between two nodes, each with its port there. One that loses everything is none.
    pub fn connect(&mut self, ends: [(IpAddr, Port); 2], hop: Hop) {
        if Line::new(vec![hop]).is_none() {
            return;
        }
        let [from, to] = ends.map(|(address, _)| self.node(address));
        let Hop { delay, loss, loss_back } = hop;
        // No path is avoided for being slow.
        let rate = BitRate::default();
        let facts = LinkFacts { delay, loss: [loss, loss_back], rate, is_up: true };
        let link = self.map.connect(from, to, facts);
        self.links.extend(ends.map(|end| (end, link)));
    }

    fn node(&mut self, address: IpAddr) -> NodeId {
        *self.nodes.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.map.node(Kind::Switch)
        })
    }

    /// A node says that the link at a port carries packets from now on, or none. Whether it is one of these, and that is news.
    pub(super) fn set_link(&mut self, node: IpAddr, port: Port, is_up: bool) -> bool {
        let Some(&link) = self.links.get(&(node, port)) else { return false };
        self.map.link(link).is_up = is_up;
        if is_up { self.down.remove(&link) } else { self.down.insert(link) }
    }

    /// Whether packets pass from each node of a path to the next.
    pub(super) fn is_open(&self, path: &[Placed]) -> bool {
        self.down.is_empty()
            || path.windows(2).all(|pair| self.port(pair[0].address, pair[1].address).is_some())
    }

    /// The port by which a node reaches its neighbour now.
    fn port(&self, node: IpAddr, neighbour: IpAddr) -> Option<Port> {
        let ports = self.links.range((node, Port(0))..=(node, Port(u32::MAX)));
        let to = self.nodes.get(&neighbour)?;
        let leads = |link: LinkId| !self.down.contains(&link) && self.map.ends(link).contains(to);
        ports.filter(|&(_, &link)| leads(link)).map(|(&(_, port), _)| port).next()
    }

    /// The path with the least delay that has no link that is down; [`None`]: there is none.
    pub(super) fn around(&self, from: IpAddr, to: IpAddr) -> Option<Plan> {
        // One path for both directions, though others may be as long: requests climb the caches that the data has passed.
        let ends = [from.min(to), from.max(to)].map(|edge| self.nodes.get(&edge).copied());
        let mut path = self.map.shortest(ends[0]?, ends[1]?, &Avoid::default())?;
        if to < from {
            path.nodes.reverse();
            path.links.reverse();
        }
        self.by(&path)
    }

    /// The path by these nodes; [`None`]: they are not all neighbours, or a link is down.
    pub(super) fn along(&self, nodes: &[IpAddr]) -> Option<Plan> {
        let links = nodes.windows(2).map(|pair| {
            let port = self.port(pair[0], pair[1])?;
            self.links.get(&(pair[0], port)).copied()
        });
        let links = links.collect::<Option<_>>()?;
        let nodes = nodes.iter().map(|node| self.nodes.get(node).copied()).collect::<Option<_>>()?;
        self.by(&Path { nodes, links, delay: Duration::ZERO })
    }

    /// What sets up a path.
    fn by(&self, path: &Path) -> Option<Plan> {
        let line = self.map.line(path)?;
        let nodes: Vec<IpAddr> = path.nodes.iter().map(|node| self.addresses[node.0]).collect();
        let steered = nodes.windows(2).map(|pair| Some((pair[0], self.port(pair[0], pair[1])?)));
        Some(Plan { steered: steered.collect::<Option<_>>()?, placed: self.placing.place(&line, &nodes) })
    }
}
