//! Sleep until something happens.

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

    /// Whether the last wait found it readable, closed or broken.
    pub fn is_readable(&self) -> bool {
        self.ready.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR)
    }

    /// Whether the last wait found it writable or broken.
    pub fn is_writable(&self) -> bool {
        self.ready.intersects(PollFlags::POLLOUT | PollFlags::POLLERR)
    }
}

/// Until `socket` can be read, one of `others` is ready, or `longest` has passed; perhaps earlier.
pub(crate) fn wait(socket: BorrowedFd<'_>, others: &mut [Watch<'_>], longest: Duration) -> io::Result<()> {
    // poll(2) reports a hang-up even to those who want nothing, again and again.
    let mut wanting: Vec<_> = others.iter_mut().filter(|watch| !watch.wanted.is_empty()).collect();
    let first = PollFd::new(socket, PollFlags::POLLIN);
    let rest = wanting.iter().map(|watch| PollFd::new(watch.fd, watch.wanted));
    let mut fds: Vec<_> = std::iter::once(first).chain(rest).collect();
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(longest.as_nanos()));
    match ppoll(&mut fds, Some(timeout), None) {
        Ok(_) => {
            for (watch, fd) in wanting.iter_mut().zip(&fds[1..]) {
                watch.ready = fd.revents().unwrap_or(PollFlags::empty());
            }
            Ok(())
        }
        Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
