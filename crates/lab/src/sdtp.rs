//! What a run with SDTP needs besides its links: nodes in place of the switches of a line, or Open vSwitch where a switch has no
//! function, and the nodes' controller.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::Sdtp;
use handfast_assist::sdtp::line::{Hop, Line};
use handfast_assist::sdtp::placement::{self, Functions};
use handfast_assist::sdtp::spec::{Placement, PlacementWord};
use handfast_assist::sdtp::{Config, Congestion, Inform, Level};
use handfast_core::Duration;
use handfast_plan::address::Addresses;
use handfast_plan::fabric::datapath_of;
use handfast_plan::topology::{Topology, reverse};
use handfast_scenario::{AgentKind, NodeId, Scenario, Scheme};
use handfast_wire::sdtp::Carriage;
use serde::Serialize;

use crate::controlled::{size, span};
use crate::names::interface_of;

/// The nodes, each a `handfastd sdtp` in its switch's namespace, and the `handfastd sdtp-controller` that commands them.
#[derive(Clone, Debug, Serialize)]
pub struct SdtpLine {
    /// In the order of the line: edges, and whom the controller gives a function.
    pub nodes: Vec<SdtpNode>,
    /// The others: each is an ordinary switch ([sdtp] §II-B).
    pub switches: Vec<NodeId>,
    /// The controller's configuration, but for its sockets: a table of TOML, with its name first.
    pub controller: String,
    /// One way between the controller and a node, in seconds.
    pub control_delay_s: f64,
    /// Whether nodes seal what they tell each other.
    pub sealed: bool,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct SdtpNode {
    /// The switch: index into [`crate::Plan::nodes`].
    pub switch: NodeId,
    /// Its configuration, but for its sockets and its key: a table of TOML, with its name first.
    pub configuration: String,
}

/// As docs/reference/sdtp.md has it.
#[derive(Serialize)]
struct NodeFile {
    address: IpAddr,
    datapath_id: String,
    inside: String,
    outside: String,
    hosts: Vec<IpAddr>,
    mode: &'static str,
    seal: bool,
    protect: &'static str,
    carriage: &'static str,
    mtu: u16,
    level: &'static str,
    information: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sending_interval: Option<String>,
    notification_interval: String,
    cache: String,
    cache_total: String,
    persistence: String,
    resequencing: String,
    congestion: &'static str,
    parity: bool,
}

#[derive(Serialize)]
struct ControllerFile {
    placement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<usize>,
    nodes: Vec<BTreeMap<&'static str, toml::Value>>,
    links: Vec<LinkTable>,
}

#[derive(Serialize)]
struct LinkTable {
    delay: String,
    loss: f64,
    loss_back: f64,
}

fn spec_of(scheme: &Scheme) -> Option<&Sdtp> {
    scheme.agents.iter().find_map(|agent| match &agent.kind {
        AgentKind::Sdtp(sdtp) => Some(sdtp),
        _ => None,
    })
}

impl SdtpLine {
    /// What a scheme's SDTP needs; [`None`]: it has none.
    ///
    /// # Errors
    /// What the lab cannot do, in one sentence.
    pub(crate) fn of(
        scenario: &Scenario,
        scheme: &Scheme,
        topology: &Topology,
    ) -> Result<Option<Self>, String> {
        let Some(spec) = spec_of(scheme) else { return Ok(None) };
        let of_scheme = |why: String| format!("scheme `{}`: {why}", scheme.name);
        if spec.control_loss > 0.0 {
            return Err(of_scheme(
                "`control_loss` is in the simulator only: here nodes and controller use TCP".into(),
            ));
        }
        if spec.config.carriage == Carriage::Native {
            return Err(of_scheme(
                "`carriage = \"native\"`: the lab's links carry IP; use \"ip\" or \"udp\"".into(),
            ));
        }
        let line = Places { scenario, spec, topology, addresses: Addresses::of(scenario) };
        line.plan().map(Some).map_err(of_scheme)
    }
}

/// Where things are.
struct Places<'a> {
    scenario: &'a Scenario,
    spec: &'a Sdtp,
    topology: &'a Topology,
    addresses: Addresses,
}

