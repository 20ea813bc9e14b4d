//! Values with units that only scenarios have, and probabilities.

use handfast_core::units::{BIT_RATE, BYTES, DBM, LENGTH, SPEED};
use handfast_core::{Dbm, Length, Speed};
pub(crate) use handfast_document::{
    Decibels, Packets, Probability, Quantity, Rate, SignalRatio, Size, TimeSpan as Span,
};
use handfast_document::{parse_units, pattern_of, quantity};
use handfast_host::app::Notice;
use handfast_tcp::QuickStartRequest;

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

/// When an application notices that its address has gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoticeTime(pub(crate) Notice);

impl Quantity for NoticeTime {
    const EXPECTED: &'static str = "a duration such as \"2s\", or \"address\"";
    fn read(text: &str) -> Result<Self, String> {
        if text == "address" {
            return Ok(Self(Notice::NewAddress));
        }
        match Span::read(text) {
            Ok(Span(after)) => Ok(Self(Notice::After(after))),
            Err(_) => Err(format!("`{text}` is not {}", Self::EXPECTED)),
        }
    }
    fn pattern() -> String {
        format!("^address$|{}", Span::pattern())
    }
}
quantity!(NoticeTime);

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
}
