//! From a connection to a path of a session.

use bytes::Bytes;
use handfast_core::Instant;

use super::greeting::{Offer, Purpose, answer, answered, refusal};
use super::link::Phase;
use super::{End, PathId, Reason, Session, Socket, Target};
use crate::iosl::frame;
use crate::iosl::ids::{Id, Refused};
use crate::iosl::secure::{Broken, Channel, MOST_MESSAGE, MOST_PLAIN, MOST_RECORD, Pattern, PublicKey};

impl End {
    /// Octets have come on a path.
    pub fn on_octets(&mut self, now: Instant, path: PathId, mut octets: &[u8]) {
        while let Some(link) = self.links.get_mut(&path) {
            if link.phase == Phase::Closing || octets.is_empty() {
                return;
            }
            if !link.is_initiator && link.channel.is_none() {
                let Some(preamble) = link.take_preamble(&mut octets) else { return };
                self.accept(now, path, preamble);
                continue;
            }
            let is_open = link.channel.as_ref().is_some_and(Channel::is_open);
            let most = if is_open { MOST_RECORD } else { MOST_MESSAGE };
            match link.reader.next(&mut octets, most) {
                Ok(Some(record)) => self.on_record(now, path, &record),
                Ok(None) => return,
                Err(_) => self.broken(now, path),
            }
        }
    }

    /// The connection that was dialled is there: says which handshake it is, and begins it.
    pub(super) fn begin(&mut self, path: PathId) -> Result<(), Broken> {
        let of = self.links.get(&path).and_then(|link| link.of);
        let peer = of.and_then(|(socket, _)| self.sessions.get(&socket)).and_then(|entry| entry.peer);
        let channel = Channel::initiator(&self.keys, peer.as_ref(), self.entropy.fork())?;
        let preamble = channel.pattern().preamble();
        let link = self.links.get_mut(&path).ok_or(Broken)?;
        link.channel = Some(channel);
        link.phase = Phase::Shaking;
        self.say(path)?;
        // In one piece: a driver has it go with the SYN, or with COOKIE ECHO.
        let first = self.links.get_mut(&path).and_then(|link| link.out.front_mut()).ok_or(Broken)?;
        first.splice(..0, preamble);
        Ok(())
    }

    fn accept(&mut self, now: Instant, path: PathId, preamble: [u8; 8]) {
        let channel = Pattern::of(&preamble)
            .and_then(|pattern| Channel::responder(&self.keys, pattern, self.entropy.fork()).ok());
        match (channel, self.links.get_mut(&path)) {
            (Some(channel), Some(link)) => link.channel = Some(channel),
            _ => self.broken(now, path),
        }
    }

    /// Somebody has broken a rule: nothing more is taken from there.
    fn broken(&mut self, now: Instant, path: PathId) {
        self.counters.broken += 1;
        self.guests.suspect(now, path);
        self.drop_link(now, path);
    }

    /// The next message of the handshake, where it is this end's turn; with what the path is for, where that is safe.
    fn say(&mut self, path: PathId) -> Result<(), Broken> {
        let link = self.links.get(&path).ok_or(Broken)?;
        let channel = link.channel.as_ref().ok_or(Broken)?;
        if !channel.may_write() || channel.is_open() {
            return Ok(());
        }
        if !(link.is_initiator && channel.may_say()) {
            return self.push(path, &[]);
        }
        let offer = self.offer(path).ok_or(Broken)?;
        self.push(path, &offer.emit())?;
        if let Some(link) = self.links.get_mut(&path) {
            (link.phase, link.opens) = (Phase::Offered, matches!(offer.purpose, Purpose::Open(_)));
        }
        Ok(())
    }

    /// A message or record that goes out before those of the session.
    fn push(&mut self, path: PathId, payload: &[u8]) -> Result<(), Broken> {
        let link = self.links.get_mut(&path).ok_or(Broken)?;
        let message = link.channel.as_mut().ok_or(Broken)?.write_prefixed(payload)?;
        link.out.push_back(message);
        self.ready.insert(path);
        Ok(())
    }

