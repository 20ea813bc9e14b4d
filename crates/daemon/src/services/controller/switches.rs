//! The switches' side: connections come and go, messages pass.

use std::io;

use handfast_assist::sdn::{ConnId, Output};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, next_connection};
use tracing::{debug, info, warn};

use super::adapter::{ACCEPT_AGAIN, Adapter, Due};
use super::conversation::Input;
use super::log;
use crate::services::openflow_link::{LinkError, OpenFlowLink, gives_way};
use crate::services::tls;

/// The machine's number for a connection.
fn conn_of(id: SourceId) -> ConnId {
    ConnId(id.0 as u64)
}

impl Adapter {
    /// Takes every switch that has connected.
    pub(super) fn accept_switches(&mut self, io: &mut EventLoop) {
        loop {
            match next_connection(&self.listener) {
                Ok(None) => return,
                Ok(Some((stream, peer))) => {
                    if !self.make_room(peer.ip()) {
                        if self.may_log("connection refused", peer.ip()) {
                            warn!(%peer, most = self.room, "connection refused: too many");
                        }
                    } else if let Err(error) = self.add_switch(io, stream, peer) {
                        warn!(%peer, %error, "connection lost");
                    }
                }
                Err(error) => {
                    warn!(%error, "no connection can be taken");
                    self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
                    return;
                }
            }
        }
    }

    /// Makes room for one more connection from an address; whether there is.
    fn make_room(&mut self, from: std::net::IpAddr) -> bool {
        let is_full = self.links.len() >= self.room;
        let unknown = self.links.iter().filter(|(id, _)| !self.machine.is_ready(conn_of(**id)));
        let unknown = unknown.map(|(id, link)| (*id, link.peer().ip())).collect::<Vec<_>>();
        let Some(first) = gives_way(&unknown, from, is_full) else { return !is_full };
        self.lose(first, &LinkError::Displaced);
        true
    }

    /// Whether a line of this kind about this peer is to be logged.
    fn may_log(&mut self, what: &'static str, peer: std::net::IpAddr) -> bool {
        self.limiter.allows(Clock::SYSTEM.now(), what, peer)
    }

    fn add_switch(
        &mut self,
        io: &mut EventLoop,
        mut stream: TcpStream,
        peer: std::net::SocketAddr,
    ) -> io::Result<()> {
        // A barrier that waits for an acknowledgment would wait for a delayed one.
        stream.set_nodelay(true)?;
        let id = io.add(&mut stream, Interest::READABLE | Interest::WRITABLE)?;
        let conn = id.0;
        let stream = tls::accept(self.tls.as_ref(), stream)?;
        self.links.insert(id, OpenFlowLink::new(stream, peer));
        if self.wrong_version.contains(peer.ip()) || !self.may_log("connected", peer.ip()) {
            debug!(conn, %peer, "connected");
        } else {
            info!(conn, %peer, "connected");
        }
        self.tell(Input::Connected(conn_of(id)));
        Ok(())
    }

    /// Reads once, and passes on what is whole.
    pub(super) fn read_switch(&mut self, id: SourceId) -> ReadOutcome {
        let Some(link) = self.links.get_mut(&id) else { return ReadOutcome::Nothing };
        match link.read(&mut self.chunk) {
            Ok(ReadOutcome::Some) => {}
            Ok(outcome) => return outcome,
            Err(error) => {
                self.lose(id, &error);
                return ReadOutcome::Nothing;
            }
        }
        // The machine may have closed the connection at one of the messages.
        while let Some(link) = self.links.get_mut(&id) {
            match link.next() {
                Ok(Some((bytes, message))) => {
                    self.tell(Input::Message { conn: conn_of(id), bytes, message });
                }
                Ok(None) => return ReadOutcome::Some,
                Err(error) => self.lose(id, &error),
            }
        }
        ReadOutcome::Nothing
    }

    /// Does what the machine asks for.
    pub(super) fn perform(&mut self, output: Output) {
        match output {
            Output::Send(ConnId(conn), message) => {
                let id = SourceId(conn as usize);
                let Some(link) = self.links.get_mut(&id) else { return };
                log::sent(conn, &message.body);
                if let Err(error) = link.push(&message) {
                    self.counts.unsendable += 1;
                    warn!(conn, %error, "message not sent");
                }
                self.to_flush.insert(id);
            }
            Output::Close(ConnId(conn)) => {
                let Some(mut link) = self.links.remove(&SourceId(conn as usize)) else { return };
                // The last message says why; if the kernel does not take it now, the switch does not get it.
                let _ = link.flush(self.settings.write_buffer);
                let peer = link.peer();
                if self.wrong_version.contains(peer.ip()) || !self.may_log("closed", peer.ip()) {
                    debug!(conn, %peer, "closed");
                } else {
                    info!(conn, %peer, "closed");
                }
            }
        }
    }

    /// A connection cannot go on.
    pub(super) fn lose(&mut self, id: SourceId, why: &LinkError) {
        let Some(link) = self.links.remove(&id) else { return };
        self.counts.closed += u64::from(matches!(
            why,
            LinkError::NotOpenFlow(_) | LinkError::SendQueueFull(_) | LinkError::Tls(_)
        ));
        let peer = link.peer();
        if self.may_log("connection lost", peer.ip()) {
            warn!(conn = id.0, %peer, %why, "connection lost");
        }
        self.tell(Input::Disconnected(conn_of(id)));
    }
}
