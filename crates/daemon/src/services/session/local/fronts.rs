//! The sockets at which programs ask for connections.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;

use handfast_core::{Duration, Instant};
use handfast_io::line_socket::SocketFile;
use handfast_io::net::{TcpListener, UnixListener};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, next_connection, peer_user};
use nix::unistd::Uid;
use tracing::warn;

use super::super::carrier::Plug;
use super::client::{Client, Via};
use super::front::{Front, Step};

/// Programs that have not said yet what they want.
const MOST: usize = 256;
/// They have so long.
const WITHIN: Duration = Duration::from_secs(10);

struct Asking {
    plug: Plug,
    front: Front,
    by: Instant,
}

/// The listeners, and who has connected.
pub(super) struct Fronts {
    unix: UnixListener,
    unix_id: SourceId,
    _file: SocketFile,
    tcp: TcpListener,
    tcp_id: SourceId,
    password: String,
    asking: BTreeMap<SourceId, Asking>,
}

impl Fronts {
    pub(super) fn listen(path: &Path, password: String, io: &mut EventLoop) -> io::Result<Self> {
        let (mut unix, file) = SocketFile::listen(path)?;
        let mut tcp = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
        let unix_id = io.add(&mut unix, Interest::READABLE)?;
        let tcp_id = io.add(&mut tcp, Interest::READABLE)?;
        Ok(Self { unix, unix_id, _file: file, tcp, tcp_id, password, asking: BTreeMap::new() })
    }

    pub(super) fn tcp_address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        id == self.unix_id || id == self.tcp_id || self.asking.contains_key(&id)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asking.values().map(|asking| asking.by).min()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.asking.retain(|_, asking| asking.by > now);
    }

    /// Reads once; a program that has said what it wants.
    pub(super) fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> (Option<Client>, ReadOutcome) {
        if id == self.unix_id || id == self.tcp_id {
            if let Err(error) = self.accept(io, id) {
                warn!(%error, "no program can be taken");
            }
            return (None, ReadOutcome::Nothing);
        }
        let Some(asking) = self.asking.get_mut(&id) else { return (None, ReadOutcome::Nothing) };
        let mut chunk = [0; 4096];
        match asking.plug.read(&mut chunk) {
            Ok(1..) if asking.by <= Clock::SYSTEM.now() => {}
            Ok(read @ 1..) => {
                asking.front.push(&chunk[..read]);
                return (self.step(id), ReadOutcome::Some);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (None, ReadOutcome::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return (None, ReadOutcome::Some),
            Ok(_) | Err(_) => {}
        }
        self.asking.remove(&id);
        (None, ReadOutcome::Nothing)
    }

    fn accept(&mut self, io: &mut EventLoop, id: SourceId) -> io::Result<()> {
        loop {
            let (mut plug, password) = if id == self.tcp_id {
                let Some((stream, _)) = next_connection(&self.tcp)? else { return Ok(()) };
                // It may fail on no connection of TCP.
                let _ = stream.set_nodelay(true);
                (Plug::Tcp(stream), Some(self.password.clone()))
            } else {
                let stream = match self.unix.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                // The file's mode keeps others out; root may be anybody.
                let user = peer_user(&stream)?;
                if user != Uid::effective().as_raw() && user != 0 {
                    continue;
                }
                (Plug::Unix(stream), None)
            };
            if self.asking.len() >= MOST {
                continue;
            }
            let id = plug.add_to(io)?;
            let by = Clock::SYSTEM.now() + WITHIN;
            self.asking.insert(id, Asking { plug, front: Front::new(password), by });
        }
    }

    fn step(&mut self, id: SourceId) -> Option<Client> {
        while let Some(asking) = self.asking.get_mut(&id) {
            match asking.front.step() {
                Step::More => return None,
                // A new connection has room for a short answer.
                Step::Say(octets) => drop(asking.plug.write(&octets)),
                Step::Asks(target, dialect, rest) => {
                    let Asking { plug, .. } = self.asking.remove(&id)?;
                    let via = Via::Plug(plug, Some(id));
                    return Some(Client { via, dialect, target, rest });
                }
                Step::Refuse(octets) => {
                    let _ = asking.plug.write(&octets);
                    self.asking.remove(&id);
                }
            }
        }
        None
    }
}
