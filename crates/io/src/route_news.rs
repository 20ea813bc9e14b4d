//! That addresses, links or routes of this machine change: rtnetlink(7).
//!
//! The kernel's messages are not read for what they say: they come in any order, and some are lost when many come (netlink(7),
//! `ENOBUFS`). What holds afterwards the kernel's routes say ([`source_towards`]).
#![forbid(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR`, `RTMGRP_IPV4_ROUTE`, `RTMGRP_IPV6_IFADDR` and `RTMGRP_IPV6_ROUTE` of `linux/rtnetlink.h`.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

/// Becomes readable when something changes.
#[derive(Debug)]
pub struct RouteNews(OwnedFd);

impl RouteNews {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// What socket(2) or bind(2) says.
    pub fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Self(socket))
    }

    /// Takes what the kernel has said: whether it has said something.
    pub fn take(&self) -> bool {
        let mut buffer = [0; 8192];
        let mut has_news = false;
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                // The error says that more has changed than the socket can hold.
                Ok(_) | Err(Errno::ENOBUFS) => has_news = true,
                Err(Errno::EINTR) => {}
                Err(_) => return has_news,
            }
        }
    }
}

impl AsFd for RouteNews {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

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
    fn there_is_no_news_without_a_change() {
        assert!(!RouteNews::new().unwrap().take());
    }

    #[test]
    fn a_loopback_address_is_reached_from_itself() {
        let remote: SocketAddr = "127.0.0.7:1".parse().unwrap();
        assert!(source_towards(remote).unwrap().is_loopback());
        assert!(has_address(remote.ip()) && !has_address("192.0.2.1".parse().unwrap()));
    }
}
