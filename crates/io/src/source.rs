//! By which address this machine reaches others.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// The address that a new connection to `remote` would have here. Nothing is sent.
///
/// # Errors
/// There is no route.
pub fn source_towards(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

/// Whether this machine has an address.
pub fn has_address(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The other addresses of this machine by which it may reach what it reaches by `first`, each with its interface: those of other
/// interfaces before those of the same one. Of a loopback address there are none.
///
/// # Errors
/// What the kernel says of its interfaces.
pub fn addresses_beside(first: IpAddr) -> io::Result<Vec<(IpAddr, OsString)>> {
    if first.is_loopback() {
        return Ok(Vec::new());
    }
    let up = InterfaceFlags::IFF_UP;
    let all: Vec<_> = getifaddrs()?
        .filter(|found| found.flags.contains(up) && !found.flags.contains(InterfaceFlags::IFF_LOOPBACK))
        .filter_map(|found| {
            Some((address_of(found.address.as_ref()?)?, OsString::from(found.interface_name)))
        })
        .collect();
    let own = all.iter().find(|(address, _)| *address == first).map(|(_, interface)| interface.clone());
    let is_beside =
        |address: IpAddr| address != first && address.is_ipv4() == first.is_ipv4() && !is_link_local(address);
    let mut beside: Vec<_> = all.into_iter().filter(|(address, _)| is_beside(*address)).collect();
    beside.sort_by_key(|(_, interface)| Some(interface) == own.as_ref());
    Ok(beside)
}

fn address_of(storage: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// RFC 3927 §1.2, RFC 4291 §2.5.6: no router carries what it sends.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_address_is_reached_from_itself() {
        let remote: SocketAddr = "127.0.0.7:1".parse().unwrap();
        assert!(source_towards(remote).unwrap().is_loopback());
        assert!(has_address(remote.ip()) && !has_address("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn the_addresses_beside_one_are_of_its_family_and_here() {
        let all = |first: &str| addresses_beside(first.parse().unwrap()).unwrap();
        assert_eq!(all("127.0.0.1"), [], "nobody is reached by several of these");
        for (address, interface) in all("192.0.2.1") {
            assert!(address.is_ipv4() && !address.is_loopback() && !interface.is_empty());
            assert!(has_address(address), "{address}");
        }
    }
}
