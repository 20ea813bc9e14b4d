//! What of this machine keeps a configuration from running, and what to do about it.

mod holder;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::config::Settings;
use holder::listening_at;

/// Everything that is in the way, each in one line with what to do next. It changes nothing.
pub(super) fn obstacles(settings: &Settings) -> Vec<String> {
    let socket = &settings.association_socket;
    [folder(socket), place(socket), port(settings.listen)].into_iter().flatten().collect()
}

/// Whether a socket can be made where it is to be.
fn folder(socket: &Path) -> Option<String> {
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.display();
    let wrong = |what: &str| Some(format!("association_socket: {what}"));
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
fn place(socket: &Path) -> Option<String> {
    let name = socket.display();
    let found = fs::symlink_metadata(socket).ok()?;
    if !found.file_type().is_socket() {
        return Some(format!("association_socket: {name} is no socket; remove it, or choose another path"));
    }
    UnixStream::connect(socket).ok()?;
    Some(format!(
        "association_socket: another daemon listens at {name}; stop that first, or choose another path"
    ))
}

/// Whether switches can be listened for.
fn port(listen: SocketAddr) -> Option<String> {
    let error = TcpListener::bind(listen).err()?;
    Some(format!("listen: {listen} {}", why(listen, &error)))
}

fn why(listen: SocketAddr, error: &io::Error) -> String {
    let port = listen.port();
    match error.kind() {
        ErrorKind::AddrInUse => {
            let who = listening_at(port).map_or_else(
                || format!("another program; see which (ss -ltnp 'sport = :{port}')"),
                |holder| format!("{holder}; stop that first"),
            );
            format!("is taken by {who}, or choose another port")
        }
        ErrorKind::PermissionDenied => {
            "may not be used: ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another port"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "is no address of this machine; choose one that `ip address` shows, or 127.0.0.1".to_owned()
        }
        _ => format!("cannot be used ({error}); choose another address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_to_do() {
        let listen: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let of = |kind: ErrorKind| why(listen, &kind.into());
        assert!(of(ErrorKind::PermissionDenied).contains("ports below 1024 need root"));
        assert!(of(ErrorKind::AddrNotAvailable).contains("`ip address`"));
        assert!(of(ErrorKind::OutOfMemory).contains("choose another address"));
        // Nobody listens at port 0.
        let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let taken = why(free, &ErrorKind::AddrInUse.into());
        assert_eq!(
            taken,
            "is taken by another program; see which (ss -ltnp 'sport = :0'), or choose another port"
        );
    }
}
