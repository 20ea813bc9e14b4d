//! File descriptors: that there are enough is looked at when the daemon begins, not when they run out.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::news::MOST_CLIENTS;
use crate::config::Settings;

/// Standard streams, epoll, timer, signals, the two listeners, a recording, and what the system takes besides.
const OWN: u64 = 24;

/// For how many connections of switches there are descriptors, when all that the association socket may take are set aside.
/// The soft limit is raised as far as that is allowed.
pub(super) fn reserve(settings: &Settings) -> Result<usize, String> {
    let aside = OWN + MOST_CLIENTS as u64;
    let wanted = aside + settings.switches as u64;
    let (mut soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| format!("the limit of files: {error}"))?;
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
