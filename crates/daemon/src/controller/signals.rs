//! The signals that end the daemon: SIGTERM, SIGINT, and SIGHUP unless it was ignored from the start.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mio::net::UnixStream;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Becomes readable when one of them comes.
pub(super) struct Signals {
    pub(super) stream: UnixStream,
    last: Arc<AtomicUsize>,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        let last = Arc::new(AtomicUsize::new(0));
        let hangup = (!hangup_is_ignored()).then_some(SIGHUP);
        for signal in [SIGTERM, SIGINT].into_iter().chain(hangup) {
            // First: whoever is woken by the byte finds the number.
            flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
            low_level::pipe::register(signal, there.try_clone()?)?;
        }
        here.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(here), last })
    }

    /// The name of the one that came last.
    pub(super) fn last(&self) -> &'static str {
        low_level::signal_name(self.last.load(Ordering::SeqCst) as i32).unwrap_or("a signal")
    }
}

/// nohup(1) starts programs so: they are to go on when their terminal closes.
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, SIGHUP))
}

/// Whether a process ignores a signal, by its `proc_pid_status(5)`.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (signal - 1) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_counts_signals_from_one() {
        let status = "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, SIGHUP) && ignores(status, 13));
        assert!(!ignores(status, SIGINT) && !ignores(status, SIGTERM));
        assert!(!ignores("Name:\thandfastd\n", SIGHUP));
    }
}
