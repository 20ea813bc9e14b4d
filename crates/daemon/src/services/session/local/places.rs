//! Where a user's ends have their sockets and files: folders that only the user may enter.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

/// The folders of one user.
#[derive(Clone, Debug)]
pub(in crate::services::session) struct Places {
    /// Sockets, gone after a restart of the machine.
    runtime: PathBuf,
    /// Keys.
    config: PathBuf,
}

impl Places {
    /// Of the user who runs this.
    pub(in crate::services::session) fn of_user() -> Result<Self, String> {
        let user = Uid::effective();
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let runtime = named("XDG_RUNTIME_DIR")
            .map_or_else(|| PathBuf::from(format!("/tmp/handfast-{user}")), |path| path.join("handfast"));
        let config = named("XDG_CONFIG_HOME").or_else(|| Some(named("HOME")?.join(".config")));
        let config = config.ok_or("error: neither HOME nor XDG_CONFIG_HOME says where keys are")?;
        Ok(Self { runtime, config: config.join("handfast") })
    }

    /// The user's secret key.
    pub(in crate::services::session) fn key(&self) -> PathBuf {
        self.config.join("session.key")
    }

    /// The keys of peers.
    pub(super) fn known_peers(&self) -> PathBuf {
        self.config.join("known_peers")
    }

    /// The folder of sockets: made, and nobody else's.
    pub(super) fn sockets(&self) -> Result<&Path, String> {
        let wrong = |what: &dyn std::fmt::Display| format!("error: {}: {what}", self.runtime.display());
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.runtime)
            .map_err(|error| wrong(&error))?;
        // Of a link only what it is itself: where it leads another user may have chosen.
        let found = fs::symlink_metadata(&self.runtime).map_err(|error| wrong(&error))?;
        if !found.is_dir() || found.uid() != Uid::effective().as_raw() || found.mode() & 0o077 != 0 {
            return Err(wrong(
                &"it has to be a folder of yours that nobody else may enter (chmod 700): who reaches the sockets in it speaks in your name",
            ));
        }
        Ok(&self.runtime)
    }

    /// Removes sockets at which nobody listens any more: their ends were killed.
    pub(super) fn clear(&self) -> Result<(), String> {
        for socket in self.controls()? {
            if UnixStream::connect(&socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                // Another end may have been faster.
                let _ = fs::remove_file(&socket);
            }
        }
        Ok(())
    }

    /// The sockets at which this user's ends take commands.
    pub(super) fn controls(&self) -> Result<Vec<PathBuf>, String> {
        let folder = self.sockets()?;
        let entries =
            fs::read_dir(folder).map_err(|error| format!("error: {}: {error}", folder.display()))?;
        let mut found: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "control"))
            .collect();
        found.sort();
        Ok(found)
    }
}
