//! Descriptors that a process gets from the one that starts it: from number 3 on (`sd_listen_fds(3)`).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// The number of the first one.
const FIRST: RawFd = 3;

/// More than anybody hands over.
const MOST: usize = 100_000;

/// Those that this process got, so many. Once; then there are none.
pub(crate) fn take(count: usize) -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if count > MOST || TAKEN.swap(true, Ordering::SeqCst) {
        return Ok(Vec::new());
    }
    let numbers = FIRST..FIRST + count as RawFd;
    numbers
        .map(|number| {
            // SAFETY: whoever has started this process says that it has opened these for it, and they are taken once: what fcntl(2)
            // finds open at such a number belongs to nobody else here.
            let owned = unsafe { OwnedFd::from_raw_fd(number) };
            match fcntl(&owned, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
                Ok(_) => Ok(owned),
                Err(error) => {
                    std::mem::forget(owned);
                    Err(error.into())
                }
            }
        })
        .collect()
}

/// Starts a program that has these descriptors, from number 3 on.
///
/// # Errors
/// What fork(2) and execve(2) say.
pub fn hand_over(command: &mut Command, descriptors: &[impl AsFd]) -> io::Result<std::process::Child> {
    let after = FIRST + descriptors.len() as RawFd;
    let raised = |descriptor: &dyn AsFd| -> io::Result<OwnedFd> {
        let number = fcntl(descriptor.as_fd(), FcntlArg::F_DUPFD_CLOEXEC(after))?;
        // SAFETY: it was made just now, for this alone.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    };
    let above: Vec<OwnedFd> =
        descriptors.iter().map(|descriptor| raised(descriptor)).collect::<io::Result<_>>()?;
    // What the library opens to start a program has none of those numbers either.
    let mut places = Vec::new();
    loop {
        let place = File::open("/dev/null")?;
        if place.as_raw_fd() >= after {
            break;
        }
        places.push(place);
    }
    let numbers: Vec<(RawFd, RawFd)> =
        above.iter().zip(FIRST..).map(|(from, to)| (from.as_raw_fd(), to)).collect();
    let put = move || {
        for &(from, to) in &numbers {
            // SAFETY: both numbers are descriptors of this process, which has just been forked; what was at `to` is a place.
            super::check(unsafe { libc::dup2(from, to) })?;
        }
        Ok(())
    };
    // SAFETY: it calls nothing but dup2(2), which a process that was forked may call (signal-safety(7)).
    unsafe { command.pre_exec(put) };
    let child = command.spawn();
    drop((above, places));
    child
}

/// Descriptors that have come with a message.
pub(crate) fn received(numbers: &[RawFd]) -> Vec<OwnedFd> {
    // SAFETY: the kernel has just made them for this process, with a message that is read once.
    numbers.iter().map(|&number| unsafe { OwnedFd::from_raw_fd(number) }).collect()
}
