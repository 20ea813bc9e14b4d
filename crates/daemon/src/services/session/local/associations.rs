//! Relays of UDP for programs (RFC 1928 §7): each has a port of 127.0.0.1 for as long as its program keeps the connection by which it
//! has asked, and a session for each target.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::Socket;
use handfast_core::{Duration, Instant};
use handfast_io::net::{TcpStream, UdpSocket};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId};
use handfast_wire::{SocksDatagram, SocksHost};

use super::super::idle::{IDLE, Idle};
use super::owners;

/// Relays at once.
pub(super) const MOST: usize = 64;

/// Sessions of one relay, and of all. Of more, the one that was silent for longest ends.
const MOST_OF_ONE: usize = 64;
const MOST_SESSIONS: usize = 256;

/// Octets that wait for a session to open. The oldest give way.
const MOST_EARLY: usize = 16 << 10;

/// What one of them costs beside its octets, so that empty ones have an end too.
const EACH: usize = 64;

/// To look whose a datagram is takes long, and anybody on this machine can have it looked at: not sooner than this after the last time.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The longest datagram of UDP.
const LONGEST: usize = 65_535;

/// What becomes of datagrams to a target.
#[derive(Debug)]
pub(super) enum Route {
    /// They wait: the session is not open yet.
    Opening(Socket, Early),
    /// They go by a session.
    Open(Socket),
    /// They go nowhere, until it is tried again.
    Refused(Instant),
}

/// What a program has sent before its session was open.
#[derive(Debug, Default)]
pub(super) struct Early {
    waiting: VecDeque<Vec<u8>>,
    octets: usize,
}

impl Early {
    /// Keeps one: how many gave way to it.
    pub(super) fn push(&mut self, datagram: &[u8]) -> u64 {
        self.octets += datagram.len() + EACH;
        self.waiting.push_back(datagram.to_vec());
        let before = self.waiting.len();
        while self.octets > MOST_EARLY && self.waiting.len() > 1 {
            self.octets -= self.waiting.pop_front().map_or(0, |oldest| oldest.len() + EACH);
        }
        (before - self.waiting.len()) as u64
    }
}

/// A relay of one program.
pub(super) struct Association {
    control: TcpStream,
    relay: UdpSocket,
    ids: [SourceId; 2],
    /// Who has asked for it.
    user: u32,
    /// From where the program sends.
    program: Option<SocketAddr>,
    /// Until then nobody is looked at who may be it.
    look_from: Instant,
    pub(super) routes: BTreeMap<Target, Route>,
    /// What was said already of what goes nowhere.
    told: BTreeSet<String>,
}

impl Association {
    /// Whether something is to be said for the first time.
    pub(super) fn tells(&mut self, what: &str) -> bool {
        self.told.len() < MOST_OF_ONE && self.told.insert(what.to_owned())
    }

    /// Whether a datagram is the program's: the first one of its user says from where it sends, and the kernel lets no other pass then.
    fn is_own(&mut self, now: Instant, from: SocketAddr) -> bool {
        if let Some(program) = self.program {
            return program == from;
        }
        if now < self.look_from {
            return false;
        }
        self.look_from = now + LOOK_AGAIN;
        let is_own = from.ip() == Ipv4Addr::LOCALHOST && owners::of_sender(from.port()) == Some(self.user);
        if is_own && self.relay.connect(from).is_ok() {
            self.program = Some(from);
        }
        self.program.is_some()
    }

    /// Gives the program one that has come from a target. Where it does not take it, it is lost.
    pub(super) fn give(&self, target: &Target, payload: &[u8]) -> io::Result<()> {
        let host = match target.host().parse() {
            Ok(address) => SocksHost::Address(address),
            Err(_) => SocksHost::Name(target.host().as_bytes().to_vec()),
        };
        let mut datagram = Vec::with_capacity(payload.len() + 22);
        SocksDatagram { fragment: 0, host, port: target.port(), payload }.emit(&mut datagram);
        self.relay.send(&datagram).map(drop)
    }
}

