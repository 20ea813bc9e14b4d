//! The other side of a line socket: says lines, and waits for each answer.
#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use handfast_core::Duration;

use crate::wait;

/// A connection to a line socket.
#[derive(Debug)]
pub struct LineCaller(BufReader<UnixStream>);

impl LineCaller {
    /// Connects. An answer may take `patience`.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(socket: &Path, patience: std::time::Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Says a line, given without its end; the answer, with its end.
    ///
    /// # Errors
    /// The other side is gone, or does not answer in time.
    pub fn ask(&mut self, line: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        if self.0.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(answer)
    }

    /// Sleeps for so long, or until the other side goes. It has nothing to say unasked.
    ///
    /// # Errors
    /// The other side is gone, or says something.
    pub fn idle(&mut self, nap: Duration) -> io::Result<()> {
        self.0.get_ref().set_nonblocking(true)?;
        let stream = &mut self.0;
        let seen =
            wait(Some(stream.get_ref().as_fd()), &mut [], nap).and_then(|()| match stream.fill_buf() {
                Ok([]) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                Ok(_) => Err(io::Error::other("it speaks unasked")),
                Err(error) => Err(error),
            });
        self.0.get_ref().set_nonblocking(false)?;
        seen
    }
}
