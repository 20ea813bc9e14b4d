//! What is below a session: how its octets travel between the two ends.

use std::collections::BTreeSet;
use std::fmt;

use clap::ValueEnum;
use handfast_assist::iosl::inside::Kind;
use handfast_io::has_mptcp;
use schemars::JsonSchema;
use serde::de::value::StrDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What carries the paths of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, ValueEnum)]
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

    /// What it is inside UDP; [`None`]: it is the kernel's.
    pub(super) fn inside(self) -> Option<Kind> {
        match self {
            Self::Tcp | Self::Mptcp => None,
            Self::Udp => Some(Kind::Tcp),
            Self::Sctp => Some(Kind::Sctp),
        }
    }

    /// What a kind is called here.
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Tcp => Self::Udp,
            Kind::Sctp => Self::Sctp,
        }
    }

    /// For people.
    fn in_words(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Mptcp => "Multipath TCP (or TCP where they have none)",
            Self::Udp => "TCP in UDP",
            Self::Sctp => "SCTP in UDP",
        }
    }

    /// What the other end has to have for it; empty: it has it in any case, or takes the place of what it has not.
    pub(super) fn wants(self) -> String {
        match self {
            Self::Tcp | Self::Mptcp => String::new(),
            Self::Udp | Self::Sctp => {
                let name = self.name();
                format!(" by UDP: its configuration has to say `below = \"{name}\"`, alone or in a list")
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

/// What an end before a server takes: clients choose among it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Written")]
pub(super) struct Served(BTreeSet<Below>);

/// How a file says it.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema is made of it")]
enum Written {
    One(Below),
    Several(BTreeSet<Below>),
}

impl Default for Served {
    fn default() -> Self {
        Self::of([Below::default()])
    }
}

impl Served {
    /// These, and the kernel's TCP in any case: that of several paths takes clients of one path too (RFC 8684 §3.7).
    fn of(words: impl IntoIterator<Item = Below>) -> Self {
        let mut all: BTreeSet<_> = words.into_iter().filter(|below| *below != Below::Tcp).collect();
        if !all.contains(&Below::Mptcp) {
            all.insert(Below::Tcp);
        }
        Self(all)
    }

    /// What the kernel's listener is.
    pub(super) fn listener(&self) -> Below {
        if self.0.contains(&Below::Mptcp) { Below::Mptcp } else { Below::Tcp }
    }

    /// What it takes in UDP.
    pub(super) fn inside(&self) -> Vec<Kind> {
        self.0.iter().filter_map(|below| below.inside()).collect()
    }

    /// Their words.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|below| below.name()).collect()
    }

    /// For people.
    pub(super) fn in_words(&self) -> String {
        let all: Vec<_> = self.0.iter().map(|below| format!("by {}", below.in_words())).collect();
        all.join(", ")
    }

    /// Whether this machine has it all; [`Err`]: why not.
    pub(super) fn is_there(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|below| below.is_there())
    }
}

impl<'de> Deserialize<'de> for Served {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words)
    }
}

struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Served;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a word, or a list of them: \"tcp\", \"mptcp\", \"udp\", \"sctp\"")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Served, E> {
        Below::deserialize(StrDeserializer::new(word)).map(|below| Served::of([below]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Served, A::Error> {
        let mut all = BTreeSet::new();
        while let Some(below) = list.next_element::<Below>()? {
            if !all.insert(below) {
                return Err(A::Error::custom(format!("{:?} is there twice", below.name())));
            }
        }
        if all.is_empty() {
            return Err(A::Error::invalid_length(0, &self));
        }
        Ok(Served::of(all))
    }
}
