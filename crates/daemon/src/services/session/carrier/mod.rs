//! The machine of sessions between its sockets: paths to other ends, and programs. Both ends of a session are one of these.

mod addresses;
mod admit;
mod batch;
mod datagrams;
mod early;
mod inside;
mod kept;
mod out_of_files;
mod owners;
mod paths;
mod plug;
mod programs;
mod routes;
mod sockets;
mod status;
#[cfg(test)]
mod tests;
mod windows;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::net::SocketAddr;

use handfast_assist::iosl::end::{Action, Config, End, Identity, PathId};
use handfast_assist::iosl::frame::{Reason, Target};
use handfast_assist::iosl::ids::{Connection, Id, Refused, Socket};
use handfast_assist::iosl::inside::{InsideId, Kind};
use handfast_assist::iosl::secure::{Allowed, PublicKey};
use handfast_assist::iosl::session::{Event, Session};
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId};

use super::below::Below;
use super::keeping::Outlives;
use addresses::Addresses;
use early::Early;
use inside::Inside;
use out_of_files::OutOfFiles;
use owners::Closed;
pub(in crate::services::session) use owners::{LOOK_EVERY, Owners};
use paths::Path;
pub(in crate::services) use plug::Plug;
use programs::Program;
use windows::Windows;
use wire::Wire;

/// Bytes of a read.
const CHUNK: usize = 128 << 10;

/// So long an end whose program is done tries to tell the other end.
const FAREWELL: Duration = Duration::from_secs(3);

const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Whose a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Path(PathId),
    Program(Socket),
}

/// What whoever drives it has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The other end has answered, or has asked for this session.
    Opened(Socket),
    /// It goes on by another path.
    Resumed(Socket, Duration),
    /// All has come.
    Done(Socket),
    /// It is over before its time.
    Failed(Socket, Reason),
    /// Datagrams have come.
    Datagrams(Socket),
    /// Its program here has gone before its time; [`News::Failed`] may follow.
    Aborted(Socket),
    /// A path that this end has dialled has not come about: why, and whether there was a connection.
    Unreached(Socket, ErrorKind, bool),
}

/// An end of sessions, with its sockets.
pub(super) struct Carrier {
    end: End,
    application: Option<Id>,
    paths: BTreeMap<PathId, Path>,
    programs: BTreeMap<Socket, Program>,
    owners: BTreeMap<SourceId, Owner>,
    peers: BTreeMap<Socket, Addresses>,
    /// Sessions that have had a program: what it has said may be under way though it is gone. With when all had come, as this end
    /// sees it: the other end may not know yet.
    carried: BTreeMap<Socket, Option<Instant>>,
    sweep_at: Instant,
    /// Paths that are being closed.
    closing: usize,
    /// When a connection that is not there yet, or that is being closed, is given up.
    due: BTreeSet<(Instant, PathId)>,
    news: VecDeque<News>,
    early: Early,
    out_of_files: OutOfFiles,
    /// What new paths are.
    below: Below,
    udp: Inside,
    windows: Windows,
    /// Whose connections in UDP are.
    by_stream: BTreeMap<InsideId, PathId>,
    /// Whether the user has said that the link goes.
    is_suspended: bool,
    outlives: Outlives,
    closed: Closed,
    opened: u64,
    chunk: Vec<u8>,
}

impl Carrier {
    /// `below`: what new paths are. `seed`: 32 bytes of the system's generator, for what is in UDP.
    pub(super) fn new(
        identity: Identity,
        mut config: Config,
        below: Below,
        outlives: Outlives,
        seed: [u8; 32],
    ) -> Self {
        config.session.keeps = matches!(outlives, Outlives::Yes(_));
        Self {
            end: End::new(identity, config),
            application: None,
            paths: BTreeMap::new(),
            programs: BTreeMap::new(),
            owners: BTreeMap::new(),
            peers: BTreeMap::new(),
            carried: BTreeMap::new(),
            sweep_at: Instant::ZERO,
            closing: 0,
            due: BTreeSet::new(),
            news: VecDeque::new(),
            early: Early::default(),
            out_of_files: OutOfFiles::default(),
            below,
            udp: Inside::new(seed),
            by_stream: BTreeMap::new(),
            windows: Windows::default(),
            is_suspended: false,
            outlives,
            closed: Closed::default(),
            opened: 0,
            chunk: vec![0; CHUNK],
        }
    }

    /// The machine, to look at.
    pub(super) fn end(&self) -> &End {
        &self.end
    }

