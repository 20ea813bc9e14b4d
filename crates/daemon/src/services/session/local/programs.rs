//! What becomes of a program's connection: a session, or straight to the target.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use handfast_assist::iosl::frame::{Reason, Target};
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::probe::{Decision, Policy};
use handfast_assist::iosl::secure::PublicKey;
use handfast_assist::iosl::session::Session;
use handfast_core::{Duration, Instant};
use handfast_io::{EventLoop, source_towards};
use tracing::{info, warn};

use super::super::carrier::News;
use super::super::keeping::Left;
use super::super::keys::name_of;
use super::catcher::Caught;
use super::client::{Client, Via};
use super::front::{Dialect, Refusal};
use super::peers::{Asked, Peer};
use super::{Aim, Local, Purpose, Waiting};

/// So long at least a peer that has answered has to say that it does not lead to a target; a peer that is far away has longer.
const REFUSED_WITHIN: Duration = Duration::from_millis(50);
/// A session may have been waited for while there was no network.
const REFUSED_WITHIN_MOST: Duration = Duration::from_secs(2);

impl Local {
    /// A program wants to be connected.
    pub(super) fn ask(&mut self, io: &mut EventLoop, client: Client) {
        match self.peers.of(&client.target, None) {
            Asked::Peer(peer) => self.offer(io, client, peer),
            Asked::Nobody => self.go_straight(io, client, None),
            Asked::Unknown => self.look_up(client, false),
        }
    }

    fn look_up(&mut self, client: Client, is_straight: bool) {
        self.next_number += 1;
        if self.resolver.ask(self.next_number, &client.target) {
            self.looked_up.insert(self.next_number, (client, is_straight));
        } else {
            self.not_reached(client, "too many names are looked up at once");
        }
    }

    /// Names have been found.
    pub(super) fn on_answers(&mut self, io: &mut EventLoop) {
        for (number, found) in self.resolver.answers() {
            if let Some(name) = self.names.take(number) {
                self.peer_is_at(&name, &found);
                continue;
            }
            let Some((client, is_straight)) = self.looked_up.remove(&number) else { continue };
            if found.is_empty() {
                self.not_reached(client, "the name has no address");
                continue;
            }
            match self.peers.of(&client.target, Some(&found)) {
                Asked::Peer(peer) if !is_straight => self.offer(io, client, peer),
                _ => self.go_straight(io, client, Some(found)),
            }
        }
    }

    fn go_straight(&mut self, io: &mut EventLoop, client: Client, found: Option<Vec<SocketAddr>>) {
        if let (Via::Call(attempt), Some(catcher)) = (&client.via, &self.catcher) {
            return catcher.let_go(attempt);
        }
        let literal = client.target.host().parse::<IpAddr>().ok();
        let literal = literal.map(|host| vec![(host, client.target.port()).into()]);
        match literal.or(found) {
            Some(addresses) => self.straight.connect(io, client, addresses),
            None => self.look_up(client, true),
        }
    }

    fn offer(&mut self, io: &mut EventLoop, client: Client, peer: Peer) {
        self.source = Some(peer.server()).map(|server| (server, source_towards(server).ok()));
        match self.peers.on_connect(Self::now(), &peer) {
            Decision::Session { by } => {
                let asks = self.peers.has_to_ask(&client.target);
                let by = by.or_else(|| asks.then(|| Self::now() + REFUSED_WITHIN));
                self.open(io, client, peer, by);
            }
            Decision::Probe(by) => self.open(io, client, peer, Some(by)),
            without => self.without(io, client, &peer, without),
        }
    }

    /// There is no peer for a program.
    fn without(&mut self, io: &mut EventLoop, client: Client, peer: &Peer, decision: Decision) {
        if let Decision::Straight(reason) = decision {
            info!(target = %client.target, peer = peer.name, ?reason, "straight: it does not outlive a change of address");
            return self.go_straight(io, client, None);
        }
        warn!(target = %client.target, peer = peer.name, ?decision, "no connection: there is no peer");
        let wants = self.carrier.below().wants();
        self.fail(&format!("error: {}: no end of sessions answers there{wants}", peer.name));
        client.refuse(self.catcher.as_ref(), Refusal::Unreached);
    }

