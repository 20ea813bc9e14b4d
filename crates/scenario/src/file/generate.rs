//! `[generate]`: large topologies as one table.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{FlowShape, LinkShape, Located, Name};

/// Large topologies as one table each.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateTable {
    /// Senders and receivers on either side of one bottleneck.
    pub(crate) dumbbell: Option<Located<Dumbbell>>,
    /// A chain of switches between one sender and one receiver.
    pub(crate) line: Option<Located<Line>>,
}

/// `sender1`, `sender2`, … behind switch `left`, `receiver1`, … behind switch `right`, the link `bottleneck` between
/// the switches, and a flow from each sender to the receiver of the same number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dumbbell {
    /// How many senders, receivers and flows.
    pub(crate) pairs: Located<u32>,
    /// Each link between a host and its switch.
    pub(crate) access: Located<LinkShape>,
    /// The link from `left` to `right`.
    pub(crate) bottleneck: Located<LinkShape>,
    /// What the flows do. Default: bulk transfers from 0 s on.
    #[serde(default)]
    pub(crate) flows: FlowShape,
    /// Put before every generated name. Default: nothing.
    pub(crate) prefix: Option<Name>,
}

/// `sender`, `switch1`, `switch2`, …, `receiver` in a row, with the links `hop1`, `hop2`, … and flows from end to
/// end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// How many switches.
    pub(crate) switches: Located<u32>,
    /// Each link.
    pub(crate) link: Located<LinkShape>,
    /// What the flows do. Default: bulk transfers from 0 s on.
    #[serde(default)]
    pub(crate) flows: FlowShape,
    /// How many flows. Default: 1.
    pub(crate) count: Option<Located<u32>>,
    /// Put before every generated name. Default: nothing.
    pub(crate) prefix: Option<Name>,
}
