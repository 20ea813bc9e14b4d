//! Calls that move octets between a stream of the stack and a file or pipe of the kernel's: pipe(2), splice(2), sendfile(2).

use std::ffi::{c_int, c_long, c_longlong, c_void};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use libc::{size_t, ssize_t};

use super::calls::transmit_data;
use super::memory::{MOST_OCTETS, answer_int, answer_len};
use super::{User, is_ours, tool};
use crate::stack::Errno;

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
    let waits = flags & libc::SPLICE_F_NONBLOCK == 0;
    let nonblocking = if waits { 0 } else { libc::MSG_DONTWAIT };
    answer_len(match (is_ours(from), is_ours(to)) {
        (true, false) => fill(to, len, waits, |len, goes_on| {
            let flags = if goes_on { libc::MSG_DONTWAIT } else { nonblocking };
            tool().wait(|stack| stack.read_to_splice(from, len, flags)).map(|brought| brought.data)
        }),
        (false, true) => {
            let more = if flags & libc::SPLICE_F_MORE == 0 { 0 } else { libc::MSG_MORE };
            drain(from, len, waits, |data| transmit_data(to, data, nonblocking | more))
        }
        _ => Err(Errno(libc::EINVAL)),
    })
}

/// Writes what `read` brings into a pipe, no more than it has room for. `read` is told how much, and whether it has brought some before.
fn fill(
    pipe: c_int,
    len: usize,
    waits: bool,
    mut read: impl FnMut(usize, bool) -> Result<Vec<u8>, Errno>,
) -> Result<usize, Errno> {
    let file = file(pipe)?;
    let mut moved = 0;
    while moved < len {
        let room = room_in(pipe)?.min(len - moved);
        let data = match if room == 0 { Err(nothing_moves(waits)) } else { read(room, moved > 0) } {
            Ok(data) if !data.is_empty() => data,
            Err(error) if moved == 0 => return Err(error),
            _ => break,
        };
        (&*file).write_all(&data).map_err(|error| errno_of(&error))?;
        moved += data.len();
    }
    Ok(moved)
}

/// Octets that a pipe takes at once: all that it holds when it is empty, else a page if it takes any (pipe(7), `PIPE_BUF`).
fn room_in(pipe: c_int) -> Result<usize, Errno> {
    let mut waiting = 0;
    let mut polled = libc::pollfd { fd: pipe, events: libc::POLLOUT, revents: 0 };
    // SAFETY: calls about a descriptor, with memory of ours for what they say.
    let (size, found) = unsafe {
        let size = libc::fcntl(pipe, libc::F_GETPIPE_SZ);
        libc::ioctl(pipe, libc::FIONREAD, &raw mut waiting);
        (size, libc::poll(&raw mut polled, 1, 0))
    };
    match usize::try_from(size) {
        Err(_) => Err(Errno(libc::EINVAL)),
        Ok(size) if waiting == 0 => Ok(size),
        Ok(_) => Ok(if found > 0 { libc::PIPE_BUF } else { 0 }),
    }
}

/// Takes out of a pipe what `transmit` takes of it.
fn drain(
    pipe: c_int,
    len: usize,
    waits: bool,
    transmit: impl FnOnce(&Bytes) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let file = file(pipe)?;
    let data = peek(pipe, len).map_err(|Errno(errno)| match errno {
        libc::EAGAIN => nothing_moves(waits),
        errno => Errno(errno),
    })?;
    if data.is_empty() {
        // Nobody will write any more.
        return Ok(0);
    }
    let sent = transmit(&data)?;
    (&*file).read_exact(&mut vec![0; sent]).map_err(|error| errno_of(&error))?;
    Ok(sent)
}

/// What is next in a pipe, which keeps it (tee(2)).
fn peek(pipe: c_int, len: usize) -> Result<Bytes, Errno> {
    let (mut copy, end) = std::io::pipe().map_err(|error| errno_of(&error))?;
    // SAFETY: a call about two descriptors.
    let copied = unsafe { libc::tee(pipe, end.as_raw_fd(), len, libc::SPLICE_F_NONBLOCK) };
    let mut data = vec![0; usize::try_from(copied).map_err(|_| last_error())?];
    copy.read_exact(&mut data).map_err(|error| errno_of(&error))?;
    Ok(data.into())
}

/// A pipe is full, or empty: nobody else is there to change that.
fn nothing_moves(waits: bool) -> Errno {
    Errno(if waits { libc::EDEADLK } else { libc::EAGAIN })
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
    answer_len(send_file(from, offset, len.min(MOST_OCTETS), |data| transmit_data(to, data, 0)))
}

