//! Which links a node has, and by which of them a destination is reached.

use std::collections::VecDeque;

use handfast_scenario::{LinkId, NodeId, Scenario};

use crate::radios::Radios;

/// One direction of a link: `2 * link`, plus one for the direction from `between[1]` to `between[0]`.
pub type ChannelId = usize;

/// The channel of `link` that leaves `between[end]`.
pub const fn channel(link: LinkId, end: usize) -> ChannelId {
    2 * link + end
}

/// The other direction of the same link.
#[inline]
pub const fn reverse(channel: ChannelId) -> ChannelId {
    channel ^ 1
}

/// The node that a channel leaves.
pub fn origin(scenario: &Scenario, channel: ChannelId) -> NodeId {
    scenario.links[channel / 2].between[channel % 2]
}

/// A node's end of a link.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The direction that leaves the node here.
    pub out: u32,
    /// The node at the other end.
    pub neighbour: u32,
}

/// Nodes, links, and shortest paths by number of hops; of equal ones, the one over the link listed first. They are static
/// but for those of stations that roam: these follow [`Topology::roam`].
///
/// A node with one link (a leaf) needs no table: all it sends goes out there, and to reach it is to reach its neighbour.
/// Tables are kept between the other nodes only, so 20,000 hosts on two routers cost two entries each.
#[derive(Clone, Debug)]
pub struct Topology {
    /// All nodes' attachments, node by node.
    attachments: Vec<Attachment>,
    /// Where each node's attachments begin; one more at the end.
    first: Vec<u32>,
    /// For each channel, the port at which it arrives.
    arrival_port: Vec<u32>,
    /// For each channel, the node that it leaves.
    from: Vec<u32>,
    forwards: Vec<bool>,
    /// For each link whether it is a station's to an access point that it is not associated with, or to one of a further radio: who
    /// sends to an address there has a goal of its own ([`Topology::goal_by`]).
    idle: Vec<bool>,
    /// For each node its number among those with several links, or [`NONE`].
    core_of: Vec<u32>,
    /// The same, and [`NONE`] as well for one that does not forward.
    forwarder_of: Vec<u32>,
    cores: usize,
    goals: Vec<Goal>,
    /// The channel from core node `a` towards core node `b`, at `a * cores + b`.
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// A destination, with what routers need to know of it: packets carry it, so that no table by destination is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The node; none has the number of [`Goal::nowhere`].
    pub node: u32,
    /// For a leaf the core node next to it, for a core node itself, by its number among core nodes.
    home: u32,
    /// For a leaf the channel to it from there.
    last: u32,
}

impl Goal {
    /// An address that no node has.
    pub const fn nowhere() -> Self {
        Self { node: NONE, home: NONE, last: NONE }
    }
}

impl Topology {
    /// The network of a scenario, and every shortest path in it.
    pub fn new(scenario: &Scenario) -> Self {
        let (attachments, first, arrival_port) = attach(scenario);
        let forwards = scenario.nodes.iter().map(|n| n.kind.forwards()).collect();
        let mut idle = vec![false; scenario.links.len()];
        Radios::new(scenario).secondary().for_each(|link| idle[link] = true);
        let mut this = Self {
            attachments,
            first,
            arrival_port,
            from: (0..2 * scenario.links.len()).map(|channel| origin(scenario, channel) as u32).collect(),
            forwards,
            idle,
            core_of: Vec::new(),
            forwarder_of: Vec::new(),
            cores: 0,
            goals: Vec::new(),
            next: Vec::new(),
        };
        this.find_cores();
        this.find_goals();
        this.find_routes();
        this
    }

