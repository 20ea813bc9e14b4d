//! `handfastd off`: a file beside the configuration that outlives restarts. While it is there a service only observes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file that says so for a configuration.
pub(crate) fn mark(config: &Path) -> PathBuf {
    let mut name = config.as_os_str().to_owned();
    name.push(".off");
    name.into()
}

/// Makes the mark.
pub(crate) fn set(config: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(mark(config)).map(drop)
}

/// Takes the mark away; whether there was one.
pub(crate) fn unset(config: &Path) -> io::Result<bool> {
    match fs::remove_file(mark(config)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}

/// Whether the mark is there, or cannot be looked at.
pub(crate) fn is_set(config: &Path) -> bool {
    mark(config).try_exists().unwrap_or(true)
}
