//! All TCP connections of this machine: `sock_diag(7)`. Anyone may ask.

use std::io;
use std::net::SocketAddr;

use netlink_packet_sock_diag::constants::IPPROTO_TCP;
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetResponse, StateFlags};

use super::diag::{Diag, ends};
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
pub struct TcpSockets(Diag);

impl TcpSockets {
    /// Of the calling thread's network namespace.
    ///
    /// # Errors
    /// What socket(2) says.
    pub fn new() -> io::Result<Self> {
        Diag::new().map(Self)
    }

    /// Those that are open, or opening, or not closed yet; without those between two programs of this machine.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn all(&mut self) -> io::Result<Vec<TcpSocket>> {
        self.0.all(IPPROTO_TCP, &ExtensionFlags::INFO, &states(), socket_of)
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

fn socket_of(response: InetResponse) -> Option<TcpSocket> {
    let InetResponse { header, nlas } = response;
    let (local, remote) = ends(&header.socket_id);
    let info = nlas.iter().find_map(|attribute| match attribute {
        Nla::TcpInfo(bytes) => Some(TcpInfo::parse(bytes)),
        _ => None,
    })?;
    let is_inside = local.ip() == remote.ip() || local.ip().is_loopback();
    (!is_inside).then(|| TcpSocket {
        cookie: u64::from_ne_bytes(header.socket_id.cookie),
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
