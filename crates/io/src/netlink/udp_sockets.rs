//! The UDP sockets of this machine that are connected: `sock_diag(7)`. Anyone may ask.

use std::io;
use std::net::SocketAddr;

use netlink_packet_sock_diag::constants::IPPROTO_UDP;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetResponse, StateFlags};

use super::diag::{Diag, ends};

/// A socket that speaks with one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpSocket {
    /// The kernel's number of the socket, never given twice.
    pub cookie: u64,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether something has come that the program has not read.
    pub has_unread: bool,
}

/// Asks for them, again and again.
#[derive(Debug)]
pub struct UdpSockets(Diag);

impl UdpSockets {
    /// Of the calling thread's network namespace.
    ///
    /// # Errors
    /// What socket(2) says.
    pub fn new() -> io::Result<Self> {
        Diag::new().map(Self)
    }

    /// Those that are connected to a port, also to one of this machine.
    ///
    /// # Errors
    /// What the kernel says, such as that it has no `CONFIG_INET_UDP_DIAG`.
    pub fn to_port(&mut self, port: u16) -> io::Result<Vec<UdpSocket>> {
        self.matching(|socket| socket.remote.port() == port)
    }

    /// Those that are connected to this machine's loopback addresses.
    ///
    /// # Errors
    /// As of [`UdpSockets::to_port`].
    pub fn within(&mut self) -> io::Result<Vec<UdpSocket>> {
        self.matching(|socket| socket.remote.ip().is_loopback())
    }

    fn matching(&mut self, is_wanted: impl Fn(&UdpSocket) -> bool) -> io::Result<Vec<UdpSocket>> {
        // A connected socket of UDP is `TCP_ESTABLISHED`.
        self.0.all(IPPROTO_UDP, &ExtensionFlags::empty(), &StateFlags::ESTABLISHED, |response| {
            Some(socket_of(&response)).filter(&is_wanted)
        })
    }
}

fn socket_of(response: &InetResponse) -> UdpSocket {
    let (local, remote) = ends(&response.header.socket_id);
    let cookie = u64::from_ne_bytes(response.header.socket_id.cookie);
    UdpSocket { cookie, local, remote, has_unread: response.header.recv_queue > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connected_socket_is_seen_and_what_it_has_not_read() {
        let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let client = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sockets = UdpSockets::new().unwrap();
        assert_eq!(sockets.to_port(port).unwrap(), [], "it is connected to nothing");
        client.connect(("127.0.0.1", port)).unwrap();
        let [seen] = sockets.to_port(port).unwrap()[..] else { panic!("one is connected") };
        assert_eq!((seen.local, seen.has_unread), (client.local_addr().unwrap(), false));
        server.send_to(b"x", seen.local).unwrap();
        assert_eq!(sockets.to_port(port).unwrap(), [UdpSocket { has_unread: true, ..seen }]);
        assert!(sockets.within().unwrap().iter().any(|socket| socket.cookie == seen.cookie));
    }
}
