//! The text that errors point into: the file, then one line for each override.

use crate::span::Span;

/// The file and the overrides as one text, so that one span type serves both.
pub struct Source<'a> {
    name: &'a str,
    text: String,
    /// Where the file ends and the overrides begin.
    file_len: usize,
}

/// One line of the source, and the part of it that is meant.
pub(crate) struct Place<'a> {
    /// The file's name, or `--set`.
    pub(crate) name: &'a str,
    /// Counted from 1.
    pub(crate) line: usize,
    /// The line without its end.
    pub(crate) text: &'a str,
    /// Byte range within `text`, on character boundaries.
    pub(crate) columns: Span,
}

/// An override's path and value, as text and as where they stand in the [`Source`].
pub struct Override<'a> {
    /// The dotted path.
    pub path: &'a str,
    /// Where it begins.
    pub path_start: usize,
    /// The value.
    pub value: &'a str,
    /// Where it begins.
    pub value_start: usize,
}

impl<'a> Source<'a> {
    /// A file's text, and what changes it: dotted paths and values.
    pub fn new(name: &'a str, file: &str, overrides: &[(String, String)]) -> Self {
        let mut text = file.to_owned();
        for (path, value) in overrides {
            text.push('\n');
            text.push_str(path);
            text.push('=');
            text.push_str(value);
        }
        Self { name, text, file_len: file.len() }
    }

    /// The file's text.
    pub fn file(&self) -> &str {
        &self.text[..self.file_len]
    }

    /// The folder that the file's name leads to; empty: where the process is.
    pub fn folder(&self) -> &'a str {
        self.name.rfind(['/', '\\']).map_or("", |end| &self.name[..=end])
    }

    /// The file's name without folders and extension.
    pub fn stem(&self) -> &'a str {
        let base = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        base.strip_suffix(".toml").unwrap_or(base)
    }

    /// Where each of the overrides given to [`Source::new`] stands.
    pub fn overrides<'s>(&'s self, given: &[(String, String)]) -> Vec<Override<'s>> {
        let mut path_start = self.file_len + 1;
        let mut found = Vec::with_capacity(given.len());
        for (path, value) in given {
            let value_start = path_start + path.len() + 1;
            let end = value_start + value.len();
            let path_text = &self.text[path_start..value_start - 1];
            found.push(Override {
                path: path_text,
                path_start,
                value: &self.text[value_start..end],
                value_start,
            });
            path_start = end + 1;
        }
        found
    }

    /// The line of a span's start; a span over several lines is cut at the end of its first.
    pub(crate) fn place(&self, span: &Span) -> Place<'_> {
        let in_file = span.start <= self.file_len;
        let (name, base) = if in_file { (self.name, 0) } else { ("--set", self.file_len + 1) };
        let text = if in_file { self.file() } else { &self.text[base..] };
        let start = floor_boundary(text, span.start - base);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor_boundary(text, (span.end.saturating_sub(base)).clamp(start, line_end));
        let line = if in_file { text[..line_start].matches('\n').count() + 1 } else { 1 };
        let columns = start - line_start..end - line_start;
        Place { name, line, text: text[line_start..line_end].trim_end_matches('\r'), columns }.clamped()
    }
}

impl Place<'_> {
    /// A span that begins at the line's end still lies within the line.
    fn clamped(mut self) -> Self {
        let len = self.text.len();
        self.columns = self.columns.start.min(len)..self.columns.end.min(len);
        self
    }
}

/// The largest character boundary of `text` at or below `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}
