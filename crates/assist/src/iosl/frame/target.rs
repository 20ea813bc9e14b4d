//! To what a session leads.

use std::fmt;

/// A host, by name or address, and a port. Whether the peer leads there is its operator's decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    host: String,
    port: u16,
}

/// The longest name (RFC 1035 §2.3.4).
const MOST: usize = 255;

impl Target {
    /// [`None`]: it is no host name, no address, or port 0.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        // Letters, digits and hyphen (RFC 1123 §2.1), and what else stands in names and addresses; not in logs or shells.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        let is_host = !host.is_empty() && host.len() <= MOST && host.bytes().all(is_plain);
        (is_host && port > 0).then(|| Self { host: host.to_owned(), port })
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
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
