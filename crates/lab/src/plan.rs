//! What a run needs of the machine: namespaces, interfaces, addresses, routes and settings. `python/handfast/lab` makes it.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::Instant;
use handfast_plan::address::Addresses;
use handfast_plan::change::Change;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{self, ChannelId, Topology};
use handfast_plan::{Paths, Streams};
use handfast_scenario::{NodeId, Protocol, RunsIn, Scenario, Scheme};
use serde::Serialize;

use crate::controlled::Controlled;
use crate::kernel::{self, Ends, Settings};
use crate::names::{FIRST_PORT, interface_of, loop_interface_of, mac_text, wire_of};
use crate::sdtp::SdtpLine;

/// Nodes at most: each is a namespace, and a kernel makes some twenty of them a second while it cleans up as many.
const MOST_NODES: usize = 200;
/// What a run needs of the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// A namespace each, in the scenario's order.
    pub nodes: Vec<Node>,
    /// A veth pair each: two a link, ends in the order of `between`, links in the scenario's order. A station's links to access
    /// points are one radio, and have one pair at its end.
    pub wires: Vec<Wire>,
    /// The switch that a controller commands, and its configuration.
    pub controlled: Option<Controlled>,
    /// The line of nodes of SDTP.
    pub sdtp: Option<SdtpLine>,
}

/// One node's namespace.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its name in the scenario.
    pub name: String,
    /// Whether it forwards: a bridge without learning, or else a host.
    pub forwards: bool,
    /// Whether its TCP is the kernel's. Our own endpoint wants an interface without addresses.
    pub kernel: bool,
    /// Its address.
    pub address: String,
    /// The Ethernet address of all its interfaces.
    pub mac: String,
    /// Whom it talks to.
    pub peers: Vec<Peer>,
    /// For a bridge: by which interface an Ethernet address is reached.
    pub forwarding: Vec<Forwarding>,
    /// The kernel's congestion control of its sockets; [`None`]: no flow ends here, or its TCP is ours.
    pub congestion_control: Option<&'static str>,
    /// Kernel settings of its namespace: path below `/proc/sys`, value.
    pub settings: BTreeMap<&'static str, String>,
    /// Metrics of its routes, as in ip-route(8).
    pub metrics: BTreeMap<&'static str, u32>,
}

/// The other end of a flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Peer {
    /// Its address.
    pub address: String,
    /// Its Ethernet address: no ARP crosses the links.
    pub mac: String,
    /// The interface that leads to it.
    pub interface: String,
}

/// An entry of a bridge's table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Forwarding {
    /// An Ethernet address.
    pub mac: String,
    /// The interface that leads to it.
    pub interface: String,
}

/// One end of a link: from a node to the loop's namespace.
#[derive(Clone, Debug, Serialize)]
pub struct Wire {
    /// Index into [`Plan::nodes`].
    pub node: NodeId,
    /// The interface's name in the node's namespace.
    pub interface: String,
    /// The interface's name in the loop's namespace.
    pub loop_interface: String,
}

/// A scenario under a scheme, ready to be run.
pub(crate) struct Layout {
    pub(crate) topology: Topology,
    pub(crate) timeline: Timeline,
    pub(crate) paths: Paths,
    pub(crate) starts: Vec<Instant>,
    pub(crate) streams: Streams,
    /// The seed of all that is drawn.
    pub(crate) seed: u64,
}

