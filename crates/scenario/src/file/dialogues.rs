//! What a person does.

use std::borrow::Cow;

use handfast_core::{Bytes, Duration};
use handfast_host::app::page::{CONNECTIONS, Http, Page};
use handfast_host::app::terminal::Terminal;
use handfast_host::app::video::{Ladder, Video};
use handfast_host::transport::Kind as TransportKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::quantity::{Rate, Size, Span};
use super::words::{Vocabulary, Word};

/// A person who speaks, to one who listens; who speaks back does so in another flow.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallTable {
    /// Bytes of a datagram. Default: "172B".
    size: Option<Size>,
    /// Between them. Default: "20ms".
    interval: Option<Span>,
    /// What arrives later than this after it was sent is late. Default: "150ms".
    late: Option<Span>,
}

impl CallTable {
    /// In the words of hosts. By default 20 ms of G.711 (160 bytes, RFC 3551 §4.5.14) with RTP's header (12 bytes, RFC 3550 §5.1); up to
    /// 150 ms one way hardly anybody minds (ITU-T G.114).
    pub(super) fn call(self) -> TransportKind {
        TransportKind::Call {
            size: self.size.map_or(Bytes(12 + 160), |size| size.0),
            interval: self.interval.map_or(Duration::from_millis(20), |span| span.0),
            late: self.late.map_or(Duration::from_millis(150), |span| span.0),
        }
    }
}

/// A person who types.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalTable {
    /// Between two keystrokes, on average. Default: "238656us".
    interval: Option<Span>,
    /// Bytes of a keystroke, and of its echo. Default: "36B".
    size: Option<Size>,
}

impl TerminalTable {
    /// In the words of hosts.
    pub(super) fn terminal(self) -> Terminal {
        let default = Terminal::default();
        Terminal {
            interval: self.interval.map_or(default.interval, |interval| interval.0),
            size: self.size.map_or(default.size, |size| size.0),
        }
    }
}

/// A person who reads web pages.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageTable {
    /// How the browser asks. Default: "2".
    http: Option<Word<Http>>,
    /// Connections at once, at most: 1 to 6, of HTTP/1.1. Default: 6.
    connections: Option<u32>,
    /// Bytes of the HTML. Default: "18kB".
    html: Option<Size>,
    /// Objects besides it, 10,000 at most. Default: 65.
    objects: Option<u32>,
    /// Bytes of all objects together. Default: "2293kB".
    weight: Option<Size>,
    /// Bytes of a request. Default: "350B".
    request: Option<Size>,
    /// From a page that is there to the question for the next one, on average. Default: "30s".
    think: Option<Span>,
}

impl PageTable {
    /// In the words of hosts.
    pub(super) fn page(self) -> Page {
        let default = Page::default();
        let http = self.http.map_or(default.http, |http| http.0);
        // HTTP/2 has one: another number is told to the application, which says so.
        let usual = if http == Http::One { CONNECTIONS } else { 1 };
        Page {
            http,
            connections: self.connections.unwrap_or(usual),
            html: self.html.map_or(default.html, |size| size.0),
            objects: self.objects.unwrap_or(default.objects),
            weight: self.weight.map_or(default.weight, |size| size.0),
            request: self.request.map_or(default.request, |size| size.0),
            think: self.think.map_or(default.think, |span| span.0),
        }
    }
}

impl Vocabulary for Http {
    const WHAT: &'static str = "a version of HTTP";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("1.1", Self::One, "HTTP/1.1: several connections, one request at a time on each"),
        ("2", Self::Two, "HTTP/2: one connection, all requests at once"),
    ];
}

/// A person who watches a video.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VideoTable {
    /// The bitrates that there are, which rise: 1 to 16. With one the rate is fixed. Default: 235, 375, 560, 750, 1050, 1750, 2350, 3000,
    /// 4300 and 5800 kbit/s.
    ladder: Option<Rates>,
    /// Of a segment. Default: "4s".
    segment: Option<Span>,
    /// What the playback buffer holds at most. Default: "240s".
    buffer: Option<Span>,
    /// It plays when it has so much, at first and after a stall. Default: one segment.
    start: Option<Span>,
}

impl VideoTable {
    /// In the words of hosts.
    pub(super) fn video(self) -> Video {
        let default = Video::default();
        let segment = self.segment.map_or(default.segment, |span| span.0);
        Video {
            ladder: self.ladder.map_or(default.ladder, |rates| rates.0),
            segment,
            buffer: self.buffer.map_or(default.buffer, |span| span.0),
            start: self.start.map_or(segment, |span| span.0),
        }
    }
}

/// The bitrates of a video.
#[derive(Clone, Copy, Debug)]
struct Rates(Ladder);

impl<'de> Deserialize<'de> for Rates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rates: Vec<_> = Vec::<Rate>::deserialize(deserializer)?.into_iter().map(|rate| rate.0).collect();
        let expected = "expected 1 to 16 bitrates above zero, each higher than the one before";
        Ladder::new(&rates).map(Self).ok_or_else(|| D::Error::custom(expected))
    }
}

impl JsonSchema for Rates {
    fn schema_name() -> Cow<'static, str> {
        "Bitrates".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<Rate>();
        json_schema!({
            "description": "Bitrates, each higher than the one before.",
            "type": "array",
            "items": rate,
            "minItems": 1,
            "maxItems": Ladder::MOST
        })
    }
}
