//! Peers' names, which are looked up again: the addresses behind them may change while sessions go on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_core::{Duration, Instant};
use tracing::info;

use super::{Local, front};

/// A name is looked up so often at most.
const EVERY: Duration = Duration::from_secs(5);
/// Names of which it is known when they were looked up.
const MOST: usize = 256;

/// Which ones were asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    asked: BTreeMap<u64, String>,
    since: BTreeMap<String, Instant>,
}

impl Names {
    /// Whether a name may be looked up now: that counts as if it were.
    fn may_ask(&mut self, now: Instant, name: &str) -> bool {
        self.since.retain(|_, since| *since + EVERY > now);
        let is_full = self.since.len() >= MOST;
        match self.since.entry(name.to_owned()) {
            Entry::Vacant(place) if !is_full => {
                place.insert(now);
                true
            }
            _ => false,
        }
    }

    /// Which name a question was for.
    pub(super) fn take(&mut self, number: u64) -> Option<String> {
        self.asked.remove(&number)
    }
}

/// What is asked for where a peer has this name; [`None`]: it is an address.
fn host_of(name: &str) -> Option<Target> {
    front::target(name).filter(|target| target.host().parse::<IpAddr>().is_err())
}

impl Local {
    /// The peer of this name may be elsewhere by now.
    pub(super) fn look_up_again(&mut self, name: &str) {
        let Some(target) = host_of(name) else { return };
        if self.names.may_ask(Self::now(), name) {
            self.next_number += 1;
            if self.resolver.ask(self.next_number, &target) {
                self.names.asked.insert(self.next_number, name.to_owned());
            }
        }
    }

    /// Nobody has looked yet where the peer is that the user has named.
    pub(super) fn look_up_unknown(&mut self) {
        if let Some(name) = self.peers.fixed_name().map(str::to_owned) {
            self.look_up_again(&name);
        }
    }

    /// All of them may be.
    pub(super) fn look_up_all_again(&mut self) {
        let mut all: Vec<_> = self.purposes.values().map(|purpose| purpose.peer.name.clone()).collect();
        all.extend(self.peers.fixed_name().map(str::to_owned));
        all.sort();
        all.dedup();
        for name in all {
            self.look_up_again(&name);
        }
    }

    /// A peer is there. Where nobody knows its name it is where it was.
    pub(super) fn peer_is_at(&mut self, name: &str, found: &[SocketAddr]) {
        if found.is_empty() {
            return;
        }
        self.peers.is_at(name, found);
        let mut moved = 0;
        for (socket, purpose) in &mut self.purposes {
            let peer = &mut purpose.peer;
            if peer.name != name || is_same(&peer.addresses, found) {
                continue;
            }
            found.clone_into(&mut peer.addresses);
            self.carrier.note(*socket, || peer.note());
            self.carrier.move_peer(*socket, found.to_vec());
            moved += 1;
        }
        if moved > 0 {
            info!(name, ?found, sessions = moved, "the peer has other addresses");
        }
    }
}

/// In whatever order: servers of names turn it.
fn is_same(one: &[SocketAddr], other: &[SocketAddr]) -> bool {
    one.iter().all(|address| other.contains(address)) && other.iter().all(|address| one.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_as_often_as_it_may_be_and_an_address_never() {
        let (mut names, begin) = (Names::default(), Instant::from_millis(10_000));
        let asked = (0..20_000)
            .step_by(10)
            .filter(|ms| names.may_ask(begin + Duration::from_millis(*ms), "server.example:7443"));
        assert_eq!(asked.collect::<Vec<_>>(), [0, 5_000, 10_000, 15_000]);
        let late = begin + Duration::from_secs(60);
        let others = (0..1_000).filter(|n| names.may_ask(late, &format!("server{n}.example:1"))).count();
        assert_eq!((others, names.since.len()), (MOST, MOST), "it is bounded");
        assert!(names.may_ask(late + EVERY, "server7.example:1"));
        let hosts = ["192.0.2.1:7443", "[2001:db8::1]:1", "server.example:1"].map(host_of);
        assert!(hosts[0].is_none() && hosts[1].is_none() && hosts[2].is_some());
    }

    #[test]
    fn addresses_are_the_same_in_whatever_order() {
        let [one, two, three] = [1, 2, 3].map(|n| SocketAddr::from(([192, 0, 2, n], 7443)));
        assert!(is_same(&[one, two], &[two, one]));
        assert!(!is_same(&[one, two], &[one]) && !is_same(&[one], &[one, two]) && !is_same(&[one], &[three]));
    }
}
