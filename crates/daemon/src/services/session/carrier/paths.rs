//! Paths: connections between two ends.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use handfast_assist::iosl::end::PathId;
use handfast_assist::iosl::ids::Socket;
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, connect_fast, connect_mptcp};

use super::addresses::Addresses;
use super::inside::Inside;
use super::wire::{LIVELINESS, Wire, has_to_wait};
use super::{Below, Carrier, News, Owner};

/// What waits here for the kernel of a path, and is filled up from the session: a few records.
const FILL: usize = 64 << 10;

/// The same where datagrams go: a record at a time, since they are to wait where the oldest give way.
const FILL_SHORT: usize = 1;

/// A connection that takes longer is tried again: the kernel would send its second SYN after a second, its third after three.
const CONNECT_WITHIN: Duration = Duration::from_millis(2_500);

/// What was said last on a path is given up after so long.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Of so many at once.
const MOST_CLOSING: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Open,
    /// It goes when all is sent and the other end has closed too: a close with unread octets would destroy what is on its way.
    Closing,
}

#[derive(Debug)]
pub(super) struct Path {
    pub(super) wire: Wire,
    /// Of a socket of its own.
    pub(super) id: Option<SourceId>,
    pub(super) remote: SocketAddr,
    /// Of the session for which this end has dialled it.
    pub(super) dialled_for: Option<Socket>,
    /// Which session uses it, or has used it.
    pub(super) session: Option<Socket>,
    pub(super) state: State,
    since: Instant,
    /// Its SYN carries the first message.
    is_early: bool,
    by: Option<Instant>,
    /// How much is taken from its session beyond what the kernel has no room for.
    fill: usize,
    out: Vec<u8>,
    sent: usize,
    /// Something was sent, which a close might destroy on its way.
    has_sent: bool,
    is_blocked: bool,
}

impl Path {
    /// What waits here for the kernel.
    pub(super) fn memory(&self) -> usize {
        self.out.capacity()
    }

    /// Gives what is below what it takes.
    fn write(&mut self, udp: &mut Inside) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.wire.write(udp, &self.out[self.sent..]) {
                Ok(written) => {
                    self.sent += written;
                    self.has_sent = true;
                }
                Err(error) if has_to_wait(&error) => {
                    self.is_blocked = true;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }
}

impl Carrier {
    pub(super) fn dial(&mut self, io: &mut EventLoop, path: PathId, session: Socket) {
        let Some(peer) = self.peers.get(&session).and_then(Addresses::current) else {
            return self.end.on_closed(Clock::SYSTEM.now(), path);
        };
        let (wire, is_early) = self.connect(io, peer);
        let dialled = wire.and_then(|wire| self.add_path(io, path, wire, peer, Some(session)));
        self.out_of_files.note(dialled.as_ref().err());
        if dialled.is_ok() && is_early {
            return self.begin_early(path);
        }
        if let Err(error) = dialled {
            self.unreached(session, error.kind(), false);
            self.end.on_closed(Clock::SYSTEM.now(), path);
        }
    }

    /// With whether its SYN carries what is written first.
    fn connect(&mut self, io: &mut EventLoop, peer: SocketAddr) -> (io::Result<Wire>, bool) {
        if let Some(kind) = self.below.inside() {
            return (self.udp.connect(io, kind, peer).map(Wire::Inside), true);
        }
        if self.below == Below::Mptcp {
            return (connect_mptcp(peer).map(Wire::Kernel), false);
        }
        let fast = self.early.may_try(Clock::SYSTEM.now()).then(|| connect_fast(peer));
        // Where the kernel does not do that, or in any case, it is known better by the plain way.
        match fast {
            Some(Ok(stream)) => (Ok(Wire::Kernel(stream)), true),
            Some(Err(_)) | None => (TcpStream::connect(peer).map(Wire::Kernel), false),
        }
    }

