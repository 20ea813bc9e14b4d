//! Agents of a scheme. Which keys one has depends on its kind: they are read when that is known.

use std::borrow::Cow;
use std::fmt;

use handfast_assist::AgentKind;
use handfast_document::{Deferred, Located};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value, json};

/// Help in the path.
pub(crate) struct AgentTable {
    /// The kind of agent.
    pub(crate) kind: Located<String>,
    /// The nodes it is attached to: "role:" and a role that nodes of the topology play.
    pub(crate) at: Located<String>,
    /// Those of its kind.
    pub(crate) keys: Deferred,
}

impl<'de> Deserialize<'de> for AgentTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AgentVisitor)
    }
}

struct AgentVisitor;

impl<'de> Visitor<'de> for AgentVisitor {
    type Value = AgentTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table such as {kind = \"snoop\", at = \"role:base-station\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentTable, A::Error> {
        let (mut kind, mut at, mut keys) = (None, None, Deferred::default());
        while let Some(key) = map.next_key::<Located<String>>()? {
            match key.value.as_str() {
                "kind" => kind = Some(map.next_value()?),
                "at" => at = Some(map.next_value()?),
                _ => keys.insert(key, &mut map)?,
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        let at = at.ok_or_else(|| A::Error::missing_field("at"))?;
        Ok(AgentTable { kind, at, keys })
    }
}

impl JsonSchema for AgentTable {
    fn schema_name() -> Cow<'static, str> {
        "AgentTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds: Vec<Value> = AgentKind::ALL
            .iter()
            .map(|kind| {
                let own = (kind.schema)(generator).to_value();
                let mut properties = own.get("properties").cloned().unwrap_or_else(|| json!({}));
                properties["kind"] = json!({"const": kind.word, "description": kind.summary});
                properties["at"] = json!({
                    "type": "string",
                    "description": "The nodes it is attached to: \"role:\" and a role that nodes of the topology play.",
                });
                json!({
                    "type": "object",
                    "properties": properties,
                    "required": ["kind", "at"],
                    "additionalProperties": false,
                })
            })
            .collect();
        json_schema!({"description": "Help in the path.", "oneOf": kinds})
    }
}
