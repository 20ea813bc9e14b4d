//! Who keeps how much, and whose packet goes when all is full.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Unbounded};

use handfast_wire::sdtp::Stream;

use super::config::Quotas;

/// One direction of a slice. Its number comes first: that decides most comparisons.
type Slice = (u16, IpAddr, IpAddr);

const fn slice_of(stream: &Stream) -> Slice {
    (stream.slice, stream.from, stream.to)
}

/// What the connections of a slice keep, those that keep nothing left out.
#[derive(Debug, Default)]
struct Account {
    of: BTreeMap<u16, u64>,
    total: u64,
    /// Who had to let something go last.
    last: Option<u16>,
}

impl Account {
    fn set(&mut self, connection: u16, cost: u64) {
        let before = if cost == 0 { self.of.remove(&connection) } else { self.of.insert(connection, cost) };
        self.total = self.total - before.unwrap_or(0) + cost;
    }

    fn rich(&mut self) -> Option<u16> {
        self.last = rich(&self.of, self.total, self.last, |cost| *cost);
        self.last
    }
}

/// Who keeps no less than the average: the last one as long as it does, then whoever comes next in a circle.
fn rich<K: Ord + Copy, V>(
    of: &BTreeMap<K, V>,
    total: u64,
    last: Option<K>,
    cost: impl Fn(&V) -> u64,
) -> Option<K> {
    let average = total / of.len().max(1) as u64;
    let is_rich = |(_, value): &(&K, &V)| cost(value) >= average;
    let found = match last {
        None => of.iter().find(is_rich),
        Some(last) => {
            let on = of.range(last..).find(is_rich);
            on.or_else(|| of.range((Unbounded, Excluded(last))).find(is_rich))
        }
    };
    found.map(|(key, _)| *key)
}

/// What is kept, by slice and connection.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    slices: BTreeMap<Slice, Account>,
    total: u64,
    /// The slice that had to let something go last because the node was full.
    last: Option<Slice>,
}

impl Accounts {
    /// What all keep.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// What a connection keeps now. Whether its slice or the node keeps too much.
    pub(super) fn set(&mut self, stream: &Stream, cost: u64, quotas: &Quotas) -> bool {
        let account = self.slices.entry(slice_of(stream)).or_default();
        let before = account.total;
        account.set(stream.connection, cost);
        let after = account.total;
        if after == 0 {
            self.slices.remove(&slice_of(stream));
        }
        self.total = self.total - before + after;
        after > quotas.per_slice.get() || self.total > quotas.total.get()
    }

    /// Who must let a packet go, after something has come to a connection.
    pub(super) fn debtor(&mut self, stream: &Stream, quotas: &Quotas) -> Option<Stream> {
        let own = slice_of(stream);
        let slice = if self.slices.get(&own).is_some_and(|account| account.total > quotas.per_slice.get()) {
            own
        } else if self.total > quotas.total.get() {
            self.last = rich(&self.slices, self.total, self.last, |account| account.total);
            self.last?
        } else {
            return None;
        };
        let connection = self.slices.get_mut(&slice)?.rich()?;
        let (slice, from, to) = slice;
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
            accounts.set(&stream(7, connection), cost, &QUOTAS);
        }
        assert_eq!((accounts.total(), accounts.debtor(&stream(7, 2), &QUOTAS)), (100, None), "not yet");
        accounts.set(&stream(7, 2), 11, &QUOTAS);
        assert_eq!(accounts.debtor(&stream(7, 2), &QUOTAS), Some(stream(7, 1)));
        assert_eq!(accounts.debtor(&stream(7, 2), &QUOTAS), Some(stream(7, 1)), "it still has the average");
        accounts.set(&stream(7, 1), 30, &QUOTAS);
        accounts.set(&stream(7, 4), 15, &QUOTAS);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 1)));
        accounts.set(&stream(7, 1), 20, &QUOTAS);
        accounts.set(&stream(7, 4), 20, &QUOTAS);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 3)));
        accounts.set(&stream(7, 3), 19, &QUOTAS);
        accounts.set(&stream(7, 1), 60, &QUOTAS);
        assert_eq!(accounts.debtor(&stream(7, 4), &QUOTAS), Some(stream(7, 1)), "round the circle");
        accounts.set(&stream(7, 1), 40, &QUOTAS);
        assert_eq!((accounts.total(), accounts.debtor(&stream(7, 1), &QUOTAS)), (90, None));
    }

    #[test]
    fn in_a_full_node_the_rich_slice_pays() {
        let mut accounts = Accounts::default();
        for (slice, connection, cost) in [(1, 1, 30), (1, 2, 60), (2, 1, 70), (3, 9, 95)] {
            accounts.set(&stream(slice, connection), cost, &QUOTAS);
        }
        assert_eq!((accounts.total(), accounts.debtor(&stream(2, 1), &QUOTAS)), (255, Some(stream(1, 2))));
        accounts.set(&stream(1, 2), 30, &QUOTAS);
        accounts.set(&stream(2, 1), 96, &QUOTAS);
        assert_eq!(accounts.debtor(&stream(2, 1), &QUOTAS), Some(stream(2, 1)));
    }

    #[test]
    fn who_keeps_nothing_does_not_count() {
        let mut accounts = Accounts::default();
        accounts.set(&stream(1, 1), 5, &QUOTAS);
        accounts.set(&stream(1, 1), 0, &QUOTAS);
        assert_eq!((accounts.total(), accounts.slices.len()), (0, 0));
        accounts.set(&stream(1, 2), 101, &QUOTAS);
        accounts.set(&stream(1, 1), 3, &QUOTAS);
        accounts.set(&stream(1, 1), 0, &QUOTAS);
        assert_eq!(accounts.slices[&slice_of(&stream(1, 1))].of.len(), 1);
        assert_eq!(accounts.debtor(&stream(1, 2), &QUOTAS), Some(stream(1, 2)));
    }
}
