//! Two sockets and a network.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use handfast_assist::iosl::udp::{Config, DATAGRAM, Stands, StreamId, Streams};
use handfast_core::{Duration, Instant};

pub(crate) const DELAY: Duration = Duration::from_millis(10);

pub(crate) fn client_address() -> SocketAddr {
    ([192, 0, 2, 1], 4_000).into()
}

pub(crate) fn server_address() -> SocketAddr {
    ([198, 51, 100, 1], 7_443).into()
}

/// What of each ten thousand datagrams is lost, doubled, or comes late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) client: Streams,
    pub(crate) server: Streams,
    /// By time and order: whether to the server.
    under_way: BTreeMap<(Instant, u64), (bool, Bytes)>,
    faults: Faults,
    dice: u64,
    count: u64,
    /// Octets to the server and to the client.
    pub(crate) sent: [usize; 2],
}

impl World {
    pub(crate) fn new(config: &Config, faults: Faults, seed: u64) -> Self {
        Self {
            now: Instant::from_millis(5_000),
            client: Streams::new(config.clone(), false, [1; 32]),
            server: Streams::new(config.clone(), true, [2; 32]),
            under_way: BTreeMap::new(),
            faults,
            dice: seed * 2 + 1,
            count: 0,
            sent: [0; 2],
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
                let streams = if to_server { &mut self.client } else { &mut self.server };
                let Some((_, to)) = streams.poll_transmit(self.now, &mut out, |_| true) else { break };
                assert!(out.len() <= DATAGRAM, "{} octets", out.len());
                if to != if to_server { server_address() } else { client_address() } {
                    continue;
                }
                self.sent[usize::from(!to_server)] += out.len();
                let copies = 1 + usize::from(self.roll() < self.faults.doubled);
                for _ in 0..copies {
                    let late = if self.roll() < self.faults.late { 3 } else { 1 };
                    if self.roll() >= self.faults.lost {
                        self.count += 1;
                        let at = (self.now + DELAY * late, self.count);
                        self.under_way.insert(at, (to_server, Bytes::from(out.clone())));
                    }
                }
            }
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
            let (to_server, datagram) = first.remove();
            if to_server {
                self.server.on_datagram(self.now, client_address(), &datagram);
            } else {
                self.client.on_datagram(self.now, server_address(), &datagram);
            }
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

    pub(crate) fn open(&mut self, first: &[u8]) -> StreamId {
        let id = self.client.connect(self.now, server_address()).unwrap();
        assert_eq!(self.client.write(id, first), first.len());
        id
    }

    pub(crate) fn accepted(&mut self) -> StreamId {
        let mut found = None;
        assert!(self.until(|world| {
            found = world.server.accept();
            found.is_some()
        }));
        let (id, from) = found.unwrap();
        assert_eq!((from, self.server.stands(id)), (client_address(), Stands::Open));
        id
    }
}

pub(crate) fn octets(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
}
