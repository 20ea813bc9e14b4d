//! Programs that have closed their sockets, and not only ended what they write: what comes for them is for nobody.
//!
//! TCP tells the two from each other only once something is sent there. Program and end are on one machine, so the kernel can be asked
//! whether anybody has the program's socket still.

use std::collections::BTreeSet;

use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::session::Session;
use handfast_core::{Duration, Instant};
use handfast_io::Clock;
use handfast_io::net::TcpStream;
use handfast_io::netlink::TcpSockets;

use super::{Carrier, Plug};

/// How often those that have ended what they write are looked at.
pub(in crate::services::session) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// So many at once.
const AT_ONCE: usize = 256;

/// Asks the kernel whose sockets are.
#[derive(Debug, Default)]
pub(in crate::services::session) struct Owners(Option<TcpSockets>);

impl Owners {
    /// Whether nobody has the other end of a connection within this machine. Where the kernel does not say, somebody has it.
    pub(in crate::services::session) fn are_gone(&mut self, stream: &TcpStream) -> bool {
        let (Ok(program), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return true };
        if self.0.is_none() {
            self.0 = TcpSockets::new().ok();
        }
        let canonical = |at: std::net::SocketAddr| (at.ip().to_canonical(), at.port()).into();
        let asked = self.0.as_mut().map(|sockets| sockets.has_owner(canonical(program), canonical(own)));
        if matches!(asked, Some(Err(_))) {
            self.0 = None;
        }
        matches!(asked, Some(Ok(false)))
    }
}

/// Those that may have.
#[derive(Debug, Default)]
pub(super) struct Closed {
    watched: BTreeSet<Socket>,
    look_at: Option<Instant>,
    /// Nobody has them any more, whatever the kernel says.
    are_gone: bool,
    owners: Owners,
}

impl Closed {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }
}

impl Carrier {
    /// A program writes no more: does it read? Of a target's connection nobody can tell, it may be on another machine.
    pub(super) fn watch_owner(&mut self, socket: Socket) {
        let is_here = self.end.session(socket).is_some_and(Session::is_opener);
        let is_tcp = self.programs.get(&socket).is_some_and(|program| matches!(program.plug, Plug::Tcp(_)));
        if is_here && is_tcp {
            self.closed.watched.insert(socket);
            self.closed.look_at.get_or_insert(Clock::SYSTEM.now() + LOOK_EVERY);
        }
    }

    /// No program reads any more, whoever has its socket.
    pub(in crate::services::session) fn programs_are_gone(&mut self) {
        self.closed.are_gone = true;
        self.closed.look_at = Some(Clock::SYSTEM.now());
    }

    /// Ends sessions whose programs have closed their sockets, once the peer has all that they have written.
    pub(super) fn look_at_owners(&mut self, now: Instant) {
        if self.closed.look_at.is_none_or(|at| at > now) {
            return;
        }
        let Self { closed: Closed { watched, look_at, are_gone, owners }, programs, end, .. } = self;
        watched.retain(|socket| programs.get(socket).is_some_and(|program| !program.is_told));
        let is_heard = |socket: &&Socket| end.session(**socket).is_some_and(Session::is_heard);
        let gone: Vec<_> = watched
            .iter()
            .filter(is_heard)
            .take(AT_ONCE)
            .copied()
            .filter(|socket| match programs.get(socket).map(|program| &program.plug) {
                Some(Plug::Tcp(stream)) => *are_gone || owners.are_gone(stream),
                _ => false,
            })
            .collect();
        *look_at = (!watched.is_empty()).then_some(now + LOOK_EVERY);
        for socket in gone {
            self.closed.watched.remove(&socket);
            self.program_gone(socket);
        }
    }
}
