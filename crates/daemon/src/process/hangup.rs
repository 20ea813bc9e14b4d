//! Whether SIGHUP means anything to this process.

use signal_hook::consts::SIGHUP;

/// nohup(1) starts programs so: they are to go on when their terminal closes.
pub(crate) fn hangup_is_ignored() -> bool {
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
    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn the_mask_counts_signals_from_one() {
        let status = "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, SIGHUP) && ignores(status, 13));
        assert!(!ignores(status, SIGINT) && !ignores(status, SIGTERM));
        assert!(!ignores("Name:\thandfastd\n", SIGHUP));
    }
}
