//! Programs that know nothing of our endpoint use it: bytes from local connections to connections on the wire and back, like
//! socat(1).

mod local;
mod pair;

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use handfast_core::{Duration, Instant};
use handfast_tcp::Config;

pub use local::Local;
use local::{Door, LocalStream};
pub use pair::Carried;
use pair::Pair;

use crate::{ConnectionId, Watch, WireHost};

/// How long a relay sleeps at most: it looks that often whether to stop.
const NAP: Duration = Duration::from_millis(50);
/// How long a relay that has done its work still answers: the peer's last segments may have been lost, and come again
/// after an RTO.
const LINGER: Duration = Duration::from_secs(1);
/// Pairs at most; further programs wait in the kernel's backlog, further peers in the stack's.
const MOST_PAIRS: usize = 256;

/// What our endpoint does on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Accepts connections to this port.
    Listen(u16),
    /// Connects there for each local program.
    Connect(SocketAddr),
}

impl FromStr for Wire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once(':') {
            Some(("listen", port)) => port.parse().ok().filter(|&port| port > 0).map(Self::Listen),
            Some(("connect", address)) => address.parse().ok().map(Self::Connect),
            _ => None,
        };
        parsed.ok_or_else(|| format!("`{text}` is none of listen:PORT, connect:ADDRESS:PORT"))
    }
}

/// A relay between local programs and the wire, on one thread.
pub struct Relay {
    host: WireHost,
    config: Arc<Config>,
    wire: Wire,
    local: Local,
    door: Option<Door>,
    pairs: Vec<Pair>,
    carried: Carried,
}

impl Relay {
    /// Opens the local side in the calling thread's namespace. Connections on the wire behave as `config` says.
    ///
    /// # Errors
    /// Where both sides listen or both connect, or the local address cannot be used.
    pub fn new(mut host: WireHost, config: Arc<Config>, wire: Wire, local: Local) -> io::Result<Self> {
        let door = match (&wire, &local) {
            (Wire::Connect(_), Local::TcpListen(at)) => Some(Door::tcp(*at)?),
            (Wire::Connect(_), Local::UnixListen(path)) => Some(Door::unix(path)?),
            (Wire::Connect(_) | Wire::Listen(_), Local::Stdio)
            | (Wire::Listen(_), Local::Tcp(_) | Local::Unix(_)) => None,
            _ => {
                let why = "one side has to wait for connections, the other to make them";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        };
        if let Wire::Listen(port) = wire {
            host.stack().listen(port, Arc::clone(&config));
        }
        Ok(Self { host, config, wire, local, door, pairs: Vec::new(), carried: Carried::default() })
    }

    /// The address that local programs connect to, if they do so by TCP.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match &self.door {
            Some(Door::Tcp(listener)) => listener.local_addr().ok(),
            _ => None,
        }
    }

    /// Relays until `stop` says so, or, with standard input and output, until that one connection is over.
    ///
    /// # Errors
    /// What the kernel says when a socket that all depends on fails, or a connection for standard input cannot be opened.
    pub fn run(mut self, stop: impl Fn() -> bool) -> io::Result<Carried> {
        let is_single = self.local == Local::Stdio;
        let mut last = None;
        if let (true, Wire::Connect(to)) = (is_single, self.wire) {
            last = Some(self.connect(to, LocalStream::Stdio)?);
        }
        while !stop() {
            let ready = self.wait()?;
            self.pump(&ready);
            if !(is_single && last.is_some()) {
                last = self.welcome(is_single)?.or(last);
            }
            if let Some(id) = last.filter(|_| is_single && self.pairs.is_empty()) {
                self.linger(id, &stop)?;
                break;
            }
        }
        Ok(self.carried)
    }

    /// Waits for the wire or a program; returns for each pair whether its program can be read and written.
    fn wait(&mut self) -> io::Result<Vec<(bool, bool)>> {
        let mut watches: Vec<Watch<'_>> = self.pairs.iter().flat_map(Pair::watches).collect();
        let has_room = self.pairs.len() < MOST_PAIRS;
        watches.extend(self.door.iter().map(|door| Watch::new(door.as_fd(), has_room, false)));
        self.host.turn(&mut watches, NAP)?;
        let pairs = watches.chunks_exact(2).take(self.pairs.len());
        Ok(pairs.map(|both| (both[0].is_readable(), both[1].is_writable())).collect())
    }

    fn pump(&mut self, ready: &[(bool, bool)]) {
        let now = self.host.clock().now();
        let mut ready = ready.iter();
        let (stack, carried) = (self.host.stack(), &mut self.carried);
        self.pairs.retain_mut(|pair| {
            let ready = ready.next().copied().unwrap_or_default();
            !pair.pump(now, stack, ready, carried)
        });
    }

    /// Takes in whoever has come, from either side; returns the last one's connection.
    fn welcome(&mut self, one: bool) -> io::Result<Option<ConnectionId>> {
        let mut last = None;
        while self.pairs.len() < MOST_PAIRS && !(one && last.is_some()) {
            let come = match (self.wire, &self.door) {
                (Wire::Connect(to), Some(door)) => {
                    // Nobody is told more than that the connection is gone again.
                    door.accept()?.map(|local| self.connect(to, local))
                }
                (Wire::Listen(port), _) => self.host.stack().accept(port).map(|id| self.serve(id)),
                (Wire::Connect(_), None) => None,
            };
            let Some(come) = come else { break };
            last = come.ok().or(last);
        }
        Ok(last)
    }

    fn connect(&mut self, to: SocketAddr, local: LocalStream) -> io::Result<ConnectionId> {
        let now = self.host.clock().now();
        let id = self.host.stack().connect(now, &self.config, to).ok_or_else(|| {
            let why = format!("no connection to {to}: there is no address of that family here, or no room");
            io::Error::new(io::ErrorKind::AddrNotAvailable, why)
        })?;
        self.carried.connections += 1;
        self.pairs.push(Pair::new(id, local));
        Ok(id)
    }

    fn serve(&mut self, id: ConnectionId) -> io::Result<ConnectionId> {
        self.carried.connections += 1;
        match LocalStream::open(&self.local) {
            Ok(local) => {
                self.pairs.push(Pair::new(id, local));
                Ok(id)
            }
            Err(error) => {
                self.carried.broken += 1;
                let now = self.host.clock().now();
                if let Some(endpoint) = self.host.stack().endpoint_mut(id) {
                    endpoint.abort();
                }
                self.host.stack().release(now, id);
                Err(error)
            }
        }
    }

    /// The work is done: sees to it that the peer knows.
    fn linger(&mut self, id: ConnectionId, stop: impl Fn() -> bool) -> io::Result<()> {
        let mut quiet_since: Option<Instant> = None;
        while !stop() && self.host.stack().endpoint(id).is_some() {
            self.host.turn(&mut [], NAP)?;
            let now = self.host.clock().now();
            if Pair::is_quiet(self.host.stack(), id) {
                let since = *quiet_since.get_or_insert(now);
                if now.since(since) >= LINGER {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_on_the_wire_is_read_from_text() {
        assert_eq!("listen:80".parse(), Ok(Wire::Listen(80)));
        assert_eq!("connect:[fd00::2]:80".parse(), Ok(Wire::Connect("[fd00::2]:80".parse().unwrap())));
        for text in ["listen", "listen:0", "listen:70000", "connect:10.0.0.1", "tcp:10.0.0.1:80", ""] {
            let error = text.parse::<Wire>().unwrap_err();
            assert!(error.contains("none of listen:PORT"), "{text}: {error}");
        }
    }
}
