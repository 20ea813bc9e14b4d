//! Scenarios built by hand, for tests.

use std::sync::Arc;

use handfast_core::{BitRate, Duration, Instant};
use handfast_net::{Direction, Queue};
use handfast_scenario::{
    Action, App, Event, Flow, Link, Measures, Node, NodeId, NodeKind, Protocol, Scenario, Scheme,
};
use handfast_tcp::profile;

/// A network in the making. Nodes are `h`osts, `s`witches, `a`ccess points and stations (`m`), named by kind and number.
#[must_use]
pub struct Net(Scenario);

impl Net {
    /// So many nodes, and no links yet.
    pub fn new(kinds: &str) -> Self {
        let nodes = kinds.chars().enumerate().map(|(i, kind)| Node {
            name: format!("{kind}{i}"),
            kind: match kind {
                'h' => NodeKind::Host,
                'a' => NodeKind::AccessPoint,
                'm' => NodeKind::Station,
                _ => NodeKind::Switch,
            },
            role: None,
            ap: None,
            more_aps: Vec::new(),
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
            radio: None,
            subnets: false,
            networks: std::collections::BTreeMap::new(),
            on_air: std::collections::BTreeMap::new(),
            traces: std::collections::BTreeMap::new(),
            trace_files: std::collections::BTreeSet::new(),
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

    /// Station `station` is at `to` from `gap` milliseconds after `at` on.
    pub fn handover(mut self, at: u64, station: NodeId, to: NodeId, gap: u64) -> Self {
        let action = Action::Handover { station, to, gap: Duration::from_millis(gap), drain: false };
        self.0.events.push(Event::new(Instant::from_millis(at), action));
        self
    }

    /// The scenario. A station is at the access point of its first link to one.
    pub fn build(mut self) -> Scenario {
        for link in (0..self.0.links.len()).rev() {
            if let Some((station, ap)) = self.0.radio(link) {
                self.0.nodes[station].ap = Some(ap);
            }
        }
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
        transport: Protocol::Tcp,
        start: Instant::ZERO,
        start_jitter: Duration::ZERO,
        stop: None,
        read_rate: None,
        tcp: None,
        connections: 1,
        measure: Measures::default(),
    }
}

/// Host 0, switch 1, access points 2 and 3, station 4, which begins at 2: links 0 (host), 1 and 2 (access points), 3 and 4
/// (radio). A download, and handovers: at so many milliseconds, to which access point, with what gap.
pub fn roam(handovers: &[(u64, NodeId, u64)]) -> Scenario {
    let net = Net::new("hsaam").link(0, 1).rate(1, 2, 1_000_000_000).rate(1, 3, 1_000_000_000);
    let net = net.rate(2, 4, 54_000_000).rate(3, 4, 54_000_000).bulk(0, 4);
    handovers.iter().fold(net, |net, &(at, to, gap)| net.handover(at, 4, to, gap)).build()
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
        sctp: handfast_scenario::SctpSettings::default(),
        agents: Vec::new(),
    }
}

/// Two routers, nodes 0 and 1, with 100 Mbit/s and 10 ms between them, and so many flows, each with hosts of its own.
pub fn dumbbell(flows: usize) -> Scenario {
    let bottleneck = Direction {
        queue: Queue::packets(100),
        ..Direction::plain(BitRate::from_bps(100_000_000), Duration::from_millis(10))
    };
    let mut net = Net::new(&("ss".to_owned() + &"hh".repeat(flows))).wire(0, 1, bottleneck);
    for flow in 0..flows {
        let (from, to) = (2 + 2 * flow, 3 + 2 * flow);
        net = net.rate(from, 0, 1_000_000_000).rate(to, 1, 1_000_000_000).bulk(from, to);
    }
    net.build()
}