impl Layout {
    /// Finds paths and starts.
    ///
    /// # Errors
    /// What the lab cannot do, in one sentence.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, String> {
        handfast_plan::check(scenario)?;
        if scenario.subnets {
            return Err(
                "`subnets`: bridges follow a station, subnets are in the simulator only; leave it out"
                    .to_owned(),
            );
        }
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.transport != Protocol::Tcp) {
            return Err(format!(
                "flow `{}` does not go over TCP: the lab has kernels for TCP and datagrams only; leave `transport` out",
                flow.name
            ));
        }
        if let Some(node) = scenario.nodes.iter().find(|node| !node.more_aps.is_empty()) {
            return Err(format!(
                "station `{}` has several radios at once: that is in the simulator only; give it one `ap`",
                node.name
            ));
        }
        if let Some((&id, network)) = scenario.networks.first_key_value() {
            let name = &scenario.nodes[id].name;
            return Err(format!(
                "access point `{name}` is of network `{network}`: stations change their address in the simulator only; leave `network` out"
            ));
        }
        if let Some((&id, _)) = scenario.on_air.first_key_value() {
            let name = &scenario.links[id].name;
            return Err(format!(
                "link `{name}` has `air`: shared airtime is in the simulator only; leave `air` out"
            ));
        }
        let topology = Topology::new(scenario);
        let timeline = Timeline::new(scenario, seed);
        if let Some(station) =
            timeline.outages.iter().filter(|outage| outage.drain).find_map(|outage| outage.station)
        {
            let name = &scenario.nodes[station].name;
            return Err(format!(
                "station `{name}` roams with `mode = \"drain\"`: here it has one radio, and make-before-break is in the simulator only"
            ));
        }
        if let Some(node) = timeline.changes().find_map(|(_, change)| match change {
            Change::Restart(node) => Some(node),
            _ => None,
        }) {
            let name = &scenario.nodes[node].name;
            return Err(format!("node `{name}` begins anew: `do = \"restart\"` is in the simulator only"));
        }
        let paths = handfast_plan::paths(scenario, &topology, &timeline)?;
        let (starts, streams) = (handfast_plan::starts(scenario, seed), Streams::of(scenario));
        Ok(Self { topology, timeline, paths, starts, streams, seed })
    }
}

impl Plan {
    /// What `scenario` under `scheme` needs.
    ///
    /// # Errors
    /// What the lab cannot do, in one sentence.
    pub fn new(scenario: &Scenario, scheme: &Scheme) -> Result<Self, String> {
        if scenario.nodes.len() > MOST_NODES {
            let count = scenario.nodes.len();
            return Err(format!("{count} nodes: the lab makes a namespace for each, {MOST_NODES} at most"));
        }
        let streams = Streams::of(scenario).count();
        if streams > usize::from(u16::MAX - FIRST_PORT) {
            return Err(format!("{streams} connections: the lab has no port for each"));
        }
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.tcp.is_some()) {
            return Err(format!(
                "flow `{}`: in the lab all flows have the TCP of the scheme that runs",
                flow.name
            ));
        }
        let foreign = scheme.agents.iter().find(|agent| !agent.kind.runs_in().contains(&RunsIn::Lab));
        if let Some(agent) = foreign {
            return Err(format!(
                "scheme `{}`: the lab has no agent of kind `{}`",
                scheme.name,
                agent.kind.name()
            ));
        }
        let layout = Layout::new(scenario, 0)?;
        check_roams(scenario, &layout)?;
        let settings = settings_of(scenario, scheme, &layout.topology)?;
        let node = |(id, settings)| Node::new(scenario, &layout.topology, id, settings);
        let nodes = settings.into_iter().enumerate().map(node).collect();
        let controlled = Controlled::of(scenario, scheme, &layout.topology)?;
        let sdtp = SdtpLine::of(scenario, scheme, &layout.topology)?;
        Ok(Self { nodes, wires: wires(scenario), controlled, sdtp })
    }

    /// As text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("its keys are strings"))
    }
}

fn wires(scenario: &Scenario) -> Vec<Wire> {
    let wire = |channel: ChannelId| Wire {
        node: topology::origin(scenario, channel),
        interface: interface_of(scenario, channel),
        loop_interface: loop_interface_of(scenario, channel),
    };
    let channels = 0..2 * scenario.links.len();
    channels.filter(|&channel| wire_of(scenario, channel) == channel).map(wire).collect()
}

/// A host's routes are made once: none may have to change when a station roams.
fn check_roams(scenario: &Scenario, layout: &Layout) -> Result<(), String> {
    let mut topology = layout.topology.clone();
    for (_, change) in layout.timeline.changes() {
        let Change::AssociationBegins { station, old_link, new_link, .. } = change else { continue };
        let flows = scenario.flows.iter().filter(|flow| flow.from == station || flow.to == station);
        let ends: BTreeSet<_> = flows.flat_map(|flow| [flow.from, flow.to]).collect();
        let before: Vec<_> = ends.iter().map(|&end| peers(scenario, &topology, end)).collect();
        topology.roam(station, old_link, new_link);
        let now = ends.iter().map(|&end| (end, peers(scenario, &topology, end)));
        if let Some(((end, _), _)) = now.zip(before).find(|((_, now), before)| now != before) {
            let (end, station) = (&scenario.nodes[end].name, &scenario.nodes[station].name);
            let why = "would send by another interface, and the lab makes routes once";
            return Err(format!("when `{station}` roams, `{end}` {why}: give it one way"));
        }
    }
    Ok(())
}

