//! System calls that no library offers safely: the adapter module, and the only `unsafe` code of the lab and the daemon.
#![expect(unsafe_code, reason = "system calls; each has a SAFETY comment")]

pub(crate) mod arrival;
pub(crate) mod cgroup;
pub(crate) mod connects;
pub(crate) mod ethtool;
pub(crate) mod inbox;
pub(crate) mod inherited;
pub(crate) mod kept_stream;
pub(crate) mod limits;
mod mapping;
pub(crate) mod mptcp;
pub(crate) mod network_cookie;
pub(crate) mod packet_ring;
pub(crate) mod packet_socket;
pub(crate) mod priority;
pub(crate) mod stream_options;
pub(crate) mod tcp_info;
pub(crate) mod xdp;

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A system call's return value, or its error.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// setsockopt(2) with a C structure.
fn set<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let (pointer, len) = ((&raw const *value).cast::<libc::c_void>(), size_of::<T>() as u32);
    // SAFETY: `value` lives through the call and `len` is its size.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, len) }).map(|_| ())
}

/// getsockopt(2) with a C structure of integers.
fn get<T: Copy + Default>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int) -> io::Result<T> {
    let (mut value, mut len) = (T::default(), size_of::<T>() as u32);
    let pointer = (&raw mut value).cast::<libc::c_void>();
    // SAFETY: `value` lives through the call and `len` is its size; integers take any bytes.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, pointer, &raw mut len) })?;
    Ok(value)
}
