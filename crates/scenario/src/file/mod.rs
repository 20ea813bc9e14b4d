//! The tables of the file as they are written: keys and types, no meaning yet.
//!
//! Doc comments here are also the descriptions of the JSON Schema, and so what an editor shows.

mod access;
mod agents;
mod airtime;
mod dialogues;
mod events;
mod flows;
mod generate;
mod integer;
mod links;
mod nodes;
mod quantity;
mod queue;
mod radio;
mod schemes;
mod sctp;
mod tables;
mod trace;
mod words;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use access::{Access, Generation};
pub(crate) use agents::AgentTable;
pub(crate) use airtime::{AirTable, RateControl, Standard};
pub(crate) use events::{EventKind, EventTable, Gap, Mode, Phase};
pub(crate) use flows::{AppKind, FlowShape, FlowTable, MeasureKind};
pub(crate) use generate::{Dumbbell, GenerateTable, Line, Ride, Roams, Wlan};
pub(crate) use handfast_document::{Located, Name, Named};
pub(crate) use links::{LinkShape, LinkTable};
pub(crate) use nodes::{AccessPoints, NodeTable};
pub(crate) use quantity::Span as TimeSpan;
pub(crate) use queue::{Limit as QueueLimit, Queue, Text as QueueText};
pub(crate) use radio::{At, MobilityKind, PropagationKind, RadioTable, ScanKind};
pub(crate) use schemes::{End, SchemeTable, TcpTable};
pub(crate) use sctp::SctpTable;
pub(crate) use trace::TraceTable;
pub(crate) use words::Word;

/// A handfast scenario: a network, what flows through it, what happens to it, and the schemes to compare.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "handfast scenario")]
pub(crate) struct File {
    /// The scenario's name in tables and results. Default: the file's name without `.toml`.
    pub(crate) name: Option<Located<Name>>,
    /// One line for `handfast list`.
    #[serde(default)]
    pub(crate) description: String,
    /// How long the run lasts.
    pub(crate) duration: Located<TimeSpan>,
    /// Spacing of time series samples. Default: a ten-thousandth of `duration`, at least 10 ms.
    pub(crate) sample_interval: Option<Located<TimeSpan>>,
    /// Whether each access point is an IP subnet of its own: what forwards by itself keeps sending to where a station began, and a
    /// station keeps its address (a layer-3 handover). Default: false, forwarding follows stations.
    #[serde(default)]
    pub(crate) subnets: bool,
    /// Nodes whose packets are captured when traces are asked for.
    #[serde(default)]
    pub(crate) capture: Vec<Located<String>>,
    /// Hosts, stations, switches and access points, by name.
    #[serde(default)]
    pub(crate) nodes: Named<NodeTable>,
    /// Bidirectional links between two nodes.
    #[serde(default)]
    pub(crate) links: Vec<LinkTable>,
    /// The air between access points and stations that move.
    pub(crate) radio: Option<Located<RadioTable>>,
    /// Transfers from one host to another.
    #[serde(default)]
    pub(crate) flows: Vec<FlowTable>,
    /// What happens to the network, and when.
    #[serde(default)]
    pub(crate) events: Vec<EventTable>,
    /// Large topologies as one table; they add to the nodes, links and flows above.
    #[serde(default)]
    pub(crate) generate: GenerateTable,
    /// The variants to compare, by name. A name that is not here but is a profile's is also a scheme.
    #[serde(default)]
    pub(crate) schemes: Named<SchemeTable>,
    /// TCP settings of every scheme, sender and receiver; what a scheme says itself wins.
    #[serde(default)]
    pub(crate) tcp: Located<TcpTable>,
}
