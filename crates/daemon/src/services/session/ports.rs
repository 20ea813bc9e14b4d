//! Sockets of UDP before a server, one for each session that leads to it: connected, so that the kernel tells of what cannot be reached,
//! and takes answers from the target alone.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_assist::iosl::frame::MOST_DATAGRAM;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::secure::PublicKey;
use handfast_core::{Duration, Instant};
use handfast_io::net::UdpSocket;
use handfast_io::{EventLoop, Interest, SourceId};

use super::idle::{IDLE, Idle};

/// Sockets at once, and those of one client.
const MOST: usize = 1_024;
const MOST_OF_ONE: usize = 256;

/// The client ends a session first that nobody uses: it knows which one is to go.
const AFTER: Duration = Duration::from_millis(IDLE.as_millis() + 30_000);

/// The longest datagram of UDP.
const LONGEST: usize = 65_535;

/// What a read has brought.
pub(super) enum Came {
    /// A datagram of the target.
    Datagram(Vec<u8>),
    /// Nothing more now.
    Nothing,
    /// Nobody is there, or nobody can be reached.
    Gone(io::Error),
}

struct Port {
    socket: UdpSocket,
    id: SourceId,
    /// What comes before each datagram to the target.
    header: Vec<u8>,
    /// By whom it is.
    client: PublicKey,
}

/// All of them.
pub(super) struct Ports {
    all: BTreeMap<Socket, Port>,
    by_source: BTreeMap<SourceId, Socket>,
    of_client: BTreeMap<PublicKey, usize>,
    idle: Idle<Socket>,
    buffer: Vec<u8>,
    /// Datagrams that went no further: too long for a session, without a path, or without room in the kernel.
    pub(super) dropped: u64,
}

impl Ports {
    pub(super) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            by_source: BTreeMap::new(),
            of_client: BTreeMap::new(),
            idle: Idle::new(AFTER),
            buffer: Vec::new(),
            dropped: 0,
        }
    }

    /// Whether there is room for another one of this client.
    pub(super) fn has_room(&self, client: PublicKey) -> bool {
        self.all.len() < MOST && self.of_client.get(&client).copied().unwrap_or_default() < MOST_OF_ONE
    }

    /// The sessions of a client.
    pub(super) fn of_client(&self, client: PublicKey) -> impl Iterator<Item = Socket> {
        self.all.iter().filter(move |(_, port)| port.client == client).map(|(session, _)| *session)
    }

    /// One to a target. `header`: what comes before each datagram to it; without one its connection may not be this machine's own.
    ///
    /// # Errors
    /// What the kernel says, or that the target would take the client for this machine.
    pub(super) fn open(
        &mut self,
        io: &mut EventLoop,
        now: Instant,
        (session, client): (Socket, PublicKey),
        (target, header): (SocketAddr, Vec<u8>),
    ) -> io::Result<()> {
        let any: IpAddr =
            if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let mut socket = UdpSocket::bind((any, 0).into())?;
        socket.connect(target)?;
        if header.is_empty() && socket.local_addr()?.ip().to_canonical().is_loopback() {
            return Err(io::Error::other("it would see this machine at 127.0.0.1 as its client"));
        }
        let id = io.add(&mut socket, Interest::READABLE)?;
        self.by_source.insert(id, session);
        *self.of_client.entry(client).or_default() += 1;
        self.all.insert(session, Port { socket, id, header, client });
        self.idle.touch(now, session);
        Ok(())
    }

    /// Whose a socket is.
    pub(super) fn session_of(&self, id: SourceId) -> Option<Socket> {
        self.by_source.get(&id).copied()
    }

    pub(super) fn has(&self, session: Socket) -> bool {
        self.all.contains_key(&session)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Sends one to the target.
    ///
    /// # Errors
    /// What ICMP has said of one before, or the kernel says of this one.
    pub(super) fn send(&mut self, now: Instant, session: Socket, datagram: &[u8]) -> io::Result<()> {
        let Some(port) = self.all.get(&session) else { return Ok(()) };
        self.idle.touch(now, session);
        let sent = if port.header.is_empty() {
            port.socket.send(datagram)
        } else {
            port.socket.send(&[&port.header[..], datagram].concat())
        };
        match sent {
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error) => Err(error),
            // Full, or too long for its way: lost, as on the wire.
            Err(_) => {
                self.dropped += 1;
                Ok(())
            }
        }
    }

    /// Reads one.
    pub(super) fn receive(&mut self, now: Instant, session: Socket) -> Came {
        let Some(port) = self.all.get(&session) else { return Came::Nothing };
        self.buffer.resize(LONGEST, 0);
        loop {
            match port.socket.recv(&mut self.buffer) {
                Ok(len) if len > MOST_DATAGRAM => self.dropped += 1,
                Ok(len) => {
                    self.idle.touch(now, session);
                    return Came::Datagram(self.buffer[..len].to_vec());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Came::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_gone(&error) => return Came::Gone(error),
                // What ICMP says of one before, such as that it was too long for its way (RFC 1191): that one is lost. The kernel
                // says it once.
                Err(_) => self.dropped += 1,
            }
        }
    }

    /// A session has a path again, or has none and is not to be given up for that.
    pub(super) fn touch(&mut self, now: Instant, session: Socket) {
        if self.all.contains_key(&session) {
            self.idle.touch(now, session);
        }
    }

    pub(super) fn close(&mut self, session: Socket) {
        self.idle.remove(session);
        let Some(port) = self.all.remove(&session) else { return };
        self.by_source.remove(&port.id);
        if let Some(count) = self.of_client.get_mut(&port.client) {
            *count -= 1;
            if *count == 0 {
                self.of_client.remove(&port.client);
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.idle.deadline()
    }

    /// One that nobody has used for long.
    pub(super) fn take_idle(&mut self, now: Instant) -> Option<Socket> {
        self.idle.take(now)
    }
}

/// Whether it says that the target cannot be reached at all.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::PermissionDenied
    )
}
