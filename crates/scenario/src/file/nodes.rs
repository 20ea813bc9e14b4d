//! `[nodes]`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use super::quantity::{Level, Metres};
use super::radio::{At, MobilityKind};
use super::words::Word;
use super::{Located, Name};
use crate::model::NodeKind;

/// A node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// What it is.
    pub(crate) kind: Word<NodeKind>,
    /// The role it plays: schemes attach their agents to roles, not to names.
    pub(crate) role: Option<Located<Name>>,
    /// `station`: the access point that it is associated with at the start. A list: it has a radio for each of them, and is with all of
    /// them at once, from the start on; the first is its primary one. Default: that of its first link to one.
    pub(crate) ap: Option<Located<AccessPoints>>,
    /// `ap`, `station`: where it is at the start, in metres.
    pub(crate) at: Option<Located<At>>,
    /// `ap`: the IP network that it belongs to: a station that goes from one network to another gets another address, and its
    /// connections have lost theirs (a vertical handover); in the simulator only. Default: access points that name none are one
    /// network.
    pub(crate) network: Option<Located<Name>>,
    /// `ap`: its channel. Default: 1.
    pub(crate) channel: Option<Located<u8>>,
    /// `ap`: what it sends with. Default: "20dBm".
    pub(crate) power: Option<Located<Level>>,
    /// `ap`: how far away it is understood. Default: as far as 6 Mbit/s must be, -82 dBm.
    pub(crate) range: Option<Located<Metres>>,
    /// `station`: how it moves; with `[radio]`.
    pub(crate) mobility: Option<Located<MobilityKind>>,
}

/// The access points of a station's radios: one name, or a list of names.
#[derive(Clone, Debug)]
pub(crate) struct AccessPoints(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for AccessPoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AccessPointsVisitor).map(Self)
    }
}

struct AccessPointsVisitor;

impl<'de> Visitor<'de> for AccessPointsVisitor {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an access point, or a list of names")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Vec<String>, E> {
        Ok(vec![name.to_owned()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<String>, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = seq.next_element::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("`{name}` stands there twice")));
            }
            names.push(name);
        }
        if names.is_empty() {
            return Err(A::Error::custom("expected an access point at least"));
        }
        Ok(names)
    }
}

impl JsonSchema for AccessPoints {
    fn schema_name() -> Cow<'static, str> {
        "AccessPoints".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}
        ]})
    }
}
