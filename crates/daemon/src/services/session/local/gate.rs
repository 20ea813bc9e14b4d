//! Connections of a program that the kernel leads here (`bpf/sockets`): those of all that runs in its cgroup.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::Policy;
use handfast_bpf::Sockets;
use handfast_io::net::{TcpListener, TcpStream};
use handfast_io::{EventLoop, Interest, SourceId, begin_in, network_cookie, next_connection};
use tracing::warn;

use super::super::carrier::Plug;
use super::client::{Client, Via};
use super::front::Dialect;
use crate::process::cgroup_root;

/// The cgroup, what is attached to it, and where the kernel leads its connections.
pub(super) struct Gate {
    // Taken off before the group goes.
    sockets: Sockets,
    group: Group,
    /// For IPv4, and for IPv6 if this machine has it.
    listeners: Vec<(SourceId, TcpListener)>,
}

/// A group of its own, which goes when nobody is in it any more.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        // Children of the program that go on are in it: their connections go straight from now on.
        let _ = fs::remove_dir(&self.0);
    }
}

impl Gate {
    pub(super) fn open(policy: Policy, io: &mut EventLoop) -> Result<Self, String> {
        if let Some(missing) = handfast_bpf::missing() {
            return Err(format!("error: --cgroup: {missing}"));
        }
        let wrong = |error: io::Error| format!("error: --cgroup: {error}");
        let root = cgroup_root().ok_or("error: --cgroup: cgroup v2 is not mounted")?;
        let place = root.join(format!("handfast-session-{}", std::process::id()));
        let group = match fs::create_dir(&place) {
            Ok(()) => Group(place),
            // Of a process that is gone: nobody else has this one's number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Group(place),
            Err(error) => {
                return Err(format!("error: --cgroup: {}: {error}; it needs root", place.display()));
            }
        };
        let four = listen(Ipv4Addr::LOCALHOST.into(), io).map_err(wrong)?;
        let six = listen(Ipv6Addr::LOCALHOST.into(), io).ok();
        let at = |listener: &(SourceId, TcpListener)| listener.1.local_addr();
        let six_at = six.as_ref().map(at).transpose().map_err(wrong)?;
        let is_strict = policy == Policy::Require;
        let (four_at, network) = (at(&four).map_err(wrong)?, network_cookie().map_err(wrong)?);
        let sockets = Sockets::attach(&group.0, four_at, six_at, is_strict, network);
        let sockets = sockets.map_err(|error| format!("error: --cgroup: {error}"))?;
        Ok(Self { sockets, group, listeners: [four].into_iter().chain(six).collect() })
    }

    /// Has a program begin in the group.
    pub(super) fn take_in(&self, command: &mut Command) -> io::Result<()> {
        let processes = File::options().write(true).open(self.group.0.join("cgroup.procs"))?;
        begin_in(command, processes);
        Ok(())
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.listeners.iter().any(|(listener, _)| *listener == id)
    }

    /// Who has connected, with where they wanted to go.
    pub(super) fn accept(&self) -> io::Result<Vec<Client>> {
        let mut clients = Vec::new();
        for (_, listener) in &self.listeners {
            while let Some((stream, from)) = next_connection(listener)? {
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

fn listen(at: std::net::IpAddr, io: &mut EventLoop) -> io::Result<(SourceId, TcpListener)> {
    let mut listener = TcpListener::bind((at, 0).into())?;
    Ok((io.add(&mut listener, Interest::READABLE)?, listener))
}
