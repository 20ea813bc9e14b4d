//! The messages of the TOML parser in our words, and the paths of keys.

use toml::de::{DeTable, DeValue};

use crate::error::{Problem, nearest};
use crate::span::Span;

/// An error of the `toml` crate as a problem. `notes`: unknown words and messages, and what to say to them instead of the
/// nearest name.
pub fn problem(error: &toml::de::Error, notes: &[(&str, &str)]) -> Problem {
    in_our_words(error.span().unwrap_or(0..0), error.message().trim(), notes)
}

fn in_our_words(span: Span, message: &str, notes: &[(&str, &str)]) -> Problem {
    // serde has no other way to hand out the names; the golden tests notice if its wording changes.
    if let Some((word, names)) = unknown(message, "unknown field `") {
        return unknown_word(span, &format!("unknown key `{word}`"), word, &names, notes);
    }
    if let Some((word, names)) = unknown(message, "unknown variant `") {
        return unknown_word(span, &format!("`{word}` is not known here"), word, &names, notes);
    }
    if let Some(key) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return missing_key(span, key);
    }
    if let Some(key) = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
        return duplicate_key(span, key);
    }
    let wrong_type = message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "));
    if let Some((found, wanted)) = wrong_type {
        let (found, wanted) = (in_toml_words(found), in_toml_words(wanted));
        return Problem::at(span, format!("expected {wanted}")).expected(format!("this is: {found}"));
    }
    // What the `toml` crate says where a word such as "act" is expected.
    if message == "wanted string or table" {
        return Problem::at(span, "expected a word in quotation marks");
    }
    let problem = Problem::at(span, message);
    match note(notes, message) {
        Some(why) => problem.help(why),
        None => problem,
    }
}

/// A table lacks a key.
pub fn missing_key(span: Span, key: &str) -> Problem {
    Problem::at(span, format!("the key `{key}` is missing")).expected(format!("needs `{key}`"))
}

/// A table has a key twice, once by an older name.
pub fn duplicate_key(span: Span, key: &str) -> Problem {
    Problem::at(span, format!("the key `{key}` is there twice"))
        .help("an older name of a key counts as that key: keep one of them")
}

/// A table has a key that is none of `names`.
pub fn unknown_key(span: Span, key: &str, names: &[&str]) -> Problem {
    unknown_word(span, &format!("unknown key `{key}`"), key, names, &[])
}

/// What TOML calls a type, where serde has its own or Rust's name for it.
fn in_toml_words(name: &str) -> &str {
    match name {
        "map" | "a map" => "a table",
        "sequence" | "a sequence" => "an array",
        "i64" | "u64" | "u32" | "usize" => "an integer",
        "f64" => "a number",
        _ if name.starts_with("struct ") => "a table",
        // An integer beyond 64 bits.
        _ => name.trim_end_matches(" as i128").trim_end_matches(" as u128"),
    }
}

/// The unknown word and the known ones of serde's "unknown field `x`, expected one of `a`, `b`".
fn unknown<'m>(message: &'m str, prefix: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let rest = message.strip_prefix(prefix)?;
    let (word, expected) = rest.rsplit_once("`, expected ")?;
    let names = expected.split('`').skip(1).step_by(2).collect();
    Some((word, names))
}

fn note<'n>(notes: &[(&str, &'n str)], about: &str) -> Option<&'n str> {
    notes.iter().find(|(word, _)| *word == about).map(|&(_, why)| why)
}

fn unknown_word(span: Span, title: &str, word: &str, names: &[&str], notes: &[(&str, &str)]) -> Problem {
    let problem = Problem::at(span, title).expected(format!("expected one of: {}", names.join(", ")));
    match (nearest(word, names.iter().copied()), note(notes, word)) {
        (_, Some(why)) => problem.help(why),
        (Some(name), None) => problem.help(format!("did you mean `{name}`?")),
        (None, None) => problem,
    }
}

/// The dotted path of what stands at `at`; empty where nothing does.
pub fn path_at(root: &DeTable<'_>, at: usize) -> String {
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
