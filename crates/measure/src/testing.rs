//! Scenarios built by hand, for tests.

use std::sync::Arc;

use handfast_core::{BitRate, Duration, Instant};
use handfast_net::{Direction, QueueLimit};
use handfast_scenario::{App, Flow, Link, Node, NodeId, NodeKind, Scenario, Scheme};
use handfast_tcp::profile;

/// A network in the making. Nodes are `h`osts and `s`witches, named by kind and number.
#[must_use]
pub struct Net(Scenario);

impl Net {
    /// So many nodes, and no links yet.
    pub fn new(kinds: &str) -> Self {
        let nodes = kinds.chars().enumerate().map(|(i, kind)| Node {
            name: format!("{kind}{i}"),
            kind: if kind == 'h' { NodeKind::Host } else { NodeKind::Switch },
            role: None,
        });
        Self(Scenario {
            name: "test".into(),
            description: String::new(),
            hash: "0".into(),
            duration: Duration::from_secs(10),
            nodes: nodes.collect(),
            links: Vec::new(),
            flows: Vec::new(),
            events: Vec::new(),
            schemes: vec![scheme("sack")],
            profiles: Vec::new(),
            captures: Vec::new(),
            sample_interval: Duration::from_millis(10),
        })
    }

    /// A link of 10 Mbit/s and 1 ms.
    pub fn link(self, a: NodeId, b: NodeId) -> Self {
        self.rate(a, b, 10_000_000)
    }

    /// A link of that rate and 1 ms.
    pub fn rate(self, a: NodeId, b: NodeId, bps: u64) -> Self {
        self.wire(a, b, Direction::plain(BitRate::from_bps(bps), Duration::from_millis(1)))
    }

    /// A link with that direction both ways.
    pub fn wire(mut self, a: NodeId, b: NodeId, direction: Direction) -> Self {
        let name = format!("{a}-{b}");
        self.0.links.push(Link { name, between: [a, b], forward: direction.clone(), backward: direction });
        self
    }

    /// A bulk flow from the beginning.
    pub fn bulk(mut self, from: NodeId, to: NodeId) -> Self {
        self.0.flows.push(bulk(from, to));
        self
    }

    /// The scenario.
    pub fn build(self) -> Scenario {
        self.0
    }
}

/// A bulk flow from the beginning.
pub fn bulk(from: NodeId, to: NodeId) -> Flow {
    Flow {
        name: format!("{from}-{to}"),
        from,
        to,
        app: App::Bulk,
        start: Instant::ZERO,
        start_jitter: Duration::ZERO,
        stop: None,
        read_rate: None,
    }
}

/// A scheme whose sender is that profile, the receiver likewise.
pub fn scheme(name: &str) -> Scheme {
    let profile = profile(name).expect("a profile");
    let config = Arc::new(profile.config());
    Scheme {
        name: name.into(),
        sender: config.clone(),
        sender_profile: profile.name,
        receiver: config,
        receiver_profile: profile.name,
        agents: Vec::new(),
    }
}

/// Two routers, nodes 0 and 1, with 100 Mbit/s and 10 ms between them, and so many flows, each with hosts of its own.
pub fn dumbbell(flows: usize) -> Scenario {
    let bottleneck = Direction {
        queue: Some(QueueLimit::Packets(100)),
        ..Direction::plain(BitRate::from_bps(100_000_000), Duration::from_millis(10))
    };
    let mut net = Net::new(&("ss".to_owned() + &"hh".repeat(flows))).wire(0, 1, bottleneck);
    for flow in 0..flows {
        let (from, to) = (2 + 2 * flow, 3 + 2 * flow);
        net = net.rate(from, 0, 1_000_000_000).rate(to, 1, 1_000_000_000).bulk(from, to);
    }
    net.build()
}
