//! Who is at the other end: the peer that was named, or one at the target's own address; by which key it is known.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::{Config, Decision, Policy, Probes};
use handfast_assist::iosl::secure::PublicKey;
use handfast_core::Instant;
use tracing::{info, warn};

use super::super::keys::{Known, name_of};

/// Where peers listen that nobody has named.
pub(super) const PORT: u16 = 7443;

/// Targets of which it is known whether the peer leads there.
const MOST_TARGETS: usize = 1_024;

/// Addresses of a peer that are written down.
const MOST_NOTED: usize = 8;

/// A peer of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// What `known_peers` calls it.
    pub(super) name: String,
    pub(super) addresses: Vec<SocketAddr>,
}

impl Peer {
    /// What is written down of it with a session.
    pub(super) fn note(&self) -> Vec<u8> {
        let addresses: Vec<_> = self.addresses.iter().take(MOST_NOTED).collect();
        serde_json::json!([self.name, addresses]).to_string().into_bytes()
    }

    /// [`None`]: that is no note of a peer.
    pub(super) fn of_note(note: &[u8]) -> Option<Self> {
        let (name, addresses) = serde_json::from_slice(note).ok()?;
        Some(Self { name, addresses })
    }

    /// What a probe is remembered by.
    pub(super) fn server(&self) -> SocketAddr {
        self.addresses.first().copied().unwrap_or_else(|| ([0, 0, 0, 0], 0).into())
    }
}

/// Who is asked for a target.
pub(super) enum Asked {
    Peer(Peer),
    /// Nobody: the target is this machine.
    Nobody,
    /// The target's name has to be looked up first.
    Unknown,
}

/// The peers.
pub(super) struct Peers {
    fixed: Option<Peer>,
    /// That the user has given.
    key: Option<PublicKey>,
    policy: Policy,
    probes: Probes,
    known: Known,
    /// Targets to which the named peer leads, and to which it does not.
    led: BTreeSet<Target>,
    not_led: BTreeSet<Target>,
}

impl Peers {
    pub(super) fn new(fixed: Option<Peer>, key: Option<PublicKey>, policy: Policy, known: Known) -> Self {
        let probes = Probes::new(Config { policy, ..Config::default() });
        Self { fixed, key, policy, probes, known, led: BTreeSet::new(), not_led: BTreeSet::new() }
    }

    /// What the user has called the peer.
    pub(super) fn fixed_name(&self) -> Option<&str> {
        self.fixed.as_ref().map(|peer| peer.name.as_str())
    }

    /// A peer has these addresses now.
    pub(super) fn is_at(&mut self, name: &str, addresses: &[SocketAddr]) {
        if let Some(peer) = self.fixed.as_mut().filter(|peer| peer.name == name) {
            addresses.clone_into(&mut peer.addresses);
        }
    }

    /// A process before this one had a peer's addresses: they count as long as nobody has looked.
    pub(super) fn was_at(&mut self, before: &Peer) {
        let is_unknown = |peer: &&mut Peer| peer.name == before.name && peer.addresses.is_empty();
        if let Some(peer) = self.fixed.as_mut().filter(is_unknown) {
            peer.addresses.clone_from(&before.addresses);
        }
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy
    }

    /// Whether the user has named one.
    pub(super) fn is_named(&self) -> bool {
        self.fixed.is_some()
    }

    /// Who is asked for a target; `found`: its addresses, if they were looked up.
    pub(super) fn of(&self, target: &Target, found: Option<&[SocketAddr]>) -> Asked {
        if let Some(peer) = &self.fixed {
            let is_refused = self.policy == Policy::Prefer && self.not_led.contains(target);
            return if is_refused { Asked::Nobody } else { Asked::Peer(peer.clone()) };
        }
        let literal: Option<IpAddr> = target.host().parse().ok();
        let addresses = match (literal, found) {
            (Some(address), _) => vec![address],
            (None, Some(found)) => found.iter().map(SocketAddr::ip).collect(),
            (None, None) => return Asked::Unknown,
        };
        if addresses.iter().all(IpAddr::is_loopback) {
            return Asked::Nobody;
        }
        let name = format!("{}:{PORT}", target.host());
        let addresses = addresses.into_iter().map(|address| (address, PORT).into()).collect();
        Asked::Peer(Peer { name, addresses })
    }

    /// Of how many servers it is known whether they have a peer.
    pub(super) fn servers_probed(&self) -> usize {
        self.probes.len()
    }

    pub(super) fn probes(&mut self) -> &mut Probes {
        &mut self.probes
    }

    /// A program wants to be connected by this peer.
    pub(super) fn on_connect(&mut self, now: Instant, peer: &Peer) -> Decision {
        self.probes.on_connect(now, peer.server())
    }

    /// The key of a peer, if it is known.
    pub(super) fn key_of(&self, peer: &Peer) -> Option<PublicKey> {
        self.key.or_else(|| self.known.get(&peer.name))
    }

    /// A peer has shown a key: one that nobody knew is remembered.
    pub(super) fn learn(&mut self, peer: &Peer, key: PublicKey) {
        if self.key_of(peer).is_some() {
            return;
        }
        info!(peer = peer.name, key = name_of(&key), file = %self.known.file().display(), "peer known from now on");
        if let Err(error) = self.known.pin(&peer.name, key) {
            warn!(peer = peer.name, %error, "its key is not written down");
        }
    }

    /// What a user is told whose peer has another key than before.
    pub(super) fn about_change(&self, peer: &Peer, shown: &PublicKey) -> String {
        let (name, file, shown) = (&peer.name, self.known.file().display(), name_of(shown));
        format!(
            "error: {name} shows another key than before, so nothing was sent to it\n\
             Somebody may stand between you and it, or its key was made anew. It shows {shown}.\n\
             If `handfastd session key --config FILE` says the same there, remove the line of {name} from {file}."
        )
    }

    /// Whether it has to be seen first whether the peer leads to a target: what it refuses goes straight.
    pub(super) fn has_to_ask(&self, target: &Target) -> bool {
        self.fixed.is_some() && self.policy == Policy::Prefer && !self.led.contains(target)
    }

    /// The peer leads to a target, or does not.
    pub(super) fn leads(&mut self, target: &Target, does: bool) {
        let (set, other) =
            if does { (&mut self.led, &mut self.not_led) } else { (&mut self.not_led, &mut self.led) };
        other.remove(target);
        if set.len() < MOST_TARGETS {
            set.insert(target.clone());
        }
    }
}

/// The peer that a user has named: `HOST` or `HOST:PORT`. `is_again`: a process before this one has had an answer to who that is. Nobody
/// waits for another one, or ends where there is none now: it has no address until it is looked up.
pub(super) fn named(text: &str, is_again: bool) -> Result<Peer, String> {
    let name = if super::front::target(text).is_some() { text.to_owned() } else { format!("{text}:{PORT}") };
    let wrong = |what: String| format!("error: --peer {text}: {what}");
    let target = super::front::target(&name).ok_or_else(|| wrong("expected HOST:PORT".to_owned()))?;
    if is_again && target.host().parse::<IpAddr>().is_err() {
        return Ok(Peer { name, addresses: Vec::new() });
    }
    let found = (target.host(), target.port()).to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    let addresses: Vec<_> = found.collect();
    if addresses.is_empty() {
        return Err(wrong("it has no address".to_owned()));
    }
    Ok(Peer { name, addresses })
}