    pub(super) fn add_path(
        &mut self,
        io: &mut EventLoop,
        path: PathId,
        mut wire: Wire,
        remote: SocketAddr,
        dialled_for: Option<Socket>,
    ) -> io::Result<()> {
        let id = match &mut wire {
            Wire::Kernel(stream) => {
                LIVELINESS.set(stream)?;
                let id = io.add(stream, Interest::READABLE | Interest::WRITABLE)?;
                self.owners.insert(id, Owner::Path(path));
                Some(id)
            }
            Wire::Inside(stream) => {
                self.by_stream.insert(*stream, path);
                None
            }
        };
        let state = if dialled_for.is_some() { State::Connecting } else { State::Open };
        let made = Path {
            wire,
            id,
            remote,
            dialled_for,
            session: None,
            state,
            since: Clock::SYSTEM.now(),
            is_early: false,
            by: None,
            fill: FILL,
            out: Vec::new(),
            sent: 0,
            has_sent: false,
            is_blocked: false,
        };
        self.paths.insert(path, made);
        if dialled_for.is_some() {
            self.set_due(path, Clock::SYSTEM.now() + CONNECT_WITHIN);
        }
        Ok(())
    }

    /// What the session says first goes with the SYN.
    fn begin_early(&mut self, path: PathId) {
        let now = Clock::SYSTEM.now();
        self.end.on_connected(now, path);
        let first = self.end.poll_transmit(now, path, usize::MAX).unwrap_or_default();
        self.save();
        let Some(found) = self.paths.get_mut(&path) else { return };
        (found.is_early, found.out) = (true, first);
        // What does not fit goes once the connection is there.
        if let Err(error) = found.write(&mut self.udp) {
            self.lose(path, error.kind());
        }
    }

    fn set_due(&mut self, path: PathId, at: Instant) {
        self.clear_due(path);
        if let Some(found) = self.paths.get_mut(&path) {
            found.by = Some(at);
            self.due.insert((at, path));
        }
    }

    fn clear_due(&mut self, path: PathId) {
        if let Some(at) = self.paths.get_mut(&path).and_then(|found| found.by.take()) {
            self.due.remove(&(at, path));
        }
    }

    /// Whether a path has a connection, now that it was looked at.
    fn is_there(&mut self, path: PathId) -> bool {
        let has = |this: &Self| this.paths.get(&path).is_some_and(|found| found.state != State::Connecting);
        if !has(self) {
            self.look_at_connection(path);
        }
        has(self)
    }

    /// Whether a connection that was dialled is there.
    fn look_at_connection(&mut self, path: PathId) {
        let Some(found) = self.paths.get(&path) else { return };
        match found.wire.is_there(&self.udp) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.lose(path, error.kind()),
        }
        self.clear_due(path);
        let now = Clock::SYSTEM.now();
        if let Some(found) = self.paths.get_mut(&path) {
            (found.state, found.is_blocked) = (State::Open, false);
            if found.is_early && matches!(found.wire, Wire::Kernel(_)) {
                self.early.on_connected(now, now.since(found.since));
            }
        }
        self.end.on_connected(now, path);
    }

    pub(super) fn read_path(&mut self, io: &mut EventLoop, path: PathId) -> ReadOutcome {
        // What went with the SYN may be answered by the time that the connection is looked at: nobody says so again.
        if !self.is_there(path) || self.end.defers(path) {
            return ReadOutcome::Nothing;
        }
        let outcome = self.read_once(path);
        if outcome == ReadOutcome::Some {
            // What this has brought about goes out before more is taken.
            self.drive(io);
        }
        outcome
    }

