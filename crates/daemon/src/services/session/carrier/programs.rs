//! Programs: what they write goes into sessions, and what comes by sessions goes to them.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::SocketAddr;

use handfast_assist::iosl::end::End;
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::session::Session;
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId};

use super::super::keeping::Held;
use super::{CHUNK, Carrier, News, Owner, Plug};

/// Whatever room a session has, a read takes so much: what the session does not take is kept here, a block of it.
const LEAST: usize = 4 << 10;

/// A program's connection. What it says and hears is kept in the session, or in the kernel.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) plug: Plug,
    pub(super) id: SourceId,
    /// Octets for which the session had no room yet: what it has said first, and [`LEAST`] at most later.
    pub(super) to_peer: Vec<u8>,
    /// What it is told before what comes from the peer.
    pub(super) greeting: Vec<u8>,
    /// The program writes no more.
    pub(super) has_ended: bool,
    /// It was told that no more comes.
    pub(super) is_told: bool,
    /// How its connection outlives this process, if it does.
    pub(super) held: Option<Held>,
}

impl Program {
    /// What it keeps.
    pub(super) fn memory(&self) -> usize {
        self.to_peer.capacity() + self.greeting.capacity()
    }

    /// Gives the kernel what it takes of the greeting: whether all.
    fn greet(&mut self) -> io::Result<bool> {
        while !self.greeting.is_empty() {
            match self.plug.write(&self.greeting) {
                Ok(written) => drop(self.greeting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.greeting = Vec::new();
        Ok(true)
    }
}

impl Carrier {
    /// Connects a program to a session. `to_program`: what it is told first; `to_peer`: what it has said already.
    pub(in crate::services::session) fn attach(
        &mut self,
        io: &mut EventLoop,
        socket: Socket,
        (mut plug, known): (Plug, Option<SourceId>),
        to_program: Vec<u8>,
        to_peer: Vec<u8>,
    ) -> io::Result<()> {
        let id = match known {
            Some(id) => id,
            None => plug.add_to(io)?,
        };
        self.owners.insert(id, Owner::Program(socket));
        let held = self.hold(socket, &plug, to_program.len());
        let greeting = to_program;
        let program = Program { plug, id, to_peer, greeting, has_ended: false, is_told: false, held };
        self.programs.insert(socket, program);
        self.carried.insert(socket, None);
        self.go_on_reading(io, socket);
        self.write_program(socket);
        Ok(())
    }

    /// Whether a session has a program here.
    pub(in crate::services::session) fn is_attached(&self, socket: Socket) -> bool {
        self.programs.contains_key(&socket)
    }

    /// Whether one of its programs has its end of the connection there.
    pub(in crate::services::session) fn has_program_at(&self, at: SocketAddr) -> bool {
        let is_there = |plug: &Plug| match plug {
            Plug::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| {
                (peer.ip().to_canonical(), peer.port()) == (at.ip().to_canonical(), at.port())
            }),
            Plug::Unix(_) => false,
        };
        self.programs.values().any(|program| is_there(&program.plug))
    }

    pub(super) fn read_program(&mut self, socket: Socket) -> ReadOutcome {
        let Some(program) = self.programs.get_mut(&socket) else { return ReadOutcome::Nothing };
        // What it has said before comes first.
        if !program.to_peer.is_empty() || program.has_ended {
            return ReadOutcome::Nothing;
        }
        let most = self.end.room(socket).clamp(LEAST, CHUNK);
        match program.read(&mut self.end, socket, &mut self.chunk[..most]) {
            Ok(0) => {
                program.has_ended = true;
                self.end.finish(Clock::SYSTEM.now(), socket);
                self.watch_owner(socket);
                self.close_if_over(socket);
                ReadOutcome::Nothing
            }
            Ok(read) => {
                // Where the session is over its event says it.
                let taken = self.end.write(Clock::SYSTEM.now(), socket, &self.chunk[..read]).unwrap_or(read);
                // What is held stays in the kernel, and is read again.
                if program.held.is_none() {
                    program.to_peer.extend_from_slice(&self.chunk[taken..read]);
                }
                if taken == read { ReadOutcome::Some } else { ReadOutcome::Nothing }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadOutcome::Nothing,
            Err(error) if error.kind() == ErrorKind::Interrupted => ReadOutcome::Some,
            Err(_) => {
                self.program_gone(socket);
                ReadOutcome::Nothing
            }
        }
    }

    /// There is room in the session, or a program is new.
    pub(super) fn go_on_reading(&mut self, io: &mut EventLoop, socket: Socket) {
        if self.write_to_peer(socket)
            && let Some(program) = self.programs.get(&socket)
        {
            io.read_again(program.id);
        }
    }

    /// Gives the session what it takes of what the program has said: whether all.
    fn write_to_peer(&mut self, socket: Socket) -> bool {
        let Some(program) = self.programs.get_mut(&socket) else { return false };
        if program.to_peer.is_empty() {
            return true;
        }
        match self.end.write(Clock::SYSTEM.now(), socket, &program.to_peer) {
            Ok(taken) => drop(program.to_peer.drain(..taken)),
            // The session is over: its event says it.
            Err(_) => program.to_peer.clear(),
        }
        let is_all = program.to_peer.is_empty();
        if is_all {
            program.to_peer = Vec::new();
        }
        is_all
    }

    pub(super) fn write_program(&mut self, socket: Socket) {
        while let Some(program) = self.programs.get_mut(&socket) {
            match program.greet() {
                Ok(true) if program.is_told => break,
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => return self.program_gone(socket),
            }
            match Self::pass_on(&mut self.end, socket, &mut program.plug) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => return self.program_gone(socket),
            }
            match self.end.skip(Clock::SYSTEM.now(), socket, CHUNK) {
                Ok(None) => {
                    program.is_told = true;
                    if program.held.is_some() {
                        self.note_ending(socket);
                    }
                    if let Some(program) = self.programs.get(&socket) {
                        // One that is gone has said so, or will when it is read from.
                        let _ = program.plug.finish();
                    }
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
        self.close_if_over(socket);
    }

    /// Gives the kernel what it takes of what has come by a session: whether all.
    fn pass_on(end: &mut End, socket: Socket, plug: &mut Plug) -> io::Result<bool> {
        loop {
            let pieces: Vec<_> = end.pieces(socket, CHUNK).map(IoSlice::new).collect();
            if pieces.is_empty() {
                return Ok(true);
            }
            match plug.write_vectored(&pieces) {
                // What it has is read; where the session is over its event says it.
                Ok(written) => drop(end.skip(Clock::SYSTEM.now(), socket, written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A program has gone before its time.
    pub(super) fn program_gone(&mut self, socket: Socket) {
        self.news.push_back(News::Aborted(socket));
        self.end.reset(Clock::SYSTEM.now(), socket, Reason::Aborted);
    }

    /// Both directions have come to their end.
    fn close_if_over(&mut self, socket: Socket) {
        // What the peer has not got of one that is held is in the kernel alone.
        let is_gone = self.end.session(socket).is_none_or(Session::is_done);
        let is_over =
            |program: &Program| program.has_ended && program.is_told && (program.held.is_none() || is_gone);
        if self.programs.get(&socket).is_some_and(is_over) {
            self.take_program(socket);
        }
    }

    pub(super) fn abort_program(&mut self, socket: Socket) {
        if let Some(program) = self.programs.get(&socket) {
            // Before the store lets go of it: who is killed in between would leave the program an end.
            program.plug.abort();
        }
        self.take_program(socket);
    }

    /// The other end's program has written all that it wanted, and does not read any more: this one gets all of it, and its end. What it
    /// writes then the kernel resets, as that of who had closed such a connection would.
    pub(super) fn close_program(&mut self, socket: Socket) {
        if let Some(program) = self.take_program(socket) {
            // It may be gone.
            let _ = program.plug.finish();
        }
    }

    fn take_program(&mut self, socket: Socket) -> Option<Program> {
        let program = self.programs.remove(&socket)?;
        self.owners.remove(&program.id);
        if program.held.is_some() {
            self.let_go(socket);
        }
        Some(program)
    }
}
