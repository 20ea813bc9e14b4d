//! What becomes of a program's datagrams: a session for each target, by the peer that was named.

use handfast_assist::iosl::frame::{MOST_DATAGRAM, Reason, Target};
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::probe::Policy;
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use tracing::{info, warn};

use super::associations::{Brought, MOST, Route, refuse};
use super::peers::Asked;
use super::{Aim, Local, Purpose};

/// Datagrams of one relay before the others have their turn.
const AT_ONCE: usize = 64;

/// A target to which no session came about is tried again after so long, if the program goes on.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// The same where nobody was at the target.
const UNREACHED_FOR: Duration = Duration::from_secs(1);

/// The same where the peer has begun anew, or has given the session up: it may be there again at once.
const BROKEN_FOR: Duration = Duration::from_millis(200);

/// RFC 1928 §6: a general failure, and a command that is not supported.
const FAILED: u8 = 1;
const NOT_SUPPORTED: u8 = 7;

impl Local {
    /// Programs want relays of UDP.
    pub(super) fn associate(&mut self, io: &mut EventLoop, programs: Vec<(SourceId, TcpStream)>) {
        for (id, control) in programs {
            if !self.peers.is_named() {
                warn!(
                    "no relay of UDP: it needs --peer, since a datagram says nothing of whether a peer is at its target"
                );
                refuse(control, NOT_SUPPORTED);
                continue;
            }
            if self.associations.len() >= MOST {
                warn!(most = MOST, "no relay of UDP: there are as many as there may be");
                refuse(control, FAILED);
                continue;
            }
            match self.associations.open(io, id, control) {
                // It may be closed already, which nobody says again.
                Ok(()) => io.read_again(id),
                Err((control, error)) => {
                    warn!(%error, "no relay of UDP");
                    refuse(control, FAILED);
                }
            }
        }
    }

    /// A program has sent datagrams, or has closed the connection by which it has asked for its relay.
    pub(super) fn on_association(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let outcome = if let Some(number) = self.associations.relay_at(id) {
            self.read_relay(number)
        } else {
            let (over, outcome) = self.associations.hear_control(id);
            for socket in over.map(|number| self.associations.close(number)).unwrap_or_default() {
                self.carrier.end_datagrams(socket);
            }
            outcome
        };
        self.hear(io);
        outcome
    }

    fn read_relay(&mut self, number: u64) -> ReadOutcome {
        for _ in 0..AT_ONCE {
            match self.associations.receive(number) {
                Brought::Nothing => return ReadOutcome::Nothing,
                Brought::Dropped(why) => self.drop_datagram(number, why),
                Brought::Datagram(_, datagram) if datagram.len() > MOST_DATAGRAM => {
                    self.drop_datagram(number, "it is longer than 16,000 octets");
                }
                Brought::Datagram(target, datagram) => self.send_to(number, target, &datagram),
            }
        }
        ReadOutcome::Some
    }

    /// One goes nowhere: the first time it is said why.
    fn drop_datagram(&mut self, number: u64, why: &str) {
        self.associations.dropped += 1;
        if self.associations.get_mut(number).is_some_and(|association| association.tells(why)) {
            warn!(why, "a program's datagram is dropped, and others like it");
        }
    }

    fn send_to(&mut self, number: u64, target: Target, datagram: &[u8]) {
        let now = Self::now();
        let Some(association) = self.associations.get_mut(number) else { return };
        match association.routes.get_mut(&target) {
            Some(Route::Opening(socket, early)) => {
                let (socket, gone) = (*socket, early.push(datagram));
                self.associations.dropped += gone;
                self.associations.touch(now, socket);
            }
            Some(Route::Open(socket)) => {
                let socket = *socket;
                self.associations.touch(now, socket);
                self.send_by(socket, datagram);
            }
            Some(Route::Refused(until)) if *until > now => self.associations.dropped += 1,
            Some(Route::Refused(_)) | None => self.open_for(number, target, datagram),
        }
    }

    /// Without a path it is lost: who waits for it does not want it later.
    fn send_by(&mut self, socket: Socket, datagram: &[u8]) {
        let is_sent = self.carrier.send_datagram(socket, datagram).is_ok();
        self.associations.dropped += u64::from(!is_sent);
    }