    /// The ends of links at `node`, by port.
    #[inline]
    pub fn ports(&self, node: NodeId) -> &[Attachment] {
        &self.attachments[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.attachments.len()
    }

    /// The port at which a channel arrives.
    #[inline]
    pub fn arrival_port(&self, channel: ChannelId) -> u32 {
        self.arrival_port[channel]
    }

    /// The node and port that a channel leaves.
    #[inline]
    pub fn departure(&self, channel: ChannelId) -> (NodeId, u32) {
        (self.from[channel] as usize, self.arrival_port[reverse(channel)])
    }

    /// How to get to `dst`, a node or not.
    pub fn goal(&self, dst: NodeId) -> Goal {
        self.goals.get(dst).copied().unwrap_or(Goal::nowhere())
    }

    /// How to get to a node by one of its links, whatever other paths there are: the node at the other end forwards.
    pub fn goal_by(&self, dst: NodeId, link: LinkId) -> Goal {
        let Some(last) = self.ports(dst).iter().find(|port| port.out as usize / 2 == link) else {
            return Goal::nowhere();
        };
        let home = self.core_of[last.neighbour as usize];
        Goal { node: dst as u32, home, last: reverse(last.out as usize) as u32 }
    }

    /// The channel by which `node` sends towards another one. [`None`]: no path, as far as this node knows; a leaf knows
    /// nothing and sends everything to its neighbour.
    #[inline]
    pub fn towards(&self, node: NodeId, goal: Goal) -> Option<u32> {
        if self.core_of[node] == NONE {
            return self.ports(node).first().map(|attachment| attachment.out);
        }
        self.core_towards(self.core_of[node], goal)
    }

    /// The channel by which `node` passes on what is for another one. [`None`]: it does not, or there is no path. A leaf
    /// could only send it back.
    #[inline]
    pub fn pass_on(&self, node: NodeId, goal: Goal) -> Option<u32> {
        let core = self.forwarder_of[node];
        if core == NONE { None } else { self.core_towards(core, goal) }
    }

    #[inline]
    fn core_towards(&self, core: u32, goal: Goal) -> Option<u32> {
        if goal.home == core {
            return Some(goal.last);
        }
        let next = *self.next.get(core as usize * self.cores + goal.home as usize)?;
        (next != NONE).then_some(next)
    }

    /// The station has gone from one of its radio links to another: from now on packets for it turn there wherever they are,
    /// as when an access point tells the switches behind it of a station that associates (hostapd does by an 802.2 XID
    /// frame). Until then they go to the old access point.
    pub fn roam(&mut self, station: NodeId, old_link: LinkId, new_link: LinkId) {
        self.idle[old_link] = true;
        self.idle[new_link] = false;
        let core = self.core_of[station];
        if core != NONE {
            let (nodes, neighbours) = self.core_graph();
            self.find_routes_to(core as usize, &nodes, &neighbours);
            self.find_routes_from(core as usize, &nodes, &neighbours);
        }
    }

    /// Whether a link is in use: no station's to an access point where it is not.
    pub fn is_in_use(&self, link: LinkId) -> bool {
        !self.idle[link]
    }

    /// As [`Topology::roam`] where each access point is a subnet of its own: the access points and the station know, and everybody
    /// else goes on sending to the access point of the start.
    pub fn roam_alone(&mut self, station: NodeId, old_link: LinkId, new_link: LinkId) {
        self.idle[old_link] = true;
        self.idle[new_link] = false;
        let core = self.core_of[station];
        if core == NONE {
            return;
        }
        let (nodes, neighbours) = self.core_graph();
        self.find_routes_from(core as usize, &nodes, &neighbours);
        let ends = self.ports(station).iter().map(|attachment| reverse(attachment.out as usize));
        let beside: Vec<_> = ends.filter(|id| [old_link, new_link].contains(&(id / 2))).collect();
        for id in beside {
            let ap = self.core_of[self.from[id] as usize];
            if ap != NONE {
                let here = id / 2 == new_link;
                self.next[ap as usize * self.cores + core as usize] = if here { id as u32 } else { NONE };
            }
        }
    }

    /// The channels from one node to another; [`None`]: there is no path.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        self.path_by(from, None, self.goals[to])
    }

    /// The channels from one node to a goal; `out`: the first of them, where that is settled.
    pub fn path_by(&self, from: NodeId, out: Option<u32>, goal: Goal) -> Option<Vec<u32>> {
        let (mut at, mut path) = (from, Vec::new());
        while at != goal.node as usize {
            if at != from && !self.forwards[at] {
                return None;
            }
            let out = out.filter(|_| at == from).or_else(|| self.towards(at, goal))?;
            path.push(out);
            // Shortest paths have no loops; this one would come from a leaf that sends what it got back.
            if path.len() > self.forwards.len() {
                return None;
            }
            at = self.from[reverse(out as usize)] as usize;
        }
        Some(path)
    }

