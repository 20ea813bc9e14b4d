//! Plain integers with bounds.

/// Declares an integer with bounds: how serde reads it and what the schema says.
#[macro_export]
macro_rules! integer {
    ($(#[$doc:meta])* $name:ident: $type:ty = $low:literal..=$high:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(pub(crate) $type);

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = <i64 as ::serde::Deserialize>::deserialize(deserializer)?;
                let right = ($low..=$high).contains(&number);
                let wrong = || <D::Error as ::serde::de::Error>::custom(concat!("expected an integer from ", $low, " to ", $high));
                right.then_some(Self(number as $type)).ok_or_else(wrong)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({"type": "integer", "minimum": $low, "maximum": $high})
            }
        }
    };
}
