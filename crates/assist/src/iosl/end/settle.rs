//! What follows from a change of a session or a path.

use handfast_core::Instant;

use super::link::{Link, Phase};
use super::{Action, End, PathId, Pool, PublicKey, Session, Socket};

impl End {
    /// Changes a session, and does what follows.
    pub(super) fn with<T>(
        &mut self,
        now: Instant,
        socket: Socket,
        change: impl FnOnce(&mut Session, &mut Pool) -> T,
    ) -> Option<T> {
        let entry = self.sessions.get_mut(&socket)?;
        let result = change(&mut entry.session, &mut self.pool);
        self.settle(now, socket);
        Some(result)
    }

    /// Does what follows from a change of a session: paths to close and to dial, and when it is looked at again.
    pub(super) fn settle(&mut self, now: Instant, socket: Socket) {
        self.dial_if_wanted(now, socket);
        self.note_if_changed(socket);
        self.close_over(now, socket);
        let Some(entry) = self.sessions.get_mut(&socket) else { return };
        self.ready.extend(entry.session.epochs().filter_map(|epoch| entry.links.get(&epoch)));
        if entry.session.is_over(now) || entry.session.is_stillborn() {
            return self.remove(now, socket);
        }
        if entry.session.has_events() {
            self.noisy.insert(socket);
        }
        // One that is only waiting for its program to read has no deadline of its own.
        let deadline = entry.session.deadline();
        if deadline != entry.agenda {
            if let Some(before) = std::mem::replace(&mut entry.agenda, deadline) {
                self.agenda.remove(&(before, socket));
            }
            self.agenda.extend(deadline.map(|at| (at, socket)));
        }
    }

    pub(super) fn add_link(&mut self, now: Instant, phase: Phase, of: Option<(Socket, u64)>) -> PathId {
        let path = PathId(self.next_path);
        self.next_path += 1;
        let by = now + self.config.handshake;
        self.links.insert(path, Link::new(phase, of, by));
        self.shaking.insert((by, path));
        path
    }

    /// Its handshake is over.
    pub(super) fn bind(&mut self, path: PathId) {
        if let Some(link) = self.links.get_mut(&path) {
            link.phase = Phase::Bound;
            self.shaking.remove(&(link.by, path));
            self.guests.remove(path);
        }
    }

    /// The path, if it was there.
    pub(super) fn remove_link(&mut self, path: PathId) -> Option<Link> {
        let link = self.links.remove(&path)?;
        self.shaking.remove(&(link.by, path));
        self.guests.remove(path);
        self.ready.remove(&path);
        if let Some(entry) = link.of.and_then(|(socket, _)| self.sessions.get_mut(&socket)) {
            entry.links.retain(|_, own| *own != path);
        }
        Some(link)
    }

    /// Closes a path, and tells its session.
    pub(super) fn drop_link(&mut self, now: Instant, path: PathId) {
        let Some(link) = self.remove_link(path) else { return };
        self.actions.push_back(Action::Close(path));
        self.cut(now, link.of);
    }

    /// A path of this session is gone.
    pub(super) fn cut(&mut self, now: Instant, of: Option<(Socket, u64)>) {
        if let Some((socket, epoch)) = of {
            self.with(now, socket, |session, pool| session.on_cut(now, epoch, pool));
        }
    }

    fn close_over(&mut self, now: Instant, socket: Socket) {
        let Some(entry) = self.sessions.get_mut(&socket) else { return };
        let over = entry.session.take_over();
        let has_ended = entry.session.has_ended();
        let paths: Vec<_> = over.into_iter().filter_map(|epoch| entry.links.get(&epoch).copied()).collect();
        for path in paths {
            self.retire(now, path, has_ended);
        }
    }

    /// Closes a path that its session needs no more. `says_last`: after what is to go out there, which tells the peer of the end.
    fn retire(&mut self, now: Instant, path: PathId, says_last: bool) {
        let Some(mut link) = self.remove_link(path) else { return };
        if !says_last || link.phase != Phase::Bound || link.out.is_empty() {
            return self.actions.push_back(Action::Close(path));
        }
        (link.phase, link.of, link.by) = (Phase::Closing, None, now + self.config.handshake);
        self.shaking.insert((link.by, path));
        self.ready.insert(path);
        self.links.insert(path, link);
    }

    fn dial_if_wanted(&mut self, now: Instant, socket: Socket) {
        let Some(entry) = self.sessions.get_mut(&socket) else { return };
        // Who has not told this end of itself cannot be dialled.
        entry.session.set_reachable(entry.session.is_opener() || entry.peer_id.is_some());
        if !entry.session.wants_dial(now) {
            return;
        }
        let Some(epoch) = entry.session.dial(now, &mut self.pool) else { return };
        let path = self.add_link(now, Phase::Dialling, Some((socket, epoch)));
        if let Some(entry) = self.sessions.get_mut(&socket) {
            entry.links.insert(epoch, path);
        }
        self.actions.push_back(Action::Dial { path, session: socket });
    }

    /// Forgets a session, with its IDs and paths.
    pub(super) fn remove(&mut self, now: Instant, socket: Socket) {
        let Some(mut entry) = self.sessions.remove(&socket) else { return };
        self.note(socket);
        entry.session.release(&mut self.pool);
        self.ids.close(socket);
        self.noisy.remove(&socket);
        if let Some(at) = entry.agenda {
            self.agenda.remove(&(at, socket));
        }
        for path in entry.links.into_values() {
            self.retire(now, path, true);
        }
        self.half_open.remove(socket);
        if let Some(peer) = entry.peer {
            entry.asked_as.and_then(|id| self.unopened.remove(&(peer, id)));
            self.free_served(peer);
        }
    }

    /// A peer whose last session is over has no ID any more.
    pub(super) fn free_served(&mut self, peer: PublicKey) {
        if let Some(application) = self.served.get(&peer)
            && self.ids.connections_of(application) == Some(0)
        {
            self.ids.close_application(*application);
            self.served.remove(&peer);
        }
    }
}
