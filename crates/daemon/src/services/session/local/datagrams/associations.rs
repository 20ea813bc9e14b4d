//! Programs that send datagrams: by which way, and by which session to each target.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::net::SocketAddr;

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::Socket;
use handfast_core::Instant;
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId};
use handfast_wire::{SocksDatagram, SocksHost};

use super::super::super::idle::{IDLE, Idle};
use super::port::receive;
use super::route::Route;
use super::ways::{Pair, Relay, Way};

/// Relays at once.
pub(super) const MOST: usize = 64;

/// Sockets of programs that are led here, at once.
const MOST_LED: usize = 512;

/// Sockets that are connected to one of a program.
pub(super) const MOST_PAIRS: usize = 256;

/// Sessions of one program. Of more, the one that was silent for longest ends.
pub(super) const MOST_OF_ONE: usize = 64;

/// The longest datagram of UDP.
const LONGEST: usize = 65_535;

/// What a program sends by one way.
pub(super) struct Association {
    pub(super) way: Way,
    pub(super) routes: BTreeMap<Target, Route>,
    /// What was said already of what goes nowhere.
    told: BTreeSet<String>,
}

impl Association {
    /// Whether something is to be said for the first time.
    pub(super) fn tells(&mut self, what: &str) -> bool {
        self.told.len() < MOST_OF_ONE && self.told.insert(what.to_owned())
    }

    /// Whether it sends somewhere now.
    fn is_used(&self) -> bool {
        self.routes.values().any(|route| !matches!(route, Route::Refused(_)))
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
pub(in super::super) struct Associations {
    pub(super) all: BTreeMap<u64, Association>,
    next: u64,
    controls: BTreeMap<SourceId, u64>,
    /// Of relays, and of pairs.
    sockets: BTreeMap<SourceId, u64>,
    led: BTreeMap<SocketAddr, u64>,
    pub(super) sessions: BTreeMap<Socket, (u64, Target)>,
    pub(super) idle: Idle<Socket>,
    pub(super) straight: BTreeMap<SourceId, (u64, Target)>,
    pub(super) straight_idle: Idle<SourceId>,
    buffer: Vec<u8>,
    /// Datagrams that went no further.
    pub(in super::super) dropped: u64,
}

impl Associations {
    pub(in super::super) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            next: 0,
            controls: BTreeMap::new(),
            sockets: BTreeMap::new(),
            led: BTreeMap::new(),
            sessions: BTreeMap::new(),
            idle: Idle::new(IDLE),
            straight: BTreeMap::new(),
            straight_idle: Idle::new(IDLE),
            buffer: vec![0; LONGEST],
            dropped: 0,
        }
    }

    pub(in super::super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many relays there are.
    pub(super) fn relays(&self) -> usize {
        self.controls.len()
    }

    pub(in super::super) fn has(&self, id: SourceId) -> bool {
        let is_there = |of: &BTreeMap<SourceId, u64>| of.contains_key(&id);
        is_there(&self.controls) || is_there(&self.sockets) || self.straight.contains_key(&id)
    }

    fn add(&mut self, way: Way) -> u64 {
        let number = self.next;
        self.next += 1;
        self.all.insert(number, Association { way, routes: BTreeMap::new(), told: BTreeSet::new() });
        number
    }

    /// Makes a relay for a program that has asked by this connection, and tells it.
    ///
    /// # Errors
    /// Why there is none; the connection.
    pub(super) fn open(
        &mut self,
        io: &mut EventLoop,
        id: SourceId,
        control: TcpStream,
    ) -> Result<(), (TcpStream, io::Error)> {
        let relay = Relay::open(io, id, control)?;
        let [control, socket] = relay.ids;
        let number = self.add(Way::Relay(relay));
        self.controls.insert(control, number);
        self.sockets.insert(socket, number);
        Ok(())
    }

    /// A socket of this end is connected to a program's.
    pub(super) fn pair(&mut self, pair: Pair) {
        let id = pair.id;
        let number = self.add(Way::Pair(pair));
        self.sockets.insert(id, number);
    }

    /// Sockets that are connected to one of a program, with whose they are.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u64, &Pair)> {
        self.all.iter().filter_map(|(number, association)| match &association.way {
            Way::Pair(pair) => Some((*number, pair)),
            _ => None,
        })
    }

    /// Whose a socket is that the kernel leads, and until when that was looked at.
    pub(super) fn led_from(&self, from: SocketAddr) -> Option<(u64, Instant)> {
        let number = *self.led.get(&from)?;
        match self.all.get(&number)?.way {
            Way::Led(_, until) => Some((number, until)),
            _ => None,
        }
    }

    /// It was looked at; [`None`]: there is no room for another one.
    pub(super) fn looked_at(&mut self, from: SocketAddr, until: Instant) -> Option<u64> {
        if let Some(&number) = self.led.get(&from) {
            self.all.get_mut(&number)?.way = Way::Led(from, until);
            return Some(number);
        }
        if self.led.len() >= MOST_LED {
            self.forget_unused();
        }
        if self.led.len() >= MOST_LED {
            return None;
        }
        let number = self.add(Way::Led(from, until));
        self.led.insert(from, number);
        Some(number)
    }

