//! When to wake up: a timer that an event loop waits for like for a socket.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use handfast_core::Instant;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// A timerfd. The timeout of `epoll_wait(2)` counts whole milliseconds: a release that is paced at 0.2 ms a segment would send
/// five segments at once.
pub(crate) struct KernelTimer {
    fd: TimerFd,
    armed: Option<Instant>,
}

impl KernelTimer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self { fd: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?, armed: None })
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.fd.as_fd().as_raw_fd()
    }

    /// Expires at `at` or earlier; at once if that is past.
    pub(crate) fn set(&mut self, at: Instant) -> io::Result<()> {
        // A deadline that moves back costs no system call: the timer expires early once. Each message of a switch, for
        // example, moves back the next echo request.
        if self.armed.is_some_and(|armed| armed <= at) {
            return Ok(());
        }
        self.armed = Some(at);
        // Zero would mean never.
        let since_boot = Duration::from_nanos(at.as_nanos().max(1));
        self.fd.set(Expiration::OneShot(since_boot.into()), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        Ok(())
    }

    /// It has expired.
    pub(crate) fn expired(&mut self) {
        self.armed = None;
    }
}
