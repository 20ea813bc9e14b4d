//! What the file says: `[sdtp-controller]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use handfast_assist::sdtp::detours::Placing;
use handfast_assist::sdtp::line::{Hop, Line};
use handfast_assist::sdtp::placement::{self, Functions};
use handfast_assist::sdtp::spec::{Placement, PlacementWord};
use handfast_assist::sdtp::{Controller, Placed, Planner};
use handfast_document::{
    Checked, DocumentError, Located, Probability, Problem, Table, TimeSpan, missing_key, table,
};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::NAME;
use crate::process::{Level, address, keys_of, listen_address, parse, socket_path, table_of};
use crate::services::sdtp::shared;
use crate::services::tls::{self, TlsTable};
use crate::services::words::{DatapathId, LogWord};

const LISTEN: &str = "127.0.0.1:6654";

table! {
    /// What the controller has of its own.
    File {
        /// Where nodes connect. Default: "127.0.0.1:6654".
        listen: String,
        /// Says that the operator knows that the channel is neither authenticated nor encrypted.
        insecure_listen: bool,
        /// With what nodes and the controller prove to each other who they are. Default: TCP alone.
        tls: TlsTable,
        /// The Unix socket at which it is asked how it does. Required.
        socket: String,
        /// The nodes of the line in order. Required: two at least.
        nodes: Vec<Located<NodeTable>>,
        /// The links between them in order: one less.
        links: Vec<Located<LinkTable>>,
        /// Least important messages that are logged. Default: "info".
        log: LogWord,
    }
}

/// A node of the line.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeTable {
    /// Its address in SDTP packets.
    address: Located<String>,
    /// Its identity.
    datapath_id: Located<DatapathId>,
    /// The hosts behind it: addresses and prefixes. Default: none.
    #[serde(default)]
    hosts: Vec<Located<String>>,
    /// With `placement = "given"`: it keeps copies.
    #[serde(default)]
    caching: bool,
    /// With `placement = "given"`: it asks for retransmissions.
    #[serde(default)]
    retransmission: bool,
}

/// A link of the line.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTable {
    /// How long a packet takes across it.
    delay: TimeSpan,
    /// How likely it loses a full packet.
    loss: Probability,
    /// The same on the way back. Default: `loss`.
    loss_back: Option<Probability>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) address: IpAddr,
    pub(super) datapath_id: u64,
    hosts: BTreeSet<IpAddr>,
    given: Functions,
}

/// A configuration that is right.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) listen: SocketAddr,
    /// How nodes prove who they are; [`None`]: not at all.
    pub(super) tls: Option<TlsTable>,
    pub(super) socket: PathBuf,
    pub(super) nodes: Vec<Node>,
    hops: Vec<Hop>,
    word: PlacementWord,
    segments: usize,
    pub(super) log: Level,
}

