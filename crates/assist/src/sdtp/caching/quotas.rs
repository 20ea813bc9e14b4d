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

/// Whose packets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Keeper {
    slice: Slice,
    host: u16,
    connection: u16,
}

impl Keeper {
    /// A connection of a host, by its number.
    pub(in super::super) const fn of(stream: &Stream, host: u16) -> Self {
        Self { slice: slice_of(stream), host, connection: stream.connection }
    }

    pub(in super::super) const fn stream(&self) -> Stream {
        let (slice, from, to) = self.slice;
        Stream { from, to, slice, connection: self.connection }
    }
}

/// What is kept, or by all of an account.
trait Kept: Default {
    fn cost(&self) -> u64;
}

impl Kept for u64 {
    fn cost(&self) -> u64 {
        *self
    }
}

/// What each keeps, those that keep nothing left out.
#[derive(Debug)]
struct Account<K, V> {
    of: BTreeMap<K, V>,
    total: u64,
    /// Who had to let something go last.
    last: Option<K>,
}

impl<K, V> Default for Account<K, V> {
    fn default() -> Self {
        Self { of: BTreeMap::new(), total: 0, last: None }
    }
}

impl<K, V> Kept for Account<K, V> {
    fn cost(&self) -> u64 {
        self.total
    }
}

impl<K: Ord + Copy, V: Kept> Account<K, V> {
    /// What one keeps changes.
    fn change(&mut self, key: K, change: impl FnOnce(&mut V)) {
        let one = self.of.entry(key).or_default();
        let before = one.cost();
        change(one);
        let after = one.cost();
        if after == 0 {
            self.of.remove(&key);
        }
        self.total = self.total - before + after;
    }

    fn cost_of(&self, key: &K) -> u64 {
        self.of.get(key).map_or(0, Kept::cost)
    }

