//! Bounds of what is inside UDP at one end, and how its connections behave.

use handfast_core::{Bytes, Duration};
use handfast_tcp::profile;
use handfast_wire::tcp::HEADER_LEN;
use handfast_wire::tcp::in_udp::{DATAGRAM, OWN_HEADER_LEN, SAVED};

/// Octets of a segment without its fixed header: what a datagram has room for.
const MSS: u16 = (DATAGRAM - OWN_HEADER_LEN + SAVED - HEADER_LEN) as u16;

/// Octets of an IPv4 header, which `mtu` of an association counts. Over IPv6 a datagram is 20 octets shorter.
const IPV4_HEADER: u64 = 20;

/// As `handfastd` tells the kernel's TCP (docs/reference/session.md): one whose link is back sends again within a second.
const RTO_MAX: Duration = Duration::from_secs(1);

/// The same: a silent peer is asked, and a dead path is noticed after 10 s.
const ASK_EVERY: Duration = Duration::from_secs(3);

/// The bounds.
#[derive(Clone, Debug)]
pub struct Config {
    /// Connections of both kinds together. Another one is not taken.
    pub most: usize,
    /// What waits unsent of one at most: what is written later may go another way.
    pub unsent: u64,
    /// How a connection of TCP behaves.
    pub tcp: handfast_tcp::Config,
    /// Connections of others whose handshake goes on, of TCP. Another SYN is not answered: it comes again.
    pub shaking: usize,
    /// With so many of these, whoever asks has to show first that he is where he says (RFC 9000 §8.1.2). Until then nothing is kept
    /// of him.
    pub trusting: usize,
    /// How an association behaves.
    pub sctp: handfast_sctp::Config,
    /// Verification tags of others' associations that are over, at most: none is opened again by a copy of its COOKIE ECHO.
    pub most_used: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            most: 20_512,
            unsent: 128 << 10,
            tcp: tcp(),
            shaking: 256,
            trusting: 64,
            sctp: sctp(),
            most_used: 65_536,
        }
    }
}

fn tcp() -> handfast_tcp::Config {
    let linux = profile("linux").map(handfast_tcp::Profile::config).unwrap_or_default();
    handfast_tcp::Config {
        mss: MSS,
        // Records are written whole.
        nagle: handfast_tcp::Nagle::Off,
        rto_max: RTO_MAX,
        keepalive_idle: Some(ASK_EVERY),
        keepalive_interval: ASK_EVERY,
        keepalive_probes: 3,
        user_timeout: Some(Duration::from_secs(10)),
        // A number is used once, so that no late segment meets another connection (RFC 9293 §3.4.3).
        time_wait: Duration::from_secs(1),
        receive_buffer: Bytes(6 << 20),
        ..linux
    }
}

fn sctp() -> handfast_sctp::Config {
    handfast_sctp::Config {
        mtu: Bytes(DATAGRAM as u64 + IPV4_HEADER),
        // RTO.Min and the delay of SACKs are those of Linux's TCP.
        rto_min: Duration::from_millis(200),
        rto_max: RTO_MAX,
        heartbeat_interval: Some(ASK_EVERY),
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
    }
}
