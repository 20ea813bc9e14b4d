//! Calls that move octets between a stream of the stack and a file or pipe of the kernel's: pipe(2), splice(2), sendfile(2).

use std::ffi::{c_int, c_long, c_longlong, c_void};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

use libc::{size_t, ssize_t};

use super::calls::transmit_data;
use super::memory::{MOST_OCTETS, answer_int, answer_len};
use super::{User, is_ours, tool};
use crate::stack::{Errno, Fd};

/// What a pipe holds (pipe(7)).
const PIPE: usize = 65_536;

pub(super) unsafe extern "C" fn pipe(_: User, ends: *mut c_int) -> c_int {
    // SAFETY: the caller gives memory for two descriptors.
    let made = unsafe { libc::pipe(ends) };
    answer_int(if made == 0 { Ok(0) } else { Err(last_error()) })
}

/// Between a stream and a pipe, either way. A stream has no offsets.
pub(super) extern "C" fn splice(
    _: User,
    from: c_int,
    _: *mut c_longlong,
    to: c_int,
    _: *mut c_longlong,
    len: size_t,
    flags: u32,
) -> ssize_t {
    let len = len.min(PIPE);
    let nonblocking = if flags & libc::SPLICE_F_NONBLOCK == 0 { 0 } else { libc::MSG_DONTWAIT };
    answer_len(match (is_ours(from), is_ours(to)) {
        (true, false) => {
            tool().wait(|stack| stack.read_to_splice(from, len, nonblocking)).and_then(|brought| {
                (&*file(to)).write_all(&brought.data).map_err(|error| errno_of(&error))?;
                Ok(brought.data.len())
            })
        }
        (false, true) => {
            let more = if flags & libc::SPLICE_F_MORE == 0 { 0 } else { libc::MSG_MORE };
            let mut data = vec![0; len];
            let read = (&*file(from)).read(&mut data).map_err(|error| errno_of(&error));
            read.and_then(|read| {
                data.truncate(read);
                transmit_data(to, &data.into(), nonblocking | more)
            })
        }
        _ => Err(Errno(libc::EINVAL)),
    })
}

/// The C library's, which the tool calls past its table: out of a file into a stream of the stack, else what the kernel does.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, offset: *mut c_longlong, len: size_t) -> ssize_t {
    if !is_ours(to) {
        let [to, from] = [to, from].map(c_long::from);
        // SAFETY: the caller's arguments are passed on as they are.
        return unsafe { libc::syscall(libc::SYS_sendfile, to, from, offset.cast::<c_void>(), len) }
            as ssize_t;
    }
    // SAFETY: the offset is the caller's, or none.
    let offset = unsafe { offset.as_mut() };
    answer_len(send_file(to, from, offset, len.min(MOST_OCTETS)))
}

fn send_file(to: Fd, from: c_int, offset: Option<&mut c_longlong>, len: usize) -> Result<usize, Errno> {
    let file = file(from);
    let mut data = vec![0; len];
    let read = match &offset {
        Some(offset) => file.read_at(&mut data, u64::try_from(**offset).map_err(|_| Errno(libc::EINVAL))?),
        None => (&*file).read(&mut data),
    };
    data.truncate(read.map_err(|error| errno_of(&error))?);
    let sent = transmit_data(to, &data.into(), 0)?;
    if let Some(offset) = offset {
        *offset += sent as c_longlong;
    }
    Ok(sent)
}

/// A descriptor of the kernel's, as a file that stays open.
fn file(fd: c_int) -> ManuallyDrop<File> {
    // SAFETY: it is used and never closed here; where it is none, calls say so.
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

fn last_error() -> Errno {
    errno_of(&std::io::Error::last_os_error())
}
