//! Connections of a program that the kernel leads here (`bpf/sockets`): those of all that runs in its cgroup.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::Policy;
use handfast_bpf::{Datagrams, Ends, Sockets};
use handfast_io::net::{TcpListener, TcpStream};
use handfast_io::{EventLoop, Interest, SourceId, network_cookie, next_connection, reset_on_close};
use tracing::warn;

use super::super::carrier::Plug;
use super::super::keeping::{Keeping, kept_listener};
use super::client::{Client, Via};
use super::datagrams::{Aliases, Listening};
use super::front::Dialect;

/// What of it is kept for the next end, as the names of descriptors have it: where the kernel leads, what is attached, and what it knows.
const FOUR: &str = "led-four";
const SIX: &str = "led-six";
const LINK: &str = "ebpf-link-";
const SOURCES: &str = "ebpf-sources";
/// One of [`Datagrams::NAMES`] follows.
const DATAGRAMS: &str = "ebpf-datagrams-";

/// What is attached to the cgroup, and where the kernel leads its connections.
pub(super) struct Gate {
    sockets: Sockets,
    /// For IPv4, and for IPv6 if this machine has it.
    listeners: Vec<(SourceId, TcpListener)>,
    /// [`None`]: an end of an older version has attached what does not lead datagrams.
    aliases: Option<Aliases>,
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
        let before = store.as_deref_mut().and_then(attached);
        if let Some((sockets, None)) = before {
            return Ok(Self { sockets, listeners: [four].into_iter().chain(six).collect(), aliases: None });
        }
        let listening = Listening::open(store.as_deref_mut(), io).map_err(wrong)?;
        if let Some((sockets, Some(datagrams))) = before {
            let aliases = Some(listening.with(datagrams));
            return Ok(Self { sockets, listeners: [four].into_iter().chain(six).collect(), aliases });
        }
        let at = |listener: &(SourceId, TcpListener)| listener.1.local_addr();
        let six_at = six.as_ref().map(at).transpose().map_err(wrong)?;
        let is_strict = policy == Policy::Require;
        let (four_at, network) = (at(&four).map_err(wrong)?, network_cookie().map_err(wrong)?);
        let ends = Ends { four: four_at, six: six_at, aliases: listening.addresses() };
        let attached = Sockets::attach(group, &ends, is_strict, network);
        let (sockets, datagrams) = attached.map_err(|error| format!("error: --cgroup: {error}"))?;
        if let Some(store) = store {
            keep(&sockets, &datagrams, store).map_err(wrong)?;
        }
        let aliases = Some(listening.with(datagrams));
        Ok(Self { sockets, listeners: [four].into_iter().chain(six).collect(), aliases })
    }

    /// Where datagrams are led.
    pub(super) fn aliases(&self) -> Option<&Aliases> {
        self.aliases.as_ref()
    }

    pub(super) fn aliases_mut(&mut self) -> Option<&mut Aliases> {
        self.aliases.as_mut()
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
fn attached(store: &mut Keeping) -> Option<(Sockets, Option<Datagrams>)> {
    let links: Vec<_> = store.take_all(LINK).into_iter().map(|(_, link)| link).collect();
    let maps = Datagrams::NAMES.map(|name| store.take_all(&format!("{DATAGRAMS}{name}")).pop());
    let (_, sources) = store.take_all(SOURCES).pop()?;
    let datagrams = match maps {
        [Some(a), Some(b), Some(c), Some(d)] => Some(Datagrams::attached([a.1, b.1, c.1, d.1])),
        _ => None,
    };
    Some((Sockets::attached(sources, links), datagrams))
}

/// What says that all is there comes last.
fn keep(sockets: &Sockets, datagrams: &Datagrams, store: &Keeping) -> io::Result<()> {
    let (sources, links) = sockets.descriptors();
    for (name, map) in Datagrams::NAMES.iter().zip(datagrams.descriptors()) {
        store.keep(&format!("{DATAGRAMS}{name}"), map)?;
    }
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