impl Settings {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let mut table = table_of(document, NAME)?;
        // A role is a scenario's: here nodes are named.
        let sdtp = shared::take(table.get_mut(), File::KEYS, |key| matches!(key, "placement" | "segments"))?;
        let (word, segments) = match sdtp.placement {
            Placement::By(word, segments) => (word, segments),
            Placement::Given { .. } => (PlacementWord::Given, 0),
        };
        let (file, span) = keys_of::<File>(table)?;
        let listen = file.listen.unwrap_or_else(|| Located { span: 0..0, value: LISTEN.to_owned() });
        let insecure = file.insecure_listen.is_some_and(|insecure| insecure.value);
        let socket = file.socket.ok_or_else(|| missing_key(span.clone(), "socket"))?;
        let nodes = file.nodes.ok_or_else(|| missing_key(span.clone(), "nodes"))?;
        let links = file.links.ok_or_else(|| missing_key(span.clone(), "links"))?;
        if nodes.len() < 2 || links.len() + 1 != nodes.len() {
            let title = format!("{} nodes and {} links are no line", nodes.len(), links.len());
            return Err(Problem::at(links.span.clone(), title)
                .expected("one link less than nodes, of which there are two or more"));
        }
        let this = Self {
            listen: listen_address(
                &listen,
                file.tls.is_some() || insecure,
                "whoever reaches it can pass for a node, and see and answer handshakes",
            )?,
            tls: file.tls.map(|tls| tls.value),
            socket: socket_path(&socket)?.into(),
            nodes: read_nodes(&nodes.value)?,
            hops: links.value.iter().map(hop).collect::<Checked<_>>()?,
            word,
            segments,
            log: file.log.map(|log| log.value).unwrap_or_default().into(),
        };
        if this.edges().count() < 2 {
            return Err(Problem::at(nodes.span.clone(), "fewer than two nodes have hosts")
                .expected("two edges, at least"));
        }
        Ok(this)
    }

    /// The places of nodes that have hosts.
    fn edges(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&place| !self.nodes[place].hosts.is_empty())
    }

    /// The controller of the line.
    pub(super) fn controller(&self) -> Controller {
        let mut planner = Planner::default();
        for from in self.edges() {
            for to in self.edges().filter(|&to| to != from) {
                planner.insert(self.nodes[from].address, self.nodes[to].address, self.path(from, to));
            }
        }
        let of = |node: &Node| node.hosts.iter().map(|&host| (host, node.address)).collect::<Vec<_>>();
        Controller::new(planner, self.nodes.iter().flat_map(of).collect())
    }

    /// The nodes from one edge to another with their functions.
    fn path(&self, from: usize, to: usize) -> Vec<Placed> {
        let places: Vec<usize> = if from < to { (from..=to).collect() } else { (to..=from).rev().collect() };
        let hop = |pair: &[usize]| {
            let hop = self.hops[pair[0].min(pair[1])];
            if from < to { hop } else { hop.back() }
        };
        // Losses below 1 were checked, and there are two edges.
        let Some(line) = Line::new(places.windows(2).map(hop).collect()) else { return Vec::new() };
        let nodes: Vec<_> = places.iter().map(|&place| self.nodes[place].address).collect();
        self.placing().place(&line, &nodes)
    }

    fn placing(&self) -> Placing {
        if self.word != PlacementWord::Given {
            return Placing::By(self.word, self.segments, placement::INTERVAL);
        }
        let given = |of: fn(Functions) -> bool| {
            self.nodes.iter().filter(|node| of(node.given)).map(|node| node.address).collect()
        };
        let (caching, retransmission) = (given(|its| its.caches), given(|its| its.retransmits));
        Placing::Given { caching, retransmission }
    }

    /// What it would do, for people.
    pub(super) fn describe(&self) -> String {
        let tls = tls::by(self.tls.as_ref());
        let mut lines =
            format!("listens for nodes at {}{tls}\nis asked at {}\n", self.listen, self.socket.display());
        if !self.listen.ip().is_loopback() && self.tls.is_none() {
            lines += "warning: other machines can reach this address, and nothing is authenticated\n";
        }
        for node in &self.nodes {
            let hosts = match node.hosts.len() {
                0 => String::new(),
                1 => ", 1 host".to_owned(),
                many => format!(", {many} hosts"),
            };
            // A string takes all that is written to it.
            let _ = writeln!(lines, "node {} (datapath id {:016x}){hosts}", node.address, node.datapath_id);
        }
        let edges: Vec<usize> = self.edges().collect();
        for (from, to) in edges.iter().flat_map(|&from| edges.iter().map(move |&to| (from, to))) {
            if from != to {
                lines += &self.describe_path(from, to);
            }
        }
        lines
    }

    fn describe_path(&self, from: usize, to: usize) -> String {
        let path = self.path(from, to);
        let with = |of: fn(&Placed) -> bool| {
            let nodes: Vec<String> =
                path.iter().filter(|placed| of(placed)).map(|placed| placed.address.to_string()).collect();
            if nodes.is_empty() { "nobody".to_owned() } else { nodes.join(", ") }
        };
        format!(
            "from {} to {}: copies are kept by {}; losses are noticed by {}\n",
            self.nodes[from].address,
            self.nodes[to].address,
            with(|placed| placed.caching),
            with(|placed| placed.retransmission),
        )
    }
}

fn read_nodes(given: &[Located<NodeTable>]) -> Checked<Vec<Node>> {
    let (mut addresses, mut ids, mut hosts) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    let mut nodes = Vec::new();
    for (place, table) in given.iter().enumerate() {
        let address = address(&table.address)?;
        if addresses.insert(address, place).is_some() {
            return Err(Problem::at(table.address.span.clone(), "two nodes have this address"));
        }
        if !ids.insert(table.datapath_id.0) {
            return Err(Problem::at(table.datapath_id.span.clone(), "two nodes have this datapath id"));
        }
        let own = shared::hosts(&table.hosts)?;
        for &host in &own {
            if hosts.insert(host, place).is_some() {
                let span = table.hosts.first().map_or(0..0, |host| host.span.clone());
                return Err(Problem::at(span, format!("two nodes have the host {host}")));
            }
        }
        let &NodeTable { caching, retransmission, ref datapath_id, .. } = &table.value;
        let given = Functions { caches: caching || retransmission, retransmits: retransmission };
        nodes.push(Node { address, datapath_id: datapath_id.0, hosts: own, given });
    }
    Ok(nodes)
}

