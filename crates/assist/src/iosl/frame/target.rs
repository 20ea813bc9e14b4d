//! To what a session leads.

use std::fmt;

/// A host, by name or address, a port, and what goes there. Whether the peer leads there is its operator's decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    host: String,
    port: u16,
    /// Datagrams of UDP, and not octets of TCP.
    is_datagrams: bool,
}

/// The longest name (RFC 1035 §2.3.4).
const MOST: usize = 255;

impl Target {
    /// [`None`]: it is no host name, no address, or port 0.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        // Letters, digits and hyphen (RFC 1123 §2.1), and what else stands in names and addresses; not in logs or shells.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        let is_host = !host.is_empty() && host.len() <= MOST && host.bytes().all(is_plain);
        (is_host && port > 0).then(|| Self { host: host.to_owned(), port, is_datagrams: false })
    }

    /// The same of a port of UDP: its session carries datagrams and no octets (as RFC 9298 has it beside RFC 9110's CONNECT).
    pub fn of_datagrams(host: &str, port: u16) -> Option<Self> {
        Self::new(host, port).map(|target| Self { is_datagrams: true, ..target })
    }

    /// Whether it is a port of UDP.
    pub const fn is_datagrams(&self) -> bool {
        self.is_datagrams
    }

    /// The name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, is_datagrams } = self;
        let protocol = if *is_datagrams { "/udp" } else { "" };
        if host.contains(':') {
            write!(f, "[{host}]:{port}{protocol}")
        } else {
            write!(f, "{host}:{port}{protocol}")
        }
    }
}