    pub(super) fn read_once(&mut self, path: PathId) -> ReadOutcome {
        let Some(found) = self.paths.get_mut(&path) else { return ReadOutcome::Nothing };
        match found.wire.read(&mut self.udp, &mut self.chunk) {
            Ok(0) => self.lose(path, ErrorKind::UnexpectedEof),
            Ok(read) => {
                if found.state == State::Open {
                    self.end.on_octets(Clock::SYSTEM.now(), path, &self.chunk[..read]);
                    self.forget_of(path);
                }
                return ReadOutcome::Some;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return ReadOutcome::Some,
            Err(error) => self.lose(path, error.kind()),
        }
        ReadOutcome::Nothing
    }

    /// Something has happened to a connection in UDP.
    pub(super) fn look_at_stream(&mut self, path: PathId) {
        if self.is_there(path)
            && let Some(found) = self.paths.get_mut(&path)
        {
            found.is_blocked = false;
            while !self.end.defers(path) && self.read_once(path) == ReadOutcome::Some {}
            self.transmit(path);
        }
    }

    pub(super) fn write_path(&mut self, io: &mut EventLoop, path: PathId) {
        let Some(found) = self.paths.get_mut(&path) else { return };
        if found.state == State::Connecting {
            self.look_at_connection(path);
        } else {
            found.is_blocked = false;
        }
        self.transmit(path);
        self.drive(io);
    }

    /// A path carries datagrams.
    pub(super) fn keep_short(&mut self, path: PathId) {
        if let Some(found) = self.paths.get_mut(&path).filter(|found| found.fill != FILL_SHORT) {
            found.fill = FILL_SHORT;
            found.wire.keep_short(&mut self.udp);
        }
    }

    /// Sends on a path what its session has for it, as far as the kernel takes it.
    pub(super) fn transmit(&mut self, path: PathId) {
        self.transmit_beside(path);
        let now = Clock::SYSTEM.now();
        while let Some(found) = self.paths.get_mut(&path) {
            if found.is_blocked || found.state == State::Connecting {
                return;
            }
            while found.state == State::Open && found.out.len() < found.fill {
                match self.end.poll_transmit(now, path, usize::MAX) {
                    Some(record) => found.out.extend_from_slice(&record),
                    None => break,
                }
            }
            if found.out.is_empty() {
                // A path that has nothing to send keeps nothing.
                found.out = Vec::new();
                return self.shut_if_closing(path);
            }
            // What the peer will count on is written down before it hears of it.
            self.save();
            let Some(found) = self.paths.get_mut(&path) else { return };
            if let Err(error) = found.write(&mut self.udp) {
                return self.lose(path, error.kind());
            }
        }
    }

    /// The machine is done with a path.
    pub(super) fn close_path(&mut self, path: PathId) {
        self.store_window(path);
        let Some(found) = self.paths.get_mut(&path) else { return };
        // A flood of those that say nothing, or want to hear nothing, holds no sockets.
        let is_mute = found.out.is_empty() && !found.has_sent;
        if found.state == State::Connecting || is_mute || self.closing >= MOST_CLOSING {
            return drop(self.take_path(path));
        }
        found.state = State::Closing;
        self.closing += 1;
        self.set_due(path, Clock::SYSTEM.now() + CLOSE_WITHIN);
        self.transmit(path);
    }

    fn shut_if_closing(&mut self, path: PathId) {
        if let Some(found) = self.paths.get(&path).filter(|found| found.state == State::Closing)
            && found.wire.finish(&mut self.udp).is_err()
        {
            self.take_path(path);
        }
    }

    /// A connection is gone, or has not come about.
    pub(super) fn lose(&mut self, path: PathId, why: ErrorKind) {
        let Some(found) = self.take_path(path) else { return };
        if found.state == State::Closing {
            return;
        }
        if let Some(session) = found.dialled_for {
            self.unreached(session, why, found.state == State::Open);
        }
        self.end.on_closed(Clock::SYSTEM.now(), path);
    }

    fn unreached(&mut self, session: Socket, why: ErrorKind, was_connected: bool) {
        if let Some(peer) = self.peers.get_mut(&session).filter(|_| !was_connected) {
            peer.next = peer.next.wrapping_add(1);
        }
        self.news.push_back(News::Unreached(session, why, was_connected));
    }

    pub(super) fn take_path(&mut self, path: PathId) -> Option<Path> {
        self.clear_due(path);
        // One that is closing has been left before.
        if self.paths.get(&path).is_some_and(|found| found.state != State::Closing) {
            self.store_window(path);
        }
        let found = self.paths.remove(&path)?;
        self.closing -= usize::from(found.state == State::Closing);
        if let Some(id) = found.id {
            self.owners.remove(&id);
        }
        if let Wire::Inside(stream) = found.wire {
            self.by_stream.remove(&stream);
            self.udp.release(stream);
        }
        Some(found)
    }
}
