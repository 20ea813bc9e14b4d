//! For how many switches there are file descriptors.

use super::association::LIMITS;
use super::config::Settings;
use crate::process::descriptors::{OWN, OpenFiles, raise};

/// For how many connections of switches there are descriptors, when those of the association socket are set aside. The error
/// says what to do.
pub(super) fn reserve(settings: &Settings) -> Result<usize, String> {
    let aside = OWN + LIMITS.most_clients as u64;
    let OpenFiles { soft, hard, .. } = raise(aside + settings.switches as u64);
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
