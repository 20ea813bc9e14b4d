//! What all readers of traces share: lines, numbers, and errors that say where.

use std::fmt;

use super::Trace;

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// In which line, counted from 1; 0: in the whole.
    pub line: usize,
    /// At which character of it, counted from 1; 0: in the whole line.
    pub column: usize,
    /// What is wrong there, and what was expected.
    pub why: String,
}

impl TraceError {
    pub(super) fn whole(why: impl Into<String>) -> Self {
        Self { line: 0, column: 0, why: why.into() }
    }

    pub(super) fn line(line: usize, why: impl Into<String>) -> Self {
        Self { line, column: 0, why: why.into() }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.why),
            (line, 0) => write!(f, "line {line}: {}", self.why),
            (line, column) => write!(f, "line {line}, column {column}: {}", self.why),
        }
    }
}

impl std::error::Error for TraceError {}

/// Neither longer nor of more lines than what is read.
pub(super) fn check_length(text: &str) -> Result<(), TraceError> {
    if text.len() > Trace::LONGEST_TEXT {
        return Err(TraceError::whole(format!("longer than {} bytes", Trace::LONGEST_TEXT)));
    }
    if text.lines().nth(Trace::MOST_LINES).is_some() {
        return Err(TraceError::whole(format!("more than {} lines", Trace::MOST_LINES)));
    }
    Ok(())
}

/// The lines that say something, with their numbers: blank ones and those after `#` are passed over.
pub(super) fn told(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// A finite number of no unreasonable length.
pub(super) fn number(text: &str) -> Option<f64> {
    const LONGEST: usize = 40;
    let number = (text.len() <= LONGEST).then(|| text.parse::<f64>().ok())??;
    number.is_finite().then_some(number)
}

/// The beginning of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
