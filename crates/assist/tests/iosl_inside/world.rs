//! Two ends and a network. The client may have several addresses, and a translator may give it other ports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, DATAGRAM, InsideId, Kind, Leaving, Stands};
use handfast_core::{Duration, Instant};

pub(crate) const DELAY: Duration = Duration::from_millis(10);
const FIRST_PORT: u16 = 4_000;

pub(crate) fn own(number: u8) -> IpAddr {
    [192, 0, 2, number].into()
}

pub(crate) fn server_address() -> SocketAddr {
    ([198, 51, 100, 1], 7_443).into()
}

/// An end that others may connect to, by both kinds.
pub(crate) fn server(seed: u8) -> Connections {
    listening(Config::default(), &[Kind::Tcp, Kind::Sctp], seed)
}

/// The same, by these kinds.
pub(crate) fn listening(config: Config, kinds: &[Kind], seed: u8) -> Connections {
    let mut end = Connections::new(config, [seed; 32]);
    for kind in kinds {
        end.listen(*kind);
    }
    end
}

/// What of each ten thousand datagrams is lost, doubled, or comes late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
}

/// A datagram that has left: to the server by this address and port of the client, or back.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) to_server: bool,
    pub(crate) client: SocketAddr,
    pub(crate) octets: Bytes,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) client: Connections,
    pub(crate) server: Connections,
    ports: BTreeMap<InsideId, u16>,
    under_way: BTreeMap<(Instant, u64), Sent>,
    faults: Faults,
    dice: u64,
    count: u64,
    /// Addresses of the client by which nothing goes any more.
    pub(crate) gone: BTreeSet<IpAddr>,
    /// What a translator adds to ports of the client.
    pub(crate) shift: u16,
    /// All that was sent, where a test wants to know.
    pub(crate) log: Option<Vec<Sent>>,
}

impl World {
    pub(crate) fn new(faults: Faults, seed: u64) -> Self {
        Self {
            now: Instant::from_millis(5_000),
            client: Connections::new(Config::default(), [1; 32]),
            server: server(2),
            ports: BTreeMap::new(),
            under_way: BTreeMap::new(),
            faults,
            dice: seed * 2 + 1,
            count: 0,
            gone: BTreeSet::new(),
            shift: 0,
            log: None,
        }
    }

    /// Of ten thousand.
    fn roll(&mut self) -> u64 {
        // Knuth's MMIX generator.
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % 10_000
    }

    fn flush(&mut self) {
        for to_server in [true, false] {
            loop {
                let mut out = Vec::new();
                let end = if to_server { &mut self.client } else { &mut self.server };
                let Some(Leaving { of, from, to }) = end.poll_transmit(self.now, &mut out, |_| true) else {
                    break;
                };
                assert!(out.len() <= DATAGRAM, "{} octets", out.len());
                let client = if to_server {
                    assert_eq!(to, server_address());
                    (from.unwrap(), self.ports[&of.unwrap()] + self.shift).into()
                } else {
                    assert!(from.is_none_or(|from| from == server_address().ip()));
                    to
                };
                self.send(&Sent { to_server, client, octets: out.into() });
            }
        }
    }

    fn send(&mut self, sent: &Sent) {
        if let Some(log) = &mut self.log {
            log.push(sent.clone());
        }
        if self.gone.contains(&sent.client.ip()) {
            return;
        }
        let copies = 1 + usize::from(self.roll() < self.faults.doubled);
        for _ in 0..copies {
            let late = if self.roll() < self.faults.late { 3 } else { 1 };
            if self.roll() >= self.faults.lost {
                self.count += 1;
                self.under_way.insert((self.now + DELAY * late, self.count), sent.clone());
            }
        }
    }

    /// A datagram arrives.
    pub(crate) fn deliver(&mut self, Sent { to_server, client, octets }: Sent) {
        if to_server {
            self.server.on_datagram(self.now, client, Some(server_address().ip()), &octets);
        } else if let Some(port) = client.port().checked_sub(self.shift)
            && let Some((&id, _)) = self.ports.iter().find(|(_, own)| **own == port)
        {
            self.client.on_answer(self.now, id, client.ip(), &octets);
        }
    }

    /// Sends what there is to send, and goes on to what happens next. False: nothing ever will.
    pub(crate) fn step(&mut self) -> bool {
        self.flush();
        let arrival = self.under_way.first_key_value().map(|(&(at, _), _)| at);
        let times = [arrival, self.client.deadline(), self.server.deadline()];
        let Some(next) = times.into_iter().flatten().min() else { return false };
        self.now = self.now.max(next);
        while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= self.now) {
            let sent = first.remove();
            self.deliver(sent);
        }
        self.client.on_timer(self.now);
        self.server.on_timer(self.now);
        true
    }

    /// Goes on until something is so, for a minute at most.
    pub(crate) fn until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + Duration::from_secs(60);
        loop {
            if is_so(self) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            if !self.step() {
                return is_so(self);
            }
        }
    }

    /// Goes on for so long.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end && self.step() {}
    }

    /// A new one, by these addresses of the client.
    pub(crate) fn open(&mut self, kind: Kind, local: &[IpAddr]) -> InsideId {
        let id = self.client.connect(self.now, kind, server_address(), local).unwrap();
        self.ports.insert(id, FIRST_PORT + self.ports.len() as u16);
        id
    }

    pub(crate) fn accepted(&mut self) -> InsideId {
        let mut found = None;
        assert!(self.until(|world| {
            found = world.server.accept();
            found.is_some()
        }));
        let (id, from) = found.unwrap();
        assert_eq!(self.server.stands(id), Stands::Open);
        assert!(self.ports.values().any(|port| port + self.shift == from.port()), "{from}");
        id
    }

    /// One that both ends have.
    pub(crate) fn opened(&mut self, kind: Kind, local: &[IpAddr]) -> [InsideId; 2] {
        let client = self.open(kind, local);
        let server = self.accepted();
        assert!(self.until(|world| world.client.stands(client) == Stands::Open));
        [client, server]
    }
}

pub(crate) fn octets(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
}

/// One direction as a program has it.
pub(crate) struct Way<'a> {
    pub(crate) all: &'a [u8],
    pub(crate) sent: usize,
    pub(crate) came: Vec<u8>,
    has_finished: bool,
}

impl<'a> Way<'a> {
    /// Of one whose first octets are written.
    pub(crate) fn begun(all: &'a [u8], sent: usize) -> Self {
        Self { sent, ..Self::new(all) }
    }

    pub(crate) fn new(all: &'a [u8]) -> Self {
        Self { all, sent: 0, came: Vec::new(), has_finished: false }
    }

    pub(crate) fn write(&mut self, (end, id): (&mut Connections, InsideId)) {
        self.sent += end.write(id, &self.all[self.sent..]);
    }

    /// The same, and says when that was all.
    pub(crate) fn finish(&mut self, now: Instant, (end, id): (&mut Connections, InsideId)) {
        self.write((end, id));
        if self.sent == self.all.len() && !std::mem::replace(&mut self.has_finished, true) {
            end.finish(now, id);
        }
    }

    pub(crate) fn read(&mut self, now: Instant, (end, id): (&mut Connections, InsideId)) {
        while let Some(read) = end.read(now, id, 7_000) {
            self.came.extend_from_slice(&read);
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.came.len() >= self.all.len()
    }
}
