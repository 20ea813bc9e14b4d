//! An event loop: sleeps until a socket is ready or a deadline has come, and remembers what is left to read and to write.
//!
//! The kernel reports a change once (edge-triggered epoll(7)). A socket that was reported stays in the set of those to
//! read until a read finds nothing more, so that a driver can read once from each in turn.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use handfast_core::Instant;
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::kernel_timer::KernelTimer;

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Bytes; there may be more.
    Some,
    /// No more for now.
    Nothing,
    /// The other side has closed.
    End,
}

/// A socket of an event loop. Numbers rise, and each is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(pub usize);

const TIMER: Token = Token(0);
const EVENTS: usize = 256;

/// An event loop.
pub struct EventLoop {
    poll: Poll,
    events: Events,
    timer: KernelTimer,
    next: usize,
    readable: BTreeSet<SourceId>,
    writable: BTreeSet<SourceId>,
}

impl EventLoop {
    /// Without sockets.
    ///
    /// # Errors
    /// What epoll(7) or `timerfd_create(2)` says.
    pub fn new() -> io::Result<Self> {
        let (poll, timer) = (Poll::new()?, KernelTimer::new()?);
        poll.registry().register(&mut SourceFd(&timer.raw_fd()), TIMER, Interest::READABLE)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS),
            timer,
            next: TIMER.0 + 1,
            readable: BTreeSet::new(),
            writable: BTreeSet::new(),
        })
    }

    /// Waits for a socket too, from now on. It leaves the loop when it is closed.
    ///
    /// # Errors
    /// What `epoll_ctl(2)` says.
    pub fn add(&mut self, source: &mut impl Source, interest: Interest) -> io::Result<SourceId> {
        let id = SourceId(self.next);
        self.poll.registry().register(source, Token(id.0), interest)?;
        self.next += 1;
        Ok(id)
    }

    /// The same for something that can only be read, and is no socket of mio's. It leaves the loop when it is closed.
    ///
    /// # Errors
    /// What `epoll_ctl(2)` says.
    pub fn add_descriptor(&mut self, descriptor: &impl AsFd) -> io::Result<SourceId> {
        self.add(&mut SourceFd(&descriptor.as_fd().as_raw_fd()), Interest::READABLE)
    }

    /// Sleeps until a socket is ready or `until` has come; perhaps shorter. It does not sleep while there is something left
    /// to read.
    ///
    /// # Errors
    /// What `epoll_wait(2)` or `timerfd_settime(2)` says.
    pub fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        if let Some(until) = until {
            self.timer.set(until)?;
        }
        let timeout = (!self.readable.is_empty()).then_some(Duration::ZERO);
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            done => done?,
        }
        for event in &self.events {
            let id = SourceId(event.token().0);
            if event.token() == TIMER {
                self.timer.expired();
                continue;
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                self.readable.insert(id);
            }
            if event.is_writable() {
                self.writable.insert(id);
            }
        }
        Ok(())
    }

    /// The sockets of which there may be something to read, in order of their numbers. The set is empty afterwards.
    pub fn take_readable(&mut self) -> BTreeSet<SourceId> {
        std::mem::take(&mut self.readable)
    }

    /// There may be more to read from a socket.
    pub fn read_again(&mut self, id: SourceId) {
        self.readable.insert(id);
    }

    /// There is something to write to a socket.
    pub fn write_soon(&mut self, id: SourceId) {
        self.writable.insert(id);
    }

    /// The next socket to which there may be something to write. It is taken out of the set.
    pub fn next_writable(&mut self) -> Option<SourceId> {
        self.writable.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use handfast_core::Duration as Span;
    use mio::net::UnixStream;
    use std::io::{Read, Write};

    #[test]
    fn a_deadline_ends_the_sleep() {
        let mut io = EventLoop::new().unwrap();
        let until = Clock::SYSTEM.now() + Span::from_millis(3);
        while Clock::SYSTEM.now() < until {
            io.wait(Some(until)).unwrap();
        }
        assert!(io.take_readable().is_empty());
        // A past deadline does not hang.
        io.wait(Some(Instant::ZERO)).unwrap();
    }

    #[test]
    fn what_is_left_to_read_is_not_slept_over() {
        let mut io = EventLoop::new().unwrap();
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let id = io.add(&mut here, Interest::READABLE | Interest::WRITABLE).unwrap();
        there.write_all(b"ab").unwrap();
        io.wait(None).unwrap();
        assert_eq!(io.take_readable(), BTreeSet::from([id]));
        assert_eq!((io.next_writable(), io.next_writable()), (Some(id), None));
        assert_eq!(here.read(&mut [0]).unwrap(), 1);
        io.read_again(id);
        // The kernel has nothing new to say: without the set this would sleep for ever.
        io.wait(None).unwrap();
        assert_eq!(io.take_readable(), BTreeSet::from([id]));
    }
}
