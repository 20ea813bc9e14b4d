//! The switches' side: connections come and go, messages pass.

use std::io;

use handfast_assist::sdn::{ConnId, Output};
use mio::net::TcpStream;
use mio::{Interest, Token};
use tracing::{debug, info, warn};

use super::switch_link::{Broken, SwitchLink};
use super::{ACCEPT_AGAIN, Daemon, Found};
use crate::clock;
use crate::conversation::Input;
use crate::log;

/// Connections from one address that may be there without having shown that they are a switch's of ours.
const UNKNOWN_EACH: usize = 8;

impl Daemon {
    /// Takes every switch that has connected.
    pub(super) fn accept_switches(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    if !self.make_room(peer.ip()) {
                        if self.may_say("connection refused", peer.ip()) {
                            warn!(%peer, most = self.room, "connection refused: too many");
                        }
                    } else if let Err(error) = self.meet(stream, peer) {
                        warn!(%peer, %error, "connection lost");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // What ends one connection before it is taken is no trouble of the next.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    warn!(%error, "no connection can be taken");
                    self.accept_again = Some(clock::now() + ACCEPT_AGAIN);
                    return;
                }
            }
        }
    }

    /// Whether one more connection may come from there. Who has not shown yet that it is a switch of ours gives way: the one that
    /// came first from the same address, where there are as many of them as may be, and else of all.
    fn make_room(&mut self, from: std::net::IpAddr) -> bool {
        let unknown = |number: &usize| !self.machine.is_ready(ConnId(*number as u64));
        let there: Vec<usize> = self.links.keys().copied().filter(unknown).collect();
        let here: Vec<usize> =
            there.iter().copied().filter(|number| self.links[number].peer().ip() == from).collect();
        let gives_way = match here.first() {
            Some(&first) if here.len() >= UNKNOWN_EACH => Some(first),
            _ if self.links.len() >= self.room => there.first().copied(),
            _ => return true,
        };
        let Some(first) = gives_way else { return false };
        self.lose(first, &Broken::Crowded);
        true
    }

    /// Whether a line of this kind about this peer is to be logged.
    fn may_say(&mut self, what: &'static str, peer: std::net::IpAddr) -> bool {
        self.often.may(clock::now(), what, peer)
    }

    fn meet(&mut self, mut stream: TcpStream, peer: std::net::SocketAddr) -> io::Result<()> {
        // A barrier that waits for an acknowledgment would wait for a delayed one.
        stream.set_nodelay(true)?;
        let number = self.number();
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(number), interest)?;
        self.links.insert(number, SwitchLink::new(stream, peer));
        if self.wrong_version.of(peer.ip()) || !self.may_say("connected", peer.ip()) {
            debug!(conn = number, %peer, "connected");
        } else {
            info!(conn = number, %peer, "connected");
        }
        self.tell(Input::Connected(ConnId(number as u64)));
        Ok(())
    }

    /// Reads once, and passes on what is whole.
    pub(super) fn read_switch(&mut self, number: usize) -> Found {
        let Some(link) = self.links.get_mut(&number) else { return Found::Nothing };
        match link.read(&mut self.chunk) {
            Ok(Found::Some) => {}
            Ok(found) => return found,
            Err(broken) => {
                self.lose(number, &broken);
                return Found::Nothing;
            }
        }
        // The machine may have closed the connection at one of the messages.
        while let Some(link) = self.links.get_mut(&number) {
            match link.next() {
                Ok(Some((bytes, message))) => {
                    self.tell(Input::Message { conn: ConnId(number as u64), bytes, message });
                }
                Ok(None) => return Found::Some,
                Err(broken) => self.lose(number, &broken),
            }
        }
        Found::Nothing
    }

    /// Does what the machine asks for.
    pub(super) fn perform(&mut self, output: Output) {
        match output {
            Output::Send(ConnId(conn), message) => {
                let number = conn as usize;
                let Some(link) = self.links.get_mut(&number) else { return };
                log::sent(conn, &message.body);
                if let Err(error) = link.push(&message) {
                    self.counts.unsendable += 1;
                    warn!(conn, %error, "message not sent");
                }
                self.writable.insert(number);
            }
            Output::Close(ConnId(conn)) => {
                let Some(mut link) = self.links.remove(&(conn as usize)) else { return };
                // What it was told last says why; if it does not take that now, it has gone without.
                let _ = link.flush(self.settings.write_buffer);
                let peer = link.peer();
                if self.wrong_version.of(peer.ip()) || !self.may_say("closed", peer.ip()) {
                    debug!(conn, %peer, "closed");
                } else {
                    info!(conn, %peer, "closed");
                }
            }
        }
    }

    /// A connection cannot go on.
    pub(super) fn lose(&mut self, number: usize, why: &Broken) {
        let Some(link) = self.links.remove(&number) else { return };
        self.counts.closed += u64::from(matches!(why, Broken::Garbage(_) | Broken::Deaf(_)));
        let peer = link.peer();
        if self.may_say("connection lost", peer.ip()) {
            warn!(conn = number, %peer, %why, "connection lost");
        }
        self.tell(Input::Disconnected(ConnId(number as u64)));
    }
}
