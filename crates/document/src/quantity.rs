//! Values with units: strings that are right or an error.

use std::borrow::Cow;
use std::fmt;

use handfast_core::units::{BIT_RATE, BYTES, DECIBELS, DURATION, PACKETS, UnitError, Units};
use handfast_core::{BitRate, Bytes, Db, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::Located;
use crate::error::{Checked, Problem};

/// A type that the file writes as text with a unit.
pub trait Quantity: Sized {
    /// What it is and an example, for "expected …".
    const EXPECTED: &'static str;
    /// The value that `text` stands for, or what is wrong with it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(text: &str) -> Result<Self, String>;
    /// A regular expression of right texts.
    fn pattern() -> String;
    /// The value of a plain integer, for those that may be written so.
    fn of_integer(_: i64) -> Option<Result<Self, String>> {
        None
    }
}

struct QuantityVisitor<T>(std::marker::PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let read = T::of_integer(number);
        read.unwrap_or_else(|| Err(format!("`{number}` has no unit: expected {}", T::EXPECTED)))
            .map_err(E::custom)
    }
}

/// Reads a quantity as serde reads values.
///
/// # Errors
/// What is wrong with its text.
pub fn read_quantity<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(QuantityVisitor(std::marker::PhantomData))
}

/// Both faces of a quantity: how serde reads it and what the schema says.
#[macro_export]
macro_rules! quantity {
    ($type:ty) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read_quantity(deserializer)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                use $crate::Quantity;
                let text = ::serde_json::json!({"type": "string", "pattern": Self::pattern()});
                match Self::of_integer(1460) {
                    Some(_) => ::schemars::json_schema!({"anyOf": [text, {"type": "integer", "minimum": 1}]}),
                    None => ::schemars::json_schema!({"type": "string", "pattern": Self::pattern()}),
                }
            }
        }
    };
}

/// The value of `text` in the base unit.
///
/// # Errors
/// What is wrong with it.
pub fn parse_units(units: &Units, text: &str) -> Result<u64, String> {
    units.parse(text).map_err(|error| error.message)
}

/// A regular expression of what is written in these units.
pub fn pattern_of(units: &[&Units]) -> String {
    let suffixes: Vec<&str> = units.iter().flat_map(|units| units.suffixes()).collect();
    format!("^\\s*[0-9]+(\\.[0-9]+)?\\s*({})\\s*$", suffixes.join("|"))
}

/// A duration.
#[derive(Clone, Copy, Debug)]
pub struct TimeSpan(pub Duration);

impl Quantity for TimeSpan {
    const EXPECTED: &'static str = "a duration such as \"20ms\"";
    fn read(text: &str) -> Result<Self, String> {
        parse_units(&DURATION, text).map(|nanos| Self(Duration::from_nanos(nanos)))
    }
    fn pattern() -> String {
        pattern_of(&[&DURATION])
    }
}
quantity!(TimeSpan);

/// A difference of signals.
#[derive(Clone, Copy, Debug)]
pub struct Decibels(pub Db);

impl Quantity for Decibels {
    const EXPECTED: &'static str = "a difference of signals such as \"6dB\"";
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: UnitError| error.message)
    }
    fn pattern() -> String {
        pattern_of(&[&DECIBELS])
    }
}
quantity!(Decibels);

/// A ratio of signals, of which either may be the larger.
#[derive(Clone, Copy, Debug)]
pub struct SignalRatio(pub Db);

impl Quantity for SignalRatio {
    const EXPECTED: &'static str = "a ratio of signals such as \"-5dB\"";
    fn read(text: &str) -> Result<Self, String> {
        let (sign, size) = match text.trim().strip_prefix('-') {
            Some(size) => (-1, size),
            None => (1, text),
        };
        Decibels::read(size).map(|Decibels(Db(size))| Self(Db(sign * size)))
    }
    fn pattern() -> String {
        Decibels::pattern().replacen("[0-9]", "-?[0-9]", 1)
    }
}
quantity!(SignalRatio);

/// What a rate of zero is told.
pub const ZERO_RATE: &str = "a rate of zero passes nothing, ever";

/// A bit rate above zero.
#[derive(Clone, Copy, Debug)]
pub struct Rate(pub BitRate);

impl Quantity for Rate {
    const EXPECTED: &'static str = "a bit rate such as \"2Mbit/s\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse_units(&BIT_RATE, text)? {
            0 => Err(ZERO_RATE.to_owned()),
            bps => Ok(Self(BitRate::from_bps(bps))),
        }
    }
    fn pattern() -> String {
        pattern_of(&[&BIT_RATE])
    }
}
quantity!(Rate);

/// A number of bytes above zero.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub Bytes);

impl Quantity for Size {
    const EXPECTED: &'static str = "a byte count such as \"64kB\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse_units(&BYTES, text)? {
            0 => Err("expected at least one byte".to_owned()),
            bytes => Ok(Self(Bytes(bytes))),
        }
    }
    fn pattern() -> String {
        pattern_of(&[&BYTES])
    }
}
quantity!(Size);

/// A number of packets above zero.
#[derive(Clone, Copy, Debug)]
pub struct Packets(pub u32);

impl Quantity for Packets {
    const EXPECTED: &'static str = "a packet count such as \"50pkt\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse_units(&PACKETS, text)? {
            0 => Err("expected at least one packet".to_owned()),
            packets => u32::try_from(packets).map(Self).map_err(|error| error.to_string()),
        }
    }
    fn pattern() -> String {
        pattern_of(&[&PACKETS])
    }
}
quantity!(Packets);

/// A probability.
#[derive(Clone, Copy, Debug)]
pub struct Probability(pub f64);

impl Probability {
    /// The probability that a number is.
    ///
    /// # Errors
    /// It is none.
    pub fn check<E: Error>(p: f64) -> Result<Self, E> {
        // NaN is in no range.
        let right = (0.0..=1.0).contains(&p);
        right
            .then_some(Self(p))
            .ok_or_else(|| E::custom(format_args!("`{p}` is not a probability between 0 and 1")))
    }
}

struct ProbabilityVisitor;

impl Visitor<'_> for ProbabilityVisitor {
    type Value = Probability;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probability between 0 and 1")
    }
    fn visit_f64<E: Error>(self, p: f64) -> Result<Probability, E> {
        Probability::check(p)
    }
    fn visit_i64<E: Error>(self, p: i64) -> Result<Probability, E> {
        Probability::check(p as f64)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ProbabilityVisitor)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

/// A time above zero: that of `key`.
///
/// # Errors
/// It is zero.
pub fn positive(given: &Located<TimeSpan>, key: &str) -> Checked<Duration> {
    let zero =
        || Problem::at(given.span.clone(), format!("`{key}` is zero")).expected("expected a longer time");
    if given.value.0 == Duration::ZERO { Err(zero()) } else { Ok(given.value.0) }
}
