//! Plain integers with bounds.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// Declares an integer with bounds: how serde reads it and what the schema says.
macro_rules! integer {
    ($(#[$doc:meta])* $name:ident: $type:ty = $low:literal..=$high:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(pub(crate) $type);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = i64::deserialize(deserializer)?;
                let right = ($low..=$high).contains(&number);
                let wrong = || D::Error::custom(concat!("expected an integer from ", $low, " to ", $high));
                right.then_some(Self(number as $type)).ok_or_else(wrong)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "integer", "minimum": $low, "maximum": $high})
            }
        }
    };
}

integer! {
    /// A share in thousandths, neither nothing nor everything.
    Permille: u16 = 1..=999
}

integer! {
    /// A number of segments.
    Segments: u8 = 1..=255
}
