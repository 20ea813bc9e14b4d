//! What an agent in the path keeps of connections: a bounded number of them, of which it forgets who was silent longest.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::Instant;

use crate::ConnectionKey;

/// A value for each connection that was heard of lately.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    known: BTreeMap<ConnectionKey, (Instant, T)>,
    /// Who was silent longest comes first.
    silent: BTreeSet<(Instant, ConnectionKey)>,
    most: usize,
}

impl<T> Recent<T> {
    /// None yet, and never more than `most`, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self { known: BTreeMap::new(), silent: BTreeSet::new(), most: most.max(1) }
    }

    pub(crate) fn contains(&self, key: &ConnectionKey) -> bool {
        self.known.contains_key(key)
    }

    pub(crate) fn get_mut(&mut self, key: &ConnectionKey) -> Option<&mut T> {
        self.known.get_mut(key).map(|(_, value)| value)
    }

    /// When something was last heard of it.
    pub(crate) fn heard(&self, key: &ConnectionKey) -> Option<Instant> {
        self.known.get(key).map(|&(heard, _)| heard)
    }

    /// Something was heard of a connection, be it for the first time.
    pub(crate) fn touch(&mut self, now: Instant, key: ConnectionKey, new: impl FnOnce() -> T) -> &mut T {
        let (heard, value) = self.known.entry(key).or_insert_with(|| (now, new()));
        self.silent.remove(&(*heard, key));
        *heard = now;
        self.silent.insert((now, key));
        value
    }

    pub(crate) fn remove(&mut self, key: &ConnectionKey) -> Option<T> {
        let (heard, value) = self.known.remove(key)?;
        self.silent.remove(&(heard, *key));
        Some(value)
    }

    /// Whom to forget before a new one comes.
    pub(crate) fn in_the_way(&self) -> Option<ConnectionKey> {
        let full = self.known.len() >= self.most;
        self.silent.first().filter(|_| full).map(|&(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn key(port: u16) -> ConnectionKey {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        ConnectionKey { src: ip, dst: ip, src_port: port, dst_port: 1 }
    }

    #[test]
    fn who_was_silent_longest_is_in_the_way() {
        let mut recent = Recent::new(2);
        let at = Instant::from_millis;
        recent.touch(at(1), key(1), || 'a');
        assert_eq!(recent.in_the_way(), None);
        recent.touch(at(2), key(2), || 'b');
        assert_eq!(recent.in_the_way(), Some(key(1)));
        assert_eq!(*recent.touch(at(3), key(1), || 'c'), 'a');
        assert_eq!(recent.in_the_way(), Some(key(2)));
        assert_eq!((recent.heard(&key(1)), recent.heard(&key(3))), (Some(at(3)), None));
        assert_eq!((recent.remove(&key(2)), recent.remove(&key(2))), (Some('b'), None));
        assert_eq!((recent.in_the_way(), recent.contains(&key(1))), (None, true));
    }
}