fn hop(table: &Located<LinkTable>) -> Checked<Hop> {
    let LinkTable { delay, loss, loss_back } = &table.value;
    let (loss, loss_back) = (loss.0, loss_back.as_ref().map_or(loss.0, |loss| loss.0));
    if loss >= 1.0 || loss_back >= 1.0 {
        return Err(Problem::at(table.span.clone(), "a link that loses everything"));
    }
    Ok(Hop { delay: delay.0, loss, loss_back })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"
[sdtp-controller]
listen = "127.0.0.1:7000"
socket = "/s"
segments = 2
nodes = [
    {address = "10.99.0.1", datapath_id = "00000000000000a1", hosts = ["10.0.0.1", "fd00::1"]},
    {address = "10.99.0.2", datapath_id = "00000000000000a2", retransmission = true},
    {address = "10.99.0.3", datapath_id = "00000000000000a3"},
    {address = "10.99.0.4", datapath_id = "00000000000000a4", hosts = ["10.0.1.0/30"]},
]
links = [{delay = "5ms", loss = 0.01}, {delay = "10ms", loss = 0.02, loss_back = 0.0}, {delay = "5ms", loss = 0.0}]
"#;

    fn placed(path: &[Placed]) -> Vec<(String, bool, bool, u64)> {
        let of =
            |at: &Placed| (at.address.to_string(), at.caching, at.retransmission, at.round_trip.as_millis());
        path.iter().map(of).collect()
    }

    #[test]
    fn a_line_is_planned_in_both_directions() {
        let settings = Settings::parse(BASE, "x").unwrap();
        let there = placed(&settings.path(0, 3));
        let node = |last: u8| format!("10.99.0.{last}");
        assert_eq!(there.iter().map(|at| at.0.clone()).collect::<Vec<_>>(), [1, 2, 3, 4].map(node));
        assert!(there[3].2, "the receiving edge notices losses: {there:?}");
        assert!(there[0].1, "a cache before the first link: {there:?}");
        let back = placed(&settings.path(3, 0));
        assert_eq!(back.iter().map(|at| at.0.clone()).collect::<Vec<_>>(), [4, 3, 2, 1].map(node));
        assert!(back[3].2);
        let text = settings.describe();
        assert!(text.contains("from 10.99.0.1 to 10.99.0.4: copies are kept by 10.99.0.1"), "{text}");
        assert!(text.contains("4 hosts"), "{text}");
    }

    #[test]
    fn the_example_is_a_line_of_three() {
        let example = include_str!("../../../../../examples/sdtp-controller.toml");
        assert_eq!(placed(&Settings::parse(example, "x").unwrap().path(0, 2)).len(), 3);
    }

    #[test]
    fn functions_can_be_given() {
        let given = BASE.replace("segments = 2", "placement = \"given\"");
        let there = placed(&Settings::parse(&given, "x").unwrap().path(0, 3));
        let functions: Vec<_> = there.iter().map(|at| (at.1, at.2)).collect();
        assert_eq!(functions, [(true, false), (true, true), (false, false), (true, true)]);
        assert_eq!(there.iter().map(|at| at.3).collect::<Vec<_>>(), [0, 10, 20, 30]);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (from, to, says) in [
            ("127.0.0.1:7000", "0.0.0.0:7000", "can be reached from other machines"),
            ("socket = \"/s\"\n", "", "socket"),
            ("00000000000000a2", "00000000000000a1", "two nodes have this datapath id"),
            ("10.99.0.2", "10.99.0.1", "two nodes have this address"),
            ("10.0.1.0/30", "10.0.0.1", "two nodes have the host"),
            (", hosts = [\"10.0.1.0/30\"]", "", "fewer than two nodes have hosts"),
            (", {delay = \"5ms\", loss = 0.0}]", "]", "4 nodes and 2 links"),
            ("loss = 0.02", "loss = 1.0", "loses everything"),
            ("segments = 2", "segmens = 2", "did you mean"),
            ("segments = 2", "carriage = \"udp\"", "has another place"),
            ("[sdtp-controller]", "[other]", "there is no table [sdtp-controller]"),
        ] {
            let text = BASE.replacen(from, to, 1);
            assert_ne!(text, BASE);
            let error = Settings::parse(&text, "x").unwrap_err().to_string();
            assert!(error.contains(says), "{from} -> {to}: {error}");
        }
    }
}
