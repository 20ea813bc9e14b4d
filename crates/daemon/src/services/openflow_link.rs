//! One end of an OpenFlow channel: bytes in, messages out, and the other way round.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

use bytes::{Bytes, BytesMut};
use handfast_core::Bytes as Count;
use handfast_io::tls::Stream;
use handfast_io::{ReadOutcome, SourceId};
use handfast_wire::openflow::{Message, ParseError};

/// Bytes of a read. Besides them less than one message is kept, so a connection's incoming bytes are bounded by this and
/// 65,535; with TLS by its records besides, which rustls bounds.
pub(in crate::services) const CHUNK: usize = 64 << 10;

/// Connections from one address that may be there without having shown that they are one of ours.
const UNKNOWN_EACH: usize = 8;

/// Which of the connections that are not known as one of ours yet, oldest first, gives way to one more from an address: the oldest
/// from there, if that has [`UNKNOWN_EACH`] of them, and the oldest of all where no more fit.
pub(in crate::services) fn gives_way(
    unknown: &[(SourceId, IpAddr)],
    from: IpAddr,
    is_full: bool,
) -> Option<SourceId> {
    let mut same = unknown.iter().filter(|(_, address)| *address == from);
    if same.clone().count() >= UNKNOWN_EACH {
        return same.next().map(|(id, _)| *id);
    }
    unknown.first().filter(|_| is_full).map(|(id, _)| *id)
}

/// At the end: reads of one connection before the others have their turn.
const MOST_READS: usize = 64;

/// One end of a channel.
pub(in crate::services) struct OpenFlowLink {
    stream: Stream,
    peer: SocketAddr,
    incoming: BytesMut,
    outgoing: Vec<u8>,
    /// How many of `outgoing` the kernel has taken.
    sent: usize,
    /// Whether the peer was told that nothing more follows.
    ended: bool,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub(in crate::services) enum LinkError {
    /// It is not OpenFlow 1.3.
    NotOpenFlow(ParseError),
    /// The send queue is full, since the peer does not read: so many bytes wait.
    SendQueueFull(usize),
    /// The peer has closed.
    Closed,
    /// Another connection needed its place, and it was not known as a switch of ours yet.
    Displaced,
    /// The other end does not prove that it belongs to the network, or speaks no TLS.
    Tls(io::Error),
    /// The kernel says so.
    System(io::Error),
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotOpenFlow(error) => write!(f, "not OpenFlow 1.3: {error}"),
            Self::SendQueueFull(waiting) => write!(f, "it does not read: {waiting} bytes wait for it"),
            Self::Closed => f.write_str("the peer has closed it"),
            Self::Displaced => {
                f.write_str("it has not shown yet that it is a switch's, and others want its place")
            }
            Self::Tls(error) => write!(f, "TLS: {error}"),
            Self::System(error) => write!(f, "{error}"),
        }
    }
}

impl OpenFlowLink {
    pub(in crate::services) fn new(stream: Stream, peer: SocketAddr) -> Self {
        Self { stream, peer, incoming: BytesMut::new(), outgoing: Vec::new(), sent: 0, ended: false }
    }

    pub(in crate::services) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Reads once.
    pub(in crate::services) fn read(&mut self, chunk: &mut [u8; CHUNK]) -> Result<ReadOutcome, LinkError> {
        match self.stream.read(chunk) {
            Ok(0) => Err(LinkError::Closed),
            Ok(read) => {
                self.incoming.extend_from_slice(&chunk[..read]);
                // Even after a short read: the end of the stream makes no event of its own.
                Ok(ReadOutcome::Some)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // What waited for the end of TLS's handshake, which has made no event of its own either.
                if self.stream.is_secured() {
                    self.send()?;
                }
                Ok(ReadOutcome::Nothing)
            }
            // The others have their turn first.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(ReadOutcome::Some),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// An error of the stream. Those of TLS have this kind.
    fn failed(&self, error: io::Error) -> LinkError {
        let is_tls = self.stream.is_secured() && error.kind() == io::ErrorKind::InvalidData;
        if is_tls { LinkError::Tls(error) } else { LinkError::System(error) }
    }

    /// Gives the kernel what it takes.
    fn send(&mut self) -> Result<(), LinkError> {
        while self.sent < self.outgoing.len() {
            match self.stream.write(&self.outgoing[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        match self.stream.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(self.failed(error)),
            _ => Ok(()),
        }
    }

    /// The next message that is there as a whole, as its bytes and what they say.
    pub(in crate::services) fn next(&mut self) -> Result<Option<(Bytes, Message)>, LinkError> {
        let Some(len) = Message::framed_len(&self.incoming).map_err(LinkError::NotOpenFlow)? else {
            return Ok(None);
        };
        let bytes = self.incoming.split_to(len).freeze();
        let message = Message::parse(&bytes).map_err(LinkError::NotOpenFlow)?;
        Ok(Some((bytes, message)))
    }

    /// Puts a message among those that wait to be sent.
    pub(in crate::services) fn push(
        &mut self,
        message: &Message,
    ) -> Result<(), handfast_wire::openflow::EmitError> {
        message.emit(&mut self.outgoing)
    }

    /// Puts a message that stands in bytes among those that wait to be sent.
    pub(in crate::services) fn push_bytes(&mut self, message: &[u8]) {
        self.outgoing.extend_from_slice(message);
    }

    /// Gives the kernel what it takes. `most`: how much may wait.
    pub(in crate::services) fn flush(&mut self, most: Count) -> Result<(), LinkError> {
        self.send()?;
        let waiting = self.waiting();
        if waiting == 0 {
            // The memory that one release needed is given back.
            self.outgoing.clear();
            self.outgoing.shrink_to(CHUNK);
            self.sent = 0;
        } else if self.sent >= waiting {
            // Moves each byte at most once for each byte sent.
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
        if waiting as u64 > most.0 { Err(LinkError::SendQueueFull(waiting)) } else { Ok(()) }
    }

    /// Ends our side after what waits: reads and drops until the peer closes. Whether it has not yet.
    pub(in crate::services) fn drain(&mut self, chunk: &mut [u8; CHUNK]) -> bool {
        if self.is_sent() && !std::mem::replace(&mut self.ended, true) {
            // It fails where the connection is gone, which the read tells.
            let _ = self.stream.end();
        }
        // Bounded: a peer that never stops sending does not hold up the others.
        for _ in 0..MOST_READS {
            match self.stream.read(chunk) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
                Ok(0) => return false,
            }
        }
        true
    }

    /// Whether the kernel has taken all. Of what TLS has taken it may not have yet.
    pub(in crate::services) fn is_sent(&self) -> bool {
        self.waiting() == 0 && !self.stream.has_unsent()
    }

    /// Bytes that wait to be sent; with TLS up to 64 KiB besides.
    pub(in crate::services) fn waiting(&self) -> usize {
        self.outgoing.len() - self.sent
    }
}
