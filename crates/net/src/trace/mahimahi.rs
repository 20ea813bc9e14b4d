//! mahimahi's files: a line is a millisecond at which one packet may leave.

use super::opportunities::Opportunities;
use super::text::{TraceError, excerpt, told};
use super::{AtEnd, Trace};

/// The latest millisecond: a week.
const LATEST: u32 = 7 * 86_400_000;

/// Reads a file. Blank lines and lines after `#` are passed over, which `mm-link` would refuse.
pub(super) fn read(text: &str, at_end: AtEnd) -> Result<Trace, TraceError> {
    let mut moments: Vec<u32> = Vec::new();
    for (line, text) in told(text) {
        let word = text.trim();
        let at = moment(word).ok_or_else(|| TraceError {
            line,
            column: 1,
            why: format!("expected a whole number of milliseconds, not `{}`", excerpt(word)),
        })?;
        if let Some(&before) = moments.last().filter(|&&before| before > at) {
            return Err(TraceError::line(
                line,
                format!("{at} ms is before the {before} ms of the line above"),
            ));
        }
        moments.push(at);
    }
    if moments.is_empty() {
        return Err(TraceError::whole("no line says when a packet may leave"));
    }
    let none = || TraceError::whole("all opportunities are at 0 ms: the trace has no length");
    Ok(Trace::Opportunities(Opportunities::new(moments.into_iter(), at_end).ok_or_else(none)?))
}

fn moment(word: &str) -> Option<u32> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok())?.filter(|&at| at <= LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_opportunity() {
        let Ok(Trace::Opportunities(read)) = read("0\n0\n# a note\n\n 7 \r\n7", AtEnd::Repeat) else {
            panic!()
        };
        assert_eq!(read.moments().collect::<Vec<_>>(), [0, 0, 7, 7]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("", "no line says when a packet may leave"),
            ("0\n0", "all opportunities are at 0 ms: the trace has no length"),
            ("5\n4", "line 2: 4 ms is before the 5 ms of the line above"),
            ("1\n2.5", "line 2, column 1: expected a whole number of milliseconds, not `2.5`"),
            ("+1", "line 1, column 1: expected a whole number of milliseconds, not `+1`"),
            ("99999999999", "line 1, column 1: expected a whole number of milliseconds, not `99999999999`"),
        ] {
            assert_eq!(read(text, AtEnd::Repeat).unwrap_err().to_string(), said, "{text}");
        }
    }
}
