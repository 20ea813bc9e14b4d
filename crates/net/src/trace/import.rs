//! A recording as a trace: lines of declared columns, cut where it pauses, counted from its first line.

use handfast_core::Duration;

use super::csv::{Columns, rows};
use super::steps::{Step, Steps};
use super::text::TraceError;
use super::{AtEnd, Trace};

/// A pause is so many times as long as the time between two lines mostly is.
const PAUSE: u64 = 10;

/// A recording of several parts, each without a pause.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    parts: Vec<Vec<(usize, Step)>>,
    /// The median time from a line to the next: how long the last line of a part holds.
    spacing: Duration,
    has: [bool; 3],
}

impl Recording {
    /// Reads the lines of a file whose columns are declared. Times may begin anywhere; of two lines with one time the later
    /// counts; lines that lack one of these columns are left out.
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn read(text: &str, columns: &Columns) -> Result<Self, TraceError> {
        let mut lines: Vec<(usize, Step)> = Vec::new();
        for (line, step) in rows(text, columns)? {
            match lines.last() {
                Some((_, last)) if last.at > step.at => {
                    return Err(TraceError::line(line, "earlier than the line before"));
                }
                Some((_, last)) if last.at == step.at => drop(lines.pop()),
                _ => {}
            }
            lines.push((line, step));
        }
        if lines.len() < 2 {
            return Err(TraceError::whole("fewer than two lines hold a value in each column"));
        }
        let mut between: Vec<u64> =
            lines.windows(2).map(|pair| (pair[1].1.at.saturating_sub(pair[0].1.at)).as_nanos()).collect();
        let middle = between.len() / 2;
        let spacing = Duration::from_nanos(*between.select_nth_unstable(middle).1);
        let near =
            |one: &(usize, Step), next: &(usize, Step)| next.1.at.saturating_sub(one.1.at) <= spacing * PAUSE;
        let parts = lines.chunk_by(near).map(<[_]>::to_vec).collect();
        Ok(Self {
            parts,
            spacing,
            has: [columns.rate.is_some(), columns.delay.is_some(), columns.loss.is_some()],
        })
    }

    /// How long each part is.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Duration> + '_ {
        self.parts.iter().map(|part| self.length(part))
    }

    fn length(&self, part: &[(usize, Step)]) -> Duration {
        let at = |line: Option<&(usize, Step)>| line.map_or(Duration::ZERO, |(_, step)| step.at);
        at(part.last()).saturating_sub(at(part.first())) + self.spacing
    }

    /// The longest part, the first of these.
    pub fn longest(&self) -> usize {
        let longest = self.parts().max().unwrap_or_default();
        self.parts().position(|length| length == longest).unwrap_or(0)
    }

    /// A part as a trace that begins with its first line. Its last line holds as long as lines mostly do.
    ///
    /// # Errors
    /// Where there is no such part, or it is no trace.
    pub fn trace(&self, part: usize) -> Result<Trace, TraceError> {
        let none = || TraceError::whole(format!("it has {} parts, counted from 0", self.parts.len()));
        let part = self.parts.get(part).ok_or_else(none)?;
        let begin = part.first().map_or(Duration::ZERO, |(_, step)| step.at);
        let mut steps: Vec<_> =
            part.iter().map(|(_, step)| Step { at: step.at.saturating_sub(begin), ..*step }).collect();
        let last = steps.last().copied().unwrap_or_default();
        steps.push(Step { at: self.length(part), ..last });
        let line = |index: usize| part.get(index).or(part.last()).map_or(0, |(line, _)| *line);
        let steps = Steps::new(steps, self.has, AtEnd::Repeat);
        Ok(Trace::Steps(steps.map_err(|(index, why)| TraceError::line(line(index), why))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TimeUnit;

    fn read(text: &str) -> Result<Recording, TraceError> {
        let time = ("t".to_owned(), TimeUnit::Seconds(1.0));
        Recording::read(text, &Columns { time, rate: Some(("r".to_owned(), 1e3)), delay: None, loss: None })
    }

    #[test]
    fn a_recording_is_cut_where_it_pauses() {
        let recording = read("t,r\n100,1\n101,2\n101,3\n102,4\n200,5\n201,6\n202,7\n203,8\n").unwrap();
        assert_eq!(recording.parts().map(Duration::as_millis).collect::<Vec<_>>(), [3000, 4000]);
        assert_eq!(recording.longest(), 1);
        let Trace::Steps(steps) = recording.trace(0).unwrap() else { panic!("steps") };
        let seen: Vec<_> =
            steps.steps().iter().map(|step| (step.at.as_millis(), step.rate.as_bps())).collect();
        assert_eq!(
            seen,
            [(0, 1000), (1000, 3000), (2000, 4000), (3000, 4000)],
            "the last line holds a second too"
        );
        assert_eq!(recording.trace(2).unwrap_err().to_string(), "it has 2 parts, counted from 0");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(read("t,r\n5,1\n4,1").unwrap_err().to_string(), "line 3: earlier than the line before");
        assert!(read("t,r\n5,1\n6,").unwrap_err().to_string().contains("fewer than two lines"));
        let dead = read("t,r\n5,0\n6,0\n").unwrap();
        assert_eq!(dead.trace(0).unwrap_err().to_string(), "line 3: nothing ever leaves: each rate is zero");
    }
}
