//! `access`: a cellular radio.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::Located;
use super::integer::{Retransmissions, Transmissions};
use super::quantity::{Probability, Span};
use super::words::{Vocabulary, Word, lookup};

/// A cellular radio: its generation, or a table that says more.
#[derive(Clone, Debug)]
pub(crate) struct Access(pub(crate) AccessTable);

/// A cellular radio between a station and its base station. What is not said is as docs/explanation/cellular.md has it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessTable {
    /// LTE or 5G NR: where all that follows has its defaults.
    pub(crate) profile: Word<Generation>,
    /// Of NR: how long a slot is, "1ms", "0.5ms", "0.25ms" or "0.125ms". Default: "0.5ms".
    pub(crate) slot: Option<Located<Span>>,
    /// What base station and station take to make and to decode a block.
    pub(crate) processing: Option<Span>,
    /// The probability that a block is not decoded after its first transmission. Default: 0.1.
    pub(crate) bler: Option<Probability>,
    /// The same of each repetition, combined with what came before it. Default: 0.1.
    pub(crate) combined_bler: Option<Probability>,
    /// How often HARQ sends a block at most. Default: 4.
    pub(crate) transmissions: Option<Transmissions>,
    /// From a transmission to its repetition, rounded up to slots.
    pub(crate) harq_round_trip: Option<Span>,
    /// The probability that a negative acknowledgment is taken for a positive one. Default: 0.001.
    pub(crate) nack_to_ack: Option<Probability>,
    /// How long RLC waits for HARQ before it takes a gap for a loss: t-Reordering, of NR t-Reassembly.
    pub(crate) t_reordering: Option<Located<Span>>,
    /// Between two status reports of RLC at least: t-StatusProhibit.
    pub(crate) t_status_prohibit: Option<Span>,
    /// From a poll of RLC without an answer to the next: t-PollRetransmit.
    pub(crate) t_poll_retransmit: Option<Located<Span>>,
    /// How often RLC sends a block again before it gives up: maxRetxThreshold.
    pub(crate) max_retx: Option<Retransmissions>,
    /// Of the uplink: from one opportunity for a scheduling request to the next, rounded up to slots.
    pub(crate) request_period: Option<Span>,
    /// Of the uplink: from a scheduling request to the first slot that is granted, rounded up to slots.
    pub(crate) grant: Option<Span>,
}

/// A generation of cellular radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// 4G.
    Lte,
    /// 5G.
    Nr,
}

impl Vocabulary for Generation {
    const WHAT: &'static str = "a profile";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("lte", Self::Lte, "LTE FDD: subframes of 1 ms, HARQ after 8 ms"),
        ("nr", Self::Nr, "5G NR: slots of 0.5 ms, HARQ after 8 slots"),
    ];
}

impl<'de> Deserialize<'de> for Access {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AccessVisitor)
    }
}

struct AccessVisitor;

impl<'de> Visitor<'de> for AccessVisitor {
    type Value = Access;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cellular radio: \"lte\", \"nr\", or a table such as {profile = \"lte\", bler = 0.05}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Access, E> {
        lookup(text).map(AccessTable::usual).map(Access)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Access, A::Error> {
        AccessTable::deserialize(MapAccessDeserializer::new(map)).map(Access)
    }
}

impl AccessTable {
    /// Nothing but the profile.
    fn usual(profile: Generation) -> Self {
        Self {
            profile: Word(profile),
            slot: None,
            processing: None,
            bler: None,
            combined_bler: None,
            transmissions: None,
            harq_round_trip: None,
            nack_to_ack: None,
            t_reordering: None,
            t_status_prohibit: None,
            t_poll_retransmit: None,
            max_retx: None,
            request_period: None,
            grant: None,
        }
    }
}

impl JsonSchema for Access {
    fn schema_name() -> Cow<'static, str> {
        "Access".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = Word::<Generation>::json_schema(generator);
        let table = generator.subschema_for::<AccessTable>();
        json_schema!({"anyOf": [word, table]})
    }
}
