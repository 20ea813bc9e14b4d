//! By which address this machine reaches others.
#![forbid(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_address_is_reached_from_itself() {
        let remote: SocketAddr = "127.0.0.7:1".parse().unwrap();
        assert!(source_towards(remote).unwrap().is_loopback());
        assert!(has_address(remote.ip()) && !has_address("192.0.2.1".parse().unwrap()));
    }
}
