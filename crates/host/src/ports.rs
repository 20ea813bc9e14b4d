//! Demultiplexing: which connection or listener of a host a segment is for (RFC 9293 §3.3.1).

use std::collections::BTreeMap;

/// The first dynamic port (RFC 6335 §6).
pub const DYNAMIC_PORTS: u16 = 49_152;

/// The connections and listeners of a host. `S` is an address with a port, `C` a connection, `L` a listener.
#[derive(Debug)]
pub struct Ports<S, C, L> {
    /// By local and remote address.
    connections: BTreeMap<(S, S), C>,
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
        Self { connections: BTreeMap::new(), listeners: BTreeMap::new(), last }
    }
}

impl<S: Ord + Copy, C: Copy, L> Ports<S, C, L> {
    /// Enters a connection between a local and a remote address.
    pub fn open(&mut self, pair: (S, S), connection: C) {
        self.connections.insert(pair, connection);
    }

    /// Forgets a connection.
    pub fn close(&mut self, pair: (S, S)) {
        self.connections.remove(&pair);
    }

    /// The connection between a local and a remote address.
    pub fn connection(&self, pair: (S, S)) -> Option<C> {
        self.connections.get(&pair).copied()
    }

    /// All connections, in order of their local address.
    pub fn connections(&self) -> impl Iterator<Item = C> + '_ {
        self.connections.values().copied()
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
            (!self.connections.contains_key(&pair(self.last))).then_some(self.last)
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
    fn dynamic_ports_go_round_and_leave_out_what_is_taken() {
        let mut ports = Ports::<(u8, u16), u32, ()>::starting_after(u16::MAX - 2);
        let pair = |port| ((1, port), (2, 80));
        ports.open(pair(u16::MAX), 7);
        assert_eq!([0; 3].map(|_| ports.free_port(pair).unwrap()), [65_534, 49_152, 49_153]);
        (DYNAMIC_PORTS..=u16::MAX).for_each(|port| ports.open(pair(port), 7));
        assert_eq!(ports.free_port(pair), None);
    }
}