/// What each node's kernel is told: as a sender, as a receiver, or nothing if no flow ends there; [`None`]: its TCP is ours.
fn settings_of(
    scenario: &Scenario,
    scheme: &Scheme,
    topology: &Topology,
) -> Result<Vec<Option<Settings>>, String> {
    let Ends { sender, receiver } = kernel::ends(scheme)?;
    let refuse = |node: NodeId, why: &str| {
        Err(format!("scheme `{}`: `{}` {why}", scheme.name, scenario.nodes[node].name))
    };
    let mut all = vec![Some(Settings::default()); scenario.nodes.len()];
    for flow in &scenario.flows {
        all[flow.from].clone_from(&sender);
        let outs: BTreeSet<_> =
            peers(scenario, topology, flow.from).into_iter().map(|p| p.interface).collect();
        if let Some(kind) = flow.app.dialogue().filter(|_| sender.is_none()) {
            let why = format!(
                "answers in flow `{}` (`{}`), and our endpoint only sends in the lab",
                flow.name,
                kind.name()
            );
            return refuse(flow.from, &why);
        }
        if sender.is_none() && outs.len() > 1 {
            return refuse(flow.from, "sends over several links, and our endpoint has one in the lab");
        }
    }
    for flow in &scenario.flows {
        let sends = scenario.flows.iter().any(|other| other.from == flow.to);
        if sends && sender.is_none() {
            return refuse(flow.to, "sends and receives, and cannot be our endpoint and a kernel at once");
        }
        if sends && !sender.as_ref().is_some_and(|sender| sender.agree_with(&receiver)) {
            return refuse(
                flow.to,
                "sends and receives, and one kernel cannot have the settings of both ends",
            );
        }
        if !sends {
            all[flow.to] = Some(receiver.clone());
        }
    }
    Ok(all)
}

impl Node {
    fn new(scenario: &Scenario, topology: &Topology, id: NodeId, settings: Option<Settings>) -> Self {
        let node = &scenario.nodes[id];
        let forwards = node.kind.forwards();
        let (kernel, settings) = (settings.is_some(), settings.unwrap_or_default());
        let addresses = Addresses::of(scenario);
        Self {
            name: node.name.clone(),
            forwards,
            kernel,
            address: addresses.ip_of(id).to_string(),
            mac: mac_text(addresses.mac_of(id)),
            peers: peers(scenario, topology, id),
            forwarding: if forwards { forwarding(scenario, topology, id) } else { Vec::new() },
            congestion_control: Some(settings.congestion_control).filter(|name| !name.is_empty()),
            settings: settings.sysctls,
            metrics: settings.route_metrics,
        }
    }
}

