//! `queue`: a limit, a discipline's name, or a table of a discipline and its parameters.

use std::borrow::Cow;
use std::fmt;

use handfast_core::units::{BYTES, DURATION, PACKETS, SHARE};
use handfast_document::{pattern_of, quantity, read_quantity};
use handfast_net::queue::{Parameter, Value};
use handfast_net::{Queue as Discipline, QueueLimit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, json};

use super::Located;
use super::quantity::{Packets, Quantity};

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

/// A queue as it is written.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    /// In one word.
    Word(Discipline),
    /// The keys of a table, in the order of the file: `discipline` and its parameters.
    Table(Vec<(Located<String>, Located<Text>)>),
}

/// A value that is read once it is known what it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Text(pub(crate) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_quantity(deserializer)
    }
}

impl Quantity for Text {
    const EXPECTED: &'static str = "a value such as \"5ms\" or \"1000pkt\"";
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
    fn pattern() -> String {
        String::new()
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) Option<QueueLimit>);

impl Quantity for Limit {
    const EXPECTED: &'static str = "a queue such as \"100pkt\", \"64kB\" or \"unlimited\"";
    fn read(text: &str) -> Result<Self, String> {
        // A queue that holds no full-sized packet passes none.
        const LEAST: u64 = 1500;
        if text == UNLIMITED {
            return Ok(Self(None));
        }
        if let Ok(Packets(packets)) = Packets::read(text) {
            return Ok(Self(Some(QueueLimit::Packets(packets))));
        }
        match BYTES.parse(text) {
            Ok(bytes) if bytes >= LEAST => Ok(Self(Some(QueueLimit::Bytes(handfast_core::Bytes(bytes))))),
            Ok(_) => Err(format!("a queue below {LEAST}B holds no full-sized packet")),
            Err(_) => Err(format!("`{text}` is not {}", Self::EXPECTED)),
        }
    }
    fn pattern() -> String {
        format!("^{UNLIMITED}$|{}", pattern_of(&[&PACKETS, &BYTES]))
    }
}
quantity!(Limit);

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QueueVisitor)
    }
}

struct QueueVisitor;

impl<'de> Visitor<'de> for QueueVisitor {
    type Value = Queue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a table such as {{discipline = \"codel\"}}", Limit::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Queue, E> {
        if let Some(discipline) = Discipline::named(text) {
            return Ok(Queue::Word(discipline));
        }
        let is_word = text != UNLIMITED && text.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_word {
            return Err(unknown(text));
        }
        let Limit(limit) = Limit::read(text).map_err(E::custom)?;
        Ok(Queue::Word(Discipline::drop_tail(limit)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Queue, E> {
        Err(E::custom(format_args!("`{number}` has no unit: expected {}", Limit::EXPECTED)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Queue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Queue::Table(entries))
    }
}

/// The message has serde's form, so that all unknown words are reported alike.
fn unknown<E: Error>(word: &str) -> E {
    let names: Vec<String> =
        Discipline::all().iter().map(|discipline| format!("`{}`", discipline.config().name())).collect();
    E::custom(format_args!("unknown variant `{word}`, expected one of `{UNLIMITED}`, {}", names.join(", ")))
}

impl JsonSchema for Queue {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let limit = json!({"type": "string", "pattern": Limit::pattern()});
        let mut all = Discipline::all();
        let words: Vec<_> = all
            .iter()
            .map(|one| json!({"const": one.config().name(), "description": one.config().about()}))
            .collect();
        let tables = all.iter_mut().map(table);
        let any: Vec<_> = [limit, json!({"oneOf": words})].into_iter().chain(tables).collect();
        json_schema!({"anyOf": any})
    }
}

/// The schema of a discipline's table.
fn table(discipline: &mut Discipline) -> serde_json::Value {
    let (name, about) = (discipline.config().name(), discipline.config().about());
    let mut properties = Map::new();
    properties.insert("discipline".to_owned(), json!({"const": name, "description": about}));
    for Parameter { key, about, value } in discipline.config_mut().parameters() {
        let pattern = match value {
            Value::Limit(_) => Limit::pattern(),
            Value::Time(_) => pattern_of(&[&DURATION]),
            Value::Size(_) => pattern_of(&[&BYTES]),
            Value::Packets(_) => pattern_of(&[&PACKETS]),
            Value::Share(_) | Value::Part(_) => pattern_of(&[&SHARE]),
        };
        let description = format!("{about}. Default: \"{value}\".");
        let schema = json!({"type": "string", "pattern": pattern, "description": description});
        properties.insert(key.to_owned(), schema);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["discipline"],
        "additionalProperties": false,
    })
}
