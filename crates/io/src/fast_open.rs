//! Data in a SYN (RFC 7413), without the cookie: for peers that show who they are by what they say. Linux 4.15 and later.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use mio::net::TcpStream as Stream;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket};

use crate::sys::stream_options::{defer_connect, take_early};

/// A connection whose SYN leaves with the first octets that are written, in the same call. Until then, and until the peer has
/// answered, it has no peer's address, as any that is not there yet. Where the peer does not take the octets the kernel sends them
/// again as soon as it has answered, and after a SYN that was lost it sends one without.
///
/// # Errors
/// What socket(2) and connect(2) say; [`ErrorKind::Unsupported`]: the kernel does not do this (`net.ipv4.tcp_fastopen`).
pub fn connect_fast(peer: SocketAddr) -> io::Result<Stream> {
    let family = if peer.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    defer_connect(socket.as_fd()).map_err(|error| io::Error::new(ErrorKind::Unsupported, error))?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(peer)) {
        // Where the kernel has reason not to do it, the SYN has left without.
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(Stream::from_std(TcpStream::from(socket))),
        Err(error) => Err(error.into()),
    }
}

/// Whether writing says that the connection is still to come about: its SYN has left without data.
pub fn is_under_way(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::Error::EINPROGRESS as i32)
}

/// Has a listener take what SYNs carry, of at most so many connections at once whose handshake is not over.
///
/// # Errors
/// What setsockopt(2) says.
pub fn accept_fast(listener: &impl AsFd, most: u16) -> io::Result<()> {
    take_early(listener.as_fd(), most)
}

/// Whether this network's kernel gives a listener what SYNs carry: `net.ipv4.tcp_fastopen`, bit 1, which is off by default.
pub fn takes_early_data() -> bool {
    let tried = || -> io::Result<bool> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        accept_fast(&listener, 1)?;
        let mut client = connect_fast(listener.local_addr()?)?;
        io::Write::write(&mut client, b"?")?;
        let info = crate::TcpInfo::of(&client)?;
        Ok(info.early_data_taken)
    };
    tried().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_written_first_comes_whatever_the_kernel_s_setting_is() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        accept_fast(&listener, 16).unwrap();
        let mut client = match connect_fast(listener.local_addr().unwrap()) {
            Ok(client) => client,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        };
        let octets = [7; 300];
        assert_eq!(client.write(&octets).unwrap(), 300);
        let (mut server, _) = listener.accept().unwrap();
        server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut read = [0; 300];
        server.read_exact(&mut read).unwrap();
        assert_eq!(read, octets);
        assert_eq!(crate::TcpInfo::of(&client).unwrap().early_data_taken, takes_early_data());
    }

    #[test]
    fn a_connection_that_is_refused_is_told_of_as_any_other() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let Ok(mut client) = connect_fast(free) else { return };
        let written = client.write(&[7; 300]);
        let told = written.err().or_else(|| client.take_error().unwrap());
        assert_eq!(told.map(|error| error.kind()), Some(ErrorKind::ConnectionRefused));
    }
}
