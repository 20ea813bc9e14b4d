//! Who is no station: addresses that send to stations from where no access point is.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::EthAddr;

/// Addresses that are remembered; of more, the one that was heard the longest ago is forgotten.
const MOST: usize = 1024;

/// Gateways and servers, as far as they have shown themselves. Or stations behind other switches, of which nobody has told: so
/// nothing is remembered for ever.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    heard: BTreeMap<EthAddr, Instant>,
    order: BTreeSet<(Instant, EthAddr)>,
}

impl Learnt {
    /// An address has sent something.
    pub(crate) fn learn(&mut self, now: Instant, address: EthAddr) {
        self.forget(address);
        self.heard.insert(address, now);
        self.order.insert((now, address));
        if self.order.len() > MOST
            && let Some((_, first)) = self.order.pop_first()
        {
            self.heard.remove(&first);
        }
    }

    /// Nothing is known of it.
    pub(crate) fn forget(&mut self, address: EthAddr) {
        if let Some(at) = self.heard.remove(&address) {
            self.order.remove(&(at, address));
        }
    }

    /// Whether it was heard less than `memory` ago.
    pub(crate) fn contains(&self, now: Instant, address: EthAddr, memory: Duration) -> bool {
        self.heard.get(&address).is_some_and(|&at| now.since(at) < memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn it_is_remembered_for_a_while_after_it_was_heard_last() {
        let mut learnt = Learnt::default();
        let address = [2, 0, 0, 0, 0, 1];
        learnt.learn(at(0), address);
        learnt.learn(at(5), address);
        assert!(learnt.contains(at(14), address, MEMORY) && !learnt.contains(at(15), address, MEMORY));
        assert!(!learnt.contains(at(5), [2, 0, 0, 0, 0, 2], MEMORY));
        learnt.forget(address);
        assert!(!learnt.contains(at(5), address, MEMORY) && learnt.order.is_empty());
    }

    #[test]
    fn the_one_heard_the_longest_ago_is_forgotten_and_no_other() {
        let mut learnt = Learnt::default();
        let address = |n: usize| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
        for n in 0..MOST {
            learnt.learn(at(0), address(n));
        }
        learnt.learn(at(1), address(0));
        assert!((0..MOST).all(|n| learnt.contains(at(1), address(n), MEMORY)), "heard again, not twice");
        learnt.learn(at(1), address(MOST));
        assert!(!learnt.contains(at(1), address(1), MEMORY));
        assert!([0, 2, MOST].iter().all(|&n| learnt.contains(at(1), address(n), MEMORY)));
        assert_eq!((learnt.heard.len(), learnt.order.len()), (MOST, MOST));
    }
}
