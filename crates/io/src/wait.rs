//! Sleep until one of a few descriptors is ready: ppoll(2), for threads whose descriptors change with each call.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::BorrowedFd;

use handfast_core::Duration;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

/// A file descriptor to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'fd> {
    fd: BorrowedFd<'fd>,
    wanted: PollFlags,
    ready: PollFlags,
}

impl<'fd> Watch<'fd> {
    /// For a moment when reading, or writing, does not have to wait.
    pub fn new(fd: BorrowedFd<'fd>, read: bool, write: bool) -> Self {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::POLLIN, read);
        wanted.set(PollFlags::POLLOUT, write);
        Self { fd, wanted, ready: PollFlags::empty() }
    }

    /// For a moment when it is broken.
    pub fn error(fd: BorrowedFd<'fd>) -> Self {
        Self { fd, wanted: PollFlags::POLLERR, ready: PollFlags::empty() }
    }

    /// Whether the last wait found anything to see to.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether the last wait found it readable, closed or broken.
    pub fn is_readable(&self) -> bool {
        self.ready.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR)
    }

    /// Whether the last wait found it writable or broken.
    pub fn is_writable(&self) -> bool {
        self.ready.intersects(PollFlags::POLLOUT | PollFlags::POLLERR)
    }
}

/// Sleeps until `first` can be read, one of `others` is ready, or `longest` has passed; perhaps shorter.
///
/// # Errors
/// What ppoll(2) says, but for an interruption by a signal.
pub fn wait(first: Option<BorrowedFd<'_>>, others: &mut [Watch<'_>], longest: Duration) -> io::Result<()> {
    // poll(2) reports a hang-up even to those who want nothing, again and again.
    let mut wanting: Vec<_> = others.iter_mut().filter(|watch| !watch.wanted.is_empty()).collect();
    let first = first.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let skipped = usize::from(first.is_some());
    let rest = wanting.iter().map(|watch| PollFd::new(watch.fd, watch.wanted));
    let mut fds: Vec<_> = first.into_iter().chain(rest).collect();
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(longest.as_nanos()));
    match ppoll(&mut fds, Some(timeout), None) {
        Ok(_) => {
            for (watch, fd) in wanting.iter_mut().zip(&fds[skipped..]) {
                watch.ready = fd.revents().unwrap_or(PollFlags::empty());
            }
            Ok(())
        }
        Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_what_is_wanted_is_reported() {
        let (here, mut there) = UnixStream::pair().unwrap();
        there.write_all(b"x").unwrap();
        let mut watches = [
            Watch::new(here.as_fd(), true, false),
            Watch::new(here.as_fd(), false, true),
            Watch::new(here.as_fd(), false, false),
            Watch::error(here.as_fd()),
        ];
        wait(None, &mut watches, Duration::from_secs(5)).unwrap();
        assert_eq!(watches.map(|watch| watch.is_readable()), [true, false, false, false]);
        assert_eq!(watches.map(|watch| watch.is_writable()), [false, true, false, false]);
        drop(there);
        let mut watches = watches.map(|watch| Watch { ready: PollFlags::empty(), ..watch });
        wait(Some(here.as_fd()), &mut watches, Duration::from_secs(5)).unwrap();
        assert_eq!(watches.map(|watch| watch.is_ready()), [true, true, false, true], "a hang-up");
    }
}
