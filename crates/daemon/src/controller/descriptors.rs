//! File descriptors: that there are enough is looked at when the daemon begins, not when they run out.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::news::MOST_CLIENTS;
use crate::config::Settings;

/// Standard streams, epoll, timer, signals, the two listeners, a recording, and what the system takes besides.
const OWN: u64 = 24;
/// `INR_OPEN_CUR`: the soft limit of a process that nobody has told otherwise.
const USUAL: u64 = 1024;

/// For how many connections of switches there are descriptors, when all that the association socket may take are set aside.
/// The soft limit is raised as far as that is allowed.
pub(super) fn reserve(settings: &Settings) -> Result<usize, String> {
    let aside = OWN + MOST_CLIENTS as u64;
    let wanted = aside + settings.switches as u64;
    // Where the question is forbidden: what Linux begins with.
    let (mut soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((USUAL, USUAL));
    if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard).is_ok() {
        soft = wanted.min(hard);
    }
    let configured = settings.controller.fabric.switches().len() as u64;
    let room = soft.saturating_sub(aside).min(settings.switches as u64);
    if room < configured {
        let least = aside + configured;
        return Err(format!(
            "{hard} files may be open, and {configured} switches and their access points need {least}: \
             `ulimit -n {least}`, or `LimitNOFILE={least}` in the unit"
        ));
    }
    Ok(room as usize)
}