    /// The ports by which shortest paths lead from one node to another.
    pub fn equal_cost(&self, from: NodeId, to: NodeId) -> Vec<u32> {
        let Some(shortest) = self.path(from, to).map(|path| path.len()) else { return Vec::new() };
        let leads = |attachment: &Attachment| {
            let next = attachment.neighbour as NodeId;
            let rest = (next == to || self.forwards[next]).then(|| self.path(next, to)).flatten();
            !self.idle[attachment.out as usize / 2] && rest.is_some_and(|rest| rest.len() + 1 == shortest)
        };
        (0..)
            .zip(self.ports(from))
            .filter(|(_, attachment)| leads(attachment))
            .map(|(port, _)| port)
            .collect()
    }

    fn find_cores(&mut self) {
        for node in 0..self.forwards.len() {
            let is_core = self.ports(node).len() > 1;
            let core = if is_core { self.cores as u32 } else { NONE };
            self.core_of.push(core);
            self.forwarder_of.push(if self.forwards[node] { core } else { NONE });
            self.cores += usize::from(is_core);
        }
    }

    fn find_goals(&mut self) {
        self.goals =
            (0..self.forwards.len()).map(|node| Goal { node: node as u32, ..Goal::nowhere() }).collect();
        for node in 0..self.forwards.len() {
            let core = self.core_of[node];
            if core == NONE {
                continue;
            }
            self.goals[node].home = core;
            for Attachment { out, neighbour } in self.ports(node).to_vec() {
                if self.core_of[neighbour as usize] == NONE {
                    self.goals[neighbour as usize] = Goal { node: neighbour, home: core, last: out };
                }
            }
        }
    }

    fn find_routes(&mut self) {
        let (nodes, neighbours) = self.core_graph();
        self.next = vec![NONE; self.cores * self.cores];
        for dst in 0..self.cores {
            self.find_routes_to(dst, &nodes, &neighbours);
        }
    }

    /// The core nodes, and for each the channels to its neighbours.
    fn core_graph(&self) -> (Vec<NodeId>, Vec<Vec<(u32, usize)>>) {
        let nodes: Vec<NodeId> = (0..self.core_of.len()).filter(|&n| self.core_of[n] != NONE).collect();
        let neighbours = nodes.iter().map(|&n| self.core_neighbours(n)).collect();
        (nodes, neighbours)
    }

    fn find_routes_to(&mut self, dst: usize, nodes: &[NodeId], neighbours: &[Vec<(u32, usize)>]) {
        let distance = self.distances(dst, nodes, neighbours);
        for (core, outs) in neighbours.iter().enumerate() {
            // A neighbour that does not forward leads to itself only.
            let usable = |&&(_, n): &&(u32, usize)| n == dst || self.forwards[nodes[n]];
            let nearer =
                |&&(_, n): &&(u32, usize)| distance[n].is_some_and(|d| Some(d + 1) == distance[core]);
            let out = outs.iter().filter(usable).find(nearer).map_or(NONE, |&(out, _)| out);
            self.next[core * self.cores + dst] = out;
        }
    }

    /// The paths from one core node to all others. What is reached first is reached by the first of the shortest paths: each
    /// rank of the search keeps the order in which the links are listed.
    fn find_routes_from(&mut self, src: usize, nodes: &[NodeId], neighbours: &[Vec<(u32, usize)>]) {
        let mut first = vec![None; self.cores];
        first[src] = Some(NONE);
        let mut queue = VecDeque::from([src]);
        while let Some(core) = queue.pop_front() {
            if core != src && !self.forwards[nodes[core]] {
                continue;
            }
            for &(out, neighbour) in &neighbours[core] {
                if first[neighbour].is_none() {
                    first[neighbour] = if core == src { Some(out) } else { first[core] };
                    queue.push_back(neighbour);
                }
            }
        }
        for (dst, out) in first.into_iter().enumerate() {
            self.next[src * self.cores + dst] = out.unwrap_or(NONE);
        }
    }

