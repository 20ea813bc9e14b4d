//! All TCP connections of this machine: `sock_diag(7)`. Anyone may ask.

use std::io;
use std::net::SocketAddr;

use netlink_packet_sock_diag::constants::{IPPROTO_TCP, TCP_LISTEN};
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

    /// Whether a program of this machine has the socket at `local` that is connected to `remote`. One that all who had it have closed
    /// is the kernel's alone, or gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn has_owner(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<bool> {
        let found = self.0.one(IPPROTO_TCP, local, remote)?;
        // Where there is no such connection the kernel shows who listens there.
        Ok(found.is_some_and(|found| found.header.inode != 0 && found.header.state != TCP_LISTEN))
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
    use std::net::{Shutdown, TcpListener, TcpStream};

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

    #[test]
    fn a_socket_has_an_owner_until_the_last_one_has_closed_it() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(at) else { continue };
            let program = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (own, other) = (program.local_addr().unwrap(), program.peer_addr().unwrap());
            let mut sockets = TcpSockets::new().unwrap();
            let _taken = listener.accept().unwrap();
            program.shutdown(Shutdown::Write).unwrap();
            assert!(sockets.has_owner(own, other).unwrap(), "it has ended what it writes");
            let child = program.try_clone().unwrap();
            drop(program);
            assert!(sockets.has_owner(own, other).unwrap(), "somebody else has it too");
            drop(child);
            assert!(!sockets.has_owner(own, other).unwrap());
            assert!(sockets.has_owner(other, own).unwrap(), "the other end has one");
            assert!(!sockets.has_owner(([127, 0, 0, 1], 1).into(), other).unwrap(), "there was none");
        }
    }
}