    fn offer(&mut self, path: PathId) -> Option<Offer> {
        let (socket, epoch) = self.links.get(&path)?.of?;
        let id = self.ids.succeed(socket).ok()?;
        self.note(socket);
        let entry = self.sessions.get(&socket)?;
        let purpose = match entry.peer_id {
            Some(session) => Purpose::Resume(session),
            None => Purpose::Open(entry.target.clone()),
        };
        Some(Offer { purpose, epoch, greeting: entry.session.greeting(), id })
    }

    fn on_record(&mut self, now: Instant, path: PathId, record: &[u8]) {
        let Some(link) = self.links.get_mut(&path) else { return };
        let read =
            link.channel.as_mut().and_then(|channel| Some((channel.read(record).ok()?, channel.has_said())));
        let Some((payload, has_said)) = read else { return self.broken(now, path) };
        let (phase, is_initiator, payload) = (link.phase, link.is_initiator, Bytes::from(payload));
        match phase {
            Phase::Bound => self.on_sealed(now, path, payload),
            Phase::Offered => self.on_answer(now, path, payload),
            Phase::Shaking if has_said && !is_initiator => self.on_offer(now, path, payload),
            Phase::Shaking if payload.is_empty() && !has_said => {
                if self.say(path).is_err() {
                    self.broken(now, path);
                }
            }
            _ => self.broken(now, path),
        }
    }

    fn on_sealed(&mut self, now: Instant, path: PathId, payload: Bytes) {
        let Some((socket, epoch)) = self.links.get(&path).and_then(|link| link.of) else { return };
        let Ok(frames) = frame::parse(payload) else { return self.broken(now, path) };
        if let Some(link) = self.links.get_mut(&path) {
            link.most = (2 * link.most).min(MOST_PLAIN);
        }
        self.confirm(now, socket, epoch);
        self.with(now, socket, |session, pool| session.on_record(now, epoch, frames, pool));
    }

    /// The dialler has used its path: it knows the ID that this end has given for the next one.
    pub(super) fn confirm(&mut self, now: Instant, socket: Socket, epoch: u64) {
        let Some(entry) = self.sessions.get_mut(&socket) else { return };
        if entry.session.confirm(now, epoch, &mut self.pool) {
            self.half_open.remove(socket);
            let asked = entry.peer.zip(entry.asked_as.take());
            asked.and_then(|asked| self.unopened.remove(&asked));
            self.ids.confirm(socket);
            self.note(socket);
            self.counters.resumed += 1;
        }
    }

    /// What the end that was dialled says to this one's request.
    fn on_answer(&mut self, now: Instant, path: PathId, payload: Bytes) {
        let Some((socket, epoch)) = self.links.get(&path).and_then(|link| link.of) else { return };
        let link = self.links.get(&path);
        let remote = link.and_then(|link| link.channel.as_ref()?.remote());
        let opens = link.is_some_and(|link| link.opens);
        self.bind(path);
        match answered(payload) {
            Ok((greeting, id)) => {
                let Some(entry) = self.sessions.get_mut(&socket) else { return };
                // Two dials asked for a new session, and the peer had opened it by the first: this is another one, that nobody uses.
                if opens && entry.peer_id.is_some_and(|known| known != id) {
                    return self.drop_link(now, path);
                }
                // On first use the key is pinned: from now on nobody else is this session's peer.
                (entry.peer, entry.peer_id) = (entry.peer.or(remote), Some(id));
                self.note(socket);
                let Some(entry) = self.sessions.get_mut(&socket) else { return };
                if entry.session.on_answer(now, epoch, &greeting, &mut self.pool) {
                    self.ids.confirm(socket);
                    self.counters.resumed += 1;
                }
                self.settle(now, socket);
            }
            Err(reason) => {
                self.with(now, socket, |session, pool| session.on_refused(now, epoch, reason, pool));
                self.drop_link(now, path);
            }
        }
    }

