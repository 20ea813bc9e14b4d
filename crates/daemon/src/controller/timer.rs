//! When to wake up: a timer that the poll waits for like for a socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use handfast_core::Instant;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// A timer of the kernel: the timeout of a poll counts milliseconds, in which a release would send four segments at once
/// where its pace wants them 0.2 ms apart.
pub(super) struct Timer {
    fd: TimerFd,
    armed: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self { fd: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?, armed: None })
    }

    pub(super) fn raw_fd(&self) -> RawFd {
        self.fd.as_fd().as_raw_fd()
    }

    /// Goes off at `at` or earlier; at once if that is past.
    pub(super) fn set(&mut self, at: Instant) -> io::Result<()> {
        // Each message of a switch puts off the question whether it is there: that is not worth a system call.
        if self.armed.is_some_and(|armed| armed <= at) {
            return Ok(());
        }
        self.armed = Some(at);
        // Zero would mean never.
        let since_boot = Duration::from_nanos(at.as_nanos().max(1));
        self.fd.set(Expiration::OneShot(since_boot.into()), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        Ok(())
    }

    /// It has gone off.
    pub(super) fn gone_off(&mut self) {
        self.armed = None;
    }
}
