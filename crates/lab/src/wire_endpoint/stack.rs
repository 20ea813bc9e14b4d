//! A host's TCP without sockets or clock: frames in, frames out, many connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Received, State, Transmit};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Announcement, Body, Checksums, Ethernet, IpFacts, LinkType, Packet, Solicitation};

use super::neighbours::Neighbours;

/// A connection of a [`Stack`], never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

/// The largest IP packet that Ethernet carries; what is sent is no larger.
const MTU: u16 = 1500;
/// Connections at most; a SYN beyond that is not answered, and the peer tries again.
const MOST_CONNECTIONS: usize = 4096;
/// Connections that wait to be accepted, a listener (as Linux's `somaxconn` was for decades).
const BACKLOG: usize = 128;
/// Frames besides connections' own (resets, neighbour messages) that wait to be sent; more are dropped.
const MOST_ANSWERS: usize = 256;
/// The first dynamic port (RFC 6335 §6).
const DYNAMIC_PORTS: u16 = 49_152;

/// Who a host is on its link.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its addresses, IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
}

/// What a stack dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Segments whose checksum was wrong.
    pub corrupted: u64,
    /// Packets that came before their destination's Ethernet address was known; the last one of each was sent later.
    pub no_neighbour: u64,
    /// Connections refused for want of room.
    pub no_room: u64,
}

/// Local and remote address.
type Pair = (SocketAddr, SocketAddr);

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
/// [`Stack::poll_frame`] until it gives nothing, then waits for a frame or [`Stack::deadline`].
pub struct Stack {
    identity: Identity,
    neighbours: Neighbours,
    connections: BTreeMap<ConnectionId, Connection>,
    by_pair: BTreeMap<Pair, ConnectionId>,
    listeners: BTreeMap<u16, Listener>,
    deadlines: BTreeSet<(Instant, ConnectionId)>,
    /// Connections that may have something to send.
    touched: BTreeSet<ConnectionId>,
    answers: VecDeque<Vec<u8>>,
    next_id: u64,
    next_port: u16,
    secret: RandomState,
    dropped: Dropped,
}

impl Stack {
    /// A host without connections. `neighbours`: Ethernet addresses that need not be learnt.
    pub fn new(identity: Identity, neighbours: impl IntoIterator<Item = (IpAddr, [u8; 6])>) -> Self {
        let secret = RandomState::new();
        Self {
            neighbours: Neighbours::new(neighbours),
            connections: BTreeMap::new(),
            by_pair: BTreeMap::new(),
            listeners: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            touched: BTreeSet::new(),
            answers: VecDeque::new(),
            next_id: 0,
            // RFC 6056 §3.3.1: begins anywhere.
            next_port: DYNAMIC_PORTS | secret.hash_one(0) as u16,
            secret,
            identity,
            dropped: Dropped::default(),
        }
    }

