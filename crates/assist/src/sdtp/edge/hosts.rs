//! The hosts behind an edge.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_net::Port;
use handfast_wire::sdtp::Data;

/// The hosts behind an edge, each at its port: what comes from another port with their address is not theirs.
#[derive(Debug)]
pub(super) struct Hosts(BTreeMap<IpAddr, Host>);

#[derive(Clone, Copy, Debug)]
struct Host {
    port: Port,
    number: u16,
}

impl Hosts {
    pub(super) fn new(hosts: BTreeMap<IpAddr, Port>) -> Self {
        // Of more hosts than there are numbers several have one, and share what caches keep for it.
        let numbers = (1..=Data::HOSTS).cycle();
        Self(hosts.into_iter().zip(numbers).map(|((at, port), number)| (at, Host { port, number })).collect())
    }

    /// Whether a host is behind the edge.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.0.contains_key(&address)
    }

    /// Whether a host is behind the edge, at this port.
    pub(super) fn is_at(&self, address: IpAddr, port: Port) -> bool {
        self.0.get(&address).is_some_and(|host| host.port == port)
    }

    /// What caches call a host; 0: it is none of these.
    pub(super) fn number(&self, address: IpAddr) -> u16 {
        self.0.get(&address).map_or(0, |host| host.number)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn each_host_has_a_number_as_far_as_there_are_numbers() {
        let address = |number: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number));
        let hosts = Hosts::new((0..3000).map(|number| (address(number), Port(number % 2))).collect());
        let numbers = [0, 1, 2046, 2047, 2999, 3000].map(|number| hosts.number(address(number)));
        assert_eq!(numbers, [1, 2, 2047, 1, 953, 0]);
        assert_eq!([0, 1].map(|port| hosts.is_at(address(3), Port(port))), [false, true]);
        assert_eq!((hosts.has(address(2999)), hosts.has(address(3000))), (true, false));
    }
}