    /// What new paths are.
    pub(super) fn below(&self) -> Below {
        self.below
    }

    /// Opens a session to a target behind a peer.
    pub(super) fn open(
        &mut self,
        target: Target,
        peer: Vec<SocketAddr>,
        key: Option<PublicKey>,
    ) -> Result<Socket, Refused> {
        let application = match self.application {
            Some(application) => application,
            None => *self.application.insert(self.end.open_application()?),
        };
        // What the program's connection is called names nothing here: it uses its port again while a session of before lingers.
        self.opened += 1;
        let own: SocketAddr = (std::net::Ipv6Addr::from_bits(self.opened.into()), 0).into();
        let connection = Connection::Tcp([own, peer.first().copied().unwrap_or(own)]);
        let socket = self.end.open(Clock::SYSTEM.now(), application, connection, target, key)?;
        self.peers.insert(socket, Addresses { list: peer, next: 0 });
        if self.is_suspended {
            self.end.suspend(Clock::SYSTEM.now(), socket);
        }
        Ok(socket)
    }

    /// Ends a session before its time.
    pub(super) fn reset(&mut self, socket: Socket, reason: Reason) {
        self.end.reset(Clock::SYSTEM.now(), socket, reason);
    }

    /// Where a session leads, and who is at its other end.
    pub(super) fn target(&self, socket: Socket) -> Option<(Target, Option<PublicKey>)> {
        self.end.target(socket).map(|(target, key)| (target.clone(), key))
    }

    /// From where a session comes: the other end of its newest path.
    pub(super) fn remote_of(&self, socket: Socket) -> Option<SocketAddr> {
        self.end.paths(socket).filter_map(|path| self.paths.get(&path)).last().map(|path| path.remote)
    }

    /// Takes sessions of these from now on. Those that others have go on no more.
    pub(super) fn set_allowed(&mut self, allowed: Allowed) {
        let is_gone = |socket: &Socket| {
            let peer = self.end.target(*socket).and_then(|(_, key)| key);
            let is_served = !self.peers.contains_key(socket);
            is_served && peer.is_some_and(|key| !allowed.keys.contains(&key))
        };
        let gone: Vec<_> = self.end.sessions().filter(is_gone).collect();
        self.end.set_allowed(allowed);
        for socket in gone {
            self.reset(socket, Reason::Forbidden);
        }
    }

    /// The link is about to go, or is back.
    pub(super) fn suspend(&mut self, is_suspended: bool) {
        self.is_suspended = is_suspended;
        let now = Clock::SYSTEM.now();
        let sessions: Vec<_> = self.end.sessions().collect();
        for socket in sessions {
            if is_suspended {
                self.end.suspend(now, socket);
            } else {
                self.end.resume(now, socket);
            }
        }
    }

    /// Whether no session has anything left to do for a program.
    pub(super) fn is_idle(&self) -> bool {
        let now = Clock::SYSTEM.now();
        let is_over = |(&socket, done): (&Socket, &Option<Instant>)| {
            self.end.session(socket).is_none() || done.is_some_and(|at| at + FAREWELL <= now)
        };
        self.programs.is_empty() && self.carried.iter().all(is_over)
    }

    /// When that may have changed by itself.
    pub(super) fn idle_at(&self) -> Option<Instant> {
        self.carried.values().flatten().map(|at| *at + FAREWELL).max()
    }

    /// What has happened.
    pub(super) fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Whether a number is that of one of its sockets.
    pub(super) fn has(&self, id: SourceId) -> bool {
        self.owners.contains_key(&id) || self.udp.has(id)
    }

