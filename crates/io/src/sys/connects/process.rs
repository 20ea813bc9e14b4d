//! What another process has: its memory and its descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_void};

use super::super::check;

/// The memory of a process (`process_vm_readv(2)`).
pub(super) fn read_memory(pid: u32, at: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
    let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: len };
    // SAFETY: `local` has room for `len` bytes; the other address is another process's.
    let read =
        unsafe { libc::process_vm_readv(pid as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(read) if read < len => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Ok(_) => Ok(bytes),
    }
}

/// A process's own descriptor: the same open file.
pub(super) fn fetch(pid: u32, fd: RawFd) -> io::Result<OwnedFd> {
    // A thread may have asked; a pidfd is of its process.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let group = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))
        .and_then(|id| id.trim().parse::<c_int>().ok());
    let group = group.ok_or(io::ErrorKind::NotFound)?;
    // SAFETY: takes no pointers.
    let process = check(unsafe { libc::syscall(libc::SYS_pidfd_open, group, 0) } as c_int)?;
    // SAFETY: just opened, and nobody else's.
    let process = unsafe { OwnedFd::from_raw_fd(process) };
    // SAFETY: takes no pointers.
    let fetched =
        check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) } as c_int)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fetched) })
}
