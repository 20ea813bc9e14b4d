//! Addresses of nodes, IP and Ethernet, the same on both backends.
//!
//! Nothing else computes an address from a node or a node from an address: both are looked up here.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use handfast_scenario::{NodeId, Scenario};

/// Nodes that can have an address: 10.0.0.1 to 10.255.255.254.
pub const MAX_NODES: usize = (1 << 24) - 2;

/// An address by its number in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressId(u32);

/// One of a node's interfaces, counted from 0.
pub type InterfaceId = u32;

/// Who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    node: u32,
    interface: InterfaceId,
}

/// Which addresses the nodes of a network have.
///
/// Every node has an interface with one address. A node may have more of both: a station with two radios has an address by each.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// For each address, from 10.0.0.1 on, who has it. The first address of node `n` is number `n`.
    owners: Vec<Owner>,
    /// The further addresses of the nodes that have several.
    more: BTreeMap<NodeId, Vec<AddressId>>,
}

impl Addresses {
    /// The addresses of a scenario's nodes.
    pub fn of(scenario: &Scenario) -> Self {
        let mut this = Self::new(scenario.nodes.len());
        for (node, at) in scenario.nodes.iter().enumerate() {
            for interface in 1..=at.more_aps.len() {
                this.assign(node, interface as InterfaceId);
            }
        }
        this
    }

    /// One interface and one address for each of `nodes`.
    pub fn new(nodes: usize) -> Self {
        let owners = (0..nodes as u32).map(|node| Owner { node, interface: 0 }).collect();
        Self { owners, more: BTreeMap::new() }
    }

    /// Assigns one more address to an interface of a node; [`None`]: all addresses are taken.
    pub fn assign(&mut self, node: NodeId, interface: InterfaceId) -> Option<AddressId> {
        let id = AddressId(self.owners.len() as u32);
        if self.owners.len() >= MAX_NODES {
            return None;
        }
        self.owners.push(Owner { node: node as u32, interface });
        self.more.entry(node).or_default().push(id);
        Some(id)
    }

    /// The first address of a node.
    pub fn first(&self, node: NodeId) -> AddressId {
        AddressId(node as u32)
    }

    /// The addresses of a node, each with its interface.
    pub fn all(&self, node: NodeId) -> impl Iterator<Item = (InterfaceId, AddressId)> + '_ {
        let more = self.more.get(&node).into_iter().flatten().copied();
        std::iter::once(self.first(node)).chain(more).map(|id| (self.owners[id.0 as usize].interface, id))
    }

    /// An address as packets carry it.
    #[inline]
    pub fn ip(&self, id: AddressId) -> IpAddr {
        Ipv4Addr::from_bits(PREFIX | (id.0 + 1)).into()
    }

    /// The first address of a node, as packets carry it.
    #[inline]
    pub fn ip_of(&self, node: NodeId) -> IpAddr {
        self.ip(self.first(node))
    }

    /// Which address it is; [`None`]: no node's.
    #[inline]
    pub fn find(&self, ip: IpAddr) -> Option<AddressId> {
        let IpAddr::V4(ip) = ip else { return None };
        let number = (ip.to_bits() ^ PREFIX).checked_sub(1)?;
        self.owners.get(number as usize).map(|_| AddressId(number))
    }

    /// The node that has an address.
    #[inline]
    pub fn node(&self, id: AddressId) -> u32 {
        self.owners[id.0 as usize].node
    }

    /// The node with that address; [`None`]: none has it.
    #[inline]
    pub fn node_of(&self, ip: IpAddr) -> Option<u32> {
        self.find(ip).map(|id| self.node(id))
    }

    /// The Ethernet address of a node's first interface.
    pub fn mac_of(&self, node: NodeId) -> [u8; 6] {
        self.mac(self.first(node))
    }

    /// The Ethernet address of the interface that has an IP address: locally administered, with the last three bytes of the
    /// interface's first IP address.
    pub fn mac(&self, id: AddressId) -> [u8; 6] {
        let Owner { node, interface } = self.owners[id.0 as usize];
        let first = self.all(node as NodeId).find(|&(other, _)| other == interface).map_or(id, |(_, id)| id);
        let [_, a, b, c] = (first.0 + 1).to_be_bytes();
        [2, 0, 10, a, b, c]
    }
}

/// 10.0.0.0/8.
const PREFIX: u32 = 10 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_nodes_map_both_ways() {
        let table = Addresses::new(70_001);
        for node in [0, 254, 255, 70_000] {
            assert_eq!(table.node_of(table.ip_of(node)), Some(node as u32), "{}", table.ip_of(node));
        }
        assert_eq!(table.ip_of(0).to_string(), "10.0.0.1");
        assert_eq!(table.mac_of(70_000), [2, 0, 10, 1, 0x11, 0x71]);
        for nobody in ["10.0.0.0", "10.1.17.114", "11.0.0.1", "::1"] {
            assert_eq!(table.node_of(nobody.parse().unwrap()), None, "{nobody}");
        }
    }

    #[test]
    fn a_node_may_have_several_interfaces_and_addresses() {
        let mut table = Addresses::new(3);
        let wifi = table.assign(1, 1).unwrap();
        let both = [table.assign(1, 1).unwrap(), table.assign(2, 0).unwrap()];
        assert_eq!(table.all(1).collect::<Vec<_>>(), [(0, table.first(1)), (1, wifi), (1, both[0])]);
        assert_eq!([wifi, both[0], both[1]].map(|id| table.node(id)), [1, 1, 2]);
        assert_eq!(table.find("10.0.0.4".parse().unwrap()), Some(wifi));
        assert_eq!(table.mac(both[0]), table.mac(wifi), "they are one interface");
        assert_ne!(table.mac(wifi), table.mac_of(1));
        assert_eq!(table.mac(both[1]), table.mac_of(2));
    }
}
