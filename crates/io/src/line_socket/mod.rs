//! A Unix socket at which programs of the same user say lines, and each line is answered by a line.
//!
//! Everything is bounded: the length of a line, the number of clients, and the answers that wait for a client that does
//! not read them. The socket's file has mode 0600, and whoever connects is asked for (`SO_PEERCRED`). A file that a dead process left is replaced.
#![forbid(unsafe_code)]

mod caller;
mod client;
mod file;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::Path;

use mio::Interest;
use mio::net::UnixListener;
use nix::unistd::Uid;

use crate::{EventLoop, ReadOutcome, SourceId, peer_user};

pub use caller::LineCaller;
pub use client::LineClient;
pub use file::SocketFile;

/// What a line socket takes.
#[derive(Clone, Copy, Debug)]
pub struct LineLimits {
    /// Bytes of a line, its end not counted.
    pub longest_line: usize,
    /// Clients at once.
    pub most_clients: usize,
    /// Bytes of answers that may wait for a client.
    pub most_waiting: usize,
}

/// A line from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without its end.
    Complete(Vec<u8>),
    /// More than [`LineLimits::longest_line`].
    TooLong,
}

/// Who has connected.
pub enum Accepted {
    /// A client, which is read from and answered from now on.
    Client,
    /// One more than there may be: it can be answered, and is closed when it is dropped.
    OneTooMany(LineClient),
    /// Nobody else.
    Nobody,
}

/// This process's user may ask, and root.
fn is_welcome(user: u32, own: Uid) -> bool {
    user == own.as_raw() || user == 0
}

/// A line socket in an event loop.
pub struct LineSocket {
    listener: UnixListener,
    id: SourceId,
    _file: SocketFile,
    limits: LineLimits,
    clients: BTreeMap<SourceId, LineClient>,
}

impl LineSocket {
    /// Listens at `path`, for this user only.
    ///
    /// # Errors
    /// Those of [`SocketFile::listen`], and what the event loop refuses.
    pub fn listen(path: &Path, limits: LineLimits, io: &mut EventLoop) -> io::Result<Self> {
        let (mut listener, file) = SocketFile::listen(path)?;
        let id = io.add(&mut listener, Interest::READABLE)?;
        Ok(Self { listener, id, _file: file, limits, clients: BTreeMap::new() })
    }

    /// The listener's number: when it is readable, somebody has connected.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// Whether this is the number of a client.
    pub fn has(&self, id: SourceId) -> bool {
        self.clients.contains_key(&id)
    }