impl Places<'_> {
    fn forwards(&self, node: NodeId) -> bool {
        self.scenario.nodes[node].kind.forwards()
    }

    /// The neighbours of a node, each with the channel that leads to it.
    fn neighbours(&self, node: NodeId) -> Vec<(NodeId, usize)> {
        self.topology.ports(node).iter().map(|port| (port.neighbour as NodeId, port.out as usize)).collect()
    }

    /// The switches in their order.
    fn line(&self) -> Result<Vec<NodeId>, String> {
        let switches: Vec<NodeId> =
            (0..self.scenario.nodes.len()).filter(|&node| self.forwards(node)).collect();
        let name = |node: NodeId| &self.scenario.nodes[node].name;
        if let Some(&wide) = switches.iter().find(|&&switch| self.neighbours(switch).len() != 2) {
            let count = self.neighbours(wide).len();
            return Err(format!("`{}` has {count} links: in the lab a node of SDTP has two", name(wide)));
        }
        let switches_at = |node| {
            let neighbours = self.neighbours(node).into_iter().map(|(neighbour, _)| neighbour);
            neighbours.filter(|&neighbour| self.forwards(neighbour)).collect::<Vec<_>>()
        };
        let first = switches.iter().copied().find(|&switch| switches_at(switch).len() == 1);
        let mut line: Vec<NodeId> = first.into_iter().collect();
        while let Some(&at) = line.last()
            && let Some(next) = switches_at(at).into_iter().find(|next| !line.contains(next))
        {
            line.push(next);
        }
        if line.len() < 2 || line.len() != switches.len() {
            return Err("the lab runs SDTP on one line of two switches or more".to_owned());
        }
        Ok(line)
    }

    fn plan(&self) -> Result<SdtpLine, String> {
        let line = self.line()?;
        let is_node = self.are_nodes(&line);
        let nodes = line.iter().enumerate().filter(|&(place, _)| is_node[place]).map(|(place, &switch)| {
            let configuration = text("sdtp", self.node_file(&line, place, switch))?;
            Ok(SdtpNode { switch, configuration })
        });
        let switches = line.iter().zip(&is_node).filter(|&(_, is_node)| !is_node).map(|(&switch, _)| switch);
        Ok(SdtpLine {
            nodes: nodes.collect::<Result<_, String>>()?,
            switches: switches.collect(),
            controller: text("sdtp-controller", self.controller_file(&line))?,
            control_delay_s: self.spec.control_delay.as_secs_f64(),
            sealed: self.spec.seal,
        })
    }

    /// Whether the switches of a line are edges, or have a function in one of both directions.
    fn are_nodes(&self, line: &[NodeId]) -> Vec<bool> {
        let hops = self.hops(line);
        let back = hops.iter().rev().map(|hop| hop.back()).collect();
        let returning: Vec<NodeId> = line.iter().rev().copied().collect();
        let there = self.functions(line, hops);
        let mut and_back = self.functions(&returning, back);
        and_back.reverse();
        let does =
            |functions: &[Functions], place: usize| functions.get(place).is_some_and(|one| one.are_any());
        let is_end = |place| place == 0 || place + 1 == line.len();
        (0..line.len()).map(|place| is_end(place) || does(&there, place) || does(&and_back, place)).collect()
    }

    /// What the controller will have the nodes do from one end to the other.
    fn functions(&self, line: &[NodeId], hops: Vec<Hop>) -> Vec<Functions> {
        // The controller says what is wrong with links that lose everything.
        let Some(hops) = Line::new(hops) else { return vec![Functions::default(); line.len()] };
        match &self.spec.placement {
            Placement::By(word, segments) => word.functions(&hops, *segments, placement::INTERVAL),
            Placement::Given { caching, retransmission } => {
                let playing = |role: &Option<String>| {
                    (1..hops.last())
                        .filter(|&place| self.plays(line[place], role.as_ref()))
                        .collect::<Vec<_>>()
                };
                let given = placement::Placement::new(hops.last(), playing(caching), playing(retransmission));
                given.nodes().to_vec()
            }
        }
    }

    fn plays(&self, switch: NodeId, role: Option<&String>) -> bool {
        role.is_some() && self.scenario.nodes[switch].role.as_ref() == role
    }

    /// The links between the switches of a line.
    fn hops(&self, line: &[NodeId]) -> Vec<Hop> {
        let hop = |pair: &[NodeId]| {
            let channel = self.neighbours(pair[0]).into_iter().find(|&(next, _)| next == pair[1]);
            channel.map_or_else(no_hop, |(_, channel)| self.hop(channel))
        };
        line.windows(2).map(hop).collect()
    }

    /// The hosts behind a switch whose packets are protected.
    fn hosts(&self, switch: NodeId) -> Vec<IpAddr> {
        let hosts =
            self.neighbours(switch).into_iter().map(|(neighbour, _)| neighbour).filter(|&neighbour| {
                let role = &self.scenario.nodes[neighbour].role;
                !self.forwards(neighbour) && (self.spec.hosts.is_none() || *role == self.spec.hosts)
            });
        hosts.map(|host| self.addresses.ip_of(host)).collect()
    }

    fn node_file(&self, line: &[NodeId], place: usize, switch: NodeId) -> NodeFile {
        let next = line.get(place + 1).or_else(|| line.get(place.wrapping_sub(1)));
        // Outside is the next switch, or for the last one the switch before it.
        let (mut outs, mut others) = (None, None);
        for (neighbour, channel) in self.neighbours(switch) {
            let side = if Some(&neighbour) == next { &mut outs } else { &mut others };
            *side = Some(interface_of(self.scenario, channel));
        }
        let Config { carriage, mtu, all, ref thresholds, caching, ref resequencing, .. } = *self.spec.config;
        NodeFile {
            address: self.addresses.ip_of(switch),
            datapath_id: format!("{:016x}", datapath_of(switch)),
            inside: others.unwrap_or_default(),
            outside: outs.unwrap_or_default(),
            hosts: self.hosts(switch),
            mode: "act",
            seal: self.spec.seal,
            protect: if all { "all" } else { "tcp" },
            carriage: match carriage {
                Carriage::Native => "native",
                Carriage::Ip => "ip",
                Carriage::Udp => "udp",
            },
            mtu,
            level: match thresholds.level {
                Level::Packet => "packet",
                Level::Segment => "segment",
            },
            information: match thresholds.inform {
                Inform::Never => "off",
                Inform::Count => "count",
                Inform::CountAndTime => "count-and-time",
            },
            sending_interval: thresholds.sending_interval.map(span),
            notification_interval: span(caching.notify),
            cache: size(caching.quotas.per_connection),
            cache_total: size(caching.quotas.total),
            persistence: span(thresholds.persistence),
            resequencing: span(resequencing.persistence),
            congestion: match caching.congestion {
                Congestion::Signal => "signal",
                Congestion::Mask => "mask",
                Congestion::Cache => "cache",
            },
            parity: caching.parity,
        }
    }

    fn controller_file(&self, line: &[NodeId]) -> ControllerFile {
        let (placement, segments) = match &self.spec.placement {
            Placement::By(word, segments) => (word_of(*word), Some(*segments)),
            Placement::Given { .. } => ("given", None),
        };
        let table = |Hop { delay, loss, loss_back }| LinkTable { delay: span(delay), loss, loss_back };
        let links = self.hops(line).into_iter().map(table);
        let nodes = line.iter().map(|&switch| self.controllers_node(switch)).collect();
        ControllerFile { placement, segments, nodes, links: links.collect() }
    }

    fn controllers_node(&self, switch: NodeId) -> BTreeMap<&'static str, toml::Value> {
        let hosts: Vec<String> = self.hosts(switch).iter().map(IpAddr::to_string).collect();
        let mut node = BTreeMap::from([
            ("address", self.addresses.ip_of(switch).to_string().into()),
            ("datapath_id", format!("{:016x}", datapath_of(switch)).into()),
            ("hosts", hosts.into()),
        ]);
        if let Placement::Given { caching, retransmission } = &self.spec.placement {
            node.insert("caching", self.plays(switch, caching.as_ref()).into());
            node.insert("retransmission", self.plays(switch, retransmission.as_ref()).into());
        }
        node
    }

    fn hop(&self, channel: usize) -> Hop {
        let direction = |channel: usize| {
            let link = &self.scenario.links[channel / 2];
            if channel.is_multiple_of(2) { &link.forward } else { &link.backward }
        };
        Hop::of(direction(channel), direction(reverse(channel)))
    }
}

