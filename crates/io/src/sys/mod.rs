//! System calls that no library offers safely: the adapter module, and the only `unsafe` code of the lab and the daemon.
#![expect(unsafe_code, reason = "system calls; each has a SAFETY comment")]

pub(crate) mod offload;
pub(crate) mod packet_socket;
pub(crate) mod priority;
pub(crate) mod tcp_info;

use std::io;

/// A system call's return value, or its error.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