    /// Opens a session. `by`: until then the program waits for the peer.
    fn open(&mut self, io: &mut EventLoop, client: Client, peer: Peer, by: Option<Instant>) {
        let key = self.peers.key_of(&peer);
        let socket = match self.carrier.open(client.target.clone(), peer.addresses.clone(), key) {
            Ok(socket) => socket,
            Err(refused) => {
                return self.not_reached(client, &format!("no session: {refused:?}"));
            }
        };
        self.carrier.note(socket, || peer.note());
        let target = client.target.clone();
        self.purposes.insert(socket, Purpose { peer, target, aim: Aim::Program });
        let since = Self::now();
        match by {
            Some(by) => drop(self.waiting.insert(socket, Waiting { client, since, by, is_opened: false })),
            None => self.attach(io, socket, client),
        }
    }

    fn attach(&mut self, io: &mut EventLoop, socket: Socket, client: Client) {
        let Client { via, dialect, rest, target } = client;
        let (caught, call) = match (via, &self.catcher) {
            (Via::Plug(plug, id), _) => (Ok((plug, id)), None),
            (Via::Call(attempt), Some(catcher)) => match catcher.catch(&attempt) {
                Ok((plug, led)) => (Ok((plug, None)), Some((attempt, led))),
                Err(error) => (Err(error), None),
            },
            (Via::Call(_), None) => return,
        };
        let attached = caught.and_then(|plug| self.carrier.attach(io, socket, plug, dialect.granted(), rest));
        // Its connection is kept by now: the next end goes on with it, whether or not this one comes to answer.
        if let (Some((attempt, led)), Some(catcher)) = (call, &self.catcher) {
            catcher.answer(&attempt, led);
        }
        if let Err(error) = attached {
            self.give_up(socket);
            self.target_failed(&target, &format!("program not taken: {error}"));
        }
    }

    /// Goes on with sessions of a process before.
    pub(super) fn restore(&mut self, io: &mut EventLoop, left: Vec<Left>) {
        for (socket, note) in self.carrier.restore(io, left) {
            let target = self.carrier.target(socket).map(|(target, _)| target);
            let is_done = self.carrier.end().session(socket).is_none_or(Session::is_done);
            let peer = Peer::of_note(&note).inspect(|peer| self.peers.was_at(peer));
            match (peer, target) {
                (Some(peer), Some(target)) if is_done || self.carrier.is_attached(socket) => {
                    self.carrier.set_peer(socket, peer.addresses.clone());
                    self.purposes.insert(socket, Purpose { peer, target, aim: Aim::Program });
                }
                // No program had it yet.
                _ => self.give_up(socket),
            }
        }
    }

    /// A program calls connect(2).
    pub(super) fn on_calls(&mut self, io: &mut EventLoop) {
        while let Some(caught) = self.next_call() {
            let attempt = match caught {
                Caught::Connection(attempt) => attempt,
                Caught::Datagrams(attempt) => {
                    self.on_datagrams_call(io, &attempt);
                    continue;
                }
            };
            if let Some(catcher) = &self.catcher
                && catcher.led_before(&attempt).is_some_and(|at| self.carrier.has_program_at(at))
            {
                catcher.answer_again(&attempt);
                continue;
            }
            let Some(target) = Target::new(&attempt.remote.ip().to_string(), attempt.remote.port()) else {
                continue;
            };
            let (via, dialect, rest) = (Via::Call(attempt), Dialect::Silent, Vec::new());
            self.ask(io, Client { via, dialect, target, rest });
        }
        self.hear(io);
    }

    fn next_call(&mut self) -> Option<Caught> {
        // Where it is closed the kernel has connect(2) fail that nobody would answer (`seccomp_unotify(2)`).
        self.catcher.as_ref()?.next().unwrap_or_else(|_| {
            self.catcher = None;
            None
        })
    }