    /// Accepts connections to `port`, each with that behaviour.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {
        self.listeners.insert(port, Listener { config, waiting: VecDeque::new() });
    }

    /// The next connection to `port`, its handshake perhaps not done.
    pub fn accept(&mut self, port: u16) -> Option<ConnectionId> {
        self.listeners.get_mut(&port)?.waiting.pop_front()
    }

    /// Opens a connection from the host's address of the same family. [`None`]: there is no such address, or no room.
    pub fn connect(
        &mut self,
        now: Instant,
        config: &Arc<Config>,
        remote: SocketAddr,
    ) -> Option<ConnectionId> {
        let same_family = |ip: &&IpAddr| ip.is_ipv4() == remote.is_ipv4();
        let ip = *self.identity.addresses.iter().find(same_family)?;
        let pair = (SocketAddr::new(ip, self.free_port(ip, remote)?), remote);
        self.connect_from(now, config, pair)
    }

    /// Opens a connection from that local address. [`None`]: such a connection exists, or there is no room.
    pub fn connect_from(&mut self, now: Instant, config: &Arc<Config>, pair: Pair) -> Option<ConnectionId> {
        if self.by_pair.contains_key(&pair) {
            return None;
        }
        let (config, iss) = (fitting(config, pair.0), self.initial_sequence(now, pair));
        let endpoint = Endpoint::connect(config, pair.0.port(), pair.1.port(), iss, now);
        self.add(pair, endpoint)
    }

    fn free_port(&mut self, ip: IpAddr, remote: SocketAddr) -> Option<u16> {
        (DYNAMIC_PORTS..=u16::MAX).find_map(|_| {
            self.next_port = self.next_port.wrapping_add(1).max(DYNAMIC_PORTS);
            let is_free = !self.by_pair.contains_key(&(SocketAddr::new(ip, self.next_port), remote));
            is_free.then_some(self.next_port)
        })
    }

    /// RFC 6528 §3: a clock of 4 us a tick, and a secret function of the addresses.
    fn initial_sequence(&self, now: Instant, pair: Pair) -> SeqNum {
        SeqNum((now.as_nanos() / 4_000).wrapping_add(self.secret.hash_one(pair)) as u32)
    }

    fn add(&mut self, pair: Pair, endpoint: Endpoint) -> Option<ConnectionId> {
        if self.connections.len() >= MOST_CONNECTIONS {
            self.dropped.no_room += 1;
            return None;
        }
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.by_pair.insert(pair, id);
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
    pub fn addresses(&self, id: ConnectionId) -> Option<(SocketAddr, SocketAddr)> {
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

    /// What was dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// A frame has come in. `checksums`: whether its sender has written them; a kernel leaves that to a network card, which
    /// between veths there is not.
    pub fn on_frame(&mut self, now: Instant, frame: &[u8], checksums: Checksums) {
        let is_for_us =
            frame.first_chunk::<6>().is_some_and(|dst| *dst == self.identity.mac || dst[0] & 1 == 1);
        if !is_for_us {
            return;
        }
        let frame = Bytes::copy_from_slice(frame);
        if let Some(asked) = Solicitation::parse(&frame) {
            return self.on_solicitation(asked);
        }
        if let Some(Announcement { address, mac }) = Announcement::parse(&frame) {
            return self.learn(address, mac);
        }
        let Ok(packet) = Packet::parse(LinkType::Ethernet, &frame, checksums) else { return };
        let (Body::Tcp(segment), true) = (&packet.body, self.owns(packet.dst)) else { return };
        if packet.corrupted {
            // RFC 9293 §3.1: discarded in silence.
            self.dropped.corrupted += 1;
            return;
        }
        if let Some(ethernet) = packet.ethernet {
            self.learn(packet.src, ethernet.src);
        }
        let local = SocketAddr::new(packet.dst, segment.dst_port);
        let received = Received { segment, ip: packet.ip_facts() };
        self.on_segment(now, (local, SocketAddr::new(packet.src, segment.src_port)), &received);
    }

    fn owns(&self, ip: IpAddr) -> bool {
        self.identity.addresses.contains(&ip)
    }

    fn on_solicitation(&mut self, asked: Solicitation) {
        if self.owns(asked.target) {
            self.learn(asked.asker, asked.asker_mac);
            self.answer(asked.answer(self.identity.mac));
        }
    }

    fn learn(&mut self, ip: IpAddr, mac: [u8; 6]) {
        if let Some(frame) = self.neighbours.learn(ip, mac) {
            self.answer(frame);
        }
    }

    fn answer(&mut self, frame: Vec<u8>) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back(frame);
        }
    }

    fn on_segment(&mut self, now: Instant, pair: Pair, received: &Received<'_>) {
        let open = self.by_pair.get(&pair).copied();
        let Some(id) = open.or_else(|| self.open(now, pair, received.segment)) else {
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
            self.listeners.get(&port).filter(|listener| is_syn && listener.waiting.len() < BACKLOG)?;
        let config = fitting(&listener.config, pair.0);
        let id = self.add(pair, Endpoint::listen(config, port, self.initial_sequence(now, pair)))?;
        self.listeners.get_mut(&port)?.waiting.push_back(id);
        Some(id)
    }

    /// RFC 9293 §3.10.7.1: what is for no connection is answered with a reset. Not a SYN to a listener without room: its
    /// sender shall try again.
    fn refuse(&mut self, now: Instant, pair: Pair, received: &Received<'_>) {
        if received.segment.flags.contains(Flags::SYN) && self.listeners.contains_key(&pair.0.port()) {
            return;
        }
        let mut nobody = Endpoint::listen(Arc::default(), pair.0.port(), SeqNum(0));
        nobody.close(now);
        nobody.on_segment(now, received);
        let mut frame = Vec::new();
        while let Some(reset) = nobody.poll_transmit(now, NO_LIMIT) {
            if self.frame(pair, reset, &mut frame) {
                self.answer(std::mem::take(&mut frame));
            }
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

    /// Puts the next frame to send into `frame`; false: there is none.
    pub fn poll_frame(&mut self, now: Instant, frame: &mut Vec<u8>) -> bool {
        if let Some(answer) = self.answers.pop_front() {
            *frame = answer;
            return true;
        }
        while let Some(&id) = self.touched.first() {
            let Some(connection) = self.connections.get_mut(&id) else {
                self.touched.remove(&id);
                continue;
            };
            let pair = connection.pair;
            match connection.endpoint.poll_transmit(now, NO_LIMIT) {
                Some(transmit) => {
                    if self.frame(pair, transmit, frame) {
                        return true;
                    }
                    // Not known where to: a question goes out in its place.
                    if let Some(question) = self.answers.pop_front() {
                        *frame = question;
                        return true;
                    }
                }
                None => self.settle(id),
            }
        }
        false
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
            self.by_pair.remove(&connection.pair);
            self.connections.remove(&id);
        }
    }

    /// Writes the frame that carries a segment; false: it has to wait until it is known where it should go.
    fn frame(&mut self, (local, remote): Pair, transmit: Transmit, frame: &mut Vec<u8>) -> bool {
        let Transmit { segment, ip } = transmit;
        // In IPv6 it is a hop-by-hop option, which is not built.
        let ip = IpFacts { quick_start: ip.quick_start.filter(|_| local.is_ipv4()), ..ip };
        let known = self.neighbours.of(remote.ip());
        let ethernet = Some(Ethernet { dst: known.unwrap_or_default(), src: self.identity.mac, vlan: None });
        frame.clear();
        let packet = Packet { ethernet, ..Packet::tcp_with(local.ip(), remote.ip(), segment, ip) };
        let written = packet.emit(frame).is_ok();
        if known.is_none() {
            self.dropped.no_neighbour += 1;
            self.neighbours.await_answer(remote.ip(), std::mem::take(frame));
            let (asker, asker_mac) = (local.ip(), self.identity.mac);
            self.answer(Solicitation { asker, asker_mac, target: remote.ip() }.ask());
        }
        written && known.is_some()
    }
}

/// A stack sends all that TCP permits: the interface's queue says what is too much.
const NO_LIMIT: Size = Size(u64::MAX);

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

#[cfg(test)]
mod tests;
