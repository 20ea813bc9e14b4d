//! What peers are called: numbers, unless somebody asks for more.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Numbers peers in the order in which they are named first.
#[derive(Debug)]
pub(super) struct Names {
    shown: bool,
    numbers: BTreeMap<IpAddr, usize>,
}

impl Names {
    pub(super) fn new(shown: bool) -> Self {
        Self { shown, numbers: BTreeMap::new() }
    }

    /// Only the port says anything, of the service.
    pub(super) fn of(&mut self, peer: SocketAddr) -> String {
        if self.shown {
            return peer.to_string();
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(peer.ip()).or_insert(next);
        format!("peer-{number}:{}", peer.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_keeps_its_number() {
        let mut names = Names::new(false);
        let of = |text: &str| text.parse().unwrap();
        assert_eq!(names.of(of("192.0.2.7:443")), "peer-1:443");
        assert_eq!(names.of(of("[2001:db8::1]:22")), "peer-2:22");
        assert_eq!(names.of(of("192.0.2.7:80")), "peer-1:80");
        assert_eq!(Names::new(true).of(of("192.0.2.7:443")), "192.0.2.7:443");
    }
}
