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
use crate::process::{cgroup_parents, cgroup_root};

/// So many names are tried for a group.
const NAMES: u32 = 16;

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

impl Group {
    /// Makes one at the first of these places where that works. One that is there already is of a process that is gone, or of another pid
    /// namespace: it is left alone.
    fn make(parents: &[PathBuf], process: u32) -> Result<Self, String> {
        let mut wrong = String::new();
        for parent in parents {
            for n in 0..NAMES {
                let place = parent.join(format!("handfast-session-{process}.{n}"));
                match fs::create_dir(&place) {
                    Ok(()) => return Ok(Self(place)),
                    Err(error) => wrong = format!("{}: {error}", place.display()),
                }
                if !place.exists() {
                    break;
                }
            }
        }
        Err(format!("error: --cgroup: {wrong}; it needs root"))
    }
}

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
        let group = Group::make(&cgroup_parents(&root), std::process::id())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_name_of_its_own_and_goes() {
        let own = std::env::temp_dir().join(format!("handfast-groups-{}", std::process::id()));
        fs::create_dir(&own).unwrap();
        let parents = [own.join("absent"), own.clone()];
        fs::create_dir(own.join("handfast-session-7.0")).unwrap();
        let group = Group::make(&parents, 7).unwrap();
        assert_eq!(group.0, own.join("handfast-session-7.1"));
        let other = Group::make(&parents, 7).unwrap();
        assert_eq!(other.0, own.join("handfast-session-7.2"));
        drop((group, other));
        let left: Vec<_> = fs::read_dir(&own).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["handfast-session-7.0"], "what is not its own stays");
        fs::remove_dir_all(&own).unwrap();
        assert!(Group::make(&parents, 7).is_err_and(|error| error.contains("it needs root")));
    }
}
