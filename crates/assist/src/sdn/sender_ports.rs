//! By which ports of switches the frames of senders come in.

use std::collections::{BTreeMap, VecDeque};

use handfast_wire::openflow::{EthAddr, PortNo};

use super::frame::Origin;

/// Senders whose ports are remembered; of more, the one that was heard first is forgotten.
const MOST_SENDERS: usize = 4096;

/// By which port of a switch a sender's frames come in.
#[derive(Debug, Default)]
pub(crate) struct SenderPorts {
    known: BTreeMap<(u64, EthAddr), PortNo>,
    order: VecDeque<(u64, EthAddr)>,
}

impl SenderPorts {
    pub(crate) fn learn(&mut self, source: EthAddr, at: Origin) {
        let key = (at.datapath_id, source);
        if self.known.insert(key, at.in_port).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MOST_SENDERS
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }

    pub(super) fn of(&self, datapath_id: u64, source: EthAddr) -> Option<PortNo> {
        self.known.get(&(datapath_id, source)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_per_switch_the_newest_counts_and_the_first_is_forgotten() {
        let mut ports = SenderPorts::default();
        let at = |datapath_id, port| Origin { datapath_id, in_port: PortNo(port) };
        let source = |n: usize| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
        ports.learn(source(0), at(1, 5));
        ports.learn(source(0), at(2, 6));
        ports.learn(source(0), at(1, 7));
        assert_eq!(
            [1, 2, 3].map(|datapath| ports.of(datapath, source(0))),
            [Some(PortNo(7)), Some(PortNo(6)), None]
        );
        for n in 1..MOST_SENDERS {
            ports.learn(source(n), at(1, 9));
        }
        assert_eq!([1, 2].map(|datapath| ports.of(datapath, source(0))), [None, Some(PortNo(6))]);
        assert_eq!((ports.known.len(), ports.order.len()), (MOST_SENDERS, MOST_SENDERS));
    }
}
