//! Connections of the kernel's Multipath TCP (RFC 8684). Where the other end has none they are connections of TCP.
#![forbid(unsafe_code)]

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use mio::net::{TcpListener as Listener, TcpStream as Stream};
use nix::sys::socket::{Backlog, SockaddrStorage, bind, connect, listen, setsockopt, sockopt};

use crate::sys::mptcp::{further_subflows, socket};

/// Connections that wait to be accepted, as mio has it for TCP.
const BACKLOG: i32 = 1_024;

/// Whether this kernel has it.
///
/// # Errors
/// What socket(2) says: it was built without, or `net.mptcp.enabled` is 0.
pub fn has_mptcp() -> io::Result<()> {
    socket(([0, 0, 0, 0], 0).into()).map(|_| ())
}

/// A connection that is under way.
///
/// # Errors
/// What socket(2) and connect(2) say.
pub fn connect_mptcp(peer: SocketAddr) -> io::Result<Stream> {
    let socket = socket(peer)?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(peer)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(Stream::from_std(TcpStream::from(socket))),
        Err(error) => Err(error.into()),
    }
}

/// A listener, which takes connections of TCP too.
///
/// # Errors
/// What socket(2), bind(2) and listen(2) say.
pub fn listen_mptcp(address: SocketAddr) -> io::Result<Listener> {
    let socket = socket(address)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(Listener::from_std(TcpListener::from(socket)))
}

/// How many subflows a connection has; [`None`]: it is one of TCP, or has fallen back to it.
pub fn mptcp_subflows(stream: &impl AsFd) -> Option<u32> {
    further_subflows(stream.as_fd()).map(|further| u32::from(further) + 1)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener as Plain;
    use std::time::Duration;

    use super::*;
    use crate::{Liveliness, next_connection};
    use handfast_core::Duration as Span;

    fn taken(listener: &Listener) -> Stream {
        for _ in 0..500 {
            if let Some((stream, _)) = next_connection(listener).unwrap() {
                return stream;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nobody has connected");
    }

    #[test]
    fn both_ends_see_what_a_connection_has_become() {
        if let Err(error) = has_mptcp() {
            return eprintln!("skipped: this kernel has no MPTCP: {error}");
        }
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = listen_mptcp(any).unwrap();
        let client = connect_mptcp(listener.local_addr().unwrap()).unwrap();
        let server = taken(&listener);
        assert_eq!((mptcp_subflows(&client), mptcp_subflows(&server)), (Some(1), Some(1)));
        let of = Span::from_secs;
        let liveliness =
            Liveliness { ask_after: of(3), give_up_after: of(9), most_rto: of(1), most_unsent: 1 << 17 };
        liveliness.set(&client).unwrap();
        assert!(client.nodelay().unwrap());

        let plain = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!((mptcp_subflows(&plain), mptcp_subflows(&taken(&listener))), (None, None));

        let without = Plain::bind(any).unwrap();
        let client = connect_mptcp(without.local_addr().unwrap()).unwrap();
        without.accept().unwrap();
        assert_eq!(mptcp_subflows(&client), None);
    }
}
