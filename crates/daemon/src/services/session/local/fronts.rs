//! The port at which programs ask for connections.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use handfast_core::{Duration, Instant};
use handfast_io::net::{TcpListener, TcpStream};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, next_connection, peek};
use tracing::warn;

use super::super::carrier::Plug;
use super::client::{Client, Via};
use super::front::{Front, Step};

/// Programs that have not said yet what they want.
const MOST: usize = 256;
/// They have so long.
const WITHIN: Duration = Duration::from_secs(10);

struct Asking {
    stream: TcpStream,
    front: Front,
    by: Instant,
}

/// The listener, and who has connected.
pub(super) struct Fronts {
    listener: TcpListener,
    id: SourceId,
    password: String,
    asking: BTreeMap<SourceId, Asking>,
    /// Programs that want a relay of UDP.
    associating: Vec<(SourceId, TcpStream)>,
}

impl Fronts {
    pub(super) fn listen(password: String, io: &mut EventLoop) -> io::Result<Self> {
        Self::at(TcpListener::bind(([127, 0, 0, 1], 0).into())?, password, io)
    }

    /// At a listener that there is.
    pub(super) fn at(mut listener: TcpListener, password: String, io: &mut EventLoop) -> io::Result<Self> {
        let id = io.add(&mut listener, Interest::READABLE)?;
        Ok(Self { listener, id, password, asking: BTreeMap::new(), associating: Vec::new() })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.is_listener(id) || self.asking.contains_key(&id)
    }

    /// Whether a number is the listener's: somebody has connected.
    pub(super) fn is_listener(&self, id: SourceId) -> bool {
        id == self.id
    }

    /// Programs that want a relay of UDP, with their connections.
    pub(super) fn take_associating(&mut self) -> Vec<(SourceId, TcpStream)> {
        std::mem::take(&mut self.associating)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asking.values().map(|asking| asking.by).min()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.asking.retain(|_, asking| asking.by > now);
    }

    /// Reads once; a program that has said what it wants.
    pub(super) fn on_readable(&mut self, id: SourceId) -> (Option<Client>, ReadOutcome) {
        let Some(asking) = self.asking.get_mut(&id) else { return (None, ReadOutcome::Nothing) };
        let mut chunk = [0; 4096];
        // What it says for its target stays in the kernel.
        match peek(&asking.stream, &mut chunk) {
            Ok(1..) if asking.by <= Clock::SYSTEM.now() => {}
            Ok(read @ 1..) => return (self.hear(id, &mut chunk[..read]), ReadOutcome::Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (None, ReadOutcome::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return (None, ReadOutcome::Some),
            Ok(_) | Err(_) => {}
        }
        self.asking.remove(&id);
        (None, ReadOutcome::Nothing)
    }

    /// Takes who has connected. False: it failed, as where there are no descriptors left, and is to be tried later.
    pub(super) fn accept(&mut self, io: &mut EventLoop) -> bool {
        loop {
            match next_connection(&self.listener) {
                Ok(None) => return true,
                Ok(Some(_)) if self.asking.len() >= MOST => {}
                Ok(Some((stream, _))) => {
                    // It may fail on no connection of TCP.
                    let _ = stream.set_nodelay(true);
                    let mut stream = stream;
                    let both = Interest::READABLE | Interest::WRITABLE;
                    let Ok(id) = io.add(&mut stream, both) else { continue };
                    let (front, by) = (Front::new(self.password.clone()), Clock::SYSTEM.now() + WITHIN);
                    self.asking.insert(id, Asking { stream, front, by });
                }
                Err(error) => {
                    warn!(%error, "no program can be taken");
                    return false;
                }
            }
        }
    }

    /// Takes octets one by one, up to the end of the request.
    fn hear(&mut self, id: SourceId, octets: &mut [u8]) -> Option<Client> {
        for at in 0..octets.len() {
            let asking = self.asking.get_mut(&id)?;
            asking.front.push(&octets[at..=at]);
            if let Some(mut client) = self.step(id) {
                if let Via::Plug(plug, _) = &mut client.via {
                    // They are in the kernel.
                    let _ = plug.read(&mut octets[..=at]);
                }
                return Some(client);
            }
        }
        let asking = self.asking.get_mut(&id)?;
        let _ = asking.stream.read(octets);
        None
    }

    fn step(&mut self, id: SourceId) -> Option<Client> {
        while let Some(asking) = self.asking.get_mut(&id) {
            match asking.front.step() {
                Step::More => return None,
                // A new connection has room for a short answer.
                Step::Say(octets) => drop(asking.stream.write(&octets)),
                Step::Asks(target, dialect, rest) => {
                    let Asking { stream, .. } = self.asking.remove(&id)?;
                    let via = Via::Plug(Plug::Tcp(stream), Some(id));
                    return Some(Client { via, dialect, target, rest });
                }
                Step::Associates => {
                    let Asking { stream, .. } = self.asking.remove(&id)?;
                    self.associating.push((id, stream));
                }
                Step::Refuse(octets) => {
                    let _ = asking.stream.write(&octets);
                    self.asking.remove(&id);
                }
            }
        }
        None
    }
}
