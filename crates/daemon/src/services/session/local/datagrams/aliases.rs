//! Sockets of this end to which the kernel leads datagrams of the program's cgroup, one for each target that is used
//! (`bpf/sockets/datagrams.h`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_bpf::Datagrams;
use handfast_core::{Duration, Instant};
use handfast_io::net::UdpSocket;
use handfast_io::{Clock, EventLoop, Interest, SourceId};
use tracing::warn;

use super::super::super::keeping::{Keeping, kept_port};
use super::port::receive;

/// As the names of descriptors have it that the next end gets; a number follows.
const NAME: &str = "alias-";

/// The longest datagram of UDP.
const LONGEST: usize = 65_535;

/// A target that nothing was led to for so long may lose its alias.
const UNUSED_FOR: Duration = Duration::from_secs(10);

/// What a read has brought.
pub(super) enum Came {
    /// From a socket of this machine, to a target.
    Datagram(SocketAddr, Target, Vec<u8>),
    /// It is for no target.
    Dropped,
    Nothing,
}

struct Alias {
    slot: usize,
    socket: UdpSocket,
    /// Once it is known.
    target: Option<Target>,
    /// What is sent to its target gets another one from now on.
    is_leaving: bool,
}

/// Sockets without what the kernel knows of them.
pub(in super::super) struct Listening(BTreeMap<SourceId, Alias>);

/// All of them.
pub(in super::super) struct Aliases {
    kernel: Datagrams,
    all: BTreeMap<SourceId, Alias>,
    of: BTreeMap<Target, SourceId>,
    buffer: Vec<u8>,
}

impl Listening {
    /// Those of the end before, or new ones.
    ///
    /// # Errors
    /// What bind(2) says for IPv4.
    pub(in super::super) fn open(mut store: Option<&mut Keeping>, io: &mut EventLoop) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        let families: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for slot in 0..2 * Datagrams::EACH {
            let at = families[slot / Datagrams::EACH];
            match kept_port(store.as_deref_mut(), &format!("{NAME}{slot}"), (at, 0).into()) {
                Ok(socket) => {
                    let mut socket = UdpSocket::from_std(socket);
                    let id = io.add(&mut socket, Interest::READABLE)?;
                    all.insert(id, Alias { slot, socket, target: None, is_leaving: false });
                }
                // This machine has no IPv6.
                Err(_) if at.is_ipv6() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self(all))
    }

    /// Where they are, as the kernel is told.
    pub(in super::super) fn addresses(&self) -> Vec<Option<SocketAddr>> {
        let mut addresses = vec![None; 2 * Datagrams::EACH];
        for alias in self.0.values() {
            addresses[alias.slot] = alias.socket.local_addr().ok();
        }
        addresses
    }

    pub(in super::super) fn with(self, kernel: Datagrams) -> Aliases {
        Aliases { kernel, all: self.0, of: BTreeMap::new(), buffer: vec![0; LONGEST] }
    }
}

impl Aliases {
    pub(in super::super) fn has(&self, id: SourceId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn ids(&self) -> Vec<SourceId> {
        self.all.keys().copied().collect()
    }

    /// Reads one.
    pub(super) fn receive(&mut self, id: SourceId) -> Came {
        let Self { kernel, all, of, buffer } = self;
        let Some(alias) = all.get_mut(&id) else { return Came::Nothing };
        let Ok((len, from)) = receive(buffer, |buffer| alias.socket.recv_from(buffer)) else {
            return Came::Nothing;
        };
        if alias.target.is_none() {
            alias.target =
                said(kernel.alias(alias.slot)).flatten().and_then(|alias| super::target(alias.target));
        }
        let Some(target) = alias.target.clone() else { return Came::Dropped };
        of.insert(target.clone(), id);
        Came::Datagram(from, target, buffer[..len].to_vec())
    }

    /// Gives a program one that has come from a target.
    pub(super) fn give(&self, target: &Target, to: SocketAddr, payload: &[u8]) -> io::Result<()> {
        let alias = self.of.get(target).and_then(|id| self.all.get(id));
        let alias = alias.ok_or(io::ErrorKind::AddrNotAvailable)?;
        alias.socket.send_to(payload, to).map(drop)
    }

    /// Whether a program of the cgroup sends from there.
    pub(super) fn is_sender(&self, from: SocketAddr) -> bool {
        said(self.kernel.is_sender(from, Clock::SYSTEM.to_monotonic(Clock::SYSTEM.now()))).unwrap_or_default()
    }

    /// Programs that send there get an error until then.
    pub(super) fn refuse(&self, target: SocketAddr, until: Instant) {
        said(self.kernel.refuse(target, Clock::SYSTEM.to_monotonic(until)));
    }

    /// Nothing is refused any more.
    pub(in super::super) fn refuse_none(&self) {
        said(self.kernel.refuse_none());
    }

    /// Takes aliases back that nobody uses: not at once, since something may be under way there. `used`: targets that are. `connected`:
    /// where sockets of this machine are connected to.
    pub(super) fn take_back(
        &mut self,
        now: Instant,
        used: &BTreeSet<Target>,
        connected: &BTreeSet<SocketAddr>,
    ) {
        let Self { kernel, all, of, .. } = self;
        for (id, alias) in all {
            let Some(taken) = said(kernel.alias(alias.slot)).flatten() else { continue };
            let since = Clock::SYSTEM.to_monotonic(now).saturating_sub(taken.used_ns);
            let is_recent = since < UNUSED_FOR.as_nanos();
            let is_used = super::target(taken.target).is_some_and(|target| used.contains(&target));
            match (is_recent || is_used || connected.contains(&taken.at), alias.is_leaving) {
                (true, false) => {}
                (true, true) => {
                    said(kernel.remember(taken.target, alias.slot));
                    alias.is_leaving = false;
                }
                (false, false) => {
                    said(kernel.forget(taken.target));
                    alias.is_leaving = true;
                }
                (false, true) => {
                    said(kernel.free(alias.slot, taken.at));
                    alias.is_leaving = false;
                    let target = alias.target.take();
                    if let Some(target) = target.filter(|target| of.get(target) == Some(id)) {
                        of.remove(&target);
                    }
                }
            }
        }
    }
}

/// What the kernel has said; a failure is logged, and changes nothing.
fn said<T>(result: Result<T, String>) -> Option<T> {
    result.inspect_err(|error| warn!(error, "an alias of a target")).ok()
}
