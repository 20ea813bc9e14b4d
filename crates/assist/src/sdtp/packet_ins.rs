//! How many handshakes an edge sends to the controller: a bounded number a second for each host and in all, so that a flood of SYNs
//! with forged ports costs the controller nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};

/// How many, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packet-ins a second of one host.
    pub per_host: u32,
    /// Packet-ins a second of all hosts.
    pub total: u32,
}

impl Default for Limits {
    /// What a browser opens in a second on one host; and what the controller was measured to answer, a tenth of it.
    fn default() -> Self {
        Self { per_host: 200, total: 10_000 }
    }
}

/// A token bucket that holds one second's worth (RFC 2697 without colours).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When it will be full.
    full: Instant,
}

impl Bucket {
    const DEPTH: Duration = Duration::from_secs(1);

    /// Whether a token is left.
    fn has(self, now: Instant, token: Duration) -> bool {
        self.full.max(now) + token <= now + Self::DEPTH
    }

    fn take(&mut self, now: Instant, token: Duration) {
        self.full = self.full.max(now) + token;
    }
}

/// The buckets of an edge.
#[derive(Debug)]
pub(super) struct PacketIns {
    limits: Limits,
    all: Bucket,
    /// Of hosts behind the edge only: the caller has checked that.
    hosts: BTreeMap<IpAddr, Bucket>,
}

impl PacketIns {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, all: Bucket { full: Instant::ZERO }, hosts: BTreeMap::new() }
    }

    /// Whether one more may go.
    pub(super) fn allow(&mut self, now: Instant, host: IpAddr) -> bool {
        let token = |rate: u32| Duration::from_nanos(1_000_000_000 / u64::from(rate.max(1)));
        let (one, all) = (token(self.limits.per_host), token(self.limits.total));
        let host = self.hosts.entry(host).or_insert(Bucket { full: Instant::ZERO });
        let allowed = host.has(now, one) && self.all.has(now, all);
        if allowed {
            host.take(now, one);
            self.all.take(now, all);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn allowed(packet_ins: &mut PacketIns, now: Instant, host: u8, tries: u32) -> u32 {
        let host = IpAddr::from(Ipv4Addr::new(192, 0, 2, host));
        (0..tries).map(|_| u32::from(packet_ins.allow(now, host))).sum()
    }

    #[test]
    fn a_host_has_a_seconds_worth_at_once_and_its_rate_from_then_on() {
        let mut packet_ins = PacketIns::new(Limits { per_host: 10, total: 1000 });
        let at = Instant::from_millis;
        assert_eq!(allowed(&mut packet_ins, at(5000), 1, 100), 10);
        assert_eq!(allowed(&mut packet_ins, at(5000), 2, 100), 10, "another host has its own");
        assert_eq!(allowed(&mut packet_ins, at(5500), 1, 100), 5);
        assert_eq!(allowed(&mut packet_ins, at(60_000), 1, 100), 10, "no more is saved");
    }

    #[test]
    fn all_hosts_together_have_a_bound() {
        let mut packet_ins = PacketIns::new(Limits { per_host: 10, total: 25 });
        let hosts: u32 =
            (0..9).map(|host| allowed(&mut packet_ins, Instant::from_millis(1), host, 100)).sum();
        assert_eq!(hosts, 25);
    }
}
