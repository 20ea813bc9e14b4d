//! `[[events]]`.

use std::borrow::Cow;
use std::fmt;

use handfast_core::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::Located;
use super::quantity::{Quantity, Rate, SignalRatio, Span};
use super::words::{Vocabulary, Word};
use crate::model::Directions;

/// Something that happens to the network. Which keys it takes depends on `do`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventTable {
    /// When.
    pub(crate) at: Located<Span>,
    /// What happens.
    #[serde(rename = "do")]
    pub(crate) kind: Located<Word<EventKind>>,
    /// `outage`, `rate`, `delay`, `fade`: the name of the link it happens to.
    pub(crate) link: Option<Located<String>>,
    /// `restart`: the node that begins anew.
    pub(crate) node: Option<Located<String>>,
    /// `handover`: the station that roams.
    pub(crate) station: Option<Located<String>>,
    /// `handover`: the access point that it goes to.
    pub(crate) to: Option<Located<String>>,
    /// `outage`: for how long the link is gone. `handover`: from the end of the old association to the beginning of the
    /// new one; may be zero. `fade`: for how long the signal is as weak as it gets; may be zero.
    pub(crate) gap: Option<Located<Gap>>,
    /// `outage`, `handover`, `fade`: for how long the signal falls before the link goes, or before it is as weak as it gets, and for
    /// how long it rises when that is over (after a handover it is strong at once). Meanwhile the link carries as much less as Shannon's
    /// law has it. Default: the signal does not change; required of `fade`.
    pub(crate) fade: Option<Located<Span>>,
    /// `outage`, `handover`, `fade`: how weak the signal gets. Default: "-5dB".
    pub(crate) sinr: Option<Located<SignalRatio>>,
    /// `outage`, `handover`: what becomes of packets. Default: "drop".
    pub(crate) mode: Option<Located<Word<Mode>>>,
    /// `rate`: the new rate.
    pub(crate) rate: Option<Located<Rate>>,
    /// `delay`: the new propagation delay.
    pub(crate) delay: Option<Located<Span>>,
    /// `rate`, `delay`: which direction changes. Default: "both".
    pub(crate) direction: Option<Located<Word<Directions>>>,
    /// A further delay drawn uniformly from zero to this by the run's seed; "random" stands for one round trip
    /// (propagation only) of the file's first flow. Default: "0s".
    pub(crate) phase: Option<Located<Phase>>,
    /// The event repeats with this period, from `at` on.
    pub(crate) every: Option<Located<Span>>,
    /// How often it happens in all, with `every`. Default: until the run ends.
    pub(crate) times: Option<Located<u32>>,
}

impl EventTable {
    /// A handover that a generator makes; what is wrong with it is told of `origin`.
    pub(crate) fn handover(
        origin: &handfast_document::Span,
        at: Located<Span>,
        [station, to]: [String; 2],
        gap: Located<Gap>,
        phase: Option<Located<Phase>>,
    ) -> Self {
        let located = |value| Some(Located { span: origin.clone(), value });
        Self {
            at,
            kind: Located { span: origin.clone(), value: Word(EventKind::Handover) },
            link: None,
            node: None,
            station: located(station),
            to: located(to),
            gap: Some(gap),
            fade: None,
            sinr: None,
            mode: None,
            rate: None,
            delay: None,
            direction: None,
            phase,
            every: None,
            times: None,
        }
    }
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The link is gone for `gap`, then back.
    Outage,
    /// The link's rate changes.
    Rate,
    /// The link's propagation delay changes.
    Delay,
    /// A station roams.
    Handover,
    /// A node forgets all that it knows.
    Restart,
    /// The signal of a link gets weak and strong again; the link stays.
    Fade,
}

impl EventKind {
    /// What the file calls it.
    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind, _)| *kind == self).map_or("", |(word, ..)| word)
    }
}

impl Vocabulary for EventKind {
    const WHAT: &'static str = "an event";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("outage", Self::Outage, "the link is gone for `gap`, then back"),
        ("rate", Self::Rate, "the link's rate becomes `rate`"),
        ("delay", Self::Delay, "the link's delay becomes `delay`; packets already in the air keep theirs"),
        (
            "handover",
            Self::Handover,
            "the association of `station` ends, and `gap` later the one with `to` begins",
        ),
        (
            "restart",
            Self::Restart,
            "the agents of `node` begin anew: what they knew and kept is gone; in the simulator only",
        ),
        (
            "fade",
            Self::Fade,
            "the link's signal falls, stays weak for `gap`, and rises again; the link stays",
        ),
    ];
}

/// What becomes of the packets of a link that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are lost.
    Drop,
    /// They wait.
    Hold,
    /// They still arrive.
    Drain,
}

impl Vocabulary for Mode {
    const WHAT: &'static str = "what becomes of packets";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        (
            "drop",
            Self::Drop,
            "packets on the link, in its queue and arriving at it are lost: a radio out of range",
        ),
        ("hold", Self::Hold, "`outage`: packets wait in the queue, up to its limit: a pause"),
        (
            "drain",
            Self::Drain,
            "`handover`, without `gap`: new packets go by the new link at once, those on the old one still arrive \
             (make-before-break); in the simulator only",
        ),
    ];
}

/// The span from which an event's further delay is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// One round trip.
    Random,
    /// This.
    Within(Duration),
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "random" {
            return Ok(Self::Random);
        }
        let span =
            Span::read(&text).map_err(|why| D::Error::custom(format_args!("{why}, and not \"random\"")))?;
        Ok(Self::Within(span.0))
    }
}

/// How long something is gone, in the file either a duration or a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The shortest.
    pub(crate) from: Duration,
    /// The longest.
    pub(crate) to: Duration,
}

impl Gap {
    /// Always so long.
    pub(crate) fn of(gap: Duration) -> Self {
        Self { from: gap, to: gap }
    }

    /// By how much the longest exceeds the shortest.
    pub(crate) fn longer(self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

/// A gap of a random length.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GapRange {
    /// The shortest that is drawn.
    from: Span,
    /// The longest that is drawn.
    to: Span,
}

impl<'de> Deserialize<'de> for Gap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GapVisitor)
    }
}

struct GapVisitor;

impl<'de> Visitor<'de> for GapVisitor {
    type Value = Gap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"3s\", or a range such as {from = \"1.5s\", to = \"7s\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Gap, E> {
        let Span(gap) = Span::read(text).map_err(E::custom)?;
        Ok(Gap::of(gap))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Gap, A::Error> {
        let GapRange { from: Span(from), to: Span(to) } =
            GapRange::deserialize(MapAccessDeserializer::new(map))?;
        if to < from {
            return Err(A::Error::custom(format_args!("a gap from {from} to {to}: the range is empty")));
        }
        Ok(Gap { from, to })
    }
}

impl JsonSchema for Gap {
    fn schema_name() -> Cow<'static, str> {
        "Gap".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (fixed, range) = (generator.subschema_for::<Span>(), generator.subschema_for::<GapRange>());
        json_schema!({
            "description": "So long, or drawn uniformly from a range by the run's seed, anew for each repetition.",
            "anyOf": [fixed, range]
        })
    }
}

impl JsonSchema for Phase {
    fn schema_name() -> Cow<'static, str> {
        "Phase".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": format!("^random$|{}", Span::pattern())})
    }
}
