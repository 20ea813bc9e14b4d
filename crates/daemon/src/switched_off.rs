//! `handfastd off`: a file beside the configuration that outlives restarts. While it is there the daemon observes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use handfast_assist::sdn::Mode;

use crate::config::Settings;

/// The file that says so for a configuration.
pub fn mark(config: &Path) -> PathBuf {
    let mut name = config.as_os_str().to_owned();
    name.push(".off");
    name.into()
}

/// Makes the mark.
///
/// # Errors
/// What the system refuses.
pub fn set(config: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(mark(config)).map(drop)
}

/// Takes the mark away; whether there was one.
///
/// # Errors
/// What the system refuses.
pub fn unset(config: &Path) -> io::Result<bool> {
    match fs::remove_file(mark(config)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}

/// Settings as they are in force: switched off, whatever the file says, where the mark is there or cannot be looked at.
pub fn heed(config: &Path, settings: &mut Settings) -> bool {
    let off = mark(config).try_exists().unwrap_or(true);
    if off {
        settings.controller.mode = Mode::Observe;
    }
    off
}
