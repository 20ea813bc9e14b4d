//! A program's end of a connection: TCP, or a Unix socket.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;

use handfast_io::net::{TcpStream, UnixStream};
use handfast_io::{EventLoop, Interest, SourceId, disconnect, reset_on_close};

/// A stream of octets that never blocks.
#[derive(Debug)]
pub(in crate::services) enum Plug {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Plug {
    /// Waits for it too, from now on.
    pub(in crate::services) fn add_to(&mut self, io: &mut EventLoop) -> io::Result<SourceId> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => io.add(stream, both),
            Self::Unix(stream) => io.add(stream, both),
        }
    }

    /// Nothing more is written to it.
    pub(in crate::services) fn finish(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Closes it so that the program sees a failure. A Unix socket has no such thing: it sees the end.
    pub(in crate::services) fn abort(&self) {
        if let Self::Tcp(stream) = self {
            // Where this fails the connection is gone already. Whoever else has a descriptor of it keeps it from being closed.
            let _ = disconnect(stream).or_else(|_| reset_on_close(stream));
        }
    }
}

impl Read for Plug {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Plug {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(octets),
            Self::Unix(stream) => stream.write(octets),
        }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(pieces),
            Self::Unix(stream) => stream.write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