fn peers(scenario: &Scenario, topology: &Topology, id: NodeId) -> Vec<Peer> {
    let others = scenario.flows.iter().filter_map(|flow| match id {
        id if id == flow.from => Some(flow.to),
        id if id == flow.to => Some(flow.from),
        _ => None,
    });
    let addresses = Addresses::of(scenario);
    let peer = |other: NodeId| {
        let out = topology.towards(id, topology.goal(other))?;
        let interface = interface_of(scenario, out as ChannelId);
        let (address, mac) = (addresses.ip_of(other).to_string(), mac_text(addresses.mac_of(other)));
        Some(Peer { address, mac, interface })
    };
    others.filter_map(peer).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The simulator's routes: the ends of flows, by the shortest path.
fn forwarding(scenario: &Scenario, topology: &Topology, id: NodeId) -> Vec<Forwarding> {
    let ends: BTreeSet<NodeId> = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    let addresses = Addresses::of(scenario);
    let entry = |end: NodeId| {
        let out = topology.towards(id, topology.goal(end)).filter(|_| end != id)?;
        let mac = mac_text(addresses.mac_of(end));
        Some(Forwarding { mac, interface: interface_of(scenario, out as ChannelId) })
    };
    ends.into_iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing::{self, Net};

    fn linux() -> Scheme {
        testing::scheme("linux")
    }

    #[test]
    fn hosts_know_their_peers_and_bridges_the_port_to_hosts() {
        let scenario = Net::new("hshh").link(0, 1).link(1, 2).link(1, 3).bulk(0, 2).build();
        let plan = Plan::new(&scenario, &linux()).unwrap();
        let [server, switch, client, idle] = &plan.nodes[..] else { panic!("{plan:?}") };
        let peer = Peer {
            address: "10.0.0.3".to_owned(),
            mac: "02:00:0a:00:00:03".to_owned(),
            interface: "link0".to_owned(),
        };
        assert_eq!((&server.peers, server.forwards), (&vec![peer], false));
        assert_eq!(client.peers[0].interface, "link1");
        assert!(idle.peers.is_empty() && idle.settings.is_empty());
        let interfaces: Vec<_> =
            switch.forwarding.iter().map(|f| (f.mac.as_str(), f.interface.as_str())).collect();
        assert_eq!(interfaces, [("02:00:0a:00:00:01", "link0"), ("02:00:0a:00:00:03", "link1")]);
        let ends: Vec<_> = plan.wires.iter().map(|w| (w.node, w.loop_interface.as_str())).collect();
        assert_eq!(
            ends,
            [(0, "link0.0"), (1, "link0.1"), (1, "link1.0"), (2, "link1.1"), (1, "link2.0"), (3, "link2.1")]
        );
    }

    #[test]
    fn a_node_that_begins_anew_is_refused() {
        let mut scenario = Net::new("hsh").link(0, 1).link(1, 2).bulk(0, 2).build();
        let action = handfast_scenario::Action::Restart { node: 1 };
        scenario.events = vec![handfast_scenario::Event::new(handfast_core::Instant::ZERO, action)];
        let why = Layout::new(&scenario, 1).err().unwrap();
        assert!(why.contains("begins anew"), "{why}");
    }

    #[test]
    fn what_is_no_tcp_and_what_has_several_radios_is_refused() {
        let mut scenario = testing::roam(&[]);
        scenario.nodes[4].more_aps = vec![3];
        let radios = Layout::new(&scenario, 1).err().unwrap();
        assert!(radios.contains("`m4` has several radios at once"), "{radios}");
        scenario.flows[0].transport = Protocol::Sctp;
        let transport = Layout::new(&scenario, 1).err().unwrap();
        assert!(transport.contains("`0-4` does not go over TCP"), "{transport}");
    }

    #[test]
    fn a_radio_is_one_interface() {
        let scenario = testing::roam(&[(1000, 3, 1000)]);
        let plan = Plan::new(&scenario, &linux()).unwrap();
        let of =
            |node| plan.wires.iter().filter(move |wire| wire.node == node).map(|wire| &wire.interface[..]);
        assert_eq!(of(4).collect::<Vec<_>>(), ["link3"]);
        assert_eq!(of(3).collect::<Vec<_>>(), ["link2", "link4"]);
        assert_eq!(plan.nodes[4].peers[0].interface, "link3");
        let interfaces: Vec<_> = plan.nodes[3].forwarding.iter().map(|entry| &entry.interface[..]).collect();
        assert_eq!(interfaces, ["link2", "link2"], "the station is at the other access point");
        let ends = [6, 7, 8, 9].map(|channel| loop_interface_of(&scenario, channel));
        assert_eq!(ends, ["link3.0", "link3.1", "link4.0", "link3.1"]);
    }

    #[test]
    fn a_roam_that_changes_a_hosts_interface_is_refused() {
        // The host has a cable to each access point's switch.
        let net =
            Net::new("hssaam").link(0, 1).link(0, 2).link(1, 3).link(2, 4).link(3, 5).link(4, 5).link(1, 2);
        let scenario = net.bulk(0, 5).handover(1000, 5, 4, 100).build();
        let error = Plan::new(&scenario, &linux()).unwrap_err();
        assert!(error.starts_with("when `m5` roams, `h0` would send by another interface"), "{error}");
    }

    #[test]
    fn what_the_lab_cannot_do_is_said() {
        let scenario = testing::dumbbell(100);
        assert!(Plan::new(&scenario, &linux()).unwrap_err().starts_with("202 nodes"));
        let scenario = Net::new("hh").link(0, 1).bulk(0, 1).build();
        let receiver = linux().receiver;
        let ours = Scheme { receiver, receiver_profile: "linux", ..testing::scheme("sack") };
        let plan = Plan::new(&scenario, &ours).unwrap();
        assert_eq!([plan.nodes[0].kernel, plan.nodes[1].kernel], [false, true]);
        let error = Plan::new(&scenario, &testing::scheme("sack")).unwrap_err();
        assert!(error.contains("receiver") && error.contains("`sack`"), "{error}");
        let both = Net::new("hh").link(0, 1).bulk(0, 1).bulk(1, 0).build();
        let error = Plan::new(&both, &ours).unwrap_err();
        assert!(error.contains("sends and receives"), "{error}");
    }
}
