//! How punctually the kernel runs a thread.

use std::io;

use nix::sys::prctl;

use super::check;

/// Above every ordinary thread, below the kernel's own real-time threads (which start at 50).
const PRIORITY: libc::c_int = 40;

/// Makes the calling thread punctual: timers to the nanosecond, and `SCHED_FIFO` so that no ordinary thread delays it. Such
/// a thread must sleep whenever it has nothing to do.
///
/// # Errors
/// Where real-time scheduling is not allowed (`CAP_SYS_NICE` or `RLIMIT_RTPRIO`); the timers are fine even then.
pub fn real_time() -> io::Result<()> {
    // prctl(2) PR_SET_TIMERSLACK: by default the kernel may be 50 us late on purpose.
    prctl::set_timerslack(1)?;
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // Reset on fork: threads that this one starts are ordinary ones.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives through the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })?;
    Ok(())
}
