//! A recording told again.

use std::fmt;

use handfast_assist::sdn::{Controller, Outbox};

use super::Step;
use super::line::Line;

/// Where a controller asks for something else than the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of what it was told, counted from 1.
    pub line: usize,
    /// What the recorded one asked for next; [`None`]: nothing more.
    pub recorded: Option<String>,
    /// What this one asks for.
    pub replayed: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [recorded, replayed] =
            [&self.recorded, &self.replayed].map(|output| output.as_deref().unwrap_or("nothing more"));
        write!(f, "after line {}: recorded {recorded}, replayed {replayed}", self.line)
    }
}

impl std::error::Error for Difference {}

pub(super) fn replay(
    steps: &[Step],
    complete: bool,
    controller: &mut Controller,
) -> Result<usize, Difference> {
    let mut out = Outbox::default();
    let mut same = 0;
    for (index, step) in steps.iter().enumerate() {
        step.input.clone().tell(step.at, controller, &mut out);
        let replayed: Vec<String> =
            out.drain().filter_map(|output| Line::of_output(&output)).map(|line| text(&line)).collect();
        let recorded: Vec<String> = step.outputs.iter().map(text).collect();
        // The last outputs of a daemon that was killed are not all there.
        let cut_off = !complete && index + 1 == steps.len();
        let compared = if cut_off { recorded.len() } else { recorded.len().max(replayed.len()) };
        for at in 0..compared {
            let (recorded, replayed) = (recorded.get(at), replayed.get(at));
            if recorded != replayed {
                let [recorded, replayed] = [recorded, replayed].map(Option::<&String>::cloned);
                return Err(Difference { line: step.number, recorded, replayed });
            }
            same += 1;
        }
        out.records().for_each(drop);
    }
    Ok(same)
}

/// The line as it stands in a file.
fn text(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_else(|_| unreachable!("numbers and strings have a form in JSON"))
}
