//! Datagrams of a program whose calls of connect(2) come here: its socket is connected to one of this end, and that one to it.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use handfast_assist::iosl::probe::Policy;
use handfast_io::net::UdpSocket;
use handfast_io::{Attempt, EventLoop, Interest};
use tracing::info;

use super::super::Local;
use super::super::catcher::FORBIDDEN;
use super::super::led::{name_of, parsed};
use super::super::peers::Asked;
use super::associations::MOST_PAIRS;
use super::ways::Pair;

/// What the names of their descriptors begin with.
pub(in super::super) const PAIRED: &str = "paired-";

/// Who asks a name server needs no session, and without one no names.
const DOMAIN: u16 = 53;

/// Whether datagrams go there without this end, whatever the policy is.
fn is_straight(remote: SocketAddr) -> bool {
    let is_broadcast = matches!(remote.ip(), IpAddr::V4(four) if four.is_broadcast());
    remote.port() == DOMAIN || is_broadcast
}

impl Local {
    /// A program connects a socket of UDP.
    pub(in super::super) fn on_datagrams_call(&mut self, io: &mut EventLoop, attempt: &Attempt) {
        let now = Self::now();
        let Some(catcher) = &self.catcher else { return };
        let Some(target) = super::target(attempt.remote).filter(|_| !is_straight(attempt.remote)) else {
            return catcher.let_go_datagrams(attempt);
        };
        if self.refusals.has(now, &target) {
            return catcher.refuse(attempt, FORBIDDEN);
        }
        let goes_straight = self.peers.policy() == Policy::Prefer;
        if goes_straight && matches!(self.peers.of(&target, None), Asked::Nobody) {
            return catcher.let_go_datagrams(attempt);
        }
        if self.associations.pairs().count() >= MOST_PAIRS {
            self.take_back(now);
        }
        if let Err(error) = self.pair(io, attempt) {
            info!(%target, %error, "a socket of UDP is not led");
            let Some(catcher) = &self.catcher else { return };
            if goes_straight {
                catcher.let_go_datagrams(attempt);
            } else {
                catcher.refuse(attempt, FORBIDDEN);
            }
        }
    }

    fn pair(&mut self, io: &mut EventLoop, attempt: &Attempt) -> std::io::Result<()> {
        if self.associations.pairs().count() >= MOST_PAIRS {
            return Err(std::io::Error::other("there are as many as there may be"));
        }
        let Some(catcher) = &self.catcher else { return Err(std::io::ErrorKind::NotConnected.into()) };
        let (socket, led) = catcher.pair(attempt)?;
        self.pairs_made += 1;
        let name = super::target(attempt.remote).and_then(|target| name_of(PAIRED, &target, self.pairs_made));
        // Without a name that is kept the program has to connect again after a kill.
        let name =
            name.filter(|name| self.carrier.store().is_some_and(|store| store.keep(name, &socket).is_ok()));
        self.take_pair(io, UdpSocket::from_std(socket), attempt.remote, name)?;
        if let Some(catcher) = &self.catcher {
            catcher.answer(attempt, led);
        }
        Ok(())
    }

    fn take_pair(
        &mut self,
        io: &mut EventLoop,
        mut socket: UdpSocket,
        remote: SocketAddr,
        name: Option<String>,
    ) -> std::io::Result<()> {
        let target = super::target(remote).ok_or(std::io::ErrorKind::InvalidInput)?;
        let (program, id) = (socket.peer_addr()?, io.add(&mut socket, Interest::READABLE)?);
        self.associations.pair(Pair { socket, id, program, target, name });
        Ok(())
    }

    /// Goes on with those of the end before.
    pub(in super::super) fn go_on_with_pairs(&mut self, io: &mut EventLoop, left: Vec<(String, OwnedFd)>) {
        for (name, descriptor) in left {
            let socket = UdpSocket::from_std(descriptor.into());
            let taken = parsed(PAIRED, &name).is_some_and(|(remote, number)| {
                self.pairs_made = self.pairs_made.max(number);
                self.take_pair(io, socket, remote, Some(name.clone())).is_ok()
            });
            if let (false, Some(store)) = (taken, self.carrier.store()) {
                store.drop_from_store(&name);
            }
        }
    }
}