    /// What a path is for that somebody has opened to this end.
    fn on_offer(&mut self, now: Instant, path: PathId, payload: Bytes) {
        let remote = self.links.get(&path).and_then(|link| link.channel.as_ref()?.remote());
        let Some(remote) = remote else { return self.broken(now, path) };
        let result = Offer::parse(payload).and_then(|offer| {
            let socket = match &offer.purpose {
                Purpose::Resume(id) => self.find(id, remote),
                Purpose::Open(target) => self.open_for(now, remote, target, offer.id),
            }?;
            self.take(now, path, socket, &offer)
        });
        let answer = result.unwrap_or_else(|reason| {
            self.counters.refused += 1;
            self.guests.suspect(now, path);
            if let Some(link) = self.links.get_mut(&path) {
                link.phase = Phase::Closing;
            }
            refusal(reason)
        });
        if self.push(path, &answer).is_err() {
            self.broken(now, path);
        }
    }

    /// The session that a peer means. Who has a session's ID, but not the key of its peer, learns nothing.
    fn find(&self, id: &Id, remote: PublicKey) -> Result<Socket, Reason> {
        let socket = self.ids.find(id).ok_or(Reason::NoSuchSession)?;
        let entry = self.sessions.get(&socket).filter(|entry| entry.peer == Some(remote));
        entry.map(|_| socket).ok_or(Reason::NoSuchSession)
    }

    /// A session for a peer. Until its path is used nobody is told of it, and the target is not connected to: a copy of a request has
    /// no effect there.
    fn open_for(
        &mut self,
        now: Instant,
        remote: PublicKey,
        target: &Target,
        id: Id,
    ) -> Result<Socket, Reason> {
        if !self.allowed.admit(&remote) {
            return Err(Reason::Forbidden);
        }
        if target.is_datagrams() && !self.config.session.capabilities.datagrams {
            return Err(Reason::TargetRefused);
        }
        if let Some(socket) = self.unopened.get(&(remote, id)) {
            return Ok(*socket);
        }
        let session = Session::new(now, false, self.config_of(target));
        let socket = self.insert_served(session, remote, target).map_err(|_| Reason::Busy)?;
        // One that is meant is used after a round trip: of the peer that has the most the oldest gives way.
        let oldest = self.half_open.in_the_way(remote).filter(|_| self.half_open.is_full());
        if let Some(oldest) = oldest {
            self.remove(now, oldest);
        }
        self.half_open.insert(remote, socket);
        self.unopened.insert((remote, id), socket);
        if let Some(entry) = self.sessions.get_mut(&socket) {
            entry.asked_as = Some(id);
        }
        Ok(socket)
    }

    fn insert_served(
        &mut self,
        session: Session,
        peer: PublicKey,
        target: &Target,
    ) -> Result<Socket, Refused> {
        let application = self.serve(peer)?;
        let inserted = self.insert(application, None, session, Some(peer), target.clone());
        self.free_served(peer);
        inserted
    }

    /// What a peer's sessions belong to, as if it were an application.
    pub(super) fn serve(&mut self, peer: PublicKey) -> Result<Id, Refused> {
        let application = match self.served.get(&peer) {
            Some(&application) => application,
            None => self.ids.open_application()?,
        };
        if self.ids.connections_of(&application).unwrap_or_default() >= self.config.sessions_of_one {
            return Err(Refused::Full);
        }
        self.served.insert(peer, application);
        Ok(application)
    }

    /// Makes a path one of a session's: the answer.
    fn take(&mut self, now: Instant, path: PathId, socket: Socket, offer: &Offer) -> Result<Vec<u8>, Reason> {
        let id = self.ids.succeed(socket).map_err(|_| Reason::NoSuchSession)?;
        let Some(entry) = self.sessions.get_mut(&socket) else { return Err(Reason::NoSuchSession) };
        let result = entry.session.on_offer(now, offer.epoch, &offer.greeting, &mut self.pool);
        if let Err(reason) = result {
            self.settle(now, socket);
            return Err(reason);
        }
        entry.peer_id = Some(offer.id);
        entry.links.insert(offer.epoch, path);
        let answer = answer(&entry.session.greeting(), id);
        self.note(socket);
        if let Some(link) = self.links.get_mut(&path) {
            link.of = Some((socket, offer.epoch));
        }
        self.bind(path);
        self.settle(now, socket);
        Ok(answer)
    }
}
