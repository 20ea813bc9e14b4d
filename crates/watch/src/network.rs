//! When interfaces and addresses of this machine were there, and when anything came through them.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use handfast_core::Instant;

/// `ifindex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An interface is up and has a carrier: `IFF_UP` and `IFF_LOWER_UP`.
    Up(InterfaceId),
    /// It is down, has lost its carrier, or is gone.
    Down(InterfaceId),
    /// It has an address.
    Gained(InterfaceId, IpAddr),
    /// It has it no longer.
    Lost(InterfaceId, IpAddr),
}

/// A time in which packets could not come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: Instant,
    /// [`None`]: it lasts.
    pub(crate) to: Option<Instant>,
    pub(crate) of: What,
}

/// What was gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Carrier,
    Address,
}

/// Gaps that are remembered, of each interface and each address.
const GAPS: usize = 32;
/// Interfaces, and addresses, that are remembered. Containers come and go: of those that are gone the one goes first that went
/// first.
const PLACES: usize = 1024;

#[derive(Clone, Debug, Default)]
struct Presence {
    gaps: VecDeque<Gap>,
}

impl Presence {
    fn lost(&mut self, at: Instant, of: What) {
        if self.gaps.back().is_some_and(|gap| gap.to.is_none()) {
            return;
        }
        if self.gaps.len() == GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(Gap { from: at, to: None, of });
    }

    fn back(&mut self, at: Instant) {
        if let Some(gap) = self.gaps.back_mut() {
            gap.to.get_or_insert(at);
        }
    }

    /// When it went, if it is gone.
    fn gone_since(&self) -> Option<Instant> {
        self.gaps.back().filter(|gap| gap.to.is_none()).map(|gap| gap.from)
    }

    fn within(&self, from: Instant, to: Instant) -> Option<Gap> {
        let overlaps = |gap: &&Gap| gap.from <= to && gap.to.is_none_or(|end| end >= from);
        self.gaps.iter().rev().find(overlaps).copied()
    }
}

/// What is known of this machine's network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    interfaces: BTreeMap<InterfaceId, Presence>,
    addresses: BTreeMap<IpAddr, (InterfaceId, Presence)>,
}

impl Network {
    pub(crate) fn on_change(&mut self, at: Instant, change: Change) {
        match change {
            Change::Up(interface) => {
                if let Some(presence) = self.interfaces.get_mut(&interface) {
                    presence.back(at);
                }
            }
            Change::Down(interface) => {
                if make_room(&mut self.interfaces, interface, Presence::gone_since) {
                    self.interfaces.entry(interface).or_default().lost(at, What::Carrier);
                }
            }
            Change::Gained(interface, address) => {
                if make_room(&mut self.addresses, address, |(_, presence)| presence.gone_since()) {
                    let (at_interface, presence) =
                        self.addresses.entry(address).or_insert((interface, Presence::default()));
                    *at_interface = interface;
                    presence.back(at);
                }
            }
            Change::Lost(_, address) => {
                if let Some((_, presence)) = self.addresses.get_mut(&address) {
                    presence.lost(at, What::Address);
                }
            }
        }
    }

    /// The interface that has, or had, an address.
    pub(crate) fn interface(&self, address: IpAddr) -> Option<InterfaceId> {
        self.addresses.get(&address).map(|&(interface, _)| interface)
    }

    /// The last time between two moments at which nothing could come to an address.
    ///
    /// An address goes with its interface's carrier in many systems, and comes back later: then the whole counts.
    pub(crate) fn gap(&self, address: IpAddr, from: Instant, to: Instant) -> Option<Gap> {
        let (interface, of_address) = self.addresses.get(&address)?;
        let address = of_address.within(from, to);
        let carrier = self.interfaces.get(interface).and_then(|presence| presence.within(from, to));
        match (address, carrier) {
            (Some(one), Some(other)) => {
                let to = one.to.zip(other.to).map(|(one, other)| one.max(other));
                // The carrier went first, or at once: the address followed from it.
                let of = if other.from <= one.from { What::Carrier } else { What::Address };
                Some(Gap { from: one.from.min(other.from), to, of })
            }
            (one, other) => one.or(other),
        }
    }
}

