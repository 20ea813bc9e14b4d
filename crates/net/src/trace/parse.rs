//! Which reader a text is for.

use super::text::{TraceError, check_length, told};
use super::{AtEnd, Trace, csv, mahimahi};

impl Trace {
    /// Reads a text: mahimahi's format where each line is a number, or else lines of comma-separated values under names
    /// such as `time_s,rate_mbps,delay_ms,loss`.
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn parse(text: &str, at_end: AtEnd) -> Result<Self, TraceError> {
        check_length(text)?;
        let first = told(text).next().map_or("", |(_, line)| line);
        if first.contains(|c: char| c == ',' || c.is_alphabetic()) {
            return csv::read(text, at_end);
        }
        mahimahi::read(text, at_end)
    }
}
