//! Addresses of nodes, IP and Ethernet, the same on both backends.

use std::net::{IpAddr, Ipv4Addr};

use handfast_scenario::NodeId;

/// Nodes that have an address: 10.0.0.1 to 10.255.255.254.
pub const MAX_NODES: usize = (1 << 24) - 2;

/// The address of a node: 10.0.0.0/8, counted up from 10.0.0.1.
pub fn address_of(node: NodeId) -> IpAddr {
    let [_, a, b, c] = (node as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c).into()
}

/// The node with that address. Whether the scenario has so many nodes is for the caller to say.
#[inline]
pub fn node_of(address: IpAddr) -> Option<u32> {
    let IpAddr::V4(address) = address else { return None };
    let [10, a, b, c] = address.octets() else { return None };
    u32::from_be_bytes([0, a, b, c]).checked_sub(1)
}

/// The Ethernet address of all interfaces of a node: locally administered, with the last three bytes of its IP address.
pub fn mac_of(node: NodeId) -> [u8; 6] {
    let [_, a, b, c] = (node as u32 + 1).to_be_bytes();
    [2, 0, 10, a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_nodes_map_both_ways() {
        for node in [0, 254, 255, 70_000, MAX_NODES - 1] {
            assert_eq!(node_of(address_of(node)), Some(node as u32), "{}", address_of(node));
        }
        assert_eq!(address_of(0).to_string(), "10.0.0.1");
        assert_eq!(mac_of(70_000), [2, 0, 10, 1, 0x11, 0x71]);
        assert_eq!(node_of("10.0.0.0".parse().unwrap()), None);
        assert_eq!(node_of("11.0.0.1".parse().unwrap()), None);
        assert_eq!(node_of("::1".parse().unwrap()), None);
    }
}
