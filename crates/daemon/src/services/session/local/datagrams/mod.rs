//! What becomes of a program's datagrams: a session for each target, by the peer that was named or one at the target itself.
//!
//! They come by a relay for which the program has asked, or were led here (`led`, `caught`). Those that were led go straight where
//! the policy is `prefer` and there is no session for them.

mod aliases;
mod associations;
mod caught;
mod leaving;
mod led;
mod port;
mod route;
mod routes;
mod straight;
mod ways;

use std::net::{IpAddr, SocketAddr};

use handfast_assist::iosl::frame::{MOST_DATAGRAM, Reason, Target};
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::probe::{Decision, Policy};
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{EventLoop, ReadOutcome, SourceId, source_towards};
use tracing::{info, warn};

use super::peers::{Asked, Peer};
use super::{Aim, Local, Purpose};
pub(super) use aliases::{Aliases, Listening};
pub(super) use associations::Associations;
use associations::{Brought, MOST};
pub(super) use caught::PAIRED;
pub(super) use led::Refusals;
use route::{Early, Route};
use ways::{Way, refuse};

/// Datagrams of one program before the others have their turn.
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

/// The target of datagrams at an address.
fn target(at: SocketAddr) -> Option<Target> {
    Target::of_datagrams(&at.ip().to_canonical().to_string(), at.port())
}

