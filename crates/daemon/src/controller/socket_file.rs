//! The association socket as a file: made, and removed again.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use mio::net::UnixListener;
use nix::sys::stat::{Mode, umask};

/// A listener's file. It goes with this value.
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode: whether the file at the path is still the one that was made.
    identity: (u64, u64),
}

impl SocketFile {
    /// Listens at `path`, for this user only. What a dead daemon left there is replaced.
    pub(super) fn listen(path: &Path) -> io::Result<(UnixListener, Self)> {
        remove_stale(path)?;
        // Not readable by others even for the moment between making it and changing its mode.
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener?;
        let found = fs::symlink_metadata(path)?;
        Ok((listener, Self { path: path.to_owned(), identity: (found.dev(), found.ino()) }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket at which nobody listens.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        let message = "something that is no socket is there";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("handfastd-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn it_is_for_this_user_only_and_goes_with_its_listener() {
        let path = folder("mode").join("socket");
        let (_listener, file) = SocketFile::listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_nobody_listens_at_is_replaced() {
        let path = folder("stale").join("socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the kernel leaves the file");
        let (listener, file) = SocketFile::listen(&path).unwrap();
        let second = SocketFile::listen(&path).err().unwrap();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop((listener, file));
        fs::write(&path, "a file").unwrap();
        assert_eq!(SocketFile::listen(&path).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn another_s_file_at_the_path_stays() {
        let path = folder("other").join("socket");
        let (_listener, file) = SocketFile::listen(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another").unwrap();
        drop(file);
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
    }
}
