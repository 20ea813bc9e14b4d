//! Connections of a program that the kernel leads here (`bpf/sockets`): those of all that runs in its cgroup.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::Policy;
use handfast_bpf::Sockets;
use handfast_io::net::{TcpListener, TcpStream};
use handfast_io::{EventLoop, Interest, SourceId, network_cookie, next_connection, reset_on_close};
use tracing::warn;

use super::super::carrier::Plug;
use super::super::keeping::{Keeping, kept_listener};
use super::client::{Client, Via};
use super::front::Dialect;

/// What of it is kept for the next end, as the names of descriptors have it: where the kernel leads, what is attached, and what it knows.
const FOUR: &str = "led-four";
const SIX: &str = "led-six";
const LINK: &str = "ebpf-link-";
const SOURCES: &str = "ebpf-sources";

/// What is attached to the cgroup, and where the kernel leads its connections.
pub(super) struct Gate {
    sockets: Sockets,
    /// For IPv4, and for IPv6 if this machine has it.
    listeners: Vec<(SourceId, TcpListener)>,
}

impl Gate {
    /// At a group, whose connections are led here from now on, or from when the end before had that attached.
    pub(super) fn open(
        policy: Policy,
        group: &File,
        mut store: Option<&mut Keeping>,
        io: &mut EventLoop,
    ) -> Result<Self, String> {
        let wrong = |error: io::Error| format!("error: --cgroup: {error}");
        let four = listen(FOUR, Ipv4Addr::LOCALHOST.into(), store.as_deref_mut(), io).map_err(wrong)?;
        let six = listen(SIX, Ipv6Addr::LOCALHOST.into(), store.as_deref_mut(), io).ok();
        if let Some(sockets) = store.as_deref_mut().and_then(attached) {
            return Ok(Self { sockets, listeners: [four].into_iter().chain(six).collect() });
        }
        let at = |listener: &(SourceId, TcpListener)| listener.1.local_addr();
        let six_at = six.as_ref().map(at).transpose().map_err(wrong)?;
        let is_strict = policy == Policy::Require;
        let (four_at, network) = (at(&four).map_err(wrong)?, network_cookie().map_err(wrong)?);
        let sockets = Sockets::attach(group, four_at, six_at, is_strict, network);
        let sockets = sockets.map_err(|error| format!("error: --cgroup: {error}"))?;
        if let Some(store) = store {
            keep(&sockets, store).map_err(wrong)?;
        }
        Ok(Self { sockets, listeners: [four].into_iter().chain(six).collect() })
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.listeners.iter().any(|(listener, _)| *listener == id)
    }

    /// Who has connected, with where they wanted to go.
    pub(super) fn accept(&self) -> io::Result<Vec<Client>> {
        let mut clients = Vec::new();
        for (_, listener) in &self.listeners {
            while let Some((stream, from)) = next_connection(listener)? {
                // Until it is kept: who is killed before would leave the program an end.
                reset_on_close(&stream)?;
                clients.extend(self.client(stream, from));
            }
        }
        Ok(clients)
    }

    /// Others of this machine get nothing here.
    fn client(&self, stream: TcpStream, from: SocketAddr) -> Option<Client> {
        let to = match self.sockets.take_target(from) {
            Ok(to) => to?,
            Err(error) => {
                warn!(error, "a program's connection not taken");
                return None;
            }
        };
        // It may fail on no connection of TCP.
        let _ = stream.set_nodelay(true);
        let target = Target::new(&to.ip().to_string(), to.port())?;
        let via = Via::Plug(Plug::Tcp(stream), None);
        Some(Client { via, dialect: Dialect::Silent, target, rest: Vec::new() })
    }
}

/// What the end before had attached.
fn attached(store: &mut Keeping) -> Option<Sockets> {
    let links: Vec<_> = store.take_all(LINK).into_iter().map(|(_, link)| link).collect();
    let (_, sources) = store.take_all(SOURCES).pop()?;
    Some(Sockets::attached(sources, links))
}

fn keep(sockets: &Sockets, store: &Keeping) -> io::Result<()> {
    let (sources, links) = sockets.descriptors();
    for (n, link) in links.iter().enumerate() {
        store.keep(&format!("{LINK}{n}"), link)?;
    }
    store.keep(SOURCES, sources)
}

fn listen(
    name: &str,
    at: IpAddr,
    store: Option<&mut Keeping>,
    io: &mut EventLoop,
) -> io::Result<(SourceId, TcpListener)> {
    let mut listener = TcpListener::from_std(kept_listener(store, name, (at, 0).into())?);
    Ok((io.add(&mut listener, Interest::READABLE)?, listener))
}
