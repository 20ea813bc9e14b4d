//! Errors for people: the line, what was expected, the nearest valid name.

use std::fmt;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::source::Source;
use crate::span::Span;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The whole message with the source line, ready to print.
    pub message: String,
    /// Where it stands: the file's name, or `--set` for an override.
    pub source_name: String,
    /// Line, counted from 1; 0 where the error has no place in the file.
    pub line: usize,
    /// Column in characters, counted from 1; 0 where the error has no place in the file.
    pub column: usize,
    /// The dotted path of the key, as `set` takes it; empty at the top.
    pub key: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DocumentError {}

/// The result of a check.
pub type Checked<T> = Result<T, Problem>;

/// An error before it is rendered: it knows the place as a span.
#[must_use]
#[derive(Debug)]
pub struct Problem {
    /// Where.
    pub span: Span,
    title: String,
    label: String,
    help: Option<String>,
}

impl Problem {
    /// A problem with what stands at `span`.
    pub fn at(span: Span, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), label: String::new(), help: None }
    }

    /// What was expected there.
    pub fn expected(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// How to put it right.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says which of `names` may have been meant, or lists them.
    pub fn nearest<'a>(self, word: &str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        self.help(hint(word, names))
    }

    /// The error as users see it; `key` is the path of the key at its place.
    pub fn render(&self, source: &Source, key: String) -> DocumentError {
        let place = source.place(&self.span);
        let annotation = AnnotationKind::Primary.span(place.columns.clone()).label(self.label.as_str());
        let snippet =
            Snippet::source(place.text).line_start(place.line).path(place.name).annotation(annotation);
        let mut group = Level::ERROR.primary_title(self.title.as_str()).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let message = Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group]);
        let column = place.text[..place.columns.start].chars().count() + 1;
        DocumentError { message, source_name: place.name.to_owned(), line: place.line, column, key }
    }
}

/// Which of `names` may have been meant, or all of them.
pub fn hint<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => list(names),
    }
}

/// The candidate closest to `word`, if any is close enough to have been meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the letters may be wrong: `conges` does not suggest `count`.
    let allowed = word.chars().count().max(3) / 3;
    names
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// "the names are a, b, c", cut where they are many.
fn list<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<&str> = names.by_ref().take(SHOWN).collect();
    let rest = names.count();
    match (shown.is_empty(), rest) {
        (true, _) => "there is none yet".to_owned(),
        (false, 0) => format!("there is: {}", shown.join(", ")),
        (false, rest) => format!("there is: {} and {rest} more", shown.join(", ")),
    }
}
