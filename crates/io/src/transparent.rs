//! Connections that have another machine's address as their source: `IP_TRANSPARENT` of ip(7). Needs `CAP_NET_ADMIN`.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use mio::net::TcpStream as Stream;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};

/// What packets of such connections are marked with. Where a listener takes over a connection's mark
/// (`net.ipv4.tcp_fwmark_accept`), its answers have it too, and a rule leads them back to this machine.
pub const TRANSPARENT_MARK: u32 = 0x6866;

/// Connects to `peer` as if from `from`, at any port. Whether the peer's answers come back is up to its routes.
///
/// # Errors
/// What the kernel says; [`io::ErrorKind::Unsupported`] where one address is IPv4 and the other one IPv6.
pub fn connect_from(from: IpAddr, peer: SocketAddr) -> io::Result<Stream> {
    let (from, peer) = (from.to_canonical(), SocketAddr::new(peer.ip().to_canonical(), peer.port()));
    if from.is_ipv4() != peer.is_ipv4() {
        let why = format!("{from} cannot be the source of a connection to {peer}");
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let family = if peer.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    // For IPv6 too: the kernel has one flag for both (`inet->transparent`).
    setsockopt(&socket, sockopt::IpTransparent, &true)?;
    setsockopt(&socket, sockopt::Mark, &TRANSPARENT_MARK)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(peer)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(Stream::from_std(TcpStream::from(socket))),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_not_mixed() {
        let error = connect_from("192.0.2.1".parse().unwrap(), "[2001:db8::1]:22".parse().unwrap());
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
