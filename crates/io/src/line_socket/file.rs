//! A listening Unix socket as a file: made, replaced where it is stale, and removed again.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use mio::net::UnixListener;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::sys::stat::{Mode, fchmod};

/// A listener's file. It is removed when this value is dropped.
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode: whether the file at the path is still the one that was made.
    identity: (u64, u64),
}

impl SocketFile {
    /// Listens at `path`, for this user only. What a dead daemon left there is replaced.
    ///
    /// # Errors
    /// Somebody listens there, something that is no socket is there, or what the system refuses.
    pub fn listen(path: &Path) -> io::Result<(UnixListener, Self)> {
        remove_stale(path)?;
        let listener = bind(path)?;
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

/// A listening socket at `path` that others can never connect to.
///
/// Linux makes the file with the mode of the socket that is bound (`unix_bind`), so no moment passes
/// between making it and changing its mode. The umask would do too, but all threads share it.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    socket::bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(UnixListener::from_std(socket.into()))
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
    use std::sync::atomic::{AtomicBool, Ordering};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("handfast-io-{name}-{}", std::process::id()));
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
    fn files_that_other_threads_make_meanwhile_keep_their_mode() {
        let folder = folder("meanwhile");
        let mode_of_new = |name: &str| {
            let path = folder.join(name);
            let _ = fs::remove_file(&path);
            fs::write(&path, "a file").unwrap();
            fs::metadata(&path).unwrap().mode() & 0o777
        };
        let before = mode_of_new("file");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    drop(SocketFile::listen(&folder.join("socket")).unwrap());
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                assert_eq!(mode_of_new("file"), before);
            }
        });
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