    /// Does what sessions say.
    pub(super) fn hear(&mut self, io: &mut EventLoop) {
        loop {
            self.carrier.drive(io);
            let Some(news) = self.carrier.next_news() else { break };
            match news {
                News::Opened(socket) => self.on_opened(io, socket),
                News::Resumed(socket, away) => {
                    let target = self.target_of(socket);
                    info!(target, away_ms = away.as_millis(), "session goes on by another path");
                }
                News::Datagrams(socket) => self.on_datagrams(socket),
                News::Done(socket) if self.associations.of(socket).is_some() => {
                    self.on_datagrams_done(socket);
                }
                News::Done(socket) | News::Aborted(socket) => drop(self.purposes.remove(&socket)),
                News::Unreached(socket, why, was_connected) => {
                    self.on_unreached(io, socket, why, was_connected);
                }
                News::Failed(socket, reason) => self.on_failed(io, socket, reason),
            }
        }
        self.on_straight();
        self.let_go_of_led();
        self.note_straight();
    }

    fn target_of(&self, socket: Socket) -> Option<String> {
        self.carrier.target(socket).map(|(target, _)| target.to_string())
    }

    fn on_opened(&mut self, io: &mut EventLoop, socket: Socket) {
        let Some(Purpose { peer, aim, .. }) = self.purposes.get(&socket) else { return };
        let (peer, aim) = (peer.clone(), *aim);
        let Some((target, Some(key))) = self.carrier.target(socket) else { return };
        if aim == Aim::Key {
            self.give_up(socket);
            return self.on_key(&peer, &key);
        }
        self.peers.learn(&peer, key);
        self.peers.probes().on_answer(Self::now(), peer.server());
        info!(%target, peer = peer.name, key = name_of(&key), "session opened");
        if aim == Aim::Datagrams {
            return self.on_datagrams_opened(socket);
        }
        let has_to_ask = self.peers.has_to_ask(&target);
        match self.waiting.remove(&socket) {
            Some(waiting) if has_to_ask => {
                let now = Self::now();
                let by = now + refused_within(now.since(waiting.since));
                self.waiting.insert(socket, Waiting { by, is_opened: true, ..waiting });
            }
            Some(Waiting { client, .. }) => self.attach(io, socket, client),
            // Its program went straight meanwhile: the next one has a peer.
            None if !self.carrier.is_attached(socket) => self.give_up(socket),
            None => {}
        }
    }

    /// A connection to the peer has not come about.
    fn on_unreached(&mut self, io: &mut EventLoop, socket: Socket, why: ErrorKind, was_connected: bool) {
        let is_opened = self.carrier.end().session(socket).is_none_or(Session::is_opened);
        let Some(Purpose { peer, aim: Aim::Program | Aim::Datagrams | Aim::Later, .. }) =
            self.purposes.get(&socket)
        else {
            return;
        };
        let peer = peer.clone();
        // Of a server that has no peer nobody wants to know more.
        if is_opened || self.peers.fixed_name() == Some(&peer.name) {
            self.look_up_again(&peer.name);
        }
        // In between is a network that is away, which says nothing of the peer.
        if is_opened || !(was_connected || why == ErrorKind::ConnectionRefused) {
            return;
        }
        if was_connected && self.peers.key_of(&peer).is_some() {
            // Who is there does not have the key, or is no peer: which?
            return self.ask_for_key(peer);
        }
        let decision = self.peers.probes().on_refused(Self::now(), peer.server());
        if self.associations.of(socket).is_some() {
            return self.on_datagrams_unreached(io, socket);
        }
        if let Some(Waiting { client, .. }) = self.waiting.remove(&socket) {
            self.give_up(socket);
            self.without(io, client, &peer, decision);
        }
    }

    /// Asks a peer which key it has, with a target that is nowhere (RFC 6761 §6.4).
    fn ask_for_key(&mut self, peer: Peer) {
        let is_asked = self.purposes.values().any(|purpose| purpose.aim == Aim::Key && purpose.peer == peer);
        let nowhere = Target::new("key.invalid", 1);
        if let Some(target) = nowhere.filter(|_| !is_asked)
            && let Ok(socket) = self.carrier.open(target.clone(), peer.addresses.clone(), None)
        {
            self.purposes.insert(socket, Purpose { peer, target, aim: Aim::Key });
        }
    }

