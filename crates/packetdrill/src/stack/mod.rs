//! Sockets over endpoints in virtual time: the table of descriptors, who gets a packet, and when the next thing happens.
#![forbid(unsafe_code)]

mod calls;
mod chrono;
mod congestion;
mod connection;
mod discipline;
mod fill;
mod help;
mod icmp;
mod info;
mod link;
mod offload;
mod options;
mod packets;
mod path_mtu;
mod reading;
mod routes;
mod send_queue;
mod stamping;
mod stamps;
mod urgent;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::Segment;
use handfast_wire::{IpFacts, Packet};

use crate::{Route, Settings};
use connection::Connection;
pub use discipline::Queue;
use options::Options;
pub use reading::{Control, Message, Polled};
use routes::Routes;

/// A descriptor.
pub type Fd = i32;

/// An error of a call: `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// What a call that may block has come to: [`Poll::Pending`], ask again when something has happened.
pub type Step<T> = Poll<Result<T, Errno>>;

/// The first descriptor: none of the kernel's, which the tool has beside these.
pub(crate) const FIRST_FD: Fd = 1 << 20;

/// When virtual time begins. Not zero: clocks of timestamps and statistics have passed then.
const BEGIN: Instant = Instant::from_millis(1_000_000);

/// Sockets and connections kept at most: a script has a few.
const MOST: usize = 1 << 12;

/// Counters of the namespace that the stack has (`TcpExt` of netstat(8)).
const COUNTERS: [&str; 3] = ["BeyondWindow", "TCPZeroWindowDrop", "TCPRcvQDrop"];

/// Key of a connection.
type Id = u64;

/// What a descriptor stands for.
#[derive(Debug)]
enum Kind {
    /// Not yet used.
    Fresh,
    /// With those that can be accepted.
    Listening(VecDeque<Id>),
    /// A connection.
    Stream(Id),
}

#[derive(Debug)]
struct Socket {
    kind: Kind,
    options: Options,
    nonblocking: bool,
    is_v6: bool,
    local: Option<SocketAddr>,
}

/// The stack.
pub struct Stack {
    now: Instant,
    settings: Box<dyn Fn() -> Settings + Send>,
    sockets: BTreeMap<Fd, Socket>,
    connections: BTreeMap<Id, Connection>,
    routes: Routes,
    queue: Queue,
    /// The tool hands segments joined, of so many octets each.
    joined: Option<u64>,
    /// What connections have counted that are forgotten.
    counted: [u64; COUNTERS.len()],
    next_fd: Fd,
    next_id: Id,
    /// When calls that wait give up.
    alarms: Vec<Instant>,
    /// What has left, oldest first.
    departed: VecDeque<(Instant, Vec<u8>)>,
}

impl Stack {
    /// Without sockets. `settings` is asked when a socket is made or connected to.
    pub fn new(settings: impl Fn() -> Settings + Send + 'static) -> Self {
        Self {
            now: BEGIN,
            settings: Box::new(settings),
            sockets: BTreeMap::new(),
            connections: BTreeMap::new(),
            routes: Routes::new(|_| Route::default()),
            queue: Queue::default(),
            joined: None,
            counted: [0; COUNTERS.len()],
            next_fd: FIRST_FD,
            next_id: 0,
            alarms: Vec::new(),
            departed: VecDeque::new(),
        }
    }

    /// `routes` is asked for the way to a peer, where a connection begins and when it has sent something.
    #[must_use]
    pub fn with_routes(mut self, routes: impl Fn(IpAddr) -> Route + Send + 'static) -> Self {
        self.routes = Routes::new(routes);
        self
    }

    /// The link carries packets of so many octets.
    pub fn set_mtu(&mut self, mtu: u16) {
        self.routes.tell(mtu);
    }

    /// Segments of so many octets arrive joined, as a device with large receive offload joins them (the tool's `--mss`).
    pub fn set_joined(&mut self, octets: u64) {
        self.joined = Some(octets).filter(|&octets| octets > 0);
    }

    /// Now, in virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When the next thing happens by itself.
    pub fn deadline(&self) -> Option<Instant> {
        let timers = self.connections.values().filter_map(Connection::deadline);
        timers.chain(self.alarms.iter().copied().filter(|&at| at > self.now)).min()
    }

