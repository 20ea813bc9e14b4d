//! From text to tables: TOML with its spans.

use handfast_document::{Checked, Problem, Source};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::file::File;
use crate::overrides;
use crate::toml_error::problem;

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
