//! From a session to its target.

use std::io;
use std::net::SocketAddr;

use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, Interest, SourceId, connect_from};
use tracing::{info, warn};

use super::Server;
use crate::services::session::carrier::Plug;
use crate::services::session::keys::{Known, name_of};
use crate::services::session::targets::{Place, ProxyWord, proxy_header};

/// A target that does not answer by then cannot be reached.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A connection to a target that is not there yet.
pub(super) struct Connecting {
    pub(super) socket: Socket,
    stream: TcpStream,
    header: Vec<u8>,
    pub(super) by: Instant,
}

impl Server {
    pub(super) fn target_of(&self, socket: Socket) -> Option<String> {
        self.carrier.target(socket).map(|(target, _)| target.to_string())
    }

    /// A client has asked for a target, and has shown that it has its key.
    pub(super) fn lead(&mut self, io: &mut EventLoop, socket: Socket) {
        self.remember_pins();
        let Some((target, key)) = self.carrier.target(socket) else { return };
        let client = key.map(|key| name_of(&key)).unwrap_or_default();
        let Some(from) = self.carrier.remote_of(socket) else {
            // Of a process before, which had not come to it: its client is to come back first.
            self.unled.insert(socket);
            return;
        };
        let Some(place) = self.settings.targets.find(&target) else {
            self.refused_targets += 1;
            if self.limiter.allows(Clock::SYSTEM.now(), "target refused", from.ip()) {
                warn!(%target, client, %from, "target refused: it is not in `targets`");
            }
            return self.carrier.reset(socket, Reason::TargetRefused);
        };
        info!(%target, client, %from, session = socket.0, "session opened");
        let led = if target.is_datagrams() {
            self.lead_datagrams(io, socket, place, from)
        } else {
            self.connect(io, socket, place, from)
        };
        if let Err(error) = led {
            warn!(%target, %error, "target not reached");
            self.carrier.reset(socket, Reason::TargetUnreachable);
        }
    }

    fn connect(
        &mut self,
        io: &mut EventLoop,
        socket: Socket,
        place: Place,
        from: SocketAddr,
    ) -> io::Result<()> {
        let mut stream = if place.client_address {
            connect_from(from.ip(), place.address).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    io::Error::new(error.kind(), "`client_address` needs the capability CAP_NET_ADMIN")
                }
                _ => error,
            })?
        } else {
            TcpStream::connect(place.address)?
        };
        // It may fail on no connection of TCP.
        let _ = stream.set_nodelay(true);
        let header = match place.proxy {
            ProxyWord::None => Vec::new(),
            ProxyWord::V2 => proxy_header(from, place.address),
        };
        let id = io.add(&mut stream, Interest::READABLE | Interest::WRITABLE)?;
        let by = Clock::SYSTEM.now() + CONNECT_WITHIN;
        self.connecting.insert(id, Connecting { socket, stream, header, by });
        Ok(())
    }

    /// Whether a target is connected to.
    pub(super) fn look_at(&mut self, io: &mut EventLoop, id: SourceId) {
        let Some(found) = self.connecting.get(&id) else { return };
        let error = match found.stream.take_error() {
            Ok(None) if found.stream.peer_addr().is_err() => return,
            Ok(error) => error,
            Err(error) => Some(error),
        };
        let Some(Connecting { socket, stream, header, .. }) = self.connecting.remove(&id) else { return };
        // Such a connection would be this machine's own, whatever the file calls the address.
        let is_own = stream.local_addr().is_ok_and(|own| own.ip().to_canonical().is_loopback());
        let done = match error {
            Some(error) => Err(error),
            None if is_own && header.is_empty() => {
                Err(io::Error::other("it would see this machine at 127.0.0.1 as its client"))
            }
            None => self.carrier.attach(io, socket, (Plug::Tcp(stream), Some(id)), header, Vec::new()),
        };
        if let Err(error) = done {
            let target = self.target_of(socket);
            warn!(target, %error, "target not reached");
            self.carrier.reset(socket, Reason::TargetUnreachable);
        }
    }

    /// Clients that were taken on first use are written down.
    fn remember_pins(&mut self) {
        let Some(file) = &self.settings.clients.file else { return };
        let all = &self.carrier.end().allowed().keys;
        // Not those of the file as it is now: one that was struck off meanwhile would come back.
        let new: Vec<_> = all.difference(&self.listed).copied().collect();
        for key in new {
            self.listed.insert(key);
            info!(client = name_of(&key), file = %file.display(), "client taken on first use");
            let name = format!("client-{}", &name_of(&key)[..8]);
            if let Err(error) =
                Known::read(file).map_err(io::Error::other).and_then(|mut known| known.pin(&name, key))
            {
                warn!(%error, file = %file.display(), "client not written down");
            }
        }
    }

    /// Targets that have not answered for long enough.
    pub(super) fn give_up(&mut self, now: Instant) {
        let is_late = |connecting: &&Connecting| connecting.by <= now;
        let late: Vec<_> =
            self.connecting.values().filter(is_late).map(|connecting| connecting.socket).collect();
        self.connecting.retain(|_, connecting| connecting.by > now);
        for socket in late {
            let target = self.target_of(socket);
            warn!(target, "target not reached: it does not answer");
            self.carrier.reset(socket, Reason::TargetUnreachable);
        }
    }
}
