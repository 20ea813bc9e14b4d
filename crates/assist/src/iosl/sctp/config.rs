//! Bounds of what is at one socket, and how its associations behave.

use handfast_core::{Bytes, Duration};

/// Octets of a datagram at most: what every path carries (RFC 9000 §14).
pub const DATAGRAM: usize = 1_200;

/// Octets of an IPv4 header, which `mtu` of an association counts. Over IPv6 a datagram is 20 octets shorter.
const IPV4_HEADER: u64 = 20;

/// The bounds.
#[derive(Clone, Debug)]
pub struct Config {
    /// How an association behaves.
    pub sctp: handfast_sctp::Config,
    /// Associations. Another one is not taken.
    pub most: usize,
    /// Verification tags of others' associations that are over, at most: none is opened again by a copy of its COOKIE ECHO.
    pub most_used: usize,
    /// What waits unsent at most: what is written later may go another way.
    pub unsent: u64,
}

impl Default for Config {
    fn default() -> Self {
        let sctp = handfast_sctp::Config {
            mtu: Bytes(DATAGRAM as u64 + IPV4_HEADER),
            // As `handfastd` tells the kernel's TCP (docs/reference/session.md): a path whose link is back sends again within a
            // second, and one that is dead is noticed after 10 s. RTO.Min and the delay of SACKs are those of Linux's TCP.
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(1),
            heartbeat_interval: Some(Duration::from_secs(3)),
            sack_delay: Duration::from_millis(40),
            // With two addresses data takes the other one after 0.6 s of silence (§8.2 allows any number).
            path_max_retrans: 1,
            cookie_life: Duration::from_secs(10),
            receive_buffer: Bytes(4 << 20),
            send_buffer: Bytes(4 << 20),
            // One of octets, one of what the two ends tell each other.
            outbound_streams: 2,
            inbound_streams: 2,
            early_data: true,
            // A driver that reads many datagrams with one call sends one SACK for them: what it acknowledges counts and leaves
            // again whole (as RFC 9002 §7.3.1), where L of one and Max.Burst want a SACK for every second packet.
            slow_start_limit: 1_024,
            max_burst: None,
            ..handfast_sctp::Config::default()
        };
        Self { sctp, most: 20_512, most_used: 65_536, unsent: 128 << 10 }
    }
}
