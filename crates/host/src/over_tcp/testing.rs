//! A client and a server over TCP, with a wire that takes its time and may lose segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Received};
use handfast_wire::tcp::Segment;

use super::{Asking, Serving};
use crate::app::Sink;
use crate::dialogue::{Asker, Client, SharedAsker};
use crate::session::Next;
use crate::transport::Figures;

pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

const DELAY: Duration = Duration::from_millis(20);

/// Both ends of all connections.
pub(crate) struct World {
    pub(crate) asker: SharedAsker,
    clients: Vec<(Asking, Endpoint)>,
    pub(crate) servers: Vec<(Serving, Endpoint)>,
    opened: Vec<bool>,
    /// What is on its way: when it arrives, in which order it left, to which connection, and whether to its server.
    wire: BTreeMap<(Instant, u64), (usize, bool, Segment)>,
    sent: u64,
}

impl World {
    pub(crate) fn new(client: Box<dyn Client>, connections: u32, stop: Option<Instant>) -> Self {
        let asker = SharedAsker::new(Asker::new(client, connections as usize, at(0), stop));
        let config = Arc::new(Config::default());
        let client = |index: usize| {
            let port = 5001 + index as u16;
            let endpoint = Endpoint::connect(Arc::clone(&config), port, 80, SeqNum(7), at(0));
            (Asking::new(Sink::new(index as u32, None), asker.clone(), index), endpoint)
        };
        let server =
            |index: usize| (Serving::new(index as u32), Endpoint::listen(Arc::clone(&config), 80, SeqNum(9)));
        let count = connections as usize;
        Self {
            clients: (0..count).map(client).collect(),
            servers: (0..count).map(server).collect(),
            opened: (0..count).map(|index| index == 0).collect(),
            asker,
            wire: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Runs up to `end`. `lost`: whether the next segment is.
    pub(crate) fn run(&mut self, end: Instant, mut lost: impl FnMut(Instant) -> bool) {
        let mut now = at(0);
        self.clients[0].0.on_timer(now);
        loop {
            self.settle(now, &mut lost);
            let next = self.next().filter(|&next| next < end);
            let Some(next) = next else { return };
            assert!(next > now, "a deadline that does not move");
            now = next;
            self.advance(now);
        }
    }

    /// How many connections the client has opened.
    pub(crate) fn opened(&self) -> usize {
        self.opened.iter().filter(|&&opened| opened).count()
    }

    /// What was felt up to then.
    pub(crate) fn figures(&self, now: Instant) -> Figures {
        self.asker.lock().figures(now)
    }

    /// Whether every byte that has come was the right one.
    pub(crate) fn is_right(&self) -> bool {
        self.clients.iter().all(|(asking, _)| asking.sink().wrong_at.is_none())
            && self.servers.iter().all(|(serving, _)| serving.wrong_at().is_none())
    }

    /// Bytes of answers that have come.
    pub(crate) fn delivered(&self) -> u64 {
        self.clients.iter().map(|(asking, _)| asking.sink().meter.bytes).sum()
    }

    fn next(&self) -> Option<Instant> {
        let endpoints =
            self.clients.iter().map(|pair| &pair.1).chain(self.servers.iter().map(|pair| &pair.1));
        let timers = endpoints.filter_map(Endpoint::deadline).chain(self.clients[0].0.deadline());
        timers.chain(self.wire.keys().next().map(|&(at, _)| at)).min()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (index, to_server, segment) = entry.remove();
            let received = Received::plain(&segment);
            if to_server {
                let (serving, endpoint) = &mut self.servers[index];
                endpoint.on_segment(now, &received);
                serving.read(endpoint);
            } else {
                let (asking, endpoint) = &mut self.clients[index];
                endpoint.on_segment(now, &received);
                asking.read(now, endpoint);
            }
        }
        let endpoints = self
            .clients
            .iter_mut()
            .map(|pair| &mut pair.1)
            .chain(self.servers.iter_mut().map(|pair| &mut pair.1));
        for endpoint in endpoints.filter(|endpoint| endpoint.deadline().is_some_and(|due| due <= now)) {
            endpoint.on_timer(now);
        }
        if self.clients[0].0.deadline().is_some_and(|due| due <= now) {
            self.clients[0].0.on_timer(now);
        }
    }

    /// Sends and takes stock until nothing moves.
    fn settle(&mut self, now: Instant, lost: &mut impl FnMut(Instant) -> bool) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for index in 0..self.clients.len() {
                if !self.opened[index] && self.clients[index].0.is_wanted() {
                    self.opened[index] = true;
                }
                if self.opened[index] {
                    let (asking, endpoint) = &mut self.clients[index];
                    asking.fill(now, endpoint);
                    while let Some(transmit) = endpoint.poll_transmit(now, Bytes(u64::MAX)) {
                        self.sent += 1;
                        if !lost(now) {
                            self.wire.insert((now + DELAY, self.sent), (index, true, transmit.segment));
                        }
                    }
                    moved |= asking.take_stock(now, endpoint) != Next::Wait;
                }
                let (serving, endpoint) = &mut self.servers[index];
                serving.fill(now, endpoint);
                while let Some(transmit) = endpoint.poll_transmit(now, Bytes(u64::MAX)) {
                    self.sent += 1;
                    if !lost(now) {
                        self.wire.insert((now + DELAY, self.sent), (index, false, transmit.segment));
                    }
                }
                moved |= serving.take_stock(now, endpoint) != Next::Wait;
            }
        }
    }
}