    /// Reads once.
    pub(super) fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        match self.owners.get(&id) {
            Some(&Owner::Path(path)) => self.read_path(io, path),
            Some(&Owner::Program(socket)) => self.read_program(socket),
            None => {
                let outcome = self.udp.receive(id);
                self.drive(io);
                outcome
            }
        }
    }

    /// There is room for more.
    pub(super) fn on_writable(&mut self, io: &mut EventLoop, id: SourceId) {
        match self.owners.get(&id) {
            Some(&Owner::Path(path)) => self.write_path(io, path),
            Some(&Owner::Program(socket)) => self.write_program(socket),
            None => self.udp.on_writable(id),
        }
    }

    /// Does what the machine says, until it has nothing to say.
    pub(super) fn drive(&mut self, io: &mut EventLoop) {
        let mut has_said = true;
        while has_said {
            has_said = self.hear_streams(io);
            while let Some(action) = self.end.poll_action() {
                has_said = true;
                self.save();
                match action {
                    Action::Dial { path, session } => self.dial(io, path, session),
                    Action::Close(path) => self.close_path(path),
                }
            }
            while let Some((socket, event)) = self.end.poll_event(Clock::SYSTEM.now()) {
                has_said = true;
                self.hear(io, socket, event);
            }
            while let Some(path) = self.end.poll_ready() {
                has_said = true;
                self.transmit(path);
            }
        }
        self.udp.flush();
    }

    /// Looks at connections in UDP to which something has happened: whether there were any.
    fn hear_streams(&mut self, io: &mut EventLoop) -> bool {
        let mut is_any = false;
        while let Some((stream, from)) = self.udp.accept() {
            is_any = true;
            if self.accept(io, Wire::Inside(stream), from).is_err() {
                self.udp.release(stream);
            }
        }
        is_any |= self.hear_beside();
        while let Some(stream) = self.udp.next_touched() {
            is_any = true;
            match self.by_stream.get(&stream) {
                Some(&path) => self.look_at_stream(path),
                None => self.udp.release(stream),
            }
        }
        is_any
    }

    fn hear(&mut self, io: &mut EventLoop, socket: Socket, event: Event) {
        match event {
            Event::Readable if self.is_of_datagrams(socket) => self.hear_end(socket),
            Event::Readable => self.write_program(socket),
            Event::Writable => self.go_on_reading(io, socket),
            Event::Datagram => self.news.push_back(News::Datagrams(socket)),
            Event::Opened => {
                self.restore_window(socket);
                self.keep_paths_short(socket);
                self.news.push_back(News::Opened(socket));
            }
            Event::Resumed { away } => {
                self.restore_window(socket);
                self.keep_paths_short(socket);
                self.news.push_back(News::Resumed(socket, away));
            }
            Event::Done => {
                self.write_program(socket);
                self.news.push_back(News::Done(socket));
                if let Some(done) = self.carried.get_mut(&socket) {
                    *done = Some(Clock::SYSTEM.now());
                }
            }
            Event::Failed(reason) => {
                let has_end = self.end.session(socket).is_some_and(Session::has_heard_end);
                if reason == Reason::Aborted && has_end {
                    self.close_program(socket);
                } else {
                    self.abort_program(socket);
                }
                self.peers.remove(&socket);
                self.carried.remove(&socket);
                self.news.push_back(News::Failed(socket, reason));
            }
        }
    }

    /// Forgets what belongs to sessions that are no more.
    fn sweep(&mut self, now: Instant) {
        if now >= self.sweep_at {
            self.sweep_at = now + SWEEP_EVERY;
            let Self { end, peers, carried, windows, .. } = self;
            peers.retain(|socket, _| end.session(*socket).is_some());
            carried.retain(|socket, _| end.session(*socket).is_some());
            windows.retain(|socket| end.session(socket).is_some());
        }
    }

    /// When [`Carrier::on_timer`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let own = self.due.first().map(|&(at, _)| at);
        let others = [self.closed.deadline(), self.end.deadline(), self.udp.deadline(), self.admits_at()];
        others.into_iter().chain([own]).flatten().min()
    }

    /// Does what is due.
    pub(super) fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.admit(io);
        while let Some((_, path)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.lose(path, ErrorKind::TimedOut);
        }
        self.udp.on_timer(now);
        self.look_at_owners(now);
        if self.end.deadline().is_some_and(|at| at <= now) {
            self.end.on_timer(now);
            self.sweep(now);
        }
    }

    /// Takes connections in UDP at an address, of these kinds.
    pub(super) fn listen(
        &mut self,
        io: &mut EventLoop,
        address: SocketAddr,
        kinds: &[Kind],
    ) -> std::io::Result<()> {
        self.udp.listen(io, address, kinds)
    }

    /// Takes a connection of TCP of another end.
    pub(super) fn on_accepted(
        &mut self,
        io: &mut EventLoop,
        stream: TcpStream,
        from: SocketAddr,
    ) -> std::io::Result<()> {
        self.accept(io, Wire::Kernel(stream), from)
    }

    fn accept(&mut self, io: &mut EventLoop, wire: Wire, from: SocketAddr) -> std::io::Result<()> {
        let path = self.end.on_accepted(Clock::SYSTEM.now(), from.ip());
        let added = self.add_path(io, path, wire, from, None);
        if added.is_err() {
            self.end.on_closed(Clock::SYSTEM.now(), path);
        }
        added
    }
}