/// What a read has brought.
pub(super) enum Brought {
    /// A datagram of the program, and to where.
    Datagram(Target, Vec<u8>),
    /// One that goes nowhere: why.
    Dropped(&'static str),
    Nothing,
}

/// All of them.
pub(super) struct Associations {
    all: BTreeMap<u64, Association>,
    next: u64,
    controls: BTreeMap<SourceId, u64>,
    relays: BTreeMap<SourceId, u64>,
    sessions: BTreeMap<Socket, (u64, Target)>,
    idle: Idle<Socket>,
    buffer: Vec<u8>,
    /// Datagrams that went no further.
    pub(super) dropped: u64,
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted)
}

/// The answer to a program that has asked for one (RFC 1928 §6).
fn answer(code: u8, port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let [a, b, c, d] = if code == 0 { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }.octets();
    vec![5, code, 0, 1, a, b, c, d, high, low]
}

/// Says to a program that it gets none. RFC 1928 §6: 1 is a general failure, and 7 a command that is not supported.
pub(super) fn refuse(mut control: TcpStream, code: u8) {
    // A new connection has room for a short answer.
    let _ = control.write(&answer(code, 0));
}

/// The user of a program, and a port for it.
fn relay_for(io: &mut EventLoop, control: &TcpStream) -> io::Result<(u32, UdpSocket, u16, SourceId)> {
    let user =
        owners::of_peer(control).ok_or_else(|| io::Error::other("nobody knows whose program it is"))?;
    let mut relay = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let port = relay.local_addr()?.port();
    let id = io.add(&mut relay, Interest::READABLE)?;
    Ok((user, relay, port, id))
}

