//! Traces of links: read, or to be drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use handfast_core::{BitRate, Duration, Stream};
use handfast_document::{Checked, Problem, Span};
use handfast_net::trace::{AtEnd, Trace, Way};

use crate::file::{Located, TraceTable};
use crate::model::LinkTrace;

/// The traces of a scenario's files, each read once for each value of `end` that links follow it with.
#[derive(Default)]
pub(super) struct Traces {
    /// Where their paths begin.
    folder: String,
    known: BTreeMap<(Text, bool), Arc<Trace>>,
    /// Bytes of all texts that were read: one with two values of `end` is two traces in memory, and counts twice.
    bytes: usize,
}

/// The most bytes that all traces of a scenario have together: a step takes several times the room of its line.
pub(crate) const MOST_TOGETHER: usize = 4 * Trace::LONGEST_TEXT;

/// Where a trace's text comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Text {
    /// A file, as the scenario names it.
    File(String),
    Inline(String),
}

impl Traces {
    pub(super) fn new(folder: &str) -> Self {
        Self { folder: folder.to_owned(), known: BTreeMap::new(), bytes: 0 }
    }

    /// What a direction follows; `way` is where its packets go unless the table says it.
    pub(super) fn resolve(&mut self, table: &Located<TraceTable>, way: Way) -> Checked<LinkTrace> {
        let Located { span, value } = table;
        let end = value.end.as_ref().map_or(AtEnd::default(), |end| end.value.0);
        match (&value.file, &value.text, &value.generate) {
            (Some(file), None, None) => {
                only_drawn(value)?;
                let path = Path::new(&self.folder).join(&file.value);
                let what = format!("the trace `{}`", file.value.escape_debug());
                self.recorded(Text::File(file.value.clone()), end, &file.span, &what, || read(&path, file))
            }
            (None, Some(text), None) => {
                only_drawn(value)?;
                let key = Text::Inline(text.value.clone());
                self.recorded(key, end, &text.span, "the trace", || Ok(text.value.clone()))
            }
            (None, None, Some(generate)) => {
                if let Some(end) = &value.end {
                    let title = "`end` means nothing to a trace that is drawn: it is as long as the run";
                    return Err(Problem::at(end.span.clone(), title));
                }
                let way = value.way.as_ref().map_or(way, |way| way.value.0);
                Ok(LinkTrace::Drawn { generator: generate.value.0, way })
            }
            (None, None, None) => Err(Problem::at(span.clone(), "a trace of nothing")
                .expected("needs `file`, `text` or `generate`")),
            _ => Err(Problem::at(span.clone(), "a trace of several things")
                .expected("expected one of `file`, `text` and `generate`")),
        }
    }

    /// The files that were read.
    pub(super) fn files(&self) -> BTreeSet<String> {
        let file = |(text, _): &(Text, bool)| match text {
            Text::File(name) => Some(name.clone()),
            Text::Inline(_) => None,
        };
        self.known.keys().filter_map(file).collect()
    }

    /// The trace of a text, which is read unless it is known by its key.
    fn recorded(
        &mut self,
        key: Text,
        end: AtEnd,
        span: &Span,
        what: &str,
        text: impl FnOnce() -> Checked<String>,
    ) -> Checked<LinkTrace> {
        let key = (key, end == AtEnd::Hold);
        if let Some(trace) = self.known.get(&key) {
            return Ok(LinkTrace::Recorded(trace.clone()));
        }
        let text = text()?;
        self.bytes += text.len();
        if self.bytes > MOST_TOGETHER {
            let title = format!("{what}: all traces together have more than {} MiB", MOST_TOGETHER >> 20);
            return Err(Problem::at(span.clone(), title)
                .help("let links follow the same file, or shorten files to what a run needs"));
        }
        let trace = Trace::parse(&text, end).map_err(|error| {
            Problem::at(span.clone(), format!("{what}: {error}")).help(
                "`handfast trace --help` tells of the formats, and `handfast trace import` makes them of others",
            )
        })?;
        let trace = Arc::new(trace);
        self.known.insert(key, trace.clone());
        Ok(LinkTrace::Recorded(trace))
    }
}

fn only_drawn(table: &TraceTable) -> Checked<()> {
    match &table.way {
        Some(way) => Err(Problem::at(way.span.clone(), "`way` means nothing to a trace that is not drawn")
            .expected("only for `generate`")),
        None => Ok(()),
    }
}

/// The text of a file: no device, and no more than a trace may have.
fn read(path: &Path, said: &Located<String>) -> Checked<String> {
    let wrong = |why: String| {
        let title = format!("the trace `{}` cannot be read: {why}", said.value.escape_debug());
        Problem::at(said.span.clone(), title).expected("expected a file, by its path from the scenario file")
    };
    let about = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    let most = Trace::LONGEST_TEXT as u64 + 1;
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    file.take(most).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| wrong("it is not text (UTF-8)".to_owned()))
}

impl LinkTrace {
    /// A trace as runs have it: of those that are drawn, the one of a seed.
    pub fn of_run(&self, length: Duration, random: impl FnOnce() -> Stream) -> Arc<Trace> {
        match self {
            Self::Recorded(trace) => trace.clone(),
            Self::Drawn { generator, way } => Arc::new(generator.draw(*way, length, random())),
        }
    }

    /// Whether it says when packets leave.
    pub fn has_rate(&self) -> bool {
        match self {
            Self::Recorded(trace) => trace.has_rate(),
            Self::Drawn { .. } => true,
        }
    }

    /// Whether it says how long they take from there.
    pub fn has_delay(&self) -> bool {
        match self {
            Self::Recorded(trace) => trace.has_delay(),
            Self::Drawn { .. } => true,
        }
    }

    /// What stands for its rate where only one can be said: the mean over its length, or over ten minutes that are drawn.
    pub(super) fn usual_rate(&self) -> Option<BitRate> {
        let trace = self.usual();
        // A link's rate is above zero.
        let mean = trace.mean_rate(trace.length().max(Duration::from_secs(1)));
        mean.map(|rate| rate.max(BitRate::from_bps(1)))
    }

    /// What stands for its delay: the shortest.
    pub(super) fn usual_delay(&self) -> Option<Duration> {
        self.usual().least_delay()
    }

    fn usual(&self) -> Arc<Trace> {
        self.of_run(Duration::from_secs(600), || Stream::new(0, "trace"))
    }
}
