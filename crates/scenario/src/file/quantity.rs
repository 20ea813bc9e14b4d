//! Values with units that only scenarios have, and probabilities.

use std::borrow::Cow;
use std::fmt;

use handfast_core::units::{BIT_RATE, BYTES, DBM, DECIBELS, LENGTH, SPEED};
use handfast_core::{Db, Dbm, Length, Speed};
pub(crate) use handfast_document::{Packets, Quantity, Rate, Size, TimeSpan as Span};
use handfast_document::{parse_units, pattern_of, quantity};
use handfast_tcp::QuickStartRequest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A maximum segment size: bytes, and as the one byte count that is often a bare number in the literature, an
/// integer as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSize(pub(crate) u16);

impl SegmentSize {
    // RFC 9293 §3.7.1: 536 is the default, less is legal; below 64 the options leave hardly any payload. Above, a
    // packet of 65,535 bytes less 20 of IPv4 and 20 of TCP.
    const BOUNDS: std::ops::RangeInclusive<u64> = 64..=65_495;

    fn check(bytes: u64) -> Result<Self, String> {
        let (low, high) = (Self::BOUNDS.start(), Self::BOUNDS.end());
        let right = Self::BOUNDS.contains(&bytes);
        right
            .then_some(Self(bytes as u16))
            .ok_or_else(|| format!("expected a segment size of {low}B to {high}B"))
    }
}

impl Quantity for SegmentSize {
    const EXPECTED: &'static str = "a segment size such as \"1460B\"";
    fn read(text: &str) -> Result<Self, String> {
        Self::check(parse_units(&BYTES, text)?)
    }
    fn pattern() -> String {
        pattern_of(&[&BYTES])
    }
    fn of_integer(number: i64) -> Option<Result<Self, String>> {
        Some(Self::check(u64::try_from(number).unwrap_or(0)))
    }
}
quantity!(SegmentSize);

/// What a sender asks the routers for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedRate(pub(crate) QuickStartRequest);

impl Quantity for AskedRate {
    const EXPECTED: &'static str = "a rate such as \"10Mbit/s\", \"access\" or \"off\"";
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(QuickStartRequest::Off)),
            "access" => Ok(Self(QuickStartRequest::Access)),
            _ => match Rate::read(text) {
                Ok(Rate(rate)) => Ok(Self(QuickStartRequest::Rate(rate))),
                Err(_) => Err(format!("`{text}` is not {}", Self::EXPECTED)),
            },
        }
    }
    fn pattern() -> String {
        format!("^(off|access)$|{}", pattern_of(&[&BIT_RATE]))
    }
}
quantity!(AskedRate);

/// Declares a quantity that core reads.
macro_rules! of_core {
    ($(#[$doc:meta] $name:ident($type:ty), $units:ident, $expected:literal, $sign:literal;)*) => {
        $(
            #[$doc]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name(pub(crate) $type);

            impl Quantity for $name {
                const EXPECTED: &'static str = $expected;
                fn read(text: &str) -> Result<Self, String> {
                    text.parse().map(Self).map_err(|error: handfast_core::units::UnitError| error.message)
                }
                fn pattern() -> String {
                    pattern_of(&[&$units]).replacen('^', concat!("^", $sign), 1)
                }
            }
            quantity!($name);
        )*
    };
}

of_core! {
    /// A length.
    Metres(Length), LENGTH, "a length such as \"33m\"", "";
    /// A speed.
    Pace(Speed), SPEED, "a speed such as \"1.5m/s\" or \"5km/h\"", "";
    /// A signal.
    Level(Dbm), DBM, "a signal such as \"-82dBm\"", "-?";
    /// A ratio of signals.
    Decibels(Db), DECIBELS, "a difference of signals such as \"6dB\"", "";
}

/// A probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probability(pub(crate) f64);

impl Probability {
    pub(crate) fn check<E: Error>(p: f64) -> Result<Self, E> {
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