    /// A peer has said which key it has.
    fn on_key(&mut self, peer: &Peer, key: &PublicKey) {
        if self.peers.key_of(peer) == Some(*key) {
            return;
        }
        warn!(peer = peer.name, key = name_of(key), "the peer shows another key than before");
        self.fail(&self.peers.about_change(peer, key));
        // One that was open goes on as soon as the peer is there again: who answers in its place ends nothing.
        let is_new = |socket| self.carrier.end().session(socket).is_some_and(|session| !session.is_opened());
        let of_peer = |(&socket, purpose): (&Socket, &Purpose)| {
            (purpose.peer == *peer && is_new(socket)).then_some(socket)
        };
        let all: Vec<_> = self.purposes.iter().filter_map(of_peer).collect();
        for socket in all {
            self.give_up(socket);
            // Not straight either: somebody may want just that.
            if let Some(Waiting { client, .. }) = self.waiting.remove(&socket) {
                client.refuse(self.catcher.as_ref(), Refusal::Unreached);
            }
        }
    }

    fn on_failed(&mut self, io: &mut EventLoop, socket: Socket, reason: Reason) {
        self.on_datagrams_failed(io, socket, reason);
        let client = self.waiting.remove(&socket).map(|waiting| waiting.client);
        let purpose = self.purposes.remove(&socket).filter(|purpose| purpose.aim == Aim::Program);
        // No failure, where this end has wanted it so.
        if let Some(Purpose { peer, target, .. }) = purpose {
            info!(%target, peer = peer.name, %reason, "session failed");
            if reason == Reason::TargetRefused && self.peers.policy() == Policy::Prefer {
                self.peers.leads(&target, false);
                if let Some(client) = client {
                    info!(%target, peer = peer.name, "straight: the peer does not lead there");
                    return self.go_straight(io, client, None);
                }
            }
            self.session_failed(&peer, &target, reason);
        }
        // Whoever waits in connect(2) has to have an answer.
        if let Some(client) = client {
            client.refuse(self.catcher.as_ref(), Refusal::Unreached);
        }
    }

    /// Ends a session that nobody here wants any more: how it ends is nobody's failure.
    pub(super) fn give_up(&mut self, socket: Socket) {
        self.purposes.remove(&socket);
        self.carrier.reset(socket, Reason::Aborted);
    }

    /// Programs have waited for long enough.
    pub(super) fn on_waited(&mut self, io: &mut EventLoop, now: Instant) {
        let late: Vec<_> =
            self.waiting.iter().filter(|(_, waiting)| waiting.by <= now).map(|(socket, _)| *socket).collect();
        for socket in late {
            let (Some(mut waiting), Some(purpose)) =
                (self.waiting.remove(&socket), self.purposes.get(&socket))
            else {
                continue;
            };
            let peer = purpose.peer.clone();
            if waiting.is_opened {
                self.peers.leads(&waiting.client.target, true);
                self.attach(io, socket, waiting.client);
                continue;
            }
            match self.peers.probes().on_timer(now, peer.server()) {
                // Another session with this peer has opened; whether it leads to this target is not known yet.
                Decision::Session { by: None }
                    if self.peers.has_to_ask(&waiting.client.target)
                        && waiting.since + REFUSED_WITHIN_MOST > now =>
                {
                    waiting.by = waiting.since + REFUSED_WITHIN_MOST;
                    self.waiting.insert(socket, waiting);
                }
                Decision::Session { by: None } => self.attach(io, socket, waiting.client),
                Decision::Probe(by) | Decision::Session { by: Some(by) } if by > now => {
                    waiting.by = by;
                    self.waiting.insert(socket, waiting);
                }
                // The session stays: if the peer answers late, the next program has it without asking.
                decision => {
                    self.purposes.entry(socket).and_modify(|purpose| purpose.aim = Aim::Later);
                    self.without(io, waiting.client, &peer, decision);
                }
            }
        }
    }

    /// When the first of them has.
    pub(super) fn waits_until(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.by).min()
    }
}

/// The peer's answer to a request takes a round trip of which opening, which has taken `opening`, has at least two.
fn refused_within(opening: Duration) -> Duration {
    (opening + opening).clamp(REFUSED_WITHIN, REFUSED_WITHIN_MOST)
}
