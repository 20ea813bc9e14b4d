//! The configuration file: TOML, of which each service reads its part.

use std::path::PathBuf;

use handfast_document::{Checked, DocumentError, Problem, Source, path_at, problem};
use toml::Spanned;
use toml::de::DeTable;

/// The longest file that is read.
const LONGEST: usize = 1 << 20;

/// The configuration file as it was read.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it said.
    pub text: String,
}

impl ConfigFile {
    /// What errors call it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Reads a service's settings from a file's `text`; `name` is what errors call the file. `read` gets the whole document.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub(crate) fn parse<T>(
    text: &str,
    name: &str,
    read: impl FnOnce(Spanned<DeTable<'_>>) -> Checked<T>,
) -> Result<T, DocumentError> {
    let document = if text.len() > LONGEST {
        Err(Problem::at(0..0, format!("the file is longer than {LONGEST} bytes")))
    } else {
        DeTable::parse(text).map_err(|error| problem(&error, &[]))
    };
    document.and_then(read).map_err(|problem| {
        let key = DeTable::parse(text)
            .map_or_else(|_| String::new(), |root| path_at(root.get_ref(), problem.span.start));
        problem.render(&Source::new(name, text, &[]), key)
    })
}
