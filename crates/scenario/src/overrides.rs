//! `set`: changes to the file by dotted path, before it is checked.
//!
//! `links.radio.loss=0.01`, `flows.0.app="bulk"`, `duration=5s`. Entries of a list go by index, by their `name`, or, for
//! links, by "a-b".

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::toml_error::problem;
use handfast_document::Override;
use handfast_document::{Checked, Problem, Span};

/// One step of a path.
#[derive(Clone)]
struct Step<'s> {
    word: &'s str,
    span: Span,
}

/// Makes the change. Tables on the way that the file lacks are made; whether their keys are known is checked with
/// all others.
pub(crate) fn apply<'s>(root: &mut Spanned<DeValue<'s>>, change: &Override<'s>) -> Checked<()> {
    let steps = steps(change)?;
    put(root, &steps, value(change)?)
}

fn steps<'s>(change: &Override<'s>) -> Checked<Vec<Step<'s>>> {
    let mut start = change.path_start;
    let mut steps = Vec::new();
    for word in change.path.split('.') {
        let span = start..start + word.len();
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            let problem =
                Problem::at(span, format!("`{}` is not a path of keys", change.path.escape_debug()));
            return Err(problem.help("a path is keys with dots between, such as `links.radio.loss`"));
        }
        steps.push(Step { word, span });
        start += word.len() + 1;
    }
    Ok(steps)
}

/// The value as TOML; what is not TOML is a string, so that no shell needs two kinds of quotes: `duration=5s`.
fn value<'s>(change: &Override<'s>) -> Checked<Spanned<DeValue<'s>>> {
    match DeValue::parse(change.value) {
        Ok(value) => Ok(shifted(value, change.value_start)),
        Err(error) if change.value.trim_start().starts_with(['"', '\'', '[', '{']) => {
            let mut problem = problem(&error);
            problem.span = problem.span.start + change.value_start..problem.span.end + change.value_start;
            Err(problem)
        }
        Err(_) => {
            let span = change.value_start..change.value_start + change.value.len();
            Ok(Spanned::new(span, DeValue::String(Cow::Borrowed(change.value))))
        }
    }
}

/// The value with all its spans moved by `by`.
fn shifted(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    let span = value.span();
    let moved = match value.into_inner() {
        DeValue::Array(items) => DeValue::Array(items.into_iter().map(|item| shifted(item, by)).collect()),
        DeValue::Table(table) => DeValue::Table(shifted_table(table, by)),
        scalar => scalar,
    };
    Spanned::new(span.start + by..span.end + by, moved)
}

fn shifted_table(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    let entries = table.into_iter().map(|(key, value)| {
        let span = key.span();
        (Spanned::new(span.start + by..span.end + by, key.into_inner()), shifted(value, by))
    });
    entries.collect()
}

fn put<'s>(at: &mut Spanned<DeValue<'s>>, steps: &[Step<'s>], value: Spanned<DeValue<'s>>) -> Checked<()> {
    let [step, rest @ ..] = steps else {
        *at = value;
        return Ok(());
    };
    match at.get_mut() {
        DeValue::Table(table) => {
            if !table.contains_key(step.word) {
                let key = Spanned::new(step.span.clone(), Cow::Borrowed(step.word));
                table.insert(key, Spanned::new(step.span.clone(), DeValue::Table(DeTable::new())));
            }
            let inner = table.get_mut(step.word);
            inner.map_or(Ok(()), |inner| put(inner, rest, value))
        }
        DeValue::Array(items) => {
            let index = entry(items.iter().map(Spanned::get_ref), step)?;
            items.get_mut(index).map_or(Ok(()), |item| put(item, rest, value))
        }
        other => {
            let title = format!("`{}` leads nowhere: what is before it is a {}", step.word, other.type_str());
            Err(Problem::at(step.span.clone(), title))
        }
    }
}

/// Which entry of a list a step means.
fn entry<'v, 's: 'v>(
    items: impl ExactSizeIterator<Item = &'v DeValue<'s>>,
    step: &Step<'s>,
) -> Checked<usize> {
    let len = items.len();
    if let Ok(index) = step.word.parse::<usize>() {
        let title = format!("there is no entry {index}: the list has {len}, counted from 0");
        return if index < len { Ok(index) } else { Err(Problem::at(step.span.clone(), title)) };
    }
    let names: Vec<Option<String>> = items.map(name_of).collect();
    let found = names.iter().position(|name| name.as_deref() == Some(step.word));
    found.ok_or_else(|| {
        let problem = Problem::at(step.span.clone(), format!("the list has no entry called `{}`", step.word));
        problem.nearest(step.word, names.iter().flatten().map(String::as_str))
    })
}

/// The name of a list's entry: its `name`, or the ends of a link.
fn name_of(item: &DeValue<'_>) -> Option<String> {
    let text =
        |value: Option<&Spanned<DeValue<'_>>>| value.and_then(|v| v.get_ref().as_str().map(str::to_owned));
    let between = item.get("between");
    let ends = || Some(format!("{}-{}", text(between?.get_ref().get(0))?, text(between?.get_ref().get(1))?));
    text(item.get("name")).or_else(ends)
}
