//! What is read of recorded movement, and what is said where it cannot be read.

use std::fmt;

use handfast_core::Instant;

use crate::Place;

/// The most lines of a recording.
pub(super) const MOST_LINES: usize = 1_000_000;

/// Somebody was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// When.
    pub at: Instant,
    /// Where.
    pub place: Place,
}

/// Why a text is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// In which line, counted from 1; 0: in the whole.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.why),
            line => write!(f, "line {line}: {}", self.why),
        }
    }
}

impl std::error::Error for RecordingError {}

/// The latest time that a recording may name: a year.
const LATEST: f64 = 31_536_000.0;

/// A time in seconds.
pub(super) fn moment(text: &str) -> Option<Instant> {
    let seconds = number(text).filter(|seconds| (0.0..=LATEST).contains(seconds))?;
    Some(Instant::from_nanos(libm::round(seconds * 1e9) as u64))
}

/// A place in metres.
pub(super) fn place(x: &str, y: &str) -> Option<Place> {
    Place::from_metres(number(x)?, number(y)?)
}

/// A finite number of no unreasonable length.
pub(super) fn number(text: &str) -> Option<f64> {
    const LONGEST: usize = 40;
    let number = (text.len() <= LONGEST).then(|| text.parse::<f64>().ok())??;
    number.is_finite().then_some(number)
}

/// The beginning of a line, for messages.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}
