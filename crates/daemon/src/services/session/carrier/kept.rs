//! Programs whose connections outlive this process: what is read of them stays in the kernel until the peer has it.

use std::io;
use std::net::SocketAddr;

use handfast_assist::iosl::end::{End, PathId};
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_core::Instant;
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, disconnect, forget, make_room, peek, peek_and_leave, peek_from};
use tracing::{info, warn};

use super::super::keeping::{Held, Keeping, Left, Outlives};
use super::programs::Program;
use super::{Addresses, Carrier, Owner, Plug};

/// What the kernel takes of a program at first, and at most: as much as a session keeps.
const ROOM: [u64; 2] = [64 << 10, 4 << 20];

impl Program {
    /// Reads once, as recv(2) does.
    pub(super) fn read(&mut self, end: &mut End, socket: Socket, into: &mut [u8]) -> io::Result<usize> {
        let Self { plug: Plug::Tcp(stream), held: Some(held), is_told, .. } = self else {
            return io::Read::read(&mut self.plug, into);
        };
        // Of one that is over its event says it.
        let Some([acked, written]) = end.written(socket) else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        held.forget(stream, acked)?;
        if held.at != written {
            peek_from(stream, u32::try_from(written - held.forgotten).map_err(io::Error::other)?)?;
            held.at = written;
        }
        held.widen(stream);
        // From then on only the error tells a failure from an end, and the next process has to find it.
        let read = match is_told {
            true => peek_and_leave(stream, held.at - held.forgotten, into)?,
            false => peek(stream, into)?,
        };
        held.at += read as u64;
        Ok(read)
    }
}

impl Held {
    /// The peer has all before `acked`.
    fn forget(&mut self, stream: &TcpStream, acked: u64) -> io::Result<()> {
        while self.forgotten < acked {
            let forgotten = forget(stream, (acked - self.forgotten) as usize)?;
            if forgotten == 0 {
                return Err(io::Error::other("the kernel has less than the peer"));
            }
            self.forgotten += forgotten as u64;
            self.at = self.at.max(self.forgotten);
        }
        Ok(())
    }

    /// The more is under way the more the kernel has to take.
    fn widen(&mut self, stream: &TcpStream) {
        let wanted = (2 * (self.at - self.forgotten)).next_power_of_two().clamp(ROOM[0], ROOM[1]);
        if wanted > self.room {
            self.room = wanted;
            // Where it fails it takes what it takes.
            let _ = make_room(stream, wanted as u32);
        }
    }
}

impl Carrier {
    fn keeping(&mut self) -> Option<&mut Keeping> {
        match &mut self.outlives {
            Outlives::Yes(keeping) => Some(keeping),
            Outlives::No(_) => None,
        }
    }

