//! A host's TCP without a link layer: segments in, segments out, many connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Received, State, Transmit};
use handfast_wire::tcp::{Flags, Segment};

use crate::ports::{DYNAMIC_PORTS, Ports};

/// A connection of a [`Stack`], never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

/// Local and remote address.
pub type Pair = (SocketAddr, SocketAddr);

/// The largest IP packet that Ethernet carries; what is sent is no larger.
const MTU: u16 = 1500;
/// Connections at most; a SYN beyond that is not answered, and the peer tries again.
const MOST_CONNECTIONS: usize = 4096;
/// Connections that wait to be accepted, a listener (as Linux's `somaxconn` was for decades).
pub const BACKLOG: usize = 128;

struct Connection {
    pair: Pair,
    endpoint: Endpoint,
    /// Its entry in [`Stack::deadlines`].
    deadline: Option<Instant>,
    /// The application is done with it: it goes as soon as it is closed.
    released: bool,
}

struct Listener {
    config: Arc<Config>,
    /// Connections that nobody has accepted yet.
    waiting: VecDeque<ConnectionId>,
}

/// A host's TCP as a machine. After every call that may change what there is to send, the driver calls
/// [`Stack::poll_transmit`] until it gives nothing, then waits for a segment or [`Stack::deadline`].
pub struct Stack {
    addresses: Vec<IpAddr>,
    connections: BTreeMap<ConnectionId, Connection>,
    ports: Ports<SocketAddr, ConnectionId, Listener>,
    deadlines: BTreeSet<(Instant, ConnectionId)>,
    /// Connections that may have something to send.
    touched: BTreeSet<ConnectionId>,
    /// Resets for segments of no connection.
    resets: VecDeque<(Pair, Transmit)>,
    next_id: u64,
    secret: RandomState,
    /// Connections refused for want of room.
    no_room: u64,
}

/// Resets that wait to be sent; more are dropped.
const MOST_RESETS: usize = 256;

impl Stack {
    /// A host without connections. `secret` makes ports and sequence numbers hard to guess.
    pub fn new(addresses: Vec<IpAddr>, secret: RandomState) -> Self {
        Self {
            addresses,
            connections: BTreeMap::new(),
            // RFC 6056 §3.3.1: begins anywhere.
            ports: Ports::starting_after(DYNAMIC_PORTS | secret.hash_one(0) as u16),
            deadlines: BTreeSet::new(),
            touched: BTreeSet::new(),
            resets: VecDeque::new(),
            next_id: 0,
            secret,
            no_room: 0,
        }
    }

    /// Whether an address is the host's.
    pub fn owns(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }

    /// Connections refused for want of room.
    pub fn no_room(&self) -> u64 {
        self.no_room
    }

