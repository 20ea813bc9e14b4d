//! Who is no station: addresses that send to stations from where no access point is.

use std::collections::{BTreeSet, VecDeque};

use handfast_wire::openflow::EthAddr;

/// Addresses that are remembered; of more, the one that was learnt first is forgotten.
const MOST: usize = 1024;

/// Gateways and servers, as far as they have shown themselves.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    known: BTreeSet<EthAddr>,
    order: VecDeque<EthAddr>,
}

impl Learnt {
    pub(crate) fn learn(&mut self, address: EthAddr) {
        if !self.known.insert(address) {
            return;
        }
        self.order.push_back(address);
        if self.order.len() > MOST
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }

    pub(crate) fn contains(&self, address: EthAddr) -> bool {
        self.known.contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_forgotten_and_no_other() {
        let mut learnt = Learnt::default();
        let address = |n: usize| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
        for n in 0..MOST {
            learnt.learn(address(n));
            learnt.learn(address(0));
        }
        assert!(learnt.contains(address(0)));
        learnt.learn(address(MOST));
        assert!(!learnt.contains(address(0)));
        assert!(learnt.contains(address(1)) && learnt.contains(address(MOST)));
    }
}
