//! All TCP connections of this machine: `sock_diag(7)`. Anyone may ask.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::{Brought, ask, read};
use crate::TcpInfo;

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    /// The kernel's number of the socket, never given twice.
    pub cookie: u64,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The user whose it is.
    pub uid: u32,
    /// How it is.
    pub info: TcpInfo,
}

/// Asks for them, again and again.
#[derive(Debug)]
pub struct TcpSockets {
    socket: Socket,
    number: u32,
}

impl TcpSockets {
    /// Of the calling thread's network namespace.
    ///
    /// # Errors
    /// What socket(2) says.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        Ok(Self { socket, number: 0 })
    }

    /// Those that are open, or opening, or not closed yet; without those between two programs of this machine.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn all(&mut self) -> io::Result<Vec<TcpSocket>> {
        let mut found = Vec::new();
        for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            self.number = self.number.wrapping_add(1);
            let request = InetRequest {
                family,
                protocol: IPPROTO_TCP,
                extensions: ExtensionFlags::INFO,
                states: states(),
                socket_id: id,
            };
            ask(&self.socket, self.number, SockDiagMessage::InetRequest(request))?;
            loop {
                let (messages, is_last) = match read::<SockDiagMessage>(&self.socket)? {
                    Brought::Some(messages) => (messages, false),
                    Brought::Last(messages) => (messages, true),
                };
                // An answer to a request before, of which an error was the end.
                let answers = messages.into_iter().filter(|(number, _)| *number == self.number);
                found.extend(answers.filter_map(|(_, message)| socket_of(message)));
                if is_last {
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// Those in which something may be under way.
fn states() -> StateFlags {
    StateFlags::ESTABLISHED
        | StateFlags::SYN_SENT
        | StateFlags::FIN_WAIT1
        | StateFlags::CLOSE_WAIT
        | StateFlags::LAST_ACK
        | StateFlags::CLOSING
}

fn socket_of(message: SockDiagMessage) -> Option<TcpSocket> {
    let SockDiagMessage::InetResponse(response) = message else { return None };
    let InetResponse { header, nlas } = *response;
    let id = &header.socket_id;
    // Sockets for both families show IPv4 addresses as mapped ones.
    let end = |address: IpAddr, port| SocketAddr::new(address.to_canonical(), port);
    let (local, remote) =
        (end(id.source_address, id.source_port), end(id.destination_address, id.destination_port));
    let info = nlas.iter().find_map(|attribute| match attribute {
        Nla::TcpInfo(bytes) => Some(TcpInfo::parse(bytes)),
        _ => None,
    })?;
    let is_inside = local.ip() == remote.ip() || local.ip().is_loopback();
    (!is_inside).then(|| TcpSocket {
        cookie: u64::from_ne_bytes(id.cookie),
        local,
        remote,
        uid: header.uid,
        info,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_asked() {
        let mut sockets = TcpSockets::new().unwrap();
        // Twice: the second answer is not mixed with the first.
        for _ in 0..2 {
            let all = sockets.all().unwrap();
            assert!(all.iter().all(|one| !one.local.ip().is_loopback() && one.remote.port() != 0));
        }
    }
}
