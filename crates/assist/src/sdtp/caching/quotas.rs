//! Who keeps how much, and whose packet goes when all is full.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Unbounded};

use handfast_wire::sdtp::Stream;

use super::config::Quotas;

/// One direction of a slice.
type Slice = (IpAddr, IpAddr, u16);

const fn slice_of(stream: &Stream) -> Slice {
    (stream.from, stream.to, stream.slice)
}

/// What some keep, those who keep nothing left out.
#[derive(Debug)]
struct Costs<K> {
    of: BTreeMap<K, u64>,
    total: u64,
    /// Who had to let something go last.
    last: Option<K>,
}

impl<K> Default for Costs<K> {
    fn default() -> Self {
        Self { of: BTreeMap::new(), total: 0, last: None }
    }
}

impl<K: Ord + Copy> Costs<K> {
    fn set(&mut self, key: K, cost: u64) {
        let before = if cost == 0 { self.of.remove(&key) } else { self.of.insert(key, cost) };
        self.total = self.total - before.unwrap_or(0) + cost;
    }

    /// Who keeps no less than the average: the last one as long as it does, then whoever comes next in a circle.
    fn rich(&mut self) -> Option<K> {
        let average = self.total / self.of.len().max(1) as u64;
        let is_rich = |&(_, &cost): &(&K, &u64)| cost >= average;
        let found = match self.last {
            None => self.of.iter().find(is_rich),
            Some(last) => {
                let on = self.of.range(last..).find(is_rich);
                on.or_else(|| self.of.range((Unbounded, Excluded(last))).find(is_rich))
            }
        };
        self.last = found.map(|(key, _)| *key);
        self.last
    }
}

/// What is kept, by slice and connection.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    slices: Costs<Slice>,
    connections: BTreeMap<Slice, Costs<u16>>,
}

impl Accounts {
    /// What all keep.
    pub(super) fn total(&self) -> u64 {
        self.slices.total
    }

    /// What a connection keeps now.
    pub(super) fn set(&mut self, stream: &Stream, cost: u64) {
        let slice = slice_of(stream);
        let connections = self.connections.entry(slice).or_default();
        connections.set(stream.connection, cost);
        let total = connections.total;
        if total == 0 {
            self.connections.remove(&slice);
        }
        self.slices.set(slice, total);
    }

    /// Who must let a packet go, after something has come to a connection.
    pub(super) fn debtor(&mut self, stream: &Stream, quotas: &Quotas) -> Option<Stream> {
        let own = slice_of(stream);
        let full = |cost: u64, quota: handfast_core::Bytes| cost > quota.get();
        let slice = if full(self.slices.of.get(&own).copied().unwrap_or(0), quotas.per_slice) {
            own
        } else if full(self.slices.total, quotas.total) {
            self.slices.rich()?
        } else {
            return None;
        };
        let connection = self.connections.get_mut(&slice)?.rich()?;
        let (from, to, slice) = slice;
        Some(Stream { from, to, slice, connection })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use handfast_core::Bytes;

    use super::*;

    fn stream(slice: u16, connection: u16) -> Stream {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Stream { from: ip, to: ip, slice, connection }
    }

    const QUOTAS: Quotas = Quotas { per_connection: Bytes(0), per_slice: Bytes(100), total: Bytes(250) };

    #[test]
    fn in_a_full_slice_those_pay_who_keep_the_average_in_turn() {
        let mut accounts = Accounts::default();
        for (connection, cost) in [(1, 40), (2, 10), (3, 50)] {
            accounts.set(&stream(7, connection), cost);
        }
        assert_eq!((accounts.total(), accounts.debtor(&stream(7, 2), &QUOTAS)), (100, None), "not yet");
        accounts.set(&stream(7, 2), 11);
        assert_eq!(accounts.debtor(&stream(7, 2), &QUOTAS), Some(stream(7, 1)));
        assert_eq!(accounts.debtor(&stream(7, 2), &QUOTAS), Some(stream(7, 1)), "it still has the average");
        accounts.set(&stream(7, 1), 30);
        accounts.set(&stream(7, 4), 15);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 1)));
        accounts.set(&stream(7, 1), 20);
        accounts.set(&stream(7, 4), 20);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 3)));
        accounts.set(&stream(7, 3), 19);
        accounts.set(&stream(7, 1), 60);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 1)), "round the circle");
        accounts.set(&stream(7, 1), 40);
        assert_eq!((accounts.total(), accounts.debtor(&stream(7, 1), &QUOTAS)), (90, None));
    }

    #[test]
    fn in_a_full_node_the_rich_slice_pays() {
        let mut accounts = Accounts::default();
        for (slice, connection, cost) in [(1, 1, 30), (1, 2, 60), (2, 1, 70), (3, 9, 95)] {
            accounts.set(&stream(slice, connection), cost);
        }
        assert_eq!((accounts.total(), accounts.debtor(&stream(2, 1), &QUOTAS)), (255, Some(stream(1, 2))));
        accounts.set(&stream(1, 2), 30);
        accounts.set(&stream(2, 1), 96);
        assert_eq!(accounts.debtor(&stream(2, 1), &QUOTAS), Some(stream(2, 1)));
    }

    #[test]
    fn who_keeps_nothing_does_not_count() {
        let mut accounts = Accounts::default();
        accounts.set(&stream(1, 1), 5);
        accounts.set(&stream(1, 1), 0);
        assert_eq!((accounts.total(), accounts.connections.len(), accounts.slices.of.len()), (0, 0, 0));
        accounts.set(&stream(1, 2), 101);
        accounts.set(&stream(1, 1), 3);
        accounts.set(&stream(1, 1), 0);
        assert_eq!(accounts.connections[&slice_of(&stream(1, 1))].of.len(), 1);
        assert_eq!(accounts.debtor(&stream(1, 2), &QUOTAS), Some(stream(1, 2)));
    }
}
