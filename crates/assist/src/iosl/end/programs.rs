//! What programs do with their sessions.

use bytes::Bytes;
use handfast_core::Instant;

use super::{End, Entry, Id, PathId, PublicKey, Reason, Session, Socket, Target};
use crate::iosl::frame::Windows;
use crate::iosl::ids::{Connection, Refused};
use crate::iosl::session::{Read, Unsent};

impl End {
    /// An application: its sessions have an ID in common, and end with it.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn open_application(&mut self) -> Result<Id, Refused> {
        self.ids.open_application()
    }

    /// The application is gone: its sessions are aborted.
    pub fn close_application(&mut self, now: Instant, application: Id) {
        for socket in self.ids.close_application(application) {
            self.reset(now, socket, Reason::Aborted);
        }
    }

    /// Opens a session for a connection of an application, to a target behind a peer. `peer`: its key; [`None`]: whoever answers
    /// is taken, this once. A session whose program had the same ports before goes on without them.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(
        &mut self,
        now: Instant,
        application: Id,
        connection: Connection,
        target: Target,
        peer: Option<PublicKey>,
    ) -> Result<Socket, Refused> {
        let session = Session::new(now, true, self.config_of(&target));
        let socket = self.insert(application, Some(connection), session, peer, target)?;
        self.settle(now, socket);
        Ok(socket)
    }

    pub(super) fn insert(
        &mut self,
        application: Id,
        connection: Option<Connection>,
        session: Session,
        peer: Option<PublicKey>,
        target: Target,
    ) -> Result<Socket, Refused> {
        let socket = Socket(self.next_session);
        self.ids.open(application, socket, connection)?;
        self.next_session += 1;
        let (peer_id, asked_as, links, agenda, recorded) = (None, None, [].into(), None, None);
        let entry = Entry { session, peer, peer_id, asked_as, target, links, agenda, recorded };
        self.sessions.insert(socket, entry);
        Ok(socket)
    }

    /// Where a session leads, and who is at its other end.
    pub fn target(&self, socket: Socket) -> Option<(&Target, Option<PublicKey>)> {
        self.sessions.get(&socket).map(|entry| (&entry.target, entry.peer))
    }

    /// Takes octets of a program: how many; fewer where it has to wait.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn write(&mut self, now: Instant, socket: Socket, octets: &[u8]) -> Result<usize, Reason> {
        let write = |session: &mut Session, pool: &mut _| session.write(octets, pool);
        self.with(now, socket, write).unwrap_or(Err(Reason::NoSuchSession))
    }

    /// How many octets [`End::write`] would take.
    pub fn room(&self, socket: Socket) -> usize {
        self.sessions.get(&socket).map_or(0, |entry| entry.session.room(&self.pool))
    }

    /// What [`End::read`] would give, in place: who cannot pass on all of it reads less.
    pub fn pieces(&self, socket: Socket, most: usize) -> impl Iterator<Item = &[u8]> {
        self.sessions.get(&socket).into_iter().flat_map(move |entry| entry.session.pieces(most))
    }

    /// Up to where the peer has got what the program has written, and up to where it has written: what lies between is kept.
    pub fn written(&self, socket: Socket) -> Option<[u64; 2]> {
        self.sessions.get(&socket).map(|entry| entry.session.written())
    }

    /// Up to `most` octets for a program.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn read(&mut self, now: Instant, socket: Socket, most: usize) -> Result<Read, Reason> {
        let read = |session: &mut Session, pool: &mut _| session.read(now, most, pool);
        self.with(now, socket, read).unwrap_or(Err(Reason::NoSuchSession))
    }

    /// The same for who has them from [`End::pieces`]: how many it is; [`None`]: there will be none any more.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn skip(&mut self, now: Instant, socket: Socket, most: usize) -> Result<Option<usize>, Reason> {
        let skip = |session: &mut Session, pool: &mut _| session.skip(now, most, pool);
        self.with(now, socket, skip).unwrap_or(Err(Reason::NoSuchSession))
    }

    /// The program writes no more.
    pub fn finish(&mut self, now: Instant, socket: Socket) {
        self.with(now, socket, |session, _| session.finish());
    }

    /// The program aborts, or its socket has an error.
    pub fn reset(&mut self, now: Instant, socket: Socket, reason: Reason) {
        self.with(now, socket, |session, pool| session.reset(now, reason, pool));
    }

    /// Sends a datagram, which may get lost.
    ///
    /// # Errors
    /// Why it does not go out at all.
    pub fn send_datagram(&mut self, now: Instant, socket: Socket, datagram: &[u8]) -> Result<(), Unsent> {
        let send = |session: &mut Session, _: &mut _| session.send_datagram(datagram);
        self.with(now, socket, send).unwrap_or(Err(Unsent::Over(Reason::NoSuchSession)))
    }

    /// The next datagram that has come.
    pub fn receive_datagram(&mut self, socket: Socket) -> Option<Bytes> {
        self.sessions.get_mut(&socket)?.session.receive_datagram()
    }

    /// Freezes a session: the link below is about to go.
    pub fn suspend(&mut self, now: Instant, socket: Socket) {
        self.with(now, socket, |session, pool| session.suspend(now, pool));
    }

    /// The link is back.
    pub fn resume(&mut self, now: Instant, socket: Socket) {
        self.with(now, socket, |session, pool| session.resume(now, pool));
    }

    /// The address below changes: a new path.
    pub fn migrate(&mut self, now: Instant, socket: Socket) {
        self.with(now, socket, |session, pool| session.migrate(now, pool));
    }

    /// What this end knows of the path below.
    pub fn set_windows(&mut self, now: Instant, socket: Socket, windows: Windows) {
        self.with(now, socket, |session, _| session.set_windows(windows));
    }

    /// By which ID the peer resumes a session: what lets two ends' logs be compared.
    pub fn id(&self, socket: Socket) -> Option<Id> {
        self.ids.of_socket(socket).map(|(_, id)| id)
    }

    /// The paths of a session in order of their epochs: where its peer is, the driver knows of each.
    pub fn paths(&self, socket: Socket) -> impl Iterator<Item = PathId> + '_ {
        self.sessions.get(&socket).into_iter().flat_map(|entry| entry.links.values().copied())
    }

    /// Of which session a path is.
    pub fn session_of(&self, path: PathId) -> Option<Socket> {
        self.links.get(&path)?.of.map(|(socket, _)| socket)
    }

    /// A session, to look at.
    pub fn session(&self, socket: Socket) -> Option<&Session> {
        self.sessions.get(&socket).map(|entry| &entry.session)
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = Socket> + '_ {
        self.sessions.keys().copied()
    }
}