    /// Who keeps no less than the average: the last one as long as it does, then whoever comes next in a circle.
    fn rich(&mut self) -> Option<K> {
        let average = self.total / self.of.len().max(1) as u64;
        let is_rich = |(_, value): &(&K, &V)| value.cost() >= average;
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

/// What is kept, by slice, host and connection.
#[derive(Debug, Default)]
pub(in super::super) struct Accounts(Account<Slice, Account<u16, Account<u16, u64>>>);

impl Accounts {
    /// What all keep.
    pub(in super::super) fn total(&self) -> u64 {
        self.0.total
    }

    /// What a connection keeps now. Whether its host, its slice or the node keeps too much.
    pub(in super::super) fn set(&mut self, keeper: &Keeper, cost: u64, quotas: &Quotas) -> bool {
        let &Keeper { slice, host, connection } = keeper;
        let (mut of_host, mut of_slice) = (0, 0);
        self.0.change(slice, |slice| {
            slice.change(host, |host| {
                host.change(connection, |known| *known = cost);
                of_host = host.total;
            });
            of_slice = slice.total;
        });
        is_too_much(host, of_host, quotas)
            || of_slice > quotas.per_slice.get()
            || self.0.total > quotas.total.get()
    }

    /// What a connection keeps.
    fn cost_of(&self, &Keeper { slice, host, connection }: &Keeper) -> u64 {
        let host = self.0.of.get(&slice).and_then(|slice| slice.of.get(&host));
        host.map_or(0, |host| host.cost_of(&connection))
    }

    /// Something is to come to a connection. Whether there is room for it: otherwise nothing changes.
    pub(in super::super) fn admit(&mut self, keeper: &Keeper, cost: u64, quotas: &Quotas) -> bool {
        let before = self.cost_of(keeper);
        let is_too_much = self.set(keeper, before + cost, quotas);
        if is_too_much {
            self.set(keeper, before, quotas);
        }
        !is_too_much
    }

    /// Something has left a connection.
    pub(in super::super) fn release(&mut self, keeper: &Keeper, cost: u64, quotas: &Quotas) {
        let before = self.cost_of(keeper);
        self.set(keeper, before.saturating_sub(cost), quotas);
    }

    /// Who must let a packet go, after something has come to a connection.
    pub(in super::super) fn debtor(&mut self, keeper: &Keeper, quotas: &Quotas) -> Option<Keeper> {
        let own = self.0.of.get(&keeper.slice);
        let of_host = own.map_or(0, |slice| slice.cost_of(&keeper.host));
        let is_host = is_too_much(keeper.host, of_host, quotas);
        let slice = if is_host || own.is_some_and(|slice| slice.total > quotas.per_slice.get()) {
            keeper.slice
        } else if self.0.total > quotas.total.get() {
            self.0.rich()?
        } else {
            return None;
        };
        let hosts = self.0.of.get_mut(&slice)?;
        let host = if is_host { keeper.host } else { hosts.rich()? };
        let connection = hosts.of.get_mut(&host)?.rich()?;
        Some(Keeper { slice, host, connection })
    }
}

/// Whether a host keeps too much.
fn is_too_much(host: u16, cost: u64, quotas: &Quotas) -> bool {
    host != 0 && cost > quotas.per_host.get()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use handfast_core::Bytes;

    use super::*;

    /// A connection of host 1.
    fn keeper(slice: u16, connection: u16) -> Keeper {
        of_host(slice, 1, connection)
    }

    fn of_host(slice: u16, host: u16, connection: u16) -> Keeper {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Keeper::of(&Stream { from: ip, to: ip, slice, connection }, host)
    }

    const QUOTAS: Quotas =
        Quotas { per_connection: Bytes(0), per_host: Bytes(100), per_slice: Bytes(100), total: Bytes(250) };

    #[test]
    fn in_a_full_slice_those_pay_who_keep_the_average_in_turn() {
        let mut accounts = Accounts::default();
        for (connection, cost) in [(1, 40), (2, 10), (3, 50)] {
            accounts.set(&keeper(7, connection), cost, &QUOTAS);
        }
        assert_eq!((accounts.total(), accounts.debtor(&keeper(7, 2), &QUOTAS)), (100, None), "not yet");
        accounts.set(&keeper(7, 2), 11, &QUOTAS);
        assert_eq!(accounts.debtor(&keeper(7, 2), &QUOTAS), Some(keeper(7, 1)));
        assert_eq!(accounts.debtor(&keeper(7, 2), &QUOTAS), Some(keeper(7, 1)), "it still has the average");
        accounts.set(&keeper(7, 1), 30, &QUOTAS);
        accounts.set(&keeper(7, 4), 15, &QUOTAS);
        assert_eq!(accounts.debtor(&keeper(7, 4), &QUOTAS), Some(keeper(7, 1)));
        accounts.set(&keeper(7, 1), 20, &QUOTAS);
        accounts.set(&keeper(7, 4), 20, &QUOTAS);
        assert_eq!(accounts.debtor(&keeper(7, 4), &QUOTAS), Some(keeper(7, 3)));
        accounts.set(&keeper(7, 3), 19, &QUOTAS);
        accounts.set(&keeper(7, 1), 60, &QUOTAS);
        assert_eq!(accounts.debtor(&keeper(7, 4), &QUOTAS), Some(keeper(7, 1)), "round the circle");
        accounts.set(&keeper(7, 1), 40, &QUOTAS);
        assert_eq!((accounts.total(), accounts.debtor(&keeper(7, 1), &QUOTAS)), (90, None));
    }

    #[test]
    fn in_a_full_node_the_rich_slice_pays() {
        let mut accounts = Accounts::default();
        for (slice, connection, cost) in [(1, 1, 30), (1, 2, 60), (2, 1, 70), (3, 9, 95)] {
            accounts.set(&keeper(slice, connection), cost, &QUOTAS);
        }
        assert_eq!((accounts.total(), accounts.debtor(&keeper(2, 1), &QUOTAS)), (255, Some(keeper(1, 2))));
        accounts.set(&keeper(1, 2), 30, &QUOTAS);
        accounts.set(&keeper(2, 1), 96, &QUOTAS);
        assert_eq!(accounts.debtor(&keeper(2, 1), &QUOTAS), Some(keeper(2, 1)));
    }

    #[test]
    fn who_keeps_nothing_does_not_count() {
        let mut accounts = Accounts::default();
        accounts.set(&keeper(1, 1), 5, &QUOTAS);
        accounts.set(&keeper(1, 1), 0, &QUOTAS);
        assert_eq!((accounts.total(), accounts.0.of.len()), (0, 0));
        accounts.set(&keeper(1, 2), 101, &QUOTAS);
        accounts.set(&keeper(1, 1), 3, &QUOTAS);
        accounts.set(&keeper(1, 1), 0, &QUOTAS);
        assert_eq!(accounts.0.of[&keeper(1, 1).slice].of[&1].of.len(), 1);
        assert_eq!(accounts.debtor(&keeper(1, 2), &QUOTAS), Some(keeper(1, 2)));
    }

    #[test]
    fn what_there_is_no_room_for_changes_nothing() {
        let mut accounts = Accounts::default();
        let quotas = Quotas { per_host: Bytes(50), ..QUOTAS };
        for (keeper, cost, is_admitted) in [
            (of_host(1, 1, 1), 30, true),
            (of_host(1, 1, 2), 21, false),
            (of_host(1, 1, 2), 20, true),
            (of_host(1, 2, 1), 50, true),
            (of_host(1, 3, 1), 1, false),
            (of_host(2, 1, 1), 50, true),
        ] {
            let before = accounts.total();
            assert_eq!(accounts.admit(&keeper, cost, &quotas), is_admitted, "{keeper:?}");
            assert_eq!(accounts.total() - before, if is_admitted { cost } else { 0 });
        }
        for (keeper, cost) in [(of_host(1, 1, 1), 10), (of_host(1, 1, 1), 20), (of_host(1, 2, 1), 50)] {
            accounts.release(&keeper, cost, &quotas);
        }
        assert_eq!((accounts.total(), accounts.0.of[&keeper(1, 1).slice].of.len()), (70, 1));
    }

    #[test]
    fn a_full_host_pays_itself_and_in_a_full_slice_the_rich_host_does() {
        let quotas = Quotas { per_host: Bytes(50), ..QUOTAS };
        let mut accounts = Accounts::default();
        for connection in 1..=5 {
            assert!(!accounts.set(&of_host(1, 1, connection), 10, &quotas));
        }
        assert!(accounts.set(&of_host(1, 1, 6), 1, &quotas), "51 of 50");
        assert_eq!(accounts.debtor(&of_host(1, 1, 6), &quotas), Some(of_host(1, 1, 1)));
        accounts.set(&of_host(1, 1, 1), 9, &quotas);
        assert_eq!(accounts.debtor(&of_host(1, 1, 6), &quotas), None);
        // The other one has one connection, which keeps more than each of these, and less than all of them.
        accounts.set(&of_host(1, 2, 7), 40, &quotas);
        assert!(accounts.set(&of_host(1, 3, 8), 11, &quotas), "101 of 100");
        assert_eq!(accounts.debtor(&of_host(1, 3, 8), &quotas), Some(of_host(1, 1, 1)), "50 / 3");
    }

    #[test]
    fn what_no_single_host_has_sent_only_the_slice_bounds() {
        let quotas = Quotas { per_host: Bytes(50), ..QUOTAS };
        let mut accounts = Accounts::default();
        assert!(!accounts.set(&of_host(1, 0, 1), 100, &quotas));
        assert!(accounts.set(&of_host(1, 0, 1), 101, &quotas));
    }
}
