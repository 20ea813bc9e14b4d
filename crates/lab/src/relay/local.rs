//! The kernel's side of a relay: TCP, Unix sockets, standard input and output.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// How long a connection to a local program may take to open; nothing else moves meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
/// What can be written to a pipe or terminal that poll(2) calls writable, without waiting (`PIPE_BUF`).
const PIPE_ROOM: usize = 4096;

/// Where local programs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Local {
    /// They connect to this address.
    TcpListen(SocketAddr),
    /// One listens on this address.
    Tcp(SocketAddr),
    /// They connect to this Unix socket.
    UnixListen(PathBuf),
    /// One listens on this Unix socket.
    Unix(PathBuf),
    /// Standard input and output: one connection.
    Stdio,
}

impl FromStr for Local {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let address =
            || rest.parse().map_err(|_| format!("`{rest}` is not an address such as 127.0.0.1:8080"));
        let path = || if rest.is_empty() { Err(format!("`{text}` names no path")) } else { Ok(rest.into()) };
        match kind {
            "tcp-listen" => address().map(Self::TcpListen),
            "tcp" => address().map(Self::Tcp),
            "unix-listen" => path().map(Self::UnixListen),
            "unix" => path().map(Self::Unix),
            "stdio" if rest.is_empty() => Ok(Self::Stdio),
            _ => Err(format!(
                "`{text}` is none of tcp-listen:ADDRESS:PORT, tcp:ADDRESS:PORT, unix-listen:PATH, unix:PATH, stdio"
            )),
        }
    }
}

/// Where local programs come from.
pub(super) enum Door {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Door {
    pub(super) fn tcp(at: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at).map_err(|e| io::Error::new(e.kind(), format!("{at}: {e}")))?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        // A socket that a relay left behind; whatever else is there stays.
        if fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// The next program that has come; [`None`]: nobody.
    pub(super) fn accept(&self) -> io::Result<Option<LocalStream>> {
        let accepted = match self {
            Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| LocalStream::tcp(stream)),
            Self::Unix(listener, _) => listener.accept().and_then(|(stream, _)| LocalStream::unix(stream)),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // accept(2): who came is gone already; the next one is another matter.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// A connection to a local program. Nothing here waits, as long as poll(2) is asked first.
pub(super) enum LocalStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Stdio,
}

impl LocalStream {
    fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // What has crossed the wire shall not wait here again.
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(stream))
    }

    /// Connects to the program at `local`.
    pub(super) fn open(local: &Local) -> io::Result<Self> {
        match local {
            Local::Tcp(at) => TcpStream::connect_timeout(at, PATIENCE).and_then(Self::tcp),
            Local::Unix(path) => UnixStream::connect(path).and_then(Self::unix),
            Local::Stdio => Ok(Self::Stdio),
            Local::TcpListen(_) | Local::UnixListen(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// What there is, at most as much as `buffer` holds: 0 at the end, [`None`] where there is nothing yet.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        ready(match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            // Standard input as the process has it: std's would keep some to itself, and poll(2) would not know.
            Self::Stdio => nix::unistd::read(io::stdin(), buffer).map_err(io::Error::from),
        })
    }

    /// Writes a part of `bytes`; [`None`]: there is no room yet.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        ready(match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Stdio => {
                let part = &bytes[..bytes.len().min(PIPE_ROOM)];
                nix::unistd::write(io::stdout(), part).map_err(io::Error::from)
            }
        })
    }

    /// Nothing more will be written.
    pub(super) fn finish(&mut self) {
        // A peer that is gone already needs no telling.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
            Self::Stdio => Ok(()),
        };
    }

    /// Where it is read, and where it is written.
    pub(super) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        match self {
            Self::Tcp(stream) => [stream.as_fd(); 2],
            Self::Unix(stream) => [stream.as_fd(); 2],
            // They are open as long as the process.
            Self::Stdio => [STDIN.as_fd(), STDOUT.as_fd()],
        }
    }
}

static STDIN: std::sync::LazyLock<io::Stdin> = std::sync::LazyLock::new(io::stdin);
static STDOUT: std::sync::LazyLock<io::Stdout> = std::sync::LazyLock::new(io::stdout);

fn ready(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_text() {
        let at: SocketAddr = "127.0.0.1:80".parse().unwrap();
        for (text, local) in [
            ("tcp:127.0.0.1:80", Local::Tcp(at)),
            ("tcp-listen:127.0.0.1:80", Local::TcpListen(at)),
            ("tcp:[::1]:80", Local::Tcp("[::1]:80".parse().unwrap())),
            ("unix:some/socket", Local::Unix("some/socket".into())),
            ("unix-listen:s", Local::UnixListen("s".into())),
            ("stdio", Local::Stdio),
        ] {
            assert_eq!(text.parse(), Ok(local), "{text}");
        }
        for (text, why) in [
            ("tcp:80", "`80` is not an address"),
            ("unix:", "names no path"),
            ("stdin", "none of tcp-listen"),
            ("stdio:x", "none of"),
            ("", "none of"),
        ] {
            let error = text.parse::<Local>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
