//! Connections that go straight to their targets, since there is no peer: octets from one socket to another.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, SourceId};

use super::super::carrier::Plug;
use super::client::{Client, Via};
use super::front::Refusal;

/// Connections at once.
const MOST: usize = 1_000;
/// What waits in each direction.
const CHUNK: usize = 64 << 10;
/// Turns of one connection before the others have theirs.
const MOST_TURNS: usize = 16;
/// A target that does not answer by then cannot be reached.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// One direction.
#[derive(Debug, Default)]
struct Lane {
    waiting: Vec<u8>,
    sent: usize,
    has_ended: bool,
    is_told: bool,
}

impl Lane {
    /// Moves what there is; whether there may be more.
    fn pump(&mut self, from: &mut Plug, to: &mut Plug, chunk: &mut [u8]) -> io::Result<bool> {
        for _ in 0..MOST_TURNS {
            while self.sent < self.waiting.len() {
                match to.write(&self.waiting[self.sent..]) {
                    Ok(written) => self.sent += written,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.waiting.clear();
            self.sent = 0;
            if self.has_ended {
                if !std::mem::replace(&mut self.is_told, true) {
                    to.finish()?;
                }
                return Ok(false);
            }
            match from.read(chunk) {
                Ok(0) => self.has_ended = true,
                Ok(read) => self.waiting.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

enum Relay {
    /// With the addresses that were not tried yet.
    Connecting {
        client: Client,
        target: TcpStream,
        others: Vec<SocketAddr>,
        by: Instant,
    },
    Open {
        plugs: [Plug; 2],
        ids: [SourceId; 2],
        lanes: [Lane; 2],
    },
}

/// All of them.
pub(super) struct Straight {
    relays: BTreeMap<u64, Relay>,
    owners: BTreeMap<SourceId, u64>,
    next: u64,
    chunk: Vec<u8>,
}

impl Straight {
    pub(super) fn new() -> Self {
        Self { relays: BTreeMap::new(), owners: BTreeMap::new(), next: 0, chunk: vec![0; CHUNK] }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.owners.contains_key(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.relays.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.relays.len()
    }

    /// When [`Straight::on_timer`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let by = |relay: &Relay| match relay {
            Relay::Connecting { by, .. } => Some(*by),
            Relay::Open { .. } => None,
        };
        self.relays.values().filter_map(by).min()
    }

    /// Connects a program to the first of these addresses that takes it.
    pub(super) fn connect(&mut self, io: &mut EventLoop, client: Client, mut addresses: Vec<SocketAddr>) {
        if self.relays.len() >= MOST {
            return client.refuse(None, Refusal::Unreached);
        }
        let by = Clock::SYSTEM.now() + CONNECT_WITHIN;
        while !addresses.is_empty() {
            let dialled = TcpStream::connect(addresses.remove(0)).and_then(|target| {
                let mut target = Plug::Tcp(target);
                let id = target.add_to(io)?;
                Ok((target, id))
            });
            let Ok((Plug::Tcp(target), id)) = dialled else { continue };
            self.next += 1;
            self.owners.insert(id, self.next);
            self.relays.insert(self.next, Relay::Connecting { client, target, others: addresses, by });
            return;
        }
        client.refuse(None, Refusal::Unreached);
    }

    /// A socket of one of them is ready.
    pub(super) fn on_ready(&mut self, io: &mut EventLoop, id: SourceId) {
        let Some(&number) = self.owners.get(&id) else { return };
        let Some(relay) = self.relays.remove(&number) else { return };
        match relay {
            Relay::Connecting { client, target, others, by } => match target.take_error() {
                Ok(None) if target.peer_addr().is_err() => {
                    self.relays.insert(number, Relay::Connecting { client, target, others, by });
                }
                Ok(None) => self.open(io, number, client, Plug::Tcp(target), id),
                Ok(Some(_)) | Err(_) => {
                    self.owners.remove(&id);
                    self.connect(io, client, others);
                }
            },
            Relay::Open { plugs, ids, lanes } => self.pump(io, number, plugs, ids, lanes),
        }
    }

    fn open(&mut self, io: &mut EventLoop, number: u64, client: Client, target: Plug, id: SourceId) {
        let Client { via: Via::Plug(mut plug, known), dialect, rest, .. } = client else { return };
        let Some(own) = known.or_else(|| plug.add_to(io).ok()) else {
            self.owners.remove(&id);
            return;
        };
        self.owners.insert(own, number);
        let lanes = [rest, dialect.granted()].map(|waiting| Lane { waiting, ..Lane::default() });
        self.pump(io, number, [plug, target], [own, id], lanes);
    }

    fn pump(
        &mut self,
        io: &mut EventLoop,
        number: u64,
        mut plugs: [Plug; 2],
        ids: [SourceId; 2],
        mut lanes: [Lane; 2],
    ) {
        let [program, target] = &mut plugs;
        let [there, back] = &mut lanes;
        let moved = there
            .pump(program, target, &mut self.chunk)
            .and_then(|more| Ok(more | back.pump(target, program, &mut self.chunk)?));
        let is_over = lanes.iter().all(|lane| lane.is_told);
        match moved {
            Ok(more) if !is_over => {
                if more {
                    io.read_again(ids[0]);
                }
                self.relays.insert(number, Relay::Open { plugs, ids, lanes });
            }
            done => {
                self.owners.retain(|_, owner| *owner != number);
                if done.is_err() {
                    plugs.into_iter().for_each(Plug::abort);
                }
            }
        }
    }

    /// Gives up what takes too long.
    pub(super) fn on_timer(&mut self, now: Instant) {
        let is_late = |relay: &Relay| matches!(relay, Relay::Connecting { by, .. } if *by <= now);
        let late: Vec<_> =
            self.relays.iter().filter(|(_, relay)| is_late(relay)).map(|(&number, _)| number).collect();
        for number in late {
            self.owners.retain(|_, owner| *owner != number);
            if let Some(Relay::Connecting { client, .. }) = self.relays.remove(&number) {
                client.refuse(None, Refusal::Unreached);
            }
        }
    }
}
