//! Quantities as text: `"20ms"`, `"2Mbit/s"`, `"1500B"`, `"50pkt"`. One definition for the scenario file, messages
//! and reports.

use std::fmt;

use crate::{BitRate, Bytes, Db, Dbm, Duration, Length, Speed};

/// The units in which one kind of quantity is written, largest first.
pub struct Units {
    /// What a value is, for messages: "a duration".
    pub what: &'static str,
    /// An example of a right value.
    pub example: &'static str,
    /// Suffix and its size in the base unit.
    table: &'static [(&'static str, u64)],
    /// The largest value that makes sense, in the base unit: keeps every sum of a few of them in range.
    max: u64,
}

/// Nanoseconds.
pub const DURATION: Units = Units {
    what: "a duration",
    example: "20ms",
    table: &[
        ("h", 3_600_000_000_000),
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ],
    max: u64::MAX / 64,
};

/// Bits per second.
pub const BIT_RATE: Units = Units {
    what: "a bit rate",
    example: "2Mbit/s",
    table: &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)],
    max: 1_000_000_000_000_000,
};

/// Bytes.
pub const BYTES: Units = Units {
    what: "a byte count",
    example: "64kB",
    table: &[
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("kB", 1_000),
        ("B", 1),
    ],
    max: u64::MAX / 64,
};

/// Packets.
pub const PACKETS: Units =
    Units { what: "a packet count", example: "50pkt", table: &[("pkt", 1)], max: u32::MAX as u64 };

/// Hundredths of a percent: basis points.
pub const SHARE: Units =
    Units { what: "a share", example: "2%", table: &[("%", 100), ("bp", 1)], max: 10_000 };

/// Millimetres.
pub const LENGTH: Units = Units {
    what: "a length",
    example: "33m",
    table: &[("km", 1_000_000), ("m", 1_000), ("cm", 10), ("mm", 1)],
    max: 1_000_000_000_000,
};

/// Millimetres per hour: both units that people use are whole numbers of it.
pub const SPEED: Units = Units {
    what: "a speed",
    example: "1.5m/s",
    table: &[("m/s", 3_600_000), ("km/h", 1_000_000), ("mm/h", 1)],
    max: 1_000_000_000_000,
};

/// Thousandths of a decibel.
pub const DECIBELS: Units = Units {
    what: "a difference of signals",
    example: "6dB",
    table: &[("dB", 1_000), ("mdB", 1)],
    max: 1_000_000,
};

/// Thousandths of a dBm, without the sign.
pub const DBM: Units =
    Units { what: "a signal", example: "-82dBm", table: &[("dBm", 1_000), ("mdBm", 1)], max: 1_000_000 };

/// Why a text is not a quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// What was wanted and what stood there, one sentence.
    pub message: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UnitError {}

impl Units {
    /// The suffixes, largest unit first.
    pub fn suffixes(&self) -> impl Iterator<Item = &'static str> {
        self.table.iter().map(|&(name, _)| name)
    }

    /// The value of `text` in the base unit: a decimal number and a suffix, with or without a space between.
    ///
    /// # Errors
    /// Where the number or the suffix is missing or unknown, or the value is not a whole number of base units or
    /// out of range.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, suffix) = (&trimmed[..end], trimmed[end..].trim_start());
        let scale = self.table.iter().find(|(name, _)| *name == suffix).map(|&(_, scale)| scale);
        let value = scale.and_then(|scale| decimal(number, scale));
        value.filter(|&v| v <= self.max).ok_or_else(|| self.error(text, number, suffix, scale))
    }

    fn error(&self, text: &str, number: &str, suffix: &str, scale: Option<u64>) -> UnitError {
        let names: Vec<&str> = self.table.iter().map(|&(name, _)| name).collect();
        let why = if number.is_empty() {
            "it has no number".to_owned()
        } else if suffix.is_empty() {
            format!("it has no unit (one of {})", names.join(", "))
        } else if scale.is_none() {
            format!("`{suffix}` is not one of {}", names.join(", "))
        } else {
            format!("it is out of range or finer than 1{}", names[names.len() - 1])
        };
        UnitError { message: format!("`{text}` is not {} such as \"{}\": {why}", self.what, self.example) }
    }
}

/// `number * scale` where that is whole; exact, no floating point.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let base = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    if fraction.is_empty() {
        return Some(base);
    }
    let numerator = fraction.parse::<u128>().ok()? * u128::from(scale);
    let denominator = 10u128.pow(fraction.len() as u32);
    (numerator % denominator == 0)
        .then(|| base.checked_add(u64::try_from(numerator / denominator).ok()?))
        .flatten()
}

