//! `[[flows]]`.

use handfast_host::App;
use handfast_host::probe::Measures;
use handfast_host::transport::Kind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Rate, Size, Span};
use super::tables::tables_with_shared_keys;
use super::{Located, Name};

tables_with_shared_keys! {
    shared {
        /// What the application does. Default: "bulk".
        app: AppKind,
        /// When the sender opens the connection. Default: "0s".
        start: Located<Span>,
        /// Between the starts of consecutive flows of the same table. Default: "0s".
        stagger: Span,
        /// A further delay of each start, drawn uniformly from zero to this by the run's seed. Default: "0s".
        jitter: Span,
        /// When the sender closes the connection. Default: with the run.
        stop: Located<Span>,
        /// How fast the receiving application reads. Default: at once.
        read_rate: Rate,
        /// A scheme's or profile's name: both ends have its TCP, whichever scheme runs. Default: that scheme's.
        tcp: Located<String>,
        /// Opens a new connection so long after one has died, and goes on with what was not acknowledged: of "bulk" and
        /// transfers. Default: the flow ends with its connection.
        reconnect: Located<Span>,
        /// How many connections at once carry the data: 1 to 128, of "bulk", "silent" and transfers. Default: 1.
        connections: Located<u32>,
        /// What is measured besides what each flow has, of flows over TCP: "connect", how long its connection takes to be set up;
        /// "delay", how long its packets take. Default: nothing.
        measure: Located<Vec<MeasureKind>>,
    }

    /// What flows do, without their ends.
    FlowShape;

    /// A transfer from one host to another, or several alike.
    FlowTable {
        /// The host that sends.
        from: Located<String>,
        /// The host that receives.
        to: Located<String>,
        /// What results call it. Default: "from-to", numbered where that is not unique.
        name: Option<Located<Name>>,
        /// So many flows alike, numbered from 1. Default: 1.
        count: Option<Located<u32>>,
    }
}

/// What an application does.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum AppKind {
    /// Always has data to send.
    Bulk,
    /// Opens its connection, sends nothing, and keeps it open.
    Silent,
    /// Sends so many bytes, then closes.
    Transfer(Size),
    /// Writes `size` every `interval`.
    Paced(Regular),
    /// Sends a UDP datagram with `size` bytes every `interval`.
    Datagrams(Regular),
}

impl AppKind {
    /// In the words of hosts.
    pub(crate) fn app(self) -> App {
        match self {
            Self::Bulk => App::Bulk,
            Self::Silent => App::Silent,
            Self::Transfer(Size(size)) => App::Transfer(size),
            Self::Paced(Regular { size, interval }) => App::Paced { size: size.0, interval: interval.0 },
            Self::Datagrams(Regular { size, interval }) => {
                App::Over(Kind::Datagrams { size: size.0, interval: interval.0 })
            }
        }
    }
}

/// What is measured of a flow where it asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MeasureKind {
    /// From the first SYN until both ends hold the packet that sets the connection up.
    Connect,
    /// From a packet's write and first transmission to its arrival and delivery.
    Delay,
}

impl MeasureKind {
    /// In the words of hosts.
    pub(crate) fn measures(all: &[Self]) -> Measures {
        Measures { connect: all.contains(&Self::Connect), delay: all.contains(&Self::Delay) }
    }
}

/// `size` every `interval`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Regular {
    /// Bytes a write or datagram.
    size: Size,
    /// Between them; above zero.
    interval: Span,
}