/// Without an offset from where the file stands, which moves by what was taken.
fn send_file(
    from: c_int,
    offset: Option<&mut c_longlong>,
    len: usize,
    transmit: impl FnOnce(&Bytes) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let file = file(from)?;
    let at = match &offset {
        Some(offset) => u64::try_from(**offset).map_err(|_| Errno(libc::EINVAL))?,
        None => (&*file).stream_position().map_err(|error| errno_of(&error))?,
    };
    let mut data = vec![0; len];
    let read = file.read_at(&mut data, at).map_err(|error| errno_of(&error))?;
    data.truncate(read);
    let sent = transmit(&data.into())?;
    match offset {
        Some(offset) => *offset += sent as c_longlong,
        None => drop((&*file).seek(SeekFrom::Start(at + sent as u64)).map_err(|error| errno_of(&error))?),
    }
    Ok(sent)
}

/// A descriptor of the kernel's, as a file that stays open.
fn file(fd: c_int) -> Result<ManuallyDrop<File>, Errno> {
    // SAFETY: a call about a descriptor, which may be none; one that is open may be used as a file, and is never closed here.
    unsafe {
        if libc::fcntl(fd, libc::F_GETFD) < 0 {
            return Err(Errno(libc::EBADF));
        }
        Ok(ManuallyDrop::new(File::from_raw_fd(fd)))
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

fn last_error() -> Errno {
    errno_of(&std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EBADF: Result<usize, Errno> = Err(Errno(libc::EBADF));

    #[test]
    fn no_descriptor_is_no_file() {
        let never = |_: &Bytes| -> Result<usize, Errno> { panic!("nothing to send") };
        assert_eq!(send_file(-1, None, 10, never), EBADF);
        assert_eq!(drain(-1, 10, true, never), EBADF);
        assert_eq!(fill(-1, 10, true, |_, _| panic!("nowhere to write")), EBADF);
    }

    #[test]
    fn what_a_stream_does_not_take_stays_in_the_pipe() {
        let (mut out, mut end) = std::io::pipe().unwrap();
        end.write_all(b"abcdef").unwrap();
        let take = |data: &Bytes| Ok(data.len().min(4));
        assert_eq!(drain(out.as_raw_fd(), 100, true, |_| Err(Errno(libc::EAGAIN))), Err(Errno(libc::EAGAIN)));
        assert_eq!(drain(out.as_raw_fd(), 100, true, take), Ok(4));
        let mut rest = [0; 2];
        out.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"ef");
        assert_eq!(drain(out.as_raw_fd(), 100, false, take), Err(Errno(libc::EAGAIN)), "it is empty");
        assert_eq!(drain(out.as_raw_fd(), 100, true, take), Err(Errno(libc::EDEADLK)));
        drop(end);
        assert_eq!(drain(out.as_raw_fd(), 100, true, take), Ok(0));
    }

    #[test]
    fn a_pipe_is_filled_as_far_as_it_has_room() {
        let (out, mut end) = std::io::pipe().unwrap();
        end.write_all(b"a").unwrap();
        let mut brought = 0;
        let mut endless = |len: usize, _: bool| {
            brought += len;
            Ok(vec![0; len])
        };
        let moved = fill(end.as_raw_fd(), 2 * PIPE, true, &mut endless).unwrap();
        assert_eq!(fill(end.as_raw_fd(), 10, false, &mut endless), Err(Errno(libc::EAGAIN)));
        assert_eq!(moved, brought, "nothing is lost");
        assert!((PIPE - 2 * libc::PIPE_BUF..PIPE).contains(&moved), "{moved}");
        drop(out);
    }

    #[test]
    fn a_file_stands_after_what_was_sent() {
        // SAFETY: a new file of ours alone.
        let mut file = unsafe { File::from_raw_fd(libc::memfd_create(c"sent".as_ptr(), 0)) };
        file.write_all(b"0123456789").unwrap();
        file.rewind().unwrap();
        let fd = file.as_raw_fd();
        assert_eq!(send_file(fd, None, 8, |_| Err(Errno(libc::EPIPE))), Err(Errno(libc::EPIPE)));
        assert_eq!(send_file(fd, None, 8, |data| Ok(data.len() - 5)), Ok(3));
        assert_eq!(file.stream_position().unwrap(), 3);
        let mut offset = 7;
        let all = |data: &Bytes| {
            assert_eq!(&data[..], b"789");
            Ok(data.len())
        };
        assert_eq!(send_file(fd, Some(&mut offset), 8, all), Ok(3));
        assert_eq!((offset, file.stream_position().unwrap()), (10, 3));
    }
}
