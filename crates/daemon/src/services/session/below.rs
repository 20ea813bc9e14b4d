//! What is below a session: how its octets travel between the two ends.

use clap::ValueEnum;
use handfast_io::has_mptcp;
use schemars::JsonSchema;
use serde::Deserialize;

/// What carries the paths of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Below {
    /// The kernel's TCP
    #[default]
    Tcp,
    /// The kernel's Multipath TCP; where the other end has none, TCP
    Mptcp,
    /// TCP of our own in datagrams of UDP
    Udp,
    /// SCTP of our own in datagrams of UDP, by all addresses at once
    Sctp,
}

impl Below {
    /// Its word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Mptcp => "mptcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }

    /// What the other end has to have for it; empty: it has it in any case, or takes the place of what it has not.
    pub(super) fn wants(self) -> String {
        match self {
            Self::Tcp | Self::Mptcp => String::new(),
            Self::Udp | Self::Sctp => {
                format!(" by UDP: its configuration has to say `below = \"{}\"`", self.name())
            }
        }
    }

    /// Whether this machine has it; [`Err`]: why not.
    pub(super) fn is_there(self) -> Result<(), String> {
        match self {
            Self::Tcp | Self::Udp | Self::Sctp => Ok(()),
            Self::Mptcp => has_mptcp().map_err(|error| {
                format!("this kernel has no Multipath TCP, or `net.mptcp.enabled` is 0: {error}")
            }),
        }
    }
}