impl Associations {
    pub(super) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            next: 0,
            controls: BTreeMap::new(),
            relays: BTreeMap::new(),
            sessions: BTreeMap::new(),
            idle: Idle::new(IDLE),
            buffer: Vec::new(),
            dropped: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.controls.contains_key(&id) || self.relays.contains_key(&id)
    }

    /// Makes one for a program that has asked by this connection, and tells it.
    ///
    /// # Errors
    /// Why there is none; the connection.
    pub(super) fn open(
        &mut self,
        io: &mut EventLoop,
        id: SourceId,
        mut control: TcpStream,
    ) -> Result<(), (TcpStream, io::Error)> {
        let (user, relay, port, relay_id) = match relay_for(io, &control) {
            Ok(made) => made,
            Err(error) => return Err((control, error)),
        };
        // A program that is gone says so when it is read from.
        let _ = control.write(&answer(0, port));
        let number = self.next;
        self.next += 1;
        self.controls.insert(id, number);
        self.relays.insert(relay_id, number);
        let (ids, routes, told) = ([id, relay_id], BTreeMap::new(), BTreeSet::new());
        let (program, look_from) = (None, Instant::ZERO);
        self.all.insert(number, Association { control, relay, ids, user, program, look_from, routes, told });
        Ok(())
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Association> {
        self.all.get_mut(&number)
    }

    /// Whose relay's a socket is.
    pub(super) fn relay_at(&self, id: SourceId) -> Option<u64> {
        self.relays.get(&id).copied()
    }

    /// A relay whose program has closed its connection. What it says there means nothing.
    pub(super) fn hear_control(&mut self, id: SourceId) -> (Option<u64>, ReadOutcome) {
        let Some(&number) = self.controls.get(&id) else { return (None, ReadOutcome::Nothing) };
        let Some(association) = self.all.get_mut(&number) else { return (None, ReadOutcome::Nothing) };
        match association.control.read(&mut [0; 512]) {
            Ok(1..) => (None, ReadOutcome::Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (None, ReadOutcome::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (None, ReadOutcome::Some),
            Ok(_) | Err(_) => (Some(number), ReadOutcome::Nothing),
        }
    }

    /// Reads one of a relay.
    pub(super) fn receive(&mut self, number: u64) -> Brought {
        let Some(association) = self.all.get_mut(&number) else { return Brought::Nothing };
        self.buffer.resize(LONGEST, 0);
        let (len, from) = loop {
            match association.relay.recv_from(&mut self.buffer) {
                Ok(came) => break came,
                // What ICMP says of one that the program did not take; and a signal.
                Err(error) if is_passing(&error) => {}
                Err(_) => return Brought::Nothing,
            }
        };
        if !association.is_own(Clock::SYSTEM.now(), from) {
            return Brought::Dropped("it comes from somebody else");
        }
        let Some(datagram) = SocksDatagram::parse(&self.buffer[..len]) else {
            return Brought::Dropped("it is none as RFC 1928 section 7 has it");
        };
        let target = match &datagram.host {
            SocksHost::Address(address) => Target::of_datagrams(&address.to_string(), datagram.port),
            SocksHost::Name(name) => {
                std::str::from_utf8(name).ok().and_then(|name| Target::of_datagrams(name, datagram.port))
            }
        };
        match target {
            _ if datagram.fragment != 0 => {
                Brought::Dropped("it is a fragment, and fragments are not put together")
            }
            None => Brought::Dropped("it goes to no host and port"),
            Some(target) => Brought::Datagram(target, datagram.payload.to_vec()),
        }
    }

    /// Of which relay a session is, and to which target it leads.
    pub(super) fn of(&self, session: Socket) -> Option<(u64, Target)> {
        self.sessions.get(&session).cloned()
    }

    /// A session that has to end before this relay gets another one.
    pub(super) fn in_the_way(&self, number: u64) -> Option<Socket> {
        let is_own = |socket: &Socket| self.sessions.get(socket).is_some_and(|(of, _)| *of == number);
        if self.idle.len() >= MOST_SESSIONS {
            return self.idle.longest().next();
        }
        let is_full = self.sessions.values().filter(|(of, _)| *of == number).count() >= MOST_OF_ONE;
        self.idle.longest().find(|socket| is_full && is_own(socket))
    }

    /// A session is on its way for the first datagram of a relay to a target.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        (number, target): (u64, Target),
        session: Socket,
        first: &[u8],
    ) {
        let Some(association) = self.all.get_mut(&number) else { return };
        let mut early = Early::default();
        early.push(first);
        // Those that are tried again later are not kept for ever.
        if association.routes.len() >= 2 * MOST_OF_ONE {
            association.routes.retain(|_, route| !matches!(route, Route::Refused(_)));
        }
        association.routes.insert(target.clone(), Route::Opening(session, early));
        self.sessions.insert(session, (number, target));
        self.idle.touch(now, session);
    }

    /// A session is open: what has waited for it.
    pub(super) fn opened(&mut self, session: Socket) -> impl Iterator<Item = Vec<u8>> + use<> {
        let route = self.sessions.get(&session).and_then(|(number, target)| {
            self.all.get_mut(number).and_then(|association| association.routes.get_mut(target))
        });
        let before = route.map(|route| std::mem::replace(route, Route::Open(session)));
        let early = match before {
            Some(Route::Opening(_, early)) => early.waiting,
            _ => VecDeque::new(),
        };
        early.into_iter()
    }

    /// It is used.
    pub(super) fn touch(&mut self, now: Instant, session: Socket) {
        if self.sessions.contains_key(&session) {
            self.idle.touch(now, session);
        }
    }

    /// It is over. `again`: until when its target is not tried again, if the program goes on sending there.
    pub(super) fn remove(&mut self, session: Socket, again: Option<Instant>) {
        self.idle.remove(session);
        let Some((number, target)) = self.sessions.remove(&session) else { return };
        let Some(association) = self.all.get_mut(&number) else { return };
        match again {
            Some(until) => drop(association.routes.insert(target, Route::Refused(until))),
            None => drop(association.routes.remove(&target)),
        }
    }

    /// A relay is over: its sessions.
    pub(super) fn close(&mut self, number: u64) -> Vec<Socket> {
        if let Some(association) = self.all.remove(&number) {
            let [control, relay] = association.ids;
            self.controls.remove(&control);
            self.relays.remove(&relay);
        }
        let of = self.sessions.iter().filter(|(_, (of, _))| *of == number).map(|(session, _)| *session);
        let sessions: Vec<_> = of.collect();
        for session in &sessions {
            self.remove(*session, None);
        }
        sessions
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.idle.deadline()
    }

    /// A session that nobody has used for long.
    pub(super) fn take_idle(&mut self, now: Instant) -> Option<Socket> {
        self.idle.take(now)
    }
}
