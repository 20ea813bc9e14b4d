//! Which network namespace this is, as programs of the kernel know it.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use super::get;

/// Linux 5.14, asm-generic/socket.h.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// The number of the calling thread's network namespace, which no other one gets while the machine runs.
///
/// # Errors
/// What the kernel says, as where it is older.
pub fn network_cookie() -> io::Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
    cookie_of(socket.as_fd())
}

/// The same of a socket's.
pub(super) fn cookie_of(socket: BorrowedFd<'_>) -> io::Result<u64> {
    get(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE)
}
