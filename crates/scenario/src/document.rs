//! From text to tables: TOML with its spans, and the messages of its parser in our words.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Checked, Problem, Span, nearest};
use crate::file::File;
use crate::overrides;
use crate::source::Source;

/// What DESIGN names and the format does not take yet, with what to say instead of a mere "unknown".
const NOT_BUILT: &[(&str, &str)] = &[
    ("handover", "handovers need the radio, which is not built yet; `do = \"outage\"` with a `gap` is built"),
    ("station", "stations and their handovers need the radio, which is not built yet"),
    ("channel", "channels need the radio, which is not built yet"),
    ("policy", "agents are not built yet"),
];

/// The file with the overrides in it.
pub(crate) fn parse<'s>(source: &'s Source<'_>, given: &[(String, String)]) -> Checked<Spanned<DeTable<'s>>> {
    let table = DeTable::parse(source.file()).map_err(|error| problem(&error))?;
    let span = table.span();
    let mut root = Spanned::new(span.clone(), DeValue::Table(table.into_inner()));
    for change in source.overrides(given) {
        overrides::apply(&mut root, &change)?;
    }
    match root.into_inner() {
        DeValue::Table(table) => Ok(Spanned::new(span, table)),
        other => Err(Problem::at(span, format!("the file is a {}, not a table", other.type_str()))),
    }
}

/// The tables of the file; `root` comes from [`parse`].
pub(crate) fn read(root: Spanned<DeTable<'_>>) -> Checked<File> {
    File::deserialize(toml::Deserializer::from(root)).map_err(|error| problem(&error))
}

/// An error of the `toml` crate as a problem.
pub(crate) fn problem(error: &toml::de::Error) -> Problem {
    in_our_words(error.span().unwrap_or(0..0), error.message())
}

fn in_our_words(span: Span, message: &str) -> Problem {
    // serde has no other way to hand out the names; the golden tests notice if its wording changes.
    if let Some((word, names)) = unknown(message, "unknown field `") {
        return unknown_word(span, &format!("unknown key `{word}`"), word, &names);
    }
    if let Some((word, names)) = unknown(message, "unknown variant `") {
        return unknown_word(span, &format!("`{word}` is not known here"), word, &names);
    }
    if let Some(key) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return Problem::at(span, format!("the key `{key}` is missing")).expected(format!("needs `{key}`"));
    }
    match message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
        Some((found, wanted)) => {
            Problem::at(span, format!("expected {wanted}")).expected(format!("this is: {found}"))
        }
        None => Problem::at(span, message.trim()),
    }
}

/// The unknown word and the known ones of serde's "unknown field `x`, expected one of `a`, `b`".
fn unknown<'m>(message: &'m str, prefix: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let rest = message.strip_prefix(prefix)?;
    let (word, expected) = rest.rsplit_once("`, expected ")?;
    let names = expected.split('`').skip(1).step_by(2).collect();
    Some((word, names))
}

fn unknown_word(span: Span, title: &str, word: &str, names: &[&str]) -> Problem {
    let problem = Problem::at(span, title).expected(format!("expected one of: {}", names.join(", ")));
    match (nearest(word, names.iter().copied()), NOT_BUILT.iter().find(|(name, _)| *name == word)) {
        (_, Some((_, why))) => problem.help(*why),
        (Some(name), None) => problem.help(format!("did you mean `{name}`?")),
        (None, None) => problem,
    }
}

/// The dotted path of what stands at `at`; empty where nothing does.
pub(crate) fn path_at(root: &DeTable<'_>, at: usize) -> String {
    table_path(root, at).unwrap_or_default().join(".")
}

/// The innermost key whose name or value covers `at`, from the outermost on.
fn table_path(table: &DeTable<'_>, at: usize) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let own = covers(&key.span(), at) || covers(&value.span(), at);
        prefixed(key.get_ref(), value_path(value.get_ref(), at), own)
    })
}

fn value_path(value: &DeValue<'_>, at: usize) -> Option<Vec<String>> {
    match value {
        DeValue::Table(table) => table_path(table, at),
        DeValue::Array(array) => array.iter().enumerate().find_map(|(index, item)| {
            prefixed(&index.to_string(), value_path(item.get_ref(), at), covers(&item.span(), at))
        }),
        _ => None,
    }
}

fn prefixed(name: &str, inner: Option<Vec<String>>, own: bool) -> Option<Vec<String>> {
    let rest = inner.or_else(|| own.then(Vec::new))?;
    Some(std::iter::once(name.to_owned()).chain(rest).collect())
}

fn covers(span: &Span, at: usize) -> bool {
    span.start <= at && at < span.end.max(span.start + 1)
}
