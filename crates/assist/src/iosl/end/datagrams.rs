//! Datagrams beside the octets of a path: where a driver's connections are in UDP, they are datagrams there too.

use handfast_core::Instant;

use super::link::Phase;
use super::{End, PathId, Target};
use crate::iosl::secure::AROUND_DATAGRAM;
use crate::iosl::session;

impl End {
    /// The next datagram to go beside a path, sealed, of at most `room` octets. [`None`]: there is none now; one that is longer, and all
    /// after very many, come by [`End::poll_transmit`].
    pub fn poll_datagram(&mut self, now: Instant, path: PathId, room: usize) -> Option<Vec<u8>> {
        let most = room.checked_sub(AROUND_DATAGRAM)?;
        let link = self.links.get_mut(&path).filter(|link| link.phase == Phase::Bound)?;
        let channel = link.channel.as_mut().filter(|channel| channel.may_write_datagram())?;
        let (socket, epoch) = link.of?;
        let datagram = self.sessions.get_mut(&socket)?.session.poll_datagram(now, epoch, most)?;
        let sealed = channel.write_datagram(&datagram);
        self.settle(now, socket);
        sealed
    }

    /// Whether a session has a datagram for this path, if it is the one where it sends.
    pub fn has_datagram(&self, path: PathId) -> bool {
        let of = self.links.get(&path).and_then(|link| link.of);
        let entry = of.and_then(|(socket, _)| self.sessions.get(&socket));
        entry.is_some_and(|entry| entry.session.has_datagram())
    }

    /// A datagram has come beside a path. Anybody may have sent it: one that does not have the path's keys, or has come before, is
    /// dropped, and nothing else changes (RFC 9147 §4.5.2).
    pub fn on_datagram(&mut self, now: Instant, path: PathId, sealed: &[u8]) {
        let link = self.links.get_mut(&path).filter(|link| link.phase == Phase::Bound);
        let opened = link.and_then(|link| {
            let datagram = link.channel.as_mut()?.read_datagram(sealed)?;
            Some((link.of?, datagram))
        });
        let Some(((socket, epoch), datagram)) = opened else {
            self.counters.strange += 1;
            return;
        };
        self.confirm(now, socket, epoch);
        self.with(now, socket, |session, pool| session.on_datagram(now, epoch, &datagram, pool));
    }

    /// The bounds of a session that leads there.
    pub(super) fn config_of(&self, target: &Target) -> session::Config {
        let config = self.config.session;
        if target.is_datagrams() { config.of_datagrams() } else { config }
    }
}