fn no_hop() -> Hop {
    Hop { delay: Duration::ZERO, loss: 0.0, loss_back: 0.0 }
}

fn word_of(word: PlacementWord) -> &'static str {
    match word {
        PlacementWord::EqualisedLoss => "equalised-loss",
        PlacementWord::MinimumDelay => "minimum-delay",
        PlacementWord::EverySwitch => "every-switch",
        PlacementWord::Given => "given",
        PlacementWord::Nowhere => "nowhere",
    }
}

/// A table of this name.
fn text(name: &str, file: impl Serialize) -> Result<String, String> {
    toml::to_string(&BTreeMap::from([(name, file)]))
        .map_err(|error| format!("a configuration of SDTP: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../scenarios/lossy-line.toml");

    fn line(changes: &[(&str, &str)]) -> Result<Option<SdtpLine>, String> {
        let changes: Vec<_> = changes.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let scenario = Scenario::parse(FILE, "lossy-line.toml", &changes).unwrap();
        SdtpLine::of(&scenario, scenario.scheme("sdtp").unwrap(), &Topology::new(&scenario))
    }

    fn with(keys: &str) -> String {
        format!("[{{kind = \"sdtp\", at = \"role:controller\", {keys}}}]")
    }

    #[test]
    fn a_line_of_switches_is_a_line_of_nodes() {
        let line = line(&[]).unwrap().unwrap();
        assert_eq!(line.nodes.iter().map(|node| node.switch).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!((line.control_delay_s, line.sealed), (0.005, true));
        for (node, inside, outside, hosts) in [
            (0, "link0", "link1", "[\"10.0.0.1\"]"),
            (2, "link2", "link3", "[]"),
            (4, "link5", "link4", "[\"10.0.0.7\"]"),
        ] {
            let text = &line.nodes[node].configuration;
            assert!(text.starts_with("[sdtp]\n"), "{text}");
            for (key, value) in [
                ("inside", format!("{inside:?}")),
                ("outside", format!("{outside:?}")),
                ("hosts", hosts.into()),
            ] {
                assert!(text.contains(&format!("{key} = {value}\n")), "{key} of {node}: {text}");
            }
        }
        let text = &line.controller;
        assert!(text.starts_with("[sdtp-controller]\n"), "{text}");
        assert_eq!(text.matches("[[sdtp-controller.nodes]]").count(), 5, "{text}");
        assert_eq!(text.matches("\nloss = 0.01").count(), 4, "{text}");
    }

    #[test]
    fn keys_of_the_agent_are_those_of_the_nodes() {
        let keys = "carriage = \"ip\", protect = \"all\", congestion = \"mask\", level = \"segment\", \
                    information = \"count-and-time\", seal = false, control_delay = \"32.5ms\", persistence = \"100ms\", resequencing = \"90ms\", \
                    placement = \"every-switch\", segments = 3, mtu = 1620";
        let line = line(&[("schemes.sdtp.agents", &with(keys))]).unwrap().unwrap();
        assert_eq!((line.control_delay_s, line.sealed), (0.0325, false));
        for line_of in [
            "carriage = \"ip\"",
            "protect = \"all\"",
            "congestion = \"mask\"",
            "level = \"segment\"",
            "information = \"count-and-time\"",
            "seal = false",
            "persistence = \"100000000ns\"",
            "resequencing = \"90000000ns\"",
            "mtu = 1620",
        ] {
            assert!(line.nodes[0].configuration.contains(line_of), "{line_of}");
        }
        for line_of in ["placement = \"every-switch\"", "segments = 3"] {
            assert!(line.controller.contains(line_of), "{line_of}");
        }
    }

    #[test]
    fn a_switch_without_a_function_is_no_node() {
        let nodes = |changes: &[(&str, &str)]| {
            let line = line(changes).unwrap().unwrap();
            assert_eq!(line.controller.matches("[[sdtp-controller.nodes]]").count(), 5, "it knows all");
            (line.nodes.iter().map(|node| node.switch).collect::<Vec<_>>(), line.switches)
        };
        let nowhere = with("placement = \"nowhere\"");
        assert_eq!(nodes(&[("schemes.sdtp.agents", &nowhere)]), (vec![1, 5], vec![2, 3, 4]));
        let given = with("placement = \"given\", retransmission = \"middle\"");
        let middle = [("schemes.sdtp.agents", given.as_str()), ("nodes.s3.role", "\"middle\"")];
        assert_eq!(nodes(&middle), (vec![1, 3, 5], vec![2, 4]));
        // One direction is enough: copies of what goes to `a`.
        let one_way = [
            ("links.s1-s2.loss", "0"),
            ("links.s2-s3.loss", "0"),
            ("links.s3-s4.loss", "0"),
            ("links.s3-s4.backward.loss", "0.01"),
            ("links.s4-s5.loss", "0"),
        ];
        assert_eq!(nodes(&one_way), (vec![1, 4, 5], vec![2, 3]));
    }

    #[test]
    fn given_roles_are_said_of_each_node() {
        let keys = "placement = \"given\", caching = \"cache\"";
        let changes = [("schemes.sdtp.agents", with(keys)), ("nodes.s2.role", "\"cache\"".to_owned())];
        let line = line(&changes.each_ref().map(|(key, value)| (*key, value.as_str()))).unwrap().unwrap();
        assert_eq!(line.controller.matches("caching = true").count(), 1);
        assert_eq!(line.controller.matches("retransmission = false").count(), 5);
    }

    #[test]
    fn what_the_lab_cannot_do_is_said() {
        for (key, value, says) in [
            ("schemes.sdtp.agents", with("control_loss = 0.1"), "`control_loss` is in the simulator only"),
            ("schemes.sdtp.agents", with("carriage = \"native\""), "the lab's links carry IP"),
        ] {
            let error = line(&[(key, value.as_str())]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