/// The address of a target that is none by its name.
fn address(target: &Target) -> Option<SocketAddr> {
    Some((target.host().parse::<IpAddr>().ok()?, target.port()).into())
}

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
            if self.associations.relays() >= MOST {
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

    /// A program has sent datagrams, or has closed the connection by which it has asked for its relay; or some have come straight.
    pub(super) fn on_association(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let outcome = if let Some(number) = self.associations.socket_at(id) {
            self.read_program(io, number)
        } else if self.associations.straight_at(id).is_some() {
            self.read_straight(id)
        } else {
            let (over, outcome) = self.associations.hear_control(id);
            if let Some(number) = over {
                self.end_association(number);
            }
            outcome
        };
        self.hear(io);
        outcome
    }

    /// A program sends no more by its way.
    fn end_association(&mut self, number: u64) {
        if let Some(Way::Pair(pair)) = self.associations.get(number).map(|association| &association.way)
            && let (Some(name), Some(store)) = (pair.name.clone(), self.carrier.store())
        {
            store.drop_from_store(&name);
        }
        for socket in self.associations.close(number) {
            self.carrier.end_datagrams(socket);
        }
    }

    fn read_program(&mut self, io: &mut EventLoop, number: u64) -> ReadOutcome {
        for _ in 0..AT_ONCE {
            match self.associations.receive(number) {
                Brought::Nothing => return ReadOutcome::Nothing,
                Brought::Dropped(why) => self.drop_datagram(number, why),
                Brought::Datagram(target, datagram) => self.send_to(io, number, target, &datagram),
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

    fn send_to(&mut self, io: &mut EventLoop, number: u64, target: Target, datagram: &[u8]) {
        let now = Self::now();
        let is_straight = matches!(self.associations.route_mut(number, &target), Some(Route::Straight(_)));
        if datagram.len() > MOST_DATAGRAM && !is_straight {
            return self.drop_datagram(number, "it is longer than 16,000 octets");
        }
        match self.associations.route_mut(number, &target) {
            Some(Route::Opening { session, early, .. }) => {
                let (session, gone) = (*session, early.push(datagram));
                self.associations.dropped += gone;
                self.associations.touch(now, session);
            }
            Some(Route::Open { session, unsure }) => {
                let session = *session;
                // What gives way has most likely come.
                if let Some(unsure) = unsure {
                    unsure.push(datagram);
                }
                self.associations.touch(now, session);
                self.send_by(session, datagram);
            }
            Some(Route::Straight(_)) => self.send_straight(io, number, &target, datagram),
            Some(Route::Refused(until)) if *until > now => self.associations.dropped += 1,
            Some(Route::Refused(_)) | None => self.open_for(io, number, target, datagram),
        }
    }

    /// Without a path it is lost: who waits for it does not want it later.
    fn send_by(&mut self, socket: Socket, datagram: &[u8]) {
        let is_sent = self.carrier.send_datagram(socket, datagram).is_ok();
        self.associations.dropped += u64::from(!is_sent);
    }

    /// Whether what has no session goes straight: what a program has asked a relay for does not.
    fn may_go_straight(&self, number: u64) -> bool {
        let is_relay = |way: &Way| matches!(way, Way::Relay(_));
        self.peers.policy() == Policy::Prefer
            && self.associations.get(number).is_some_and(|association| !is_relay(&association.way))
    }

    fn open_for(&mut self, io: &mut EventLoop, number: u64, target: Target, first: &[u8]) {
        let may_go_straight = self.may_go_straight(number);
        let Asked::Peer(peer) = self.peers.of(&target, None) else {
            if may_go_straight {
                return self.lead_straight(io, number, &target, &Early::of(first));
            }
            return self
                .drop_datagram(number, "the peer does not lead to its target, and UDP does not go straight");
        };
        self.source = Some(peer.server()).map(|server| (server, source_towards(server).ok()));
        let by = if may_go_straight {
            match self.peers.on_connect(Self::now(), &peer) {
                Decision::Session { by } => by,
                Decision::Probe(by) => Some(by),
                _ => return self.lead_straight(io, number, &target, &Early::of(first)),
            }
        } else {
            None
        };
        self.open_by(number, target, peer, by, first);
    }

    fn open_by(&mut self, number: u64, target: Target, peer: Peer, by: Option<Instant>, first: &[u8]) {
        if let Some(oldest) = self.associations.in_the_way(number) {
            self.end_one(oldest);
        }
        let key = self.peers.key_of(&peer);
        let socket = match self.carrier.open(target.clone(), peer.addresses.clone(), key) {
            Ok(socket) => socket,
            Err(refused) => return self.drop_datagram(number, &format!("no session: {refused:?}")),
        };
        self.purposes.insert(socket, Purpose { peer, target: target.clone(), aim: Aim::Datagrams });
        self.associations.insert(Self::now(), (number, target), (socket, by), first);
    }

    /// A session of datagrams has opened.
    pub(super) fn on_datagrams_opened(&mut self, socket: Socket) {
        let Some((number, target)) = self.associations.of(socket) else {
            return self.carrier.end_datagrams(socket);
        };
        let is_unsure = self.may_go_straight(number) && self.peers.has_to_ask(&target);
        for datagram in self.associations.opened(socket, is_unsure).iter() {
            self.send_by(socket, datagram);
        }
        self.end_if_leaving(socket);
    }

    /// Datagrams have come for a program.
    pub(super) fn on_datagrams(&mut self, socket: Socket) {
        let of = self.associations.of(socket);
        self.associations.touch(Self::now(), socket);
        while let Some(datagram) = self.carrier.receive_datagram(socket) {
            let Some((number, target)) = &of else {
                self.associations.dropped += 1;
                continue;
            };
            if let Some(Route::Open { unsure, .. }) = self.associations.route_mut(*number, target)
                && unsure.take().is_some()
            {
                self.peers.leads(target, true);
            }
            self.give(*number, target, &datagram);
        }
    }

    /// Gives a program one that has come from a target. Where it does not take it, it is lost.
    fn give(&mut self, number: u64, target: &Target, payload: &[u8]) {
        let aliases = self.gate.as_ref().and_then(super::Gate::aliases);
        let given = match self.associations.get(number).map(|association| &association.way) {
            Some(Way::Relay(relay)) => relay.give(target, payload).is_ok(),
            Some(Way::Led(to, _)) => {
                aliases.is_some_and(|aliases| aliases.give(target, *to, payload).is_ok())
            }
            Some(Way::Pair(pair)) => pair.socket.send(payload).is_ok(),
            None => false,
        };
        self.associations.dropped += u64::from(!given);
    }

    /// The peer wants no more of them: such as where nobody has used the session for long.
    pub(super) fn on_datagrams_done(&mut self, socket: Socket) {
        self.purposes.remove(&socket);
        self.associations.remove(socket, None);
    }

    /// Nobody is at the peer.
    pub(super) fn on_datagrams_unreached(&mut self, io: &mut EventLoop, socket: Socket) {
        self.without_session(io, socket, REFUSED_FOR, "no end of sessions answers there");
        self.give_up(socket);
    }

    /// There is no session for what a program sends: it goes straight, or nowhere for so long. `why`: as its user is told.
    fn without_session(&mut self, io: &mut EventLoop, socket: Socket, wait: Duration, why: &str) {
        let again = Self::now() + wait;
        let Some((number, target)) = self.associations.of(socket) else { return };
        let before = self.associations.remove(socket, Some(again));
        if self.may_go_straight(number) {
            info!(%target, why, "no session for datagrams");
            let early = before.map(Route::into_early).unwrap_or_default();
            return self.lead_straight(io, number, &target, &early);
        }
        self.tell_of(number, &target, why);
        self.refuse_target(number, &target, again);
    }

    /// A session has failed: nothing, if it is none of datagrams.
    pub(super) fn on_datagrams_failed(&mut self, io: &mut EventLoop, socket: Socket, reason: Reason) {
        let Some((number, target)) = self.associations.of(socket) else { return };
        let was_open = matches!(self.associations.route_mut(number, &target), Some(Route::Open { .. }));
        let is_refused = reason == Reason::TargetRefused;
        if is_refused && self.peers.policy() == Policy::Prefer {
            self.peers.leads(&target, false);
        }
        let why = match reason {
            Reason::Protocol if !was_open => {
                "the peer does not understand: it may be of a version whose sessions carry no datagrams"
                    .to_owned()
            }
            Reason::TargetRefused if self.peers.policy() == Policy::Prefer => {
                "the peer does not lead there, and UDP does not go straight".to_owned()
            }
            reason => reason.to_string(),
        };
        match reason {
            Reason::TargetRefused => self.without_session(io, socket, led::REFUSED_FOR, &why),
            Reason::Protocol if !was_open => self.without_session(io, socket, led::REFUSED_FOR, &why),
            Reason::Busy => self.without_session(io, socket, REFUSED_FOR, &why),
            reason => {
                let is_broken =
                    was_open && matches!(reason, Reason::NoSuchSession | Reason::Expired | Reason::Aborted);
                let wait = match reason {
                    Reason::TargetUnreachable => UNREACHED_FOR,
                    _ if is_broken => BROKEN_FOR,
                    _ => REFUSED_FOR,
                };
                self.associations.remove(socket, Some(Self::now() + wait));
                self.tell_of(number, &target, &why);
            }
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

    /// Nobody has used them for long, or their peer has not answered in time.
    pub(super) fn on_datagrams_due(&mut self, io: &mut EventLoop, now: Instant) {
        while let Some(socket) = self.associations.take_idle(now) {
            self.end_one(socket);
        }
        while let Some(id) = self.associations.take_idle_straight(now) {
            self.associations.end_straight(id);
        }
        for socket in self.associations.waited(now) {
            self.on_datagrams_waited(io, socket, now);
        }
        self.look_at_led(now);
        self.end_left(now);
    }

    /// The peer has not answered in time.
    fn on_datagrams_waited(&mut self, io: &mut EventLoop, socket: Socket, now: Instant) {
        let Some(server) = self.purposes.get(&socket).map(|purpose| purpose.peer.server()) else {
            // It was given up: its peer shows another key than before, and nothing goes straight then.
            drop(self.associations.remove(socket, Some(now + REFUSED_FOR)));
            return;
        };
        match self.peers.probes().on_timer(now, server) {
            Decision::Session { by } => self.associations.wait(socket, by),
            Decision::Probe(by) if by > now => self.associations.wait(socket, Some(by)),
            // The session stays: if the peer answers late, the next program has it without asking.
            _ => {
                self.purposes.entry(socket).and_modify(|purpose| purpose.aim = Aim::Later);
                self.without_session(io, socket, REFUSED_FOR, "no end of sessions answers there");
            }
        }
    }

    fn end_one(&mut self, socket: Socket) {
        self.associations.remove(socket, None);
        self.carrier.end_datagrams(socket);
    }
}
