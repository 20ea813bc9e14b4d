//! What a connection is told.

use std::sync::Arc;

use handfast_core::Duration;
use handfast_tcp::Nagle;

/// Octets of options that a segment with data needs beside timestamps: numbers of four octets, a checksum.
const NARROW: u8 = 20;
/// With numbers of eight octets.
const WIDE: u8 = 28;

/// How a connection behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What its sub-flows are. Its buffers are those of the whole connection.
    pub(crate) tcp: Arc<handfast_tcp::Config>,
    /// Whether checksums are asked for (RFC 8684 §3.1, A). They are on if one end asks.
    pub checksum: bool,
    /// Whether numbers of data take eight octets. Four are enough: no window reaches 2^31 octets.
    pub(crate) wide: bool,
    /// Sub-flows at a time, at most.
    pub subflows: usize,
    /// How long a connection waits for a sub-flow where it has none.
    pub orphan: Duration,
}

impl Config {
    /// Sub-flows that are this TCP, but for what Multipath TCP needs: room for its options, writes that stay apart, which Nagle's rule
    /// would delay, and one receive window for all (RFC 8684 §3.3.5), which is as large as the buffer.
    pub fn new(tcp: &handfast_tcp::Config) -> Self {
        Self::with(tcp, false)
    }

    /// The same with data sequence numbers of eight octets.
    pub fn wide(tcp: &handfast_tcp::Config) -> Self {
        Self::with(tcp, true)
    }

    fn with(tcp: &handfast_tcp::Config, wide: bool) -> Self {
        let tcp = handfast_tcp::Config {
            reserved: if wide { WIDE } else { NARROW },
            keeps_writes: true,
            nagle: Nagle::Off,
            receive_autotuning: false,
            ..tcp.clone()
        };
        Self { tcp: Arc::new(tcp), checksum: false, wide, subflows: 8, orphan: Duration::from_secs(60) }
    }
}
