//! From sessions of datagrams to their targets, and back.

use std::io;
use std::net::SocketAddr;

use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::secure::PublicKey;
use handfast_core::Instant;
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId};
use tracing::{info, warn};

use super::Server;
use crate::services::session::ports::Came;
use crate::services::session::targets::{Place, ProxyWord, datagram_header};

/// Datagrams of one target before the others have their turn.
const AT_ONCE: usize = 64;

impl Server {
    /// A client has asked for a port of UDP.
    pub(super) fn lead_datagrams(
        &mut self,
        io: &mut EventLoop,
        socket: Socket,
        place: Place,
        from: SocketAddr,
    ) -> io::Result<()> {
        let Some((target, Some(client))) = self.carrier.target(socket) else { return Ok(()) };
        if !self.ports.has_room(client) {
            self.end_left_by(client);
        }
        if !self.ports.has_room(client) {
            warn!(%target, %from, "no session of datagrams: there are too many, or of this client");
            self.carrier.reset(socket, Reason::Busy);
            return Ok(());
        }
        let header = match place.proxy {
            ProxyWord::None => Vec::new(),
            ProxyWord::V2 => datagram_header(from, place.address),
        };
        self.ports.open(io, Clock::SYSTEM.now(), (socket, client), (place.address, header))?;
        // What has come meanwhile.
        self.send_datagrams(socket);
        Ok(())
    }

    /// A client that was started anew has not said that it is done with sessions of before: one of them ends.
    fn end_left_by(&mut self, client: PublicKey) {
        let left = self.ports.of_client(client).find(|left| !self.carrier.is_connected(*left));
        if let Some(left) = left {
            self.ports.close(left);
            self.carrier.end_datagrams(left);
        }
    }

    /// Datagrams of a client go to its target. One that has none yet keeps them.
    pub(super) fn send_datagrams(&mut self, socket: Socket) {
        if !self.carrier.is_of_datagrams(socket) {
            // Of a session of octets nobody wants any, and nobody is to keep them.
            while self.carrier.receive_datagram(socket).is_some() {}
        }
        if !self.ports.has(socket) {
            return;
        }
        let now = Clock::SYSTEM.now();
        while let Some(datagram) = self.carrier.receive_datagram(socket) {
            if let Err(error) = self.ports.send(now, socket, &datagram) {
                return self.port_gone(socket, &error);
            }
        }
    }

    /// Datagrams of a target go to its client.
    pub(super) fn read_port(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let Some(socket) = self.ports.session_of(id) else { return ReadOutcome::Nothing };
        let mut outcome = ReadOutcome::Some;
        for _ in 0..AT_ONCE {
            match self.ports.receive(Clock::SYSTEM.now(), socket) {
                // Without a path it is lost: who waits for it does not want it later.
                Came::Datagram(datagram) => {
                    let is_sent = self.carrier.send_datagram(socket, &datagram).is_ok();
                    self.ports.dropped += u64::from(!is_sent);
                }
                Came::Nothing => {
                    outcome = ReadOutcome::Nothing;
                    break;
                }
                Came::Gone(error) => {
                    self.port_gone(socket, &error);
                    outcome = ReadOutcome::Nothing;
                    break;
                }
            }
        }
        self.hear(io);
        outcome
    }

    /// ICMP has said that nobody is there, or the kernel that nobody can be reached.
    fn port_gone(&mut self, socket: Socket, error: &io::Error) {
        let target = self.target_of(socket);
        warn!(target, %error, "target not reached");
        self.ports.close(socket);
        self.carrier.reset(socket, Reason::TargetUnreachable);
    }

    /// Sessions that nobody has used for long end. One whose client is away may be in use there.
    pub(super) fn end_idle_ports(&mut self, now: Instant) {
        while let Some(socket) = self.ports.take_idle(now) {
            if self.carrier.end().session(socket).is_some() && !self.carrier.is_connected(socket) {
                self.ports.touch(now, socket);
                continue;
            }
            let target = self.target_of(socket);
            info!(target, session = socket.0, "session of datagrams ends: nobody uses it");
            self.ports.close(socket);
            self.carrier.end_datagrams(socket);
        }
    }
}
