//! The bytes of a channel, with TLS around them or without.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;
use rustls::Connection;

/// What a read takes from the kernel at most, in turns of 4 KiB as rustls has it: the longest record takes five.
const MOST_TURNS: usize = 8;

/// A stream of bytes that never blocks.
pub struct Stream {
    tcp: TcpStream,
    tls: Option<Box<Connection>>,
}

impl From<TcpStream> for Stream {
    /// TCP alone.
    fn from(tcp: TcpStream) -> Self {
        Self { tcp, tls: None }
    }
}

impl Stream {
    pub(super) fn secured(connection: Connection, tcp: TcpStream) -> Self {
        Self { tcp, tls: Some(Box::new(connection)) }
    }

    /// Whether there is TLS.
    #[must_use]
    pub fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether TLS has taken bytes that the kernel has not.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Says that nothing more follows.
    ///
    /// # Errors
    /// What shutdown(2) says.
    pub fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        // What the kernel does not take now nobody waits for.
        let _ = self.flush();
        self.tcp.shutdown(Shutdown::Write)
    }
}

impl Read for Stream {
    /// With TLS [`ErrorKind::Interrupted`] says as well that what has come is no data, and that there may be more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.tcp.read(buffer) };
        // Tickets and new keys are as many as the peer likes (RFC 8446 §4.6).
        for _ in 0..MOST_TURNS {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end without the alert `close_notify` (RFC 8446 §6.1): a message that was cut short shows by its length.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            tls.complete_io(&mut self.tcp)?;
        }
        Err(ErrorKind::Interrupted.into())
    }
}

impl Write for Stream {
    /// Takes nothing before the handshake is over. It never reads: what came with that would wait for another event of the socket.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let Some(tls) = &mut self.tls else { return self.tcp.write(bytes) };
        if tls.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let written = tls.writer().write(bytes)?;
        // It is taken; an error comes back at the next call.
        let _ = self.flush();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.tcp.flush() };
        while tls.wants_write() {
            tls.write_tls(&mut self.tcp)?;
        }
        Ok(())
    }
}
