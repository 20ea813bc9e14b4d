//! Values with units, and probabilities: strings and numbers that are right or an error.

use std::borrow::Cow;
use std::fmt;

use handfast_core::units::{BIT_RATE, BYTES, DURATION, PACKETS, Units};
use handfast_core::{BitRate, Bytes, Duration};
use handfast_net::QueueLimit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A type that the file writes as text with a unit.
pub(crate) trait Quantity: Sized {
    /// What it is and an example, for "expected …".
    const EXPECTED: &'static str;
    /// The value that `text` stands for, or what is wrong with it.
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

/// Both faces of a quantity: how serde reads it and what the schema says.
macro_rules! quantity {
    ($type:ty) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(std::marker::PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let text = serde_json::json!({"type": "string", "pattern": Self::pattern()});
                match Self::of_integer(1460) {
                    Some(_) => json_schema!({"anyOf": [text, {"type": "integer", "minimum": 1}]}),
                    None => json_schema!({"type": "string", "pattern": Self::pattern()}),
                }
            }
        }
    };
}

fn parse(units: &Units, text: &str) -> Result<u64, String> {
    units.parse(text).map_err(|error| error.message)
}

fn pattern_of(units: &[&Units]) -> String {
    let suffixes: Vec<&str> = units.iter().flat_map(|units| units.suffixes()).collect();
    format!("^\\s*[0-9]+(\\.[0-9]+)?\\s*({})\\s*$", suffixes.join("|"))
}

/// A duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span(pub(crate) Duration);

impl Quantity for Span {
    const EXPECTED: &'static str = "a duration such as \"20ms\"";
    fn read(text: &str) -> Result<Self, String> {
        parse(&DURATION, text).map(|nanos| Self(Duration::from_nanos(nanos)))
    }
    fn pattern() -> String {
        pattern_of(&[&DURATION])
    }
}
quantity!(Span);

/// A bit rate above zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(pub(crate) BitRate);

impl Quantity for Rate {
    const EXPECTED: &'static str = "a bit rate such as \"2Mbit/s\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse(&BIT_RATE, text)? {
            0 => Err(
                "a rate of zero passes nothing, ever: for a link that is gone for a while use an event with \
                 do = \"outage\""
                    .to_owned(),
            ),
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
pub(crate) struct Size(pub(crate) Bytes);

impl Quantity for Size {
    const EXPECTED: &'static str = "a byte count such as \"64kB\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse(&BYTES, text)? {
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
pub(crate) struct Packets(pub(crate) u32);

impl Quantity for Packets {
    const EXPECTED: &'static str = "a packet count such as \"50pkt\"";
    fn read(text: &str) -> Result<Self, String> {
        match parse(&PACKETS, text)? {
            0 => Err("expected at least one packet".to_owned()),
            packets => u32::try_from(packets).map(Self).map_err(|error| error.to_string()),
        }
    }
    fn pattern() -> String {
        pattern_of(&[&PACKETS])
    }
}
quantity!(Packets);

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
        Self::check(parse(&BYTES, text)?)
    }
    fn pattern() -> String {
        pattern_of(&[&BYTES])
    }
    fn of_integer(number: i64) -> Option<Result<Self, String>> {
        Some(Self::check(u64::try_from(number).unwrap_or(0)))
    }
}
quantity!(SegmentSize);

/// A queue's limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue(pub(crate) Option<QueueLimit>);

impl Quantity for Queue {
    const EXPECTED: &'static str = "a queue such as \"100pkt\", \"64kB\" or \"unlimited\"";
    fn read(text: &str) -> Result<Self, String> {
        // A queue that holds no full-sized packet passes none.
        const LEAST: u64 = 1500;
        if text == "unlimited" {
            return Ok(Self(None));
        }
        if let Ok(Packets(packets)) = Packets::read(text) {
            return Ok(Self(Some(QueueLimit::Packets(packets))));
        }
        match BYTES.parse(text) {
            Ok(bytes) if bytes >= LEAST => Ok(Self(Some(QueueLimit::Bytes(Bytes(bytes))))),
            Ok(_) => Err(format!("a queue below {LEAST}B holds no full-sized packet")),
            Err(_) => Err(format!("`{text}` is not {}", Self::EXPECTED)),
        }
    }
    fn pattern() -> String {
        format!("^unlimited$|{}", pattern_of(&[&PACKETS, &BYTES]))
    }
}
quantity!(Queue);

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