    fn open_for(&mut self, number: u64, target: Target, first: &[u8]) {
        let Asked::Peer(peer) = self.peers.of(&target, None) else {
            return self
                .drop_datagram(number, "the peer does not lead to its target, and UDP does not go straight");
        };
        if let Some(oldest) = self.associations.in_the_way(number) {
            self.end_one(oldest);
        }
        let key = self.peers.key_of(&peer);
        let socket = match self.carrier.open(target.clone(), peer.addresses.clone(), key) {
            Ok(socket) => socket,
            Err(refused) => return self.drop_datagram(number, &format!("no session: {refused:?}")),
        };
        self.purposes.insert(socket, Purpose { peer, target: target.clone(), aim: Aim::Datagrams });
        self.associations.insert(Self::now(), (number, target), socket, first);
    }

    /// A session of datagrams has opened.
    pub(super) fn on_datagrams_opened(&mut self, socket: Socket) {
        if self.associations.of(socket).is_none() {
            return self.carrier.end_datagrams(socket);
        }
        for datagram in self.associations.opened(socket) {
            self.send_by(socket, &datagram);
        }
    }

    /// Datagrams have come for a program.
    pub(super) fn on_datagrams(&mut self, socket: Socket) {
        let of = self.associations.of(socket);
        self.associations.touch(Self::now(), socket);
        while let Some(datagram) = self.carrier.receive_datagram(socket) {
            let association = of.as_ref().and_then(|(number, _)| self.associations.get_mut(*number));
            let given = association
                .zip(of.as_ref())
                .is_some_and(|(one, (_, target))| one.give(target, &datagram).is_ok());
            self.associations.dropped += u64::from(!given);
        }
    }

    /// The peer wants no more of them: such as where nobody has used the session for long.
    pub(super) fn on_datagrams_done(&mut self, socket: Socket) {
        self.purposes.remove(&socket);
        self.associations.remove(socket, None);
    }

    /// Nobody is at the peer.
    pub(super) fn on_datagrams_unreached(&mut self, socket: Socket) {
        let of = self.associations.of(socket);
        self.associations.remove(socket, Some(Self::now() + REFUSED_FOR));
        self.give_up(socket);
        if let Some((number, target)) = of {
            self.tell_of(number, &target, "no end of sessions answers there");
        }
    }

    /// A session has failed: nothing, if it is none of datagrams.
    pub(super) fn on_datagrams_failed(&mut self, socket: Socket, reason: Reason) {
        let Some((number, target)) = self.associations.of(socket) else { return };
        let route = self.associations.get_mut(number).and_then(|association| association.routes.get(&target));
        let was_open = matches!(route, Some(Route::Open(_)));
        let wait = match reason {
            Reason::TargetUnreachable => UNREACHED_FOR,
            Reason::NoSuchSession | Reason::Expired | Reason::Aborted if was_open => BROKEN_FOR,
            _ => REFUSED_FOR,
        };
        self.associations.remove(socket, Some(Self::now() + wait));
        match reason {
            Reason::Protocol if !was_open => self.tell_of(
                number,
                &target,
                "the peer does not understand: it may be of a version whose sessions carry no datagrams",
            ),
            Reason::TargetRefused if self.peers.policy() == Policy::Prefer => {
                self.tell_of(number, &target, "the peer does not lead there, and UDP does not go straight");
            }
            reason => self.tell_of(number, &target, &reason.to_string()),
        }
    }

    /// Says once to the user of a program what has become of its datagrams.
    fn tell_of(&mut self, number: u64, target: &Target, why: &str) {
        let line = format!("{target}: {why}");
        if self.associations.get_mut(number).is_some_and(|association| association.tells(&line)) {
            warn!(%target, why, "datagrams go nowhere");
        } else {
            info!(%target, why, "datagrams go nowhere");
        }
    }

    /// Nobody has used them for long.
    pub(super) fn end_idle_datagrams(&mut self, now: Instant) {
        while let Some(socket) = self.associations.take_idle(now) {
            self.end_one(socket);
        }
    }

    fn end_one(&mut self, socket: Socket) {
        self.associations.remove(socket, None);
        self.carrier.end_datagrams(socket);
    }
}