    /// Channels of a core node that lead to core nodes, and which; by port. Not those on which no station is.
    fn core_neighbours(&self, node: NodeId) -> Vec<(u32, usize)> {
        let core = |a: &Attachment| self.core_of[a.neighbour as usize];
        let ports = self.ports(node).iter().filter(|a| core(a) != NONE && !self.idle[a.out as usize / 2]);
        ports.map(|a| (a.out, core(a) as usize)).collect()
    }

    /// Hops from each core node to `dst`.
    fn distances(&self, dst: usize, nodes: &[NodeId], neighbours: &[Vec<(u32, usize)>]) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.cores];
        distance[dst] = Some(0);
        let mut queue = VecDeque::from([(dst, 0)]);
        while let Some((core, hops)) = queue.pop_front() {
            if core != dst && !self.forwards[nodes[core]] {
                continue;
            }
            for &(_, neighbour) in &neighbours[core] {
                if distance[neighbour].is_none() {
                    distance[neighbour] = Some(hops + 1);
                    queue.push_back((neighbour, hops + 1));
                }
            }
        }
        distance
    }
}

/// Attachments node by node in link order, where each node's begin, and the arrival port of each channel.
fn attach(scenario: &Scenario) -> (Vec<Attachment>, Vec<u32>, Vec<u32>) {
    let mut first = vec![0_u32; scenario.nodes.len() + 1];
    for end in scenario.links.iter().flat_map(|link| link.between) {
        first[end + 1] += 1;
    }
    for node in 0..scenario.nodes.len() {
        first[node + 1] += first[node];
    }
    let mut filled = vec![0_u32; scenario.nodes.len()];
    let mut attachments = vec![Attachment { out: NONE, neighbour: NONE }; scenario.links.len() * 2];
    let mut arrival_port = vec![NONE; scenario.links.len() * 2];
    for (id, link) in scenario.links.iter().enumerate() {
        for end in [0, 1] {
            let node = link.between[end];
            let port = filled[node];
            filled[node] += 1;
            attachments[(first[node] + port) as usize] =
                Attachment { out: channel(id, end) as u32, neighbour: link.between[1 - end] as u32 };
            arrival_port[channel(id, 1 - end)] = port;
        }
    }
    (attachments, first, arrival_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Net};

    fn nodes_of(scenario: &Scenario, path: &[u32]) -> Vec<NodeId> {
        path.iter().map(|&channel| origin(scenario, reverse(channel as usize))).collect()
    }

    #[test]
    fn a_channel_and_its_reverse_join_the_two_ends_of_a_link() {
        let scenario = Net::new("hss").link(0, 1).link(2, 1).build();
        let ends = |channel| [origin(&scenario, channel), origin(&scenario, reverse(channel))];
        assert_eq!([0, 1, 2, 3].map(ends), [[0, 1], [1, 0], [2, 1], [1, 2]]);
    }

    #[test]
    fn a_subnet_keeps_sending_to_where_a_station_began() {
        let scenario = testing::roam(&[(1000, 3, 500)]);
        let mut topology = Topology::new(&scenario);
        topology.roam_alone(4, 3, 4);
        // From the switch to the old access point, which has lost it; from the new one, which has it; and back.
        assert_eq!(topology.path(0, 4), None);
        assert_eq!(
            topology.towards(1, topology.goal(4)),
            Topology::new(&scenario).towards(1, topology.goal(4))
        );
        assert_eq!(nodes_of(&scenario, &topology.path(3, 4).unwrap()), [4]);
        assert_eq!(nodes_of(&scenario, &topology.path(4, 0).unwrap()), [3, 1, 0]);
        topology.roam_alone(4, 4, 3);
        assert_eq!(topology.path(0, 4), Topology::new(&scenario).path(0, 4));
        assert_eq!(topology.path(4, 0), Topology::new(&scenario).path(4, 0));
    }

    #[test]
    fn leaves_share_their_neighbours_routes() {
        let scenario = testing::dumbbell(1000);
        let topology = Topology::new(&scenario);
        assert_eq!(topology.next.len(), 4, "two routers know each other and themselves");
        for flow in &scenario.flows {
            let path = topology.path(flow.from, flow.to).unwrap();
            assert_eq!(nodes_of(&scenario, &path), [0, 1, flow.to]);
            assert_eq!(topology.path(flow.to, flow.from).unwrap().len(), 3);
        }
    }

    #[test]
    fn of_two_paths_the_shorter_one_then_the_one_listed_first() {
        // h0 - s1 - s2 - s3 - h4, and s1 - s3 directly; a second link between s1 and s3 changes nothing.
        let net = Net::new("hsssh").link(0, 1).link(1, 2).link(2, 3).link(3, 4).link(1, 3).link(1, 3);
        let scenario = net.build();
        let topology = Topology::new(&scenario);
        assert_eq!(topology.path(0, 4), Some(vec![0, 8, 6]));
        assert_eq!(topology.path(4, 0), Some(vec![7, 9, 1]));
        assert_eq!(topology.equal_cost(1, 4), [2, 3], "the two direct links");
        assert_eq!(topology.equal_cost(0, 4), [0]);
        assert_eq!(topology.equal_cost(4, 2), [0], "by s3 alone");
        assert_eq!(topology.equal_cost(2, 2), [0u32; 0]);
        assert_eq!(topology.arrival_port(8), 2, "s3 lists its links to s2, h4 and s1 in that order");
    }

    /// The network with the station, node 4, at that access point from the beginning.
    fn starting_at(scenario: &Scenario, ap: NodeId) -> Topology {
        let mut scenario = scenario.clone();
        scenario.nodes[4].ap = Some(ap);
        Topology::new(&scenario)
    }

    #[test]
    fn paths_follow_a_station_and_those_of_others_stay() {
        let scenario = testing::roam(&[]);
        let mut topology = Topology::new(&scenario);
        let of = |topology: &Topology| [topology.path(0, 4), topology.path(4, 0)].map(Option::unwrap);
        let there = topology.goal(4);
        assert_eq!(of(&topology), [vec![0, 2, 6], vec![7, 3, 1]]);
        assert_eq!(topology.pass_on(3, there), Some(5), "the other access point sends it back");
        topology.roam(4, 3, 4);
        assert_eq!(of(&topology), [vec![0, 4, 8], vec![9, 5, 1]]);
        assert_eq!(topology.goal(4), there, "packets under way turn");
        assert_eq!(topology.pass_on(2, there), Some(3));
        assert_eq!(topology.next, starting_at(&scenario, 3).next);
        topology.roam(4, 4, 3);
        assert_eq!(topology.next, starting_at(&scenario, 2).next);
    }

    #[test]
    fn a_station_with_a_cable_too_takes_the_shorter_path() {
        // The host's switch has a cable to the station: two hops; by air it is three, to the first access point one.
        let net = Net::new("hsaam").link(0, 1).link(1, 2).link(1, 3).link(2, 4).link(3, 4).link(1, 4);
        let scenario = net.build();
        let mut topology = Topology::new(&scenario);
        assert_eq!(topology.path(0, 4), Some(vec![0, 10]));
        assert_eq!(topology.path(4, 2), Some(vec![7]));
        topology.roam(4, 3, 4);
        assert_eq!(topology.path(4, 2), Some(vec![11, 2]));
        assert_eq!(topology.path(4, 3), Some(vec![9]));
        assert_eq!(topology.path(4, 0), Some(vec![11, 1]));
        assert_eq!(topology.next, starting_at(&scenario, 3).next);
    }

    #[test]
    fn hosts_do_not_forward() {
        // h0 - h1 - h2, and the long path h0 - s3 - s4 - h2.
        let net = Net::new("hhhss").link(0, 1).link(1, 2).link(0, 3).link(3, 4).link(4, 2);
        let topology = Topology::new(&net.build());
        assert_eq!(topology.path(0, 2), Some(vec![4, 6, 8]));
        assert_eq!(topology.path(1, 0), Some(vec![1]));
    }

    #[test]
    fn what_cannot_be_reached_has_no_path() {
        let topology = Topology::new(&Net::new("hhhshh").link(0, 1).link(2, 3).link(3, 4).build());
        assert_eq!(topology.path(0, 1), Some(vec![0]));
        assert_eq!(topology.path(0, 2), None);
        assert_eq!(topology.path(2, 0), None);
        assert_eq!(topology.path(2, 5), None);
    }
}