    /// Sockets that the kernel leads, and that send nothing any more.
    pub(super) fn forget_unused(&mut self) {
        let unused: Vec<_> = self
            .led
            .values()
            .copied()
            .filter(|of| self.all.get(of).is_none_or(|one| !one.is_used()))
            .collect();
        for number in unused {
            self.close(number);
        }
    }

    /// Targets to which something goes that the kernel leads here.
    pub(super) fn led_targets(&self) -> BTreeSet<&Target> {
        let of_one = |number: &u64| self.all.get(number).map(|association| &association.routes);
        let routes = self.led.values().filter_map(of_one).flatten();
        routes.filter(|(_, route)| !matches!(route, Route::Refused(_))).map(|(target, _)| target).collect()
    }

    /// All programs' ways.
    #[cfg(test)]
    pub(super) fn programs(&self) -> impl Iterator<Item = (&u64, &Association)> {
        self.all.iter()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Association> {
        self.all.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Association> {
        self.all.get_mut(&number)
    }

    /// What becomes of one's datagrams to a target.
    pub(super) fn route_mut(&mut self, number: u64, target: &Target) -> Option<&mut Route> {
        self.all.get_mut(&number)?.routes.get_mut(target)
    }

    /// Whose a socket of a relay or of a pair is.
    pub(super) fn socket_at(&self, id: SourceId) -> Option<u64> {
        self.sockets.get(&id).copied()
    }

    /// A relay whose program has closed its connection. What it says there means nothing.
    pub(super) fn hear_control(&mut self, id: SourceId) -> (Option<u64>, ReadOutcome) {
        let nothing = (None, ReadOutcome::Nothing);
        let Some(&number) = self.controls.get(&id) else { return nothing };
        let Some(Association { way: Way::Relay(relay), .. }) = self.all.get_mut(&number) else {
            return nothing;
        };
        match relay.control.read(&mut [0; 512]) {
            Ok(1..) => (None, ReadOutcome::Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (None, ReadOutcome::Some),
            Ok(_) | Err(_) => (Some(number), ReadOutcome::Nothing),
        }
    }

    /// Reads one of a relay, or of a pair.
    pub(super) fn receive(&mut self, number: u64) -> Brought {
        let Self { all, buffer, .. } = self;
        match all.get_mut(&number).map(|association| &mut association.way) {
            Some(Way::Relay(relay)) => receive_relayed(relay, buffer),
            Some(Way::Pair(pair)) => match receive(buffer, |buffer| pair.socket.recv_from(buffer)) {
                Ok((len, from)) if from == pair.program => {
                    Brought::Datagram(pair.target.clone(), buffer[..len].to_vec())
                }
                // It has come before the two were connected.
                Ok(_) => Brought::Dropped("it comes from somebody else"),
                Err(_) => Brought::Nothing,
            },
            Some(Way::Led(..)) | None => Brought::Nothing,
        }
    }

    /// Reads one that has come straight from a target.
    pub(super) fn receive_straight(&mut self, number: u64, target: &Target) -> Option<Vec<u8>> {
        let Self { all, buffer, .. } = self;
        let Some(Route::Straight(port)) = all.get(&number)?.routes.get(target) else { return None };
        let len = port.receive(buffer).ok()?;
        Some(buffer[..len].to_vec())
    }

    /// A program sends no more by its way: its sessions.
    pub(super) fn close(&mut self, number: u64) -> Vec<Socket> {
        let Some(association) = self.all.remove(&number) else { return Vec::new() };
        match &association.way {
            Way::Relay(Relay { ids: [control, socket], .. }) => {
                self.controls.remove(control);
                self.sockets.remove(socket);
            }
            Way::Led(from, _) => drop(self.led.remove(from)),
            Way::Pair(pair) => drop(self.sockets.remove(&pair.id)),
        }
        let mut sessions = Vec::new();
        for route in association.routes.into_values() {
            sessions.extend(route.session());
            if let Route::Straight(port) = route {
                self.end_straight(port.id);
            }
        }
        for session in &sessions {
            self.remove(*session, None);
        }
        sessions
    }

    /// All that are no relays.
    pub(super) fn led_or_paired(&self) -> Vec<u64> {
        let is_one = |one: &Association| !matches!(one.way, Way::Relay(_));
        self.all.iter().filter(|(_, one)| is_one(one)).map(|(number, _)| *number).collect()
    }
}

fn receive_relayed(relay: &mut Relay, buffer: &mut [u8]) -> Brought {
    let Ok((len, from)) = receive(buffer, |buffer| relay.socket.recv_from(buffer)) else {
        return Brought::Nothing;
    };
    if !relay.is_own(Clock::SYSTEM.now(), from) {
        return Brought::Dropped("it comes from somebody else");
    }
    let Some(datagram) = SocksDatagram::parse(&buffer[..len]) else {
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