    /// Why sessions end with this process; [`None`]: they do not.
    pub(in crate::services::session) fn why_not_kept(&self) -> Option<&'static str> {
        match self.outlives {
            Outlives::Yes(_) => None,
            Outlives::No(why) => Some(why),
        }
    }

    /// Where what outlives this process is kept.
    pub(in crate::services::session) fn store(&mut self) -> Option<&mut Keeping> {
        self.keeping()
    }

    /// Writes down what has changed.
    pub(super) fn save(&mut self) {
        let Self { outlives: Outlives::Yes(keeping), end, .. } = self else { return };
        while let Some(socket) = end.poll_changed() {
            keeping.save(socket, end.saved(socket).as_ref());
        }
    }

    /// Has what a session is for written down.
    pub(in crate::services::session) fn note(&mut self, socket: Socket, note: impl FnOnce() -> Vec<u8>) {
        if let Some(keeping) = self.keeping() {
            keeping.note(socket, note());
        }
    }

    /// Has a program's connection kept, if it can be.
    pub(super) fn hold(&mut self, socket: Socket, plug: &Plug, greeting: usize) -> Option<Held> {
        self.save();
        let saved = self.end.saved(socket);
        let (Plug::Tcp(stream), Some(keeping), Some(saved)) = (plug, self.keeping(), saved) else {
            return None;
        };
        let held = keeping.hold((socket, &saved), stream, greeting);
        held.map_err(|error| warn!(%error, "a session ends with this process")).ok()
    }

    /// Has written down that a program is about to be told that no more comes.
    pub(super) fn note_ending(&mut self, socket: Socket) {
        self.save();
        let saved = self.end.saved(socket);
        if let Some(keeping) = self.keeping() {
            keeping.ending(socket, saved.as_ref());
        }
    }

    /// A program's connection needs to be kept no more.
    pub(super) fn let_go(&mut self, socket: Socket) {
        self.save();
        let saved = self.end.saved(socket);
        if let Some(keeping) = self.keeping() {
            keeping.let_go(socket, saved.as_ref());
        }
    }

    /// The kernel forgets what the peer has said on this path to have.
    pub(super) fn forget_of(&mut self, path: PathId) {
        let Some(socket) = self.end.session_of(path) else { return };
        let (Some(program), Some([acked, _])) = (self.programs.get_mut(&socket), self.end.written(socket))
        else {
            return;
        };
        let Program { plug: Plug::Tcp(stream), held: Some(held), .. } = program else { return };
        // One that is gone says so when it is read from.
        let _ = held.forget(stream, acked);
    }

    /// Goes on with what a process of before has left: the sessions, with what was noted of each. A program whose session does not go
    /// on is told so.
    pub(in crate::services::session) fn restore(
        &mut self,
        io: &mut EventLoop,
        left: Vec<Left>,
    ) -> Vec<(Socket, Vec<u8>)> {
        let mut restored = Vec::new();
        let all = left.len();
        for left in left {
            let note = left.note.clone();
            if let Some(socket) = self.restore_one(io, left) {
                restored.push((socket, note));
            }
        }
        for stranger in self.keeping().map(Keeping::strangers).unwrap_or_default() {
            // It may be gone.
            let _ = disconnect(&stranger);
        }
        if all > 0 {
            info!(
                sessions = restored.len(),
                lost = all - restored.len(),
                "sessions of the process before go on"
            );
        }
        restored
    }

    fn restore_one(&mut self, io: &mut EventLoop, mut left: Left) -> Option<Socket> {
        let application = match self.application {
            Some(application) => application,
            None => *self.application.insert(self.end.open_application().ok()?),
        };
        let now = Clock::SYSTEM.now();
        let program = left.program.take();
        let kept = program.as_ref().and_then(|(_, kept)| *kept);
        let socket = match self.end.restore(now, application, &left.saved, kept) {
            Ok(socket) => socket,
            Err(refused) => {
                warn!(target = %left.saved.target(), ?refused, "a session of the process before is lost");
                self.keeping()?.lost(&left);
                program.map(|(stream, _)| disconnect(&stream));
                return None;
            }
        };
        let had_program = left.had_program;
        self.keeping()?.restored(socket, left);
        let attached = match program {
            Some((stream, Some(kept))) => self.attach_again(io, socket, stream, kept.taken, kept.is_told),
            // It was not told yet that it is connected, or has failed meanwhile.
            Some((stream, None)) => disconnect(&stream).and(Err(io::ErrorKind::ConnectionReset.into())),
            None if had_program => Err(io::ErrorKind::NotConnected.into()),
            None => Ok(()),
        };
        if let Err(error) = attached {
            warn!(%error, "the program of a session is gone");
            self.reset(socket, Reason::Aborted);
        }
        Some(socket)
    }

    fn attach_again(
        &mut self,
        io: &mut EventLoop,
        socket: Socket,
        stream: TcpStream,
        taken: u64,
        is_told: bool,
    ) -> io::Result<()> {
        let mut plug = Plug::Tcp(stream);
        let id = plug.add_to(io)?;
        self.owners.insert(id, Owner::Program(socket));
        let held = Some(Held { forgotten: taken, at: taken, room: 0 });
        let (to_peer, greeting) = (Vec::new(), Vec::new());
        let program = Program { plug, id, to_peer, greeting, has_ended: false, is_told, held };
        self.programs.insert(socket, program);
        self.carried.insert(socket, None::<Instant>);
        self.go_on_reading(io, socket);
        Ok(())
    }

    /// Where the peer of a session is that a process of before has opened.
    pub(in crate::services::session) fn set_peer(&mut self, socket: Socket, list: Vec<SocketAddr>) {
        self.peers.insert(socket, Addresses { list, next: 0 });
    }

    /// The peer of a session is elsewhere: one that has no path dials there at once.
    pub(in crate::services::session) fn move_peer(&mut self, socket: Socket, list: Vec<SocketAddr>) {
        self.set_peer(socket, list);
        let is_away = self.end.session(socket).is_some_and(|session| session.epochs().next().is_none());
        if is_away && !self.is_suspended {
            self.end.resume(Clock::SYSTEM.now(), socket);
        }
    }
}
