//! Keys that are read later: what they mean depends on another key of the same table.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::error::Checked;
use crate::span::Span;
use crate::{Located, problem};

/// A table whose keys are known by name: [`crate::table!`] makes one.
pub trait Table: DeserializeOwned + JsonSchema {
    /// Its keys, in the order in which people read them.
    const KEYS: &'static [&'static str];
    /// Older names of some of them, which are still read.
    const OLDER_KEYS: &'static [&'static str];
}

/// Declares a table of a file: each key with its description, which the JSON Schema shows, its older name if it has one that
/// is still read (`key (once "older"): Type`), and its type. All may be absent.
#[macro_export]
macro_rules! table {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $key:ident $((once $older:literal))?: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Default, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* $(#[serde(alias = $older)])? pub(crate) $key: Option<$crate::Located<$type>>,)*
        }

        impl $crate::Table for $name {
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
            const OLDER_KEYS: &'static [&'static str] = &[$($($older,)?)*];
        }
    };
}

/// Keys and values as they stand in the file.
#[derive(Clone, Debug, Default)]
pub struct Deferred(Vec<(Located<String>, Located<Value>)>);

impl Deferred {
    /// Takes in the value of a key that a map has just given.
    ///
    /// # Errors
    /// Those of the map.
    pub fn insert<'de, A: MapAccess<'de>>(
        &mut self,
        key: Located<String>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        self.0.push((key, map.next_value()?));
        Ok(())
    }

    /// The keys, and where they stand.
    pub fn keys(&self) -> impl Iterator<Item = (&str, Span)> {
        self.0.iter().map(|(key, _)| (key.value.as_str(), key.span.clone()))
    }

    /// Reads them as a table.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn read<T: Table>(&self) -> Checked<T> {
        let mut table = DeTable::new();
        for (key, value) in &self.0 {
            let toml = value.value.as_toml().map_err(|error| problem(&error, &[]))?;
            let key = Spanned::new(key.span.clone(), Cow::Borrowed(key.value.as_str()));
            table.insert(key, Spanned::new(value.span.clone(), toml));
        }
        // An error of the whole, such as a key that is there twice, points at a key.
        let span = self.0.last().map_or(0..0, |(key, _)| key.span.clone());
        let deserializer = toml::Deserializer::from(Spanned::new(span, table));
        T::deserialize(deserializer).map_err(|error| problem(&error, &[]))
    }
}

/// A value of any type. Of arrays and tables only that they are some: no key that is read later has one.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(String),
    Boolean(bool),
    Array,
    Table,
}

impl Value {
    fn as_toml(&self) -> Result<DeValue<'_>, toml::de::Error> {
        Ok(match self {
            Self::Text(text) => DeValue::String(Cow::Borrowed(text)),
            Self::Number(number) => DeValue::parse(number)?.into_inner(),
            Self::Boolean(value) => DeValue::Boolean(*value),
            Self::Array => DeValue::Array(DeArray::new()),
            Self::Table => DeValue::Table(DeTable::new()),
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(format!("{value:?}").replace("NaN", "nan")))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Probability, Size};

    table! {
        /// Of a test.
        #[expect(unreachable_pub, reason = "those of other crates are public")]
        Test {
            /// A size.
            size (once "bytes"): Size,
            /// A probability.
            probability: Probability,
            /// A switch.
            on: bool,
        }
    }

    struct Later(Deferred);

    impl<'de> Deserialize<'de> for Later {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(LaterVisitor)
        }
    }

    struct LaterVisitor;

    impl<'de> Visitor<'de> for LaterVisitor {
        type Value = Later;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Later, A::Error> {
            let mut keys = Deferred::default();
            while let Some(key) = map.next_key::<Located<String>>()? {
                keys.insert(key, &mut map)?;
            }
            Ok(Later(keys))
        }
    }

    fn later(text: &str) -> Deferred {
        let table = DeTable::parse(text).unwrap();
        Later::deserialize(toml::Deserializer::from(table)).unwrap().0
    }

    #[test]
    fn what_is_read_later_is_where_it_was() {
        let keys = later("size = \"3kB\"\nprobability = 0.5\non = true");
        let table: Test = keys.read().unwrap();
        assert_eq!(
            table.size.as_ref().map(|size| (size.value.0.get(), size.span.clone())),
            Some((3_000, 7..12))
        );
        assert!((table.probability.unwrap().value.0 - 0.5).abs() < 1e-9);
        assert!(table.on.unwrap().value);
        assert_eq!(
            keys.keys().map(|(key, span)| (key.to_owned(), span.start)).nth(1),
            Some(("probability".to_owned(), 13))
        );
        assert_eq!(Test::KEYS, ["size", "probability", "on"]);
    }

    #[test]
    fn an_older_name_is_read() {
        let table: Test = later("bytes = \"3kB\"").read().unwrap();
        assert_eq!(table.size.map(|size| size.value.0.get()), Some(3_000));
        assert_eq!(Test::OLDER_KEYS, ["bytes"]);
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        for (text, span) in [
            ("on = true\nsize = 3", 17..18),
            ("size = [\"3kB\"]", 7..14),
            ("size = {a = 1}", 7..14),
            ("probability = nan", 14..17),
            ("sise = \"3kB\"", 0..4),
            ("on = true\nbytes = \"3kB\"\nsize = \"3kB\"", 24..28),
        ] {
            let Err(problem) = later(text).read::<Test>() else { panic!("{text}") };
            assert_eq!(problem.span, span, "{text}");
        }
    }
}
