//! A line as a JSON object: its keys, each known and there once.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

use super::{LineError, quoted};

/// What a line looks like.
const SUCH_AS: &str = "expected one JSON object a line, such as {\"event\": \"status\"}";
/// All that a line may have.
const KEYS: [&str; 7] = ["event", "station", "ap", "epoch", "session", "seq", "stations"];

/// Keys and values in the order in which they came.
pub(super) struct Object(Vec<(String, Value)>);

impl Object {
    pub(super) fn read(line: &[u8]) -> Result<Self, LineError> {
        if line.trim_ascii().is_empty() {
            return Err(LineError::new(&format!("the line is empty: {SUCH_AS}")));
        }
        let object: Self = serde_json::from_slice(line).map_err(|error| in_our_words(&error))?;
        object.check_keys()?;
        Ok(object)
    }

    fn check_keys(&self) -> Result<(), LineError> {
        for (place, (key, _)) in self.0.iter().enumerate() {
            if !KEYS.contains(&key.as_str()) {
                let hint = nearest(key, KEYS.into_iter());
                let key = quoted(key);
                return Err(LineError::new(&format!(
                    "unknown key {key}: expected event, station, ap, epoch, session, seq or stations{hint}"
                )));
            }
            if self.0[..place].iter().any(|(earlier, _)| earlier == key) {
                return Err(LineError::new(&format!(
                    "the key {} is there twice: expected it once",
                    quoted(key)
                )));
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The first key besides these.
    pub(super) fn other_than(&self, keys: &[&str]) -> Option<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !keys.contains(name))
    }
}

/// "; did you mean `x`?", where a name is near.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    handfast_document::nearest(word, names)
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The JSON parser has words of its own, which say nothing to who writes a line.
fn in_our_words(error: &serde_json::Error) -> LineError {
    LineError::new(&match error.classify() {
        Category::Eof => format!("the line ends in the middle of the object: {SUCH_AS}"),
        Category::Data => format!("this is no object: {SUCH_AS}"),
        Category::Syntax | Category::Io => format!("no JSON at column {}: {SUCH_AS}", error.column()),
    })
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Object(entries))
    }
}