/// Writes `value` in the largest unit that needs at most three decimals, so that it parses back to the same value. A
/// power of two is written as people write it: `4MiB`, not `4194.304kB`.
pub(crate) fn format(f: &mut fmt::Formatter<'_>, value: u64, units: &Units) -> fmt::Result {
    let exact =
        |&&(_, scale): &&(&str, u64)| value >= scale && u128::from(value) * 1000 % u128::from(scale) == 0;
    let binary = |name: &str| name.ends_with("iB");
    let few = |&&(name, scale): &&(&str, u64)| {
        binary(name) && value >= scale && value.is_multiple_of(scale) && value / scale < 1024
    };
    let decimal = units.table.iter().filter(|(name, _)| !binary(name)).find(exact);
    let &(name, scale) = decimal
        .filter(|(_, scale)| value.is_multiple_of(*scale))
        .or_else(|| units.table.iter().find(few))
        .or(decimal)
        .unwrap_or(&units.table[units.table.len() - 1]);
    let thousandths = u128::from(value % scale) * 1000 / u128::from(scale);
    if thousandths == 0 {
        return write!(f, "{}{name}", value / scale);
    }
    let digits = format!("{thousandths:03}");
    write!(f, "{}.{}{name}", value / scale, digits.trim_end_matches('0'))
}

macro_rules! from_str {
    ($type:ty, $units:expr, $make:expr) => {
        impl std::str::FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                $units.parse(text).map($make)
            }
        }
    };
}

from_str!(Duration, DURATION, Duration::from_nanos);
from_str!(BitRate, BIT_RATE, BitRate::from_bps);
from_str!(Bytes, BYTES, Bytes);
from_str!(Length, LENGTH, Length);
from_str!(Speed, SPEED, Speed::from_mm_per_hour);
// The largest value fits.
from_str!(Db, DECIBELS, |mdb| Db(mdb as i32));

impl std::str::FromStr for Dbm {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (sign, number) = match text.trim().strip_prefix('-') {
            Some(number) => (-1, number),
            None => (1, text),
        };
        // The largest value fits.
        DBM.parse(number).map(|mdbm| Self(sign * mdbm as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_units_parse() {
        assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("0.5 s".parse(), Ok(Duration::from_millis(500)));
        assert_eq!("2Mbit/s".parse(), Ok(BitRate::from_bps(2_000_000)));
        assert_eq!("1.5kB".parse(), Ok(Bytes(1500)));
        assert_eq!(PACKETS.parse("50pkt"), Ok(50));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("20", "no unit"),
            ("ms", "no number"),
            ("20 parsec", "`parsec` is not one of"),
            ("0.1ns", "finer than 1ns"),
            ("1.s", "finer"),
            ("99999999999999999999s", "out of range"),
            ("-1s", "no number"),
            ("", "no number"),
            ("1e3s", "`e3s` is not one of"),
        ] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_printed_parses_back() {
        for nanos in [0, 1, 999, 1_000, 1_500, 20_000_000, 1_234_567_891, 90_000_000_000, 3_600_000_000_000] {
            let d = Duration::from_nanos(nanos);
            assert_eq!(d.to_string().parse(), Ok(d), "{d}");
        }
        assert_eq!(Duration::from_millis(1500).to_string(), "1.5s");
        assert_eq!(BitRate::from_bps(20_000_000).to_string(), "20Mbit/s");
        assert_eq!(Length(33_000).to_string(), "33m");
        for speed in ["1.5m/s", "5km/h", "4m/s"] {
            assert_eq!(speed.parse::<Speed>().unwrap().to_string().parse(), speed.parse::<Speed>());
        }
        for level in [-82_000, -50_123, 0, 20_000, 999, -1] {
            assert_eq!(Dbm(level).to_string().parse(), Ok(Dbm(level)));
        }
        assert_eq!(Dbm(-50_500).to_string(), "-50.5dBm");
    }

    #[test]
    fn byte_counts_are_written_as_people_write_them() {
        for (bytes, text) in [
            (4 << 20, "4MiB"),
            (256 << 20, "256MiB"),
            (3 << 30, "3GiB"),
            (65_536, "64KiB"),
            (1_024, "1KiB"),
            (512_000, "512kB"),
            (16_000_000, "16MB"),
            (2_048_000, "2.048MB"),
            (1_500, "1.5kB"),
            (65_535, "65.535kB"),
            (1_234_567, "1234.567kB"),
            (999, "999B"),
            (0, "0B"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
    }

    #[test]
    fn speeds_in_both_units_are_exact() {
        assert_eq!("3.6km/h".parse::<Speed>(), "1m/s".parse());
        assert!("--5dBm".parse::<Dbm>().is_err() && "5dBm ".parse::<Dbm>().is_ok());
    }
}
