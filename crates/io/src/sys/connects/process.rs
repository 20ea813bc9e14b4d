//! What another process has: its memory and its descriptors, and how it hands one over.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_void};

use super::super::check;

/// Room for the control message with one descriptor (unix(7)), aligned as it must be.
#[repr(C, align(8))]
struct Control([u8; 32]);

fn message(octet: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: plain data for which zeros are valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut *octet;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut *control).cast();
    // SAFETY: takes no pointers.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

/// `SCM_RIGHTS` of unix(7).
pub(super) fn send_descriptor(to: RawFd, fd: RawFd) -> io::Result<()> {
    let (mut byte, mut control) = (0u8, Control([0; 32]));
    let mut octet = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let message = message(&mut octet, &mut control);
    // SAFETY: the header is in `control`, which has room for it and a descriptor.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
    }
    // SAFETY: the message and all that it points to live through the call.
    check(unsafe { libc::sendmsg(to, &raw const message, 0) } as c_int).map(|_| ())
}

pub(super) fn receive_descriptor(from: RawFd) -> io::Result<OwnedFd> {
    let (mut byte, mut control) = (0u8, Control([0; 32]));
    let mut octet = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut octet, &mut control);
    // SAFETY: the message and all that it points to live through the call.
    check(unsafe { libc::recvmsg(from, &raw mut message, libc::MSG_CMSG_CLOEXEC) } as c_int)?;
    // SAFETY: the kernel has written headers that are whole, or none.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let is_one = |header: &&libc::cmsghdr| {
        (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
    };
    let header = header.filter(is_one).ok_or(io::ErrorKind::UnexpectedEof)?;
    // SAFETY: such a message holds a descriptor, which is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()) })
}

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
