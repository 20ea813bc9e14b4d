//! `[[flows]]`.

use std::borrow::Cow;
use std::fmt;

use handfast_host::App;
use handfast_host::app::dialogues::Kind as Dialogue;
use handfast_host::app::{Notice, Reconnect};
use handfast_host::probe::Measures;
use handfast_host::transport::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::dialogues::{CallTable, PageTable, TerminalTable, VideoTable};
use super::quantity::{NoticeTime, Quantity, Rate, Size, Span};
use super::tables::tables_with_shared_keys;
use super::words::{Vocabulary, Word};
use super::{Located, Name};
use crate::model::Protocol;

tables_with_shared_keys! {
    shared {
        /// What the application does. Default: "bulk".
        app: AppKind,
        /// What carries what the application sends. Default: "tcp".
        transport: Located<Word<Protocol>>,
        /// When the sender opens the connection. Default: "0s".
        start: Located<Span>,
        /// Between the starts of consecutive flows of the same table. Default: "0s".
        stagger: Span,
        /// A further delay of each start, drawn uniformly from zero to this by the run's seed. Default: "0s".
        jitter: Span,
        /// When the sender closes the connection. Default: with the run.
        stop: Located<Span>,
        /// How fast the receiving application reads. Default: at once.
        read_rate: Located<Rate>,
        /// A scheme's or profile's name: both ends have its TCP, whichever scheme runs. Default: that scheme's.
        tcp: Located<String>,
        /// Opens a new connection so long after one has died, and goes on with what was not acknowledged: of "bulk" and
        /// transfers. A table says more. Default: the flow ends with its connection.
        reconnect: Located<ReconnectKind>,
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
    /// Sends what a person says, in UDP datagrams, to one who listens at the receiving end.
    Call(CallTable),
    /// A person at the receiving end types, and sees each keystroke when it has come back.
    Terminal(TerminalTable),
    /// A person at the receiving end reads web pages.
    Page(PageTable),
    /// A person at the receiving end watches a video in segments.
    Video(VideoTable),
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
            Self::Call(table) => App::Over(table.call()),
            Self::Terminal(table) => App::Dialogue(Dialogue::Terminal(table.terminal())),
            Self::Page(table) => App::Dialogue(Dialogue::Page(table.page())),
            Self::Video(table) => App::Dialogue(Dialogue::Video(table.video())),
        }
    }
}

impl Vocabulary for Protocol {
    const WHAT: &'static str = "what carries a flow";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("tcp", Self::Tcp, "TCP, as the scheme has it"),
        ("sctp", Self::Sctp, "SCTP (RFC 9260), over all addresses of both ends; in the simulator only"),
        (
            "mptcp",
            Self::Mptcp,
            "Multipath TCP (RFC 8684), over all addresses of both ends; in the simulator only",
        ),
    ];
}

/// How an application opens its next connection, in the file either a duration or a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReconnectKind(pub(crate) Reconnect);

/// How an application opens its next connection.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReconnectTable {
    /// How long after a connection has died it opens the next one. Of one that notices that its address has gone: how long after a
    /// first attempt without an address it tries again, and then twice as long, and so on.
    after: Span,
    /// Between two attempts at most. Default: "60s".
    most: Option<Span>,
    /// So long after its address has gone the application notices that; "address": when its host has another one. Default: it does
    /// not, and its connection dies when TCP gives up.
    notice: Option<NoticeTime>,
    /// Where the next connection begins. Default: "range".
    resume: Option<Word<Resume>>,
}

/// Where an application's next connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    Range,
    Again,
}

impl Vocabulary for Resume {
    const WHAT: &'static str = "where the next connection begins";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("range", Self::Range, "with what the peer has not got"),
        ("again", Self::Again, "with the first byte"),
    ];
}

impl<'de> Deserialize<'de> for ReconnectKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReconnectVisitor).map(Self)
    }
}

struct ReconnectVisitor;

impl<'de> Visitor<'de> for ReconnectVisitor {
    type Value = Reconnect;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"1s\", or a table such as {after = \"1s\", notice = \"address\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Reconnect, E> {
        let Span(after) = Span::read(text).map_err(E::custom)?;
        Ok(Reconnect::after(after))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reconnect, A::Error> {
        let table = ReconnectTable::deserialize(MapAccessDeserializer::new(map))?;
        let Word(resume) = table.resume.unwrap_or(Word(Resume::Range));
        Ok(Reconnect {
            after: table.after.0,
            most: table.most.map_or(Reconnect::MOST, |most| most.0),
            notice: table.notice.map_or(Notice::Never, |notice| notice.0),
            again: resume == Resume::Again,
        })
    }
}

impl JsonSchema for ReconnectKind {
    fn schema_name() -> Cow<'static, str> {
        "Reconnect".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (span, table) = (generator.subschema_for::<Span>(), generator.subschema_for::<ReconnectTable>());
        json_schema!({
            "description": "How long after a connection has died, or a table that says more.",
            "anyOf": [span, table]
        })
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