    /// Takes the next client.
    ///
    /// # Errors
    /// What accept(2) or the event loop says.
    pub fn accept(&mut self, io: &mut EventLoop) -> io::Result<Accepted> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Accepted::Nobody),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            // The file's mode says the same; who has made another one of it is not believed.
            if !peer_user(&stream).is_ok_and(|user| is_welcome(user, Uid::effective())) {
                continue;
            }
            if self.clients.len() >= self.limits.most_clients {
                return Ok(Accepted::OneTooMany(LineClient::new(stream, self.limits)));
            }
            let id = io.add(&mut stream, Interest::READABLE | Interest::WRITABLE)?;
            self.clients.insert(id, LineClient::new(stream, self.limits));
            return Ok(Accepted::Client);
        }
    }

    /// Reads once from a client; the lines that are complete, with their numbers on this connection, and whether there may be
    /// more.
    pub fn read(&mut self, id: SourceId) -> (Vec<(u64, Line)>, ReadOutcome) {
        let mut lines = Vec::new();
        let outcome = match self.clients.get_mut(&id) {
            Some(client) => client.read(&mut lines).unwrap_or(ReadOutcome::End),
            None => ReadOutcome::Nothing,
        };
        (lines, outcome)
    }

    /// Answers a client's line.
    pub fn answer(&mut self, id: SourceId, answer: &impl Display) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.answer(answer);
        }
    }

    /// Gives the kernel what it takes for a client. One that does not read its answers is closed.
    pub fn flush(&mut self, id: SourceId) {
        if self.clients.get_mut(&id).is_some_and(|client| !client.flush()) {
            self.clients.remove(&id);
        }
    }

    /// A client has ended its side: it gets what the kernel takes, and is closed.
    pub fn close(&mut self, id: SourceId) {
        if let Some(mut client) = self.clients.remove(&id) {
            client.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Duration;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    const LIMITS: LineLimits = LineLimits { longest_line: 8, most_clients: 2, most_waiting: 64 << 10 };

    fn socket(name: &str) -> (LineSocket, EventLoop, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("handfast-io-line-{name}-{}", std::process::id()));
        let mut io = EventLoop::new().unwrap();
        (LineSocket::listen(&path, LIMITS, &mut io).unwrap(), io, path)
    }

    /// What a client is heard to say until its end.
    fn lines(socket: &mut LineSocket, io: &mut EventLoop, said: &[u8], path: &Path) -> Vec<(u64, Line)> {
        let mut stream = UnixStream::connect(path).unwrap();
        assert!(matches!(socket.accept(io), Ok(Accepted::Client)));
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let (listener, mut all) = (socket.id(), Vec::new());
        loop {
            io.wait(None).unwrap();
            for id in io.take_readable().into_iter().filter(|&id| id != listener) {
                let (lines, outcome) = socket.read(id);
                all.extend(lines);
                match outcome {
                    ReadOutcome::Some => io.read_again(id),
                    ReadOutcome::Nothing => {}
                    ReadOutcome::End => {
                        socket.close(id);
                        return all;
                    }
                }
            }
        }
    }

    #[test]
    fn lines_are_numbered_and_bounded() {
        let (mut socket, mut io, path) = socket("bounds");
        let heard = lines(&mut socket, &mut io, b"one\n12345678\n123456789 and more\n\nlast", &path);
        let line = |text: &str| Line::Complete(text.as_bytes().to_vec());
        let expected =
            [(1, line("one")), (2, line("12345678")), (3, Line::TooLong), (4, line("")), (5, line("last"))];
        assert_eq!(heard, expected);
    }

    #[test]
    fn one_too_many_can_be_told_so() {
        let (mut socket, mut io, path) = socket("many");
        let _clients = [0, 1].map(|_| {
            let stream = UnixStream::connect(&path).unwrap();
            assert!(matches!(socket.accept(&mut io), Ok(Accepted::Client)));
            stream
        });
        let third = UnixStream::connect(&path).unwrap();
        let Ok(Accepted::OneTooMany(mut refused)) = socket.accept(&mut io) else { panic!("it is taken") };
        refused.answer(&"full");
        assert!(refused.flush());
        drop(refused);
        let heard: Vec<String> = BufReader::new(third).lines().map(Result::unwrap).collect();
        assert_eq!(heard, ["full"]);
        assert!(matches!(socket.accept(&mut io), Ok(Accepted::Nobody)));
    }

    #[test]
    fn another_user_is_not_welcome() {
        let own = Uid::from_raw(1000);
        assert!(is_welcome(1000, own) && is_welcome(0, own));
        assert!(!is_welcome(1001, own) && !is_welcome(1000, Uid::from_raw(0)));
    }

    #[test]
    fn who_does_not_read_is_closed() {
        let (mut socket, mut io, path) = socket("unread");
        let _stream = UnixStream::connect(&path).unwrap();
        assert!(matches!(socket.accept(&mut io), Ok(Accepted::Client)));
        let id = *socket.clients.keys().next().unwrap();
        let answer = "x".repeat(32 << 10);
        let answers = (0..1_000).take_while(|_| {
            socket.answer(id, &answer);
            socket.flush(id);
            socket.has(id)
        });
        assert!(answers.count() < 100, "what the kernel keeps, and no more");
    }

    #[test]
    fn a_caller_is_answered_and_sees_the_end() {
        let (mut socket, mut io, path) = socket("caller");
        let patience = std::time::Duration::from_secs(5);
        let mut caller = LineCaller::connect(&path, patience).unwrap();
        let answer = std::thread::spawn(move || (caller.ask("hi"), caller));
        let mut done = false;
        while !done {
            io.wait(None).unwrap();
            for id in io.take_readable() {
                if id == socket.id() {
                    while matches!(socket.accept(&mut io), Ok(Accepted::Client)) {}
                    continue;
                }
                for (_, line) in socket.read(id).0 {
                    assert_eq!(line, Line::Complete(b"hi".to_vec()));
                    socket.answer(id, &"there");
                    socket.flush(id);
                    done = true;
                }
            }
        }
        let (answered, mut caller) = answer.join().unwrap();
        assert_eq!(answered.unwrap(), "there\n");
        caller.idle(Duration::from_millis(1)).unwrap();
        drop(socket);
        let end = caller.idle(Duration::from_secs(5)).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
