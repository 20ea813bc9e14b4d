//! Sessions that carry datagrams: what comes for whoever drives them, and what leaves beside connections in UDP.

use bytes::Bytes;
use handfast_assist::iosl::end::PathId;
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::inside::MOST_BESIDE;
use handfast_assist::iosl::session::{Read, Session, Unsent};
use handfast_io::Clock;

use super::Carrier;
use super::paths::{Path, State};
use super::wire::Wire;

impl Carrier {
    /// Whether a session carries datagrams.
    pub(in crate::services::session) fn is_of_datagrams(&self, socket: Socket) -> bool {
        self.end.target(socket).is_some_and(|(target, _)| target.is_datagrams())
    }

    /// Sends a datagram, which may get lost.
    ///
    /// # Errors
    /// Why it does not go out at all.
    pub(in crate::services::session) fn send_datagram(
        &mut self,
        socket: Socket,
        datagram: &[u8],
    ) -> Result<(), Unsent> {
        self.end.send_datagram(Clock::SYSTEM.now(), socket, datagram)
    }

    /// The next datagram that has come.
    pub(in crate::services::session) fn receive_datagram(&mut self, socket: Socket) -> Option<Bytes> {
        self.end.receive_datagram(socket)
    }

    /// Whether a session has a path now.
    pub(in crate::services::session) fn is_connected(&self, socket: Socket) -> bool {
        self.end.session(socket).is_some_and(Session::is_connected)
    }

    /// Nobody wants a session of datagrams any more. One that can tell nobody of it now does not wait until it can.
    pub(in crate::services::session) fn end_datagrams(&mut self, socket: Socket) {
        if self.is_connected(socket) {
            let now = Clock::SYSTEM.now();
            // What was sent last is on its way, and the other end would keep the session.
            self.carried.insert(socket, Some(now));
            self.end.finish(now, socket);
        } else {
            self.reset(socket, Reason::Aborted);
        }
    }

    /// The other end wants no more datagrams, nor does this one then.
    pub(super) fn hear_end(&mut self, socket: Socket) {
        if matches!(self.end.read(Clock::SYSTEM.now(), socket, 0), Ok(Read::End)) {
            self.end.finish(Clock::SYSTEM.now(), socket);
        }
    }

    /// What waits on the paths of a session of datagrams is to be little.
    pub(super) fn keep_paths_short(&mut self, socket: Socket) {
        if self.is_of_datagrams(socket) {
            for path in self.end.paths(socket).collect::<Vec<_>>() {
                self.keep_short(path);
            }
        }
    }

    /// Sends beside a connection in UDP what its session has for it, as far as there is room; the rest goes on the connection.
    pub(super) fn transmit_beside(&mut self, path: PathId) {
        let Some(&Path { wire: Wire::Inside(stream), state: State::Open, .. }) = self.paths.get(&path) else {
            return;
        };
        let now = Clock::SYSTEM.now();
        while self.end.has_datagram(path)
            && self.udp.may_send_beside(stream)
            && let Some(sealed) = self.end.poll_datagram(now, path, MOST_BESIDE)
        {
            self.udp.send_beside(stream, &sealed);
        }
    }

    /// Takes what has come beside connections: whether there was any.
    pub(super) fn hear_beside(&mut self) -> bool {
        let mut is_any = false;
        while let Some((stream, sealed)) = self.udp.receive_beside() {
            is_any = true;
            if let Some(&path) = self.by_stream.get(&stream) {
                self.end.on_datagram(Clock::SYSTEM.now(), path, &sealed);
            }
        }
        is_any
    }
}
