//! What is in the way of a service that listens at a Unix socket.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What keeps a service from listening at `socket`, the value of `key`, each in one line with what to do next. It changes
/// nothing.
pub(crate) fn socket_obstacles(key: &str, socket: &Path) -> impl Iterator<Item = String> {
    [folder(key, socket), place(key, socket)].into_iter().flatten()
}

/// Whether a socket can be made where it is to be.
fn folder(key: &str, socket: &Path) -> Option<String> {
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.display();
    let wrong = |what: &str| Some(format!("{key}: {what}"));
    match fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return wrong(&format!(
                "the directory {name} does not exist; make it (mkdir -p {name}), or choose another path"
            ));
        }
        Ok(found) if !found.is_dir() => {
            return wrong(&format!("{name} is no directory; choose another path"));
        }
        _ => {}
    }
    // To try is the only answer that holds for modes, access lists and read-only file systems alike.
    let probe = folder.join(format!(".handfastd-check-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&probe);
    match made.and_then(|_| fs::remove_file(&probe)) {
        Ok(()) => None,
        Err(error) => wrong(&format!(
            "no file can be made in the directory {name} ({error}); run as a user who may, or choose another path"
        )),
    }
}

/// Whether something is at the socket's path that is not left from a dead daemon.
fn place(key: &str, socket: &Path) -> Option<String> {
    let name = socket.display();
    let found = fs::symlink_metadata(socket).ok()?;
    if !found.file_type().is_socket() {
        return Some(format!("{key}: {name} is no socket; remove it, or choose another path"));
    }
    UnixStream::connect(socket).ok()?;
    Some(format!("{key}: another daemon listens at {name}; stop that first, or choose another path"))
}
