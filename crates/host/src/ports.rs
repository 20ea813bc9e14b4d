//! Demultiplexing: which connection or listener of a host a segment is for (RFC 9293 §3.3.1).

use std::collections::BTreeMap;

/// The first dynamic port (RFC 6335 §6).
pub const DYNAMIC_PORTS: u16 = 49_152;

/// The connections and listeners of a host. `S` is an address with a port, `C` a connection, `L` a listener.
#[derive(Debug)]
pub struct Ports<S, C, L> {
    /// The connection with the lowest local and remote address: in place, because most hosts have one.
    first: Option<((S, S), C)>,
    /// The others, by local and remote address.
    others: BTreeMap<(S, S), C>,
    /// By local port.
    listeners: BTreeMap<u16, L>,
    /// The dynamic port that was given out last.
    last: u16,
}

impl<S, C, L> Default for Ports<S, C, L> {
    fn default() -> Self {
        Self::starting_after(0)
    }
}

impl<S, C, L> Ports<S, C, L> {
    /// Nothing is open. The first dynamic port comes after `last`.
    pub fn starting_after(last: u16) -> Self {
        Self { first: None, others: BTreeMap::new(), listeners: BTreeMap::new(), last }
    }
}

impl<S: Ord + Copy, C: Copy, L> Ports<S, C, L> {
    /// Enters a connection between a local and a remote address.
    pub fn open(&mut self, pair: (S, S), connection: C) {
        let entry = (pair, connection);
        match &mut self.first {
            None => self.first = Some(entry),
            Some(first) if first.0 == pair => *first = entry,
            Some(first) => {
                let (pair, connection) = if pair < first.0 { std::mem::replace(first, entry) } else { entry };
                self.others.insert(pair, connection);
            }
        }
    }

    /// Forgets a connection.
    pub fn close(&mut self, pair: (S, S)) {
        if self.first.is_some_and(|(first, _)| first == pair) {
            self.first = self.others.pop_first();
        } else {
            self.others.remove(&pair);
        }
    }

    /// The connection between a local and a remote address.
    pub fn connection(&self, pair: (S, S)) -> Option<C> {
        match self.first {
            Some((first, connection)) if first == pair => Some(connection),
            _ => self.others.get(&pair).copied(),
        }
    }

    /// All connections, in order of their local address.
    pub fn connections(&self) -> impl Iterator<Item = C> + '_ {
        self.first.iter().map(|&(_, connection)| connection).chain(self.others.values().copied())
    }

    /// Listens on a port.
    pub fn listen(&mut self, port: u16, listener: L) {
        self.listeners.insert(port, listener);
    }

    /// Who listens on a port.
    pub fn listener(&self, port: u16) -> Option<&L> {
        self.listeners.get(&port)
    }

    /// Who listens on a port.
    pub fn listener_mut(&mut self, port: u16) -> Option<&mut L> {
        self.listeners.get_mut(&port)
    }

    /// The next dynamic port with which `pair` is free; [`None`]: all are taken.
    pub fn free_port(&mut self, pair: impl Fn(u16) -> (S, S)) -> Option<u16> {
        (DYNAMIC_PORTS..=u16::MAX).find_map(|_| {
            self.last = self.last.wrapping_add(1).max(DYNAMIC_PORTS);
            self.connection(pair(self.last)).is_none().then_some(self.last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_goes_to_its_connection_and_no_other() {
        let mut ports = Ports::<(u8, u16), u32, ()>::default();
        ports.open(((1, 80), (2, 5000)), 7);
        ports.open(((1, 80), (2, 5001)), 8);
        assert_eq!(ports.connection(((1, 80), (2, 5001))), Some(8));
        for other in [((1, 81), (2, 5000)), ((1, 80), (3, 5000)), ((1, 80), (2, 5002)), ((9, 80), (2, 5000))]
        {
            assert_eq!(ports.connection(other), None, "{other:?}");
        }
        ports.close(((1, 80), (2, 5000)));
        assert_eq!(ports.connections().collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn connections_are_in_order_of_their_address_however_they_come_and_go() {
        let mut ports = Ports::<(u8, u16), u16, ()>::default();
        let pair = |port| ((1, port), (2, 80));
        let all = |ports: &Ports<_, u16, ()>| ports.connections().collect::<Vec<_>>();
        for port in [7, 5, 9, 6] {
            ports.open(pair(port), port);
        }
        assert_eq!(all(&ports), [5, 6, 7, 9]);
        for (port, instead) in [(5, 50), (9, 90)] {
            ports.open(pair(port), instead);
            assert_eq!(ports.connection(pair(port)), Some(instead));
        }
        assert_eq!(all(&ports), [50, 6, 7, 90]);
        for (port, left) in [(5, &[6, 7, 90][..]), (9, &[6, 7]), (6, &[7]), (7, &[]), (7, &[])] {
            ports.close(pair(port));
            assert_eq!((all(&ports), ports.connection(pair(port))), (left.to_vec(), None));
        }
    }

    #[test]
    fn dynamic_ports_go_round_and_leave_out_what_is_taken() {
        let mut ports = Ports::<(u8, u16), u32, ()>::starting_after(u16::MAX - 2);
        let pair = |port| ((1, port), (2, 80));
        ports.open(pair(u16::MAX), 7);
        assert_eq!([0; 3].map(|_| ports.free_port(pair).unwrap()), [65_534, 49_152, 49_153]);
        (DYNAMIC_PORTS..=u16::MAX).for_each(|port| ports.open(pair(port), 7));
        assert_eq!(ports.free_port(pair), None);
    }
}