    /// Accepts connections to `port`, each with that behaviour.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {
        self.ports.listen(port, Listener { config, waiting: VecDeque::new() });
    }

    /// The next connection to `port`, its handshake perhaps not done.
    pub fn accept(&mut self, port: u16) -> Option<ConnectionId> {
        self.ports.listener_mut(port)?.waiting.pop_front()
    }

    /// Opens a connection from the host's address of the same family. [`None`]: there is no such address, or no room.
    pub fn connect(
        &mut self,
        now: Instant,
        config: &Arc<Config>,
        remote: SocketAddr,
    ) -> Option<ConnectionId> {
        let same_family = |ip: &&IpAddr| ip.is_ipv4() == remote.is_ipv4();
        let ip = *self.addresses.iter().find(same_family)?;
        let pair = |port| (SocketAddr::new(ip, port), remote);
        let port = self.ports.free_port(pair)?;
        self.connect_from(now, config, pair(port))
    }

    /// Opens a connection from that local address. [`None`]: such a connection exists, or there is no room.
    pub fn connect_from(&mut self, now: Instant, config: &Arc<Config>, pair: Pair) -> Option<ConnectionId> {
        if self.ports.connection(pair).is_some() {
            return None;
        }
        let (config, iss) = (fitting(config, pair.0), self.initial_sequence(now, pair));
        let endpoint = Endpoint::connect(config, pair.0.port(), pair.1.port(), iss, now);
        self.add(pair, endpoint)
    }

    /// RFC 6528 §3: a clock of 4 us a tick, and a secret function of the addresses.
    fn initial_sequence(&self, now: Instant, pair: Pair) -> SeqNum {
        SeqNum((now.as_nanos() / 4_000).wrapping_add(self.secret.hash_one(pair)) as u32)
    }

    fn add(&mut self, pair: Pair, endpoint: Endpoint) -> Option<ConnectionId> {
        if self.connections.len() >= MOST_CONNECTIONS {
            self.no_room += 1;
            return None;
        }
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.ports.open(pair, id);
        self.connections.insert(id, Connection { pair, endpoint, deadline: None, released: false });
        self.touched.insert(id);
        Some(id)
    }

    /// A connection, to look at.
    pub fn endpoint(&self, id: ConnectionId) -> Option<&Endpoint> {
        self.connections.get(&id).map(|connection| &connection.endpoint)
    }

    /// A connection, to read from it, write to it or close it.
    pub fn endpoint_mut(&mut self, id: ConnectionId) -> Option<&mut Endpoint> {
        self.touched.insert(id);
        self.connections.get_mut(&id).map(|connection| &mut connection.endpoint)
    }

    /// Local and remote address of a connection.
    pub fn addresses(&self, id: ConnectionId) -> Option<Pair> {
        self.connections.get(&id).map(|connection| connection.pair)
    }

    /// The application is done with a connection; it is closed if it is not yet, and remembered until TIME-WAIT is over.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.endpoint.close(now);
            connection.released = true;
            self.touched.insert(id);
        }
    }

    /// A segment has come in for one of the host's addresses; its checksum is right.
    pub fn on_segment(&mut self, now: Instant, pair: Pair, received: &Received<'_>) {
        let Some(id) = self.ports.connection(pair).or_else(|| self.open(now, pair, received.segment)) else {
            return self.refuse(now, pair, received);
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.endpoint.on_segment(now, received);
            self.touched.insert(id);
        }
    }

    /// A segment of no connection: a new one if it is a SYN to a port that somebody listens on.
    fn open(&mut self, now: Instant, pair: Pair, segment: &Segment) -> Option<ConnectionId> {
        let is_syn = segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST);
        let port = pair.0.port();
        let listener =
            self.ports.listener(port).filter(|listener| is_syn && listener.waiting.len() < BACKLOG)?;
        let config = fitting(&listener.config, pair.0);
        let id = self.add(pair, Endpoint::listen(config, port, self.initial_sequence(now, pair)))?;
        self.ports.listener_mut(port)?.waiting.push_back(id);
        Some(id)
    }

    /// RFC 9293 §3.10.7.1: what is for no connection is answered with a reset. Not a SYN to a listener without room: its
    /// sender shall try again.
    fn refuse(&mut self, now: Instant, pair: Pair, received: &Received<'_>) {
        let is_late =
            received.segment.flags.contains(Flags::SYN) && self.ports.listener(pair.0.port()).is_some();
        if is_late || self.resets.len() >= MOST_RESETS {
            return;
        }
        let mut nobody = Endpoint::listen(Arc::default(), pair.0.port(), SeqNum(0));
        nobody.close(now);
        nobody.on_segment(now, received);
        while let Some(reset) = nobody.poll_transmit(now, NO_LIMIT) {
            self.resets.push_back((pair, reset));
        }
    }

    /// When [`Stack::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.deadlines.first().filter(|&&(at, _)| at <= now) {
            self.deadlines.remove(&(at, id));
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.deadline = None;
                connection.endpoint.on_timer(now);
                self.touched.insert(id);
            }
        }
    }

    /// The next segment to send, and between which addresses.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Pair, Transmit)> {
        if let Some(reset) = self.resets.pop_front() {
            return Some(reset);
        }
        while let Some(&id) = self.touched.first() {
            let Some(connection) = self.connections.get_mut(&id) else {
                self.touched.remove(&id);
                continue;
            };
            if let Some(transmit) = connection.endpoint.poll_transmit(now, NO_LIMIT) {
                return Some((connection.pair, transmit));
            }
            self.settle(id);
        }
        None
    }

    /// A connection has sent all it has: its deadline is entered anew, or it goes.
    fn settle(&mut self, id: ConnectionId) {
        self.touched.remove(&id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let deadline = connection.endpoint.deadline();
        if deadline != connection.deadline {
            let old = std::mem::replace(&mut connection.deadline, deadline);
            old.map(|at| self.deadlines.remove(&(at, id)));
            deadline.map(|at| self.deadlines.insert((at, id)));
        }
        if connection.released && connection.endpoint.state() == State::Closed {
            self.ports.close(connection.pair);
            self.connections.remove(&id);
        }
    }
}

/// A stack sends all that TCP permits: the interface's queue says what is too much.
const NO_LIMIT: Bytes = Bytes(u64::MAX);

/// `config`, with segments that fit a packet of the address family of `local`.
fn fitting(config: &Arc<Config>, local: SocketAddr) -> Arc<Config> {
    // RFC 9293 §3.7.1: the MTU less the fixed headers.
    let most = MTU - if local.is_ipv4() { 40 } else { 60 };
    if config.mss <= most {
        Arc::clone(config)
    } else {
        Arc::new(Config { mss: most, ..Config::clone(config) })
    }
}
