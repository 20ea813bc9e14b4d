//! The state of the agents at nodes: each node's chain, and where a packet is in it. A packet that arrives at a node, or that
//! its own endpoints send, passes the chain in the order in which the scheme lists the agents (`run/network/chain.rs`).

use std::ops::Range;

use handfast_assist::Agent;
use handfast_net::Port;
use handfast_plan::topology::ChannelId;
use handfast_scenario::NodeId;

use crate::engine::entry::{Machine, Rank};
use crate::engine::queue::Timer;

/// What a scheme puts into a chain.
pub(crate) enum Link {
    /// A machine of its own.
    Agent(Box<dyn Agent>),
    /// A switch that the controller commands, by its number there. It is no [`Agent`]: controller, channels and all switches
    /// are one machine, and a packet that came to one switch may leave another.
    Switch(u32),
}

/// A member of a chain.
pub(crate) enum Member {
    Agent { machine: Box<dyn Agent>, node: NodeId, timer: Timer },
    Switch(u32),
}

/// The chains of all nodes.
#[derive(Default)]
pub(crate) struct Chains {
    /// Node by node; in a node in the order in which packets pass them.
    pub(crate) members: Vec<Member>,
    /// For each node its first member, and one more at the end; empty where no node has any.
    first: Vec<u32>,
}

impl Chains {
    /// Of a network of `nodes` nodes. `rank` says where a node's first agent has its place in the order of events.
    pub(crate) fn new(nodes: usize, mut links: Vec<(NodeId, Link)>, rank: impl Fn(NodeId) -> Rank) -> Self {
        if links.is_empty() {
            return Self::default();
        }
        // Stable: what the scheme lists first comes first.
        links.sort_by_key(|&(node, _)| node);
        let before = |node| links.partition_point(|&(at, _)| at < node) as u32;
        let first: Vec<u32> = (0..=nodes).map(before).collect();
        // The last node with an agent, and how many it has.
        let mut timers = (NodeId::MAX, 0);
        let member = |(id, (node, link)): (u32, (NodeId, Link))| match link {
            Link::Switch(number) => Member::Switch(number),
            Link::Agent(machine) => {
                timers = (node, if timers.0 == node { timers.1 + 1 } else { 0 });
                let timer = Timer::new(rank(node) + timers.1, Machine::Agent(id));
                Member::Agent { machine, node, timer }
            }
        };
        Self { members: (0..).zip(links).map(member).collect(), first }
    }

    /// The members at a node.
    #[inline]
    pub(crate) fn at(&self, node: NodeId) -> Range<u32> {
        match self.first.get(node..node + 2) {
            Some(&[first, end]) => first..end,
            _ => 0..0,
        }
    }

    /// The members behind the switch at a node.
    pub(crate) fn behind_switch(&self, node: NodeId) -> Range<u32> {
        let Range { start, end } = self.at(node);
        let is_switch = |&id: &u32| matches!(self.members[id as usize], Member::Switch(_));
        (start..end).find(is_switch).map_or(end, |id| id + 1)..end
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// How a packet leaves a node when the rest of the chain has let it pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leave {
    /// By the port to which its address leads.
    Routed,
    /// By this port.
    By(Port),
    /// As a switch without `OpenFlow` sends it on: it came by this channel.
    Normal(ChannelId),
}

/// Where a packet is in a chain.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) node: NodeId,
    /// The members that are still to see it.
    pub(crate) rest: Range<u32>,
    /// By which port it came.
    pub(crate) port: Port,
    pub(crate) leave: Leave,
}