/// Room for one more; false where all that are known are there.
fn make_room<K: Copy + Ord, V>(
    known: &mut BTreeMap<K, V>,
    new: K,
    gone: impl Fn(&V) -> Option<Instant>,
) -> bool {
    if known.len() < PLACES || known.contains_key(&new) {
        return true;
    }
    let oldest = known.iter().filter_map(|(key, one)| gone(one).map(|since| (since, *key))).min();
    oldest.is_some_and(|(_, key)| known.remove(&key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIFI: InterfaceId = InterfaceId(3);
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn network(changes: &[(u64, Change)]) -> Network {
        let mut network = Network::default();
        network.on_change(ms(0), Change::Gained(WIFI, HERE));
        for &(at, change) in changes {
            network.on_change(ms(at), change);
        }
        network
    }

    fn gap(network: &Network, from: u64, to: u64) -> Option<(u64, Option<u64>, What)> {
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        network.gap(HERE, ms(from), ms(to)).map(|gap| (millis(gap.from), gap.to.map(millis), gap.of))
    }

    #[test]
    fn a_gap_is_from_down_to_up() {
        let network = network(&[(100, Change::Down(WIFI)), (300, Change::Up(WIFI))]);
        assert_eq!(gap(&network, 50, 400), Some((100, Some(300), What::Carrier)));
        assert_eq!(gap(&network, 301, 400), None);
        assert_eq!(gap(&network, 0, 99), None);
    }

    #[test]
    fn one_that_lasts_has_no_end() {
        assert_eq!(gap(&network(&[(100, Change::Down(WIFI))]), 200, 400), Some((100, None, What::Carrier)));
    }

    #[test]
    fn down_twice_is_down_once() {
        let changes = [
            (100, Change::Down(WIFI)),
            (200, Change::Down(WIFI)),
            (300, Change::Up(WIFI)),
            (400, Change::Up(WIFI)),
        ];
        assert_eq!(gap(&network(&changes), 0, 500), Some((100, Some(300), What::Carrier)));
    }

    #[test]
    fn an_address_that_follows_its_carrier_is_the_carriers_gap() {
        let changes = [
            (100, Change::Down(WIFI)),
            (101, Change::Lost(WIFI, HERE)),
            (300, Change::Up(WIFI)),
            (900, Change::Gained(WIFI, HERE)),
        ];
        assert_eq!(gap(&network(&changes), 0, 1000), Some((100, Some(900), What::Carrier)));
    }

    #[test]
    fn an_address_alone_may_go() {
        let network = network(&[(100, Change::Lost(WIFI, HERE))]);
        assert_eq!(gap(&network, 0, 1000), Some((100, None, What::Address)));
        assert_eq!(network.interface(HERE), Some(WIFI));
    }

    #[test]
    fn containers_that_are_gone_make_room() {
        let mut network = network(&[]);
        let container = |n: u32| IpAddr::V4((0x0a01_0000 + n).into());
        for n in 0..5000 {
            network.on_change(ms(n), Change::Gained(InterfaceId(100 + n as u32), container(n as u32)));
            network.on_change(ms(n + 1), Change::Lost(InterfaceId(100 + n as u32), container(n as u32)));
            network.on_change(ms(n + 1), Change::Down(InterfaceId(100 + n as u32)));
        }
        assert_eq!(network.interface(container(4999)), Some(InterfaceId(5099)));
        assert_eq!(network.interface(HERE), Some(WIFI), "what is there stays");
        network.on_change(ms(6000), Change::Down(WIFI));
        assert_eq!(gap(&network, 5900, 6100), Some((6000, None, What::Carrier)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut network = network(&[]);
        for n in 0..5000 {
            network.on_change(ms(n), Change::Down(WIFI));
            network.on_change(ms(n), Change::Up(WIFI));
            network.on_change(ms(n), Change::Down(InterfaceId(n as u32)));
            network.on_change(ms(n), Change::Gained(WIFI, IpAddr::V4((n as u32).into())));
        }
        assert_eq!(network.interfaces[&WIFI].gaps.len(), GAPS);
        assert_eq!((network.interfaces.len(), network.addresses.len()), (PLACES, PLACES));
    }
}