    /// Time passes up to `to`; what is due by then happens. To be called for each deadline in turn.
    pub fn advance(&mut self, to: Instant) {
        self.now = self.now.max(to);
        let now = self.now;
        self.alarms.retain(|&at| at > now);
        let due = self.connections.iter().filter(|(_, c)| c.deadline().is_some_and(|at| at <= now));
        for id in due.map(|(&id, _)| id).collect::<Vec<_>>() {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.on_timer(now);
            }
            self.after(id);
        }
    }

    /// A call waits until then at the latest.
    pub(crate) fn set_alarm(&mut self, after: Duration) -> Instant {
        let at = self.now + after;
        self.alarms.push(at);
        at
    }

    /// The oldest packet that has left, with the time when it did.
    pub fn departure(&mut self) -> Option<(Instant, Vec<u8>)> {
        self.departed.pop_front()
    }

    /// Something has happened to a connection: what it sends leaves, who waits for it hears, and what is over is forgotten.
    fn after(&mut self, id: Id) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.pump(now, usize::MAX);
        connection.take_events(now);
        let departures: Vec<_> = connection.take_departures().collect();
        if !departures.is_empty() {
            // `__ip_queue_xmit`: `sk_dst_check`
            connection.route = self.routes.ask(connection.remote.ip());
        }
        let (ready, over) = (connection.take_ready(), connection.is_over());
        let listener = connection.listener;
        self.departed.extend(departures);
        if ready
            && let Some(fd) = listener
            && let Some(Socket { kind: Kind::Listening(waiting), .. }) = self.sockets.get_mut(&fd)
        {
            waiting.push_back(id);
        }
        if over && let Some(connection) = self.connections.remove(&id) {
            self.counted = add(self.counted, connection.counted());
        }
    }

    /// The namespace's counters, as `/proc/net/netstat` has them: names and values.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = self.connections.values().map(Connection::counted).fold(self.counted, add);
        COUNTERS.into_iter().zip(all)
    }

    /// The connection between two addresses, if it still lives.
    fn connection_of(&self, local: SocketAddr, remote: SocketAddr) -> Option<Id> {
        let is_it = |c: &Connection| c.local == local && c.remote == remote && c.is_alive();
        self.connections.iter().find(|(_, c)| is_it(c)).map(|(&id, _)| id)
    }

    /// Who listens at an address.
    fn listener_of(&self, local: SocketAddr) -> Option<Fd> {
        let listens = |socket: &Socket| {
            let at = socket.local.filter(|_| matches!(socket.kind, Kind::Listening(_)));
            at.is_some_and(|at| {
                at.port() == local.port() && (at.ip().is_unspecified() || same(at.ip(), local.ip()))
            })
        };
        self.sockets.iter().find(|(_, socket)| listens(socket)).map(|(&fd, _)| fd)
    }

    fn insert(&mut self, mut connection: Connection) -> Id {
        connection.queue_kind = self.queue;
        let id = self.next_id;
        self.next_id += 1;
        self.connections.insert(id, connection);
        id
    }

    /// The next initial sequence number: anything serves, for the tool maps it.
    fn iss(&self) -> SeqNum {
        SeqNum(0x5eed_0000_u32.wrapping_add(self.next_id as u32 * 0x0001_0001))
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::new((self.settings)())
    }

    /// A segment of no connection leaves.
    fn send_stray(&mut self, local: SocketAddr, remote: SocketAddr, segment: Segment) {
        let mut bytes = Vec::new();
        let packet = Packet::tcp_with(local.ip(), remote.ip(), segment, IpFacts::PLAIN);
        if packet.emit(&mut bytes).is_ok() {
            self.departed.push_back((self.now, bytes));
        }
    }
}

fn add(one: [u64; COUNTERS.len()], other: [u64; COUNTERS.len()]) -> [u64; COUNTERS.len()] {
    std::array::from_fn(|i| one[i] + other[i])
}

/// Whether both name one address, be it written for IPv4 or mapped into IPv6 (RFC 4291 §2.5.5.2).
fn same(a: IpAddr, b: IpAddr) -> bool {
    a.to_canonical() == b.to_canonical()
}
