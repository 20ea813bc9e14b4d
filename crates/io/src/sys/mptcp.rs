//! Sockets of Multipath TCP: `linux/mptcp.h`, mptcp.dev.

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// `SOL_MPTCP` of `linux/socket.h`.
const SOL_MPTCP: libc::c_int = 284;
/// `MPTCP_INFO` of `linux/mptcp.h`.
const MPTCP_INFO: libc::c_int = 1;
/// `MPTCP_INFO_FLAG_FALLBACK` of `linux/mptcp.h`.
const FALLBACK: u32 = 1;

/// The beginning of `struct mptcp_info`; the kernel fills in as much as is asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Info {
    subflows: u8,
    counts: [u8; 7],
    flags: u32,
}

/// A socket of the family of an address, which does not block.
pub(crate) fn socket(of: SocketAddr) -> io::Result<OwnedFd> {
    let family = if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: it takes no pointer.
    let fd = check(unsafe { libc::socket(family, kind, libc::IPPROTO_MPTCP) })?;
    // SAFETY: the kernel has just made it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Subflows beside the first one; [`None`]: the socket is one of TCP, or has become one.
pub(crate) fn further_subflows(socket: BorrowedFd<'_>) -> Option<u8> {
    let (mut info, mut len) = (Info::default(), size_of::<Info>() as u32);
    let pointer = (&raw mut info).cast::<libc::c_void>();
    // SAFETY: `info` is plain data for which any bytes are valid, and `len` is its size; both live through the call.
    let asked = unsafe { libc::getsockopt(socket.as_raw_fd(), SOL_MPTCP, MPTCP_INFO, pointer, &raw mut len) };
    // What has fallen back says so by the flag, or knows the option no more (RFC 8684 §3.7).
    check(asked).ok().filter(|_| info.flags & FALLBACK == 0).map(|_| info.subflows)
}
