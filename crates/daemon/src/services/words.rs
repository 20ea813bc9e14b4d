//! Words and numbers that the configurations of several services have.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::process::Level;

/// Whether it acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::services) enum ModeWord {
    /// It says what it would do.
    #[default]
    Observe,
    /// It does it.
    Act,
}

/// What is logged.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::services) enum LogWord {
    /// Only what ends it.
    Error,
    /// And what somebody should look at.
    Warn,
    /// And what happens to switches and stations.
    #[default]
    Info,
    /// And every order to a switch, and connections to the association socket.
    Debug,
}

impl From<LogWord> for Level {
    fn from(word: LogWord) -> Self {
        match word {
            LogWord::Error => Self::Error,
            LogWord::Warn => Self::Warn,
            LogWord::Info => Self::Info,
            LogWord::Debug => Self::Debug,
        }
    }
}

const DATAPATH_ID: &str = "a datapath id of 16 hexadecimal digits such as \"0000000000000001\"";

/// A switch's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::services) struct DatapathId(pub(in crate::services) u64);

impl<'de> Deserialize<'de> for DatapathId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DatapathIdVisitor)
    }
}

struct DatapathIdVisitor;

impl Visitor<'_> for DatapathIdVisitor {
    type Value = DatapathId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DATAPATH_ID)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<DatapathId, E> {
        let right = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let id = u64::from_str_radix(text, 16).ok().filter(|_| right).map(DatapathId);
        id.ok_or_else(|| E::custom(format!("expected {DATAPATH_ID}")))
    }
}

impl fmt::Display for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl JsonSchema for DatapathId {
    fn schema_name() -> Cow<'static, str> {
        "DatapathId".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9A-Fa-f]{16}$"})
    }
}

/// The 32 bytes of 64 hexadecimal digits.
pub(in crate::services) fn hex_key(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes().as_chunks::<2>();
    if digits.0.len() != 32 || !digits.1.is_empty() {
        return None;
    }
    let mut key = [0; 32];
    for (byte, [high, low]) in key.iter_mut().zip(digits.0) {
        let of = |digit: u8| char::from(digit).to_digit(16);
        *byte = (of(*high)? << 4 | of(*low)?) as u8;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_64_hexadecimal_digits() {
        let text = "00ff".repeat(16);
        assert_eq!(hex_key(&text).map(|key| [key[0], key[1], key[31]]), Some([0, 0xff, 0xff]));
        for wrong in ["", &text[1..], &text.replace('f', "g"), &format!("{text}00"), &"é".repeat(32)] {
            assert_eq!(hex_key(wrong), None, "{wrong}");
        }
    }
}
