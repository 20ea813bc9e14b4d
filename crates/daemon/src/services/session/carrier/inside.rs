//! What is inside UDP: connections of our own TCP, and associations of our own SCTP.

use std::io;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::iosl::sctp::AssociationId;
use handfast_assist::iosl::udp::StreamId;
use handfast_core::Instant;
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use handfast_sctp::PathState;
use handfast_tcp::StoredPath;

use super::Below;
use super::sctp::Sctp;
use super::udp::Udp;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsideId {
    Tcp(StreamId),
    Sctp(AssociationId),
}

/// What it had, for one that takes its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Window {
    Tcp(StoredPath),
    Sctp(PathState),
}

/// All of them.
pub(super) struct Inside {
    below: Below,
    tcp: Udp,
    sctp: Sctp,
}

impl Inside {
    /// Without sockets. `below`: what others may open. `seeds`: each 32 bytes of the system's generator.
    pub(super) fn new(below: Below, [tcp, sctp]: [[u8; 32]; 2]) -> Self {
        Self { below, tcp: Udp::new(below == Below::Udp, tcp), sctp: Sctp::new(below == Below::Sctp, sctp) }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.tcp.has(id) || self.sctp.has(id)
    }

    /// Takes what others open at an address.
    pub(super) fn listen(&mut self, io: &mut EventLoop, address: SocketAddr) -> io::Result<()> {
        match self.below {
            Below::Udp => self.tcp.listen(io, address),
            Below::Sctp => self.sctp.listen(io, address),
            Below::Tcp | Below::Mptcp => Ok(()),
        }
    }

    /// Opens a connection; its SYN leaves with [`Inside::flush`], and takes along what is written before.
    pub(super) fn connect_tcp(&mut self, io: &mut EventLoop, peer: SocketAddr) -> io::Result<InsideId> {
        self.tcp.connect(io, peer).map(InsideId::Tcp)
    }

    /// Opens an association; its INIT leaves with [`Inside::flush`], and what is written before goes with its COOKIE ECHO.
    pub(super) fn connect_sctp(&mut self, io: &mut EventLoop, peer: SocketAddr) -> io::Result<InsideId> {
        self.sctp.connect(io, peer).map(InsideId::Sctp)
    }

    /// The next one that somebody has opened.
    pub(super) fn accept(&mut self) -> Option<(InsideId, SocketAddr)> {
        let tcp = self.tcp.accept().map(|(id, from)| (InsideId::Tcp(id), from));
        tcp.or_else(|| self.sctp.accept().map(|(id, from)| (InsideId::Sctp(id), from)))
    }

    /// One to which something has happened.
    pub(super) fn next_touched(&mut self) -> Option<InsideId> {
        self.tcp.next_touched().map(InsideId::Tcp).or_else(|| self.sctp.next_touched().map(InsideId::Sctp))
    }

    /// Reads once.
    pub(super) fn receive(&mut self, id: SourceId) -> ReadOutcome {
        if self.tcp.has(id) { self.tcp.receive(id) } else { self.sctp.receive(id) }
    }

    /// There is room in the kernel.
    pub(super) fn on_writable(&mut self, id: SourceId) {
        if self.tcp.has(id) { self.tcp.on_writable(id) } else { self.sctp.on_writable(id) }
    }

    /// Sends what there is to send.
    pub(super) fn flush(&mut self) {
        self.tcp.flush();
        self.sctp.flush();
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.tcp.deadline(), self.sctp.deadline()].into_iter().flatten().min()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.tcp.on_timer(now);
        self.sctp.on_timer(now);
    }

    /// As read(2).
    pub(super) fn read(&mut self, id: InsideId, into: &mut [u8]) -> io::Result<usize> {
        match id {
            InsideId::Tcp(id) => self.tcp.read(id, into),
            InsideId::Sctp(id) => self.sctp.read(id, into),
        }
    }

    /// As write(2).
    pub(super) fn write(&mut self, id: InsideId, octets: &[u8]) -> io::Result<usize> {
        match id {
            InsideId::Tcp(id) => self.tcp.write(id, octets),
            InsideId::Sctp(id) => self.sctp.write(id, octets),
        }
    }

    /// Whether it is there; [`Err`]: why it is not, or no more.
    pub(super) fn is_there(&self, id: InsideId) -> io::Result<bool> {
        match id {
            InsideId::Tcp(id) => self.tcp.is_there(id),
            InsideId::Sctp(id) => self.sctp.is_there(id),
        }
    }

    /// What its place is taken with.
    pub(super) fn window(&self, id: InsideId) -> Option<Window> {
        match id {
            InsideId::Tcp(id) => self.tcp.window(id).map(Window::Tcp),
            InsideId::Sctp(id) => self.sctp.window(id).map(Window::Sctp),
        }
    }

    /// It takes the place of one that had this window; whether that is one of its kind.
    pub(super) fn take_over(&mut self, id: InsideId, window: Window) -> bool {
        match (id, window) {
            (InsideId::Tcp(id), Window::Tcp(window)) => self.tcp.take_over(id, window),
            (InsideId::Sctp(id), Window::Sctp(window)) => self.sctp.take_over(id, window),
            _ => return false,
        }
        true
    }

    /// Whether a datagram may go beside it now. Beside an association none does: it has no form for that.
    pub(super) fn may_send_beside(&mut self, id: InsideId) -> bool {
        matches!(id, InsideId::Tcp(id) if self.tcp.may_send_beside(id))
    }

    /// Sends one. It leaves with [`Inside::flush`].
    pub(super) fn send_beside(&mut self, id: InsideId, sealed: &[u8]) {
        if let InsideId::Tcp(id) = id {
            self.tcp.send_beside(id, sealed);
        }
    }

    /// What has come beside one.
    pub(super) fn receive_beside(&mut self) -> Option<(InsideId, Bytes)> {
        self.tcp.receive_beside().map(|(id, sealed)| (InsideId::Tcp(id), sealed))
    }

    /// It carries datagrams, which would be old if many waited.
    pub(super) fn keep_short(&mut self, id: InsideId) {
        match id {
            InsideId::Tcp(id) => self.tcp.keep_short(id),
            InsideId::Sctp(id) => self.sctp.keep_short(id),
        }
    }

    /// A new connection to the peer would come from `source`. What has several addresses may go on by another one.
    pub(super) fn on_routes_changed(&mut self, id: InsideId, source: IpAddr) {
        if let InsideId::Sctp(id) = id {
            self.sctp.on_routes_changed(id, source);
        }
    }

    /// Nothing more is written.
    pub(super) fn finish(&mut self, id: InsideId) {
        match id {
            InsideId::Tcp(id) => self.tcp.finish(id),
            InsideId::Sctp(id) => self.sctp.finish(id),
        }
    }

    /// A path is done with it.
    pub(super) fn release(&mut self, id: InsideId) {
        match id {
            InsideId::Tcp(id) => self.tcp.release(id),
            InsideId::Sctp(id) => self.sctp.release(id),
        }
    }

    /// By which address of this machine it goes.
    pub(super) fn local(&self, id: InsideId) -> Option<IpAddr> {
        match id {
            InsideId::Tcp(id) => self.tcp.local(id),
            InsideId::Sctp(id) => self.sctp.local(id),
        }
    }
}
