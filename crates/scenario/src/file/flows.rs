//! `[[flows]]`.

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
    /// Sends so many bytes, then closes.
    Transfer(Size),
    /// Writes `size` every `interval`.
    Paced(Paced),
}

/// Writes `size` every `interval`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paced {
    /// Bytes a write.
    pub(crate) size: Size,
    /// Between writes; above zero.
    pub(crate) interval: Span,
}
