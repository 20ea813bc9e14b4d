//! Bounds of what is at one socket of UDP, and how its connections behave.

use handfast_core::{Bytes, Duration};
use handfast_tcp::profile;
use handfast_wire::tcp::HEADER_LEN;
use handfast_wire::tcp::in_udp::{DATAGRAM, OWN_HEADER_LEN, SAVED};

/// Octets of a segment without its fixed header: what a datagram has room for.
const MSS: u16 = (DATAGRAM - OWN_HEADER_LEN + SAVED - HEADER_LEN) as u16;

/// The bounds.
#[derive(Clone, Debug)]
pub struct Config {
    /// How a connection behaves.
    pub tcp: handfast_tcp::Config,
    /// Connections. Another one is not taken.
    pub most: usize,
    /// Connections of others whose handshake goes on. Another SYN is not answered: it comes again.
    pub shaking: usize,
    /// With so many of these, whoever asks has to show first that he is where he says (RFC 9000 §8.1.2). Until then nothing is kept
    /// of him.
    pub trusting: usize,
    /// What waits unsent at most: what is written later may go another way.
    pub unsent: u64,
}

impl Default for Config {
    fn default() -> Self {
        let linux = profile("linux").map(handfast_tcp::Profile::config).unwrap_or_default();
        let tcp = handfast_tcp::Config {
            mss: MSS,
            // Records are written whole.
            nagle: handfast_tcp::Nagle::Off,
            // As `handfastd` tells the kernel's TCP (docs/reference/session.md): a dead path is noticed after 10 s, and one whose link
            // is back sends again within a second.
            rto_max: Duration::from_secs(1),
            keepalive_idle: Some(Duration::from_secs(3)),
            keepalive_interval: Duration::from_secs(3),
            keepalive_probes: 3,
            user_timeout: Some(Duration::from_secs(10)),
            // A number is used once, so that no late segment meets another connection (RFC 9293 §3.4.3).
            time_wait: Duration::from_secs(1),
            receive_buffer: Bytes(6 << 20),
            ..linux
        };
        Self { tcp, most: 20_512, shaking: 256, trusting: 64, unsent: 128 << 10 }
    }
}
