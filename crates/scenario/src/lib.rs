//! The scenario file: typed, validated, errors that point at the line.
//!
//! [`Scenario::parse`] is the only way in: TOML and overrides to a [`Scenario`] whose names are indices, whose
//! generators are expanded and whose defaults are filled in. [`schema`] describes the file to editors.
#![forbid(unsafe_code)]

mod document;
mod file;
mod hash;
mod model;
mod overrides;
mod resolve;
mod schema;
mod toml_error;

pub use handfast_assist::spec::Place as RunsIn;
pub use handfast_document::DocumentError as ScenarioError;
pub use model::*;
pub use schema::schema;

use handfast_document::{Checked, Problem, Source, hint, path_at};

/// The longest file that is read, in bytes: a hostile one must not take the memory of the machine.
pub const LONGEST_FILE: usize = 4 << 20;

/// The most bytes that all traces of a scenario have together.
pub const LONGEST_TRACES: usize = resolve::MOST_TOGETHER;

impl Scenario {
    /// The scenario of a file's `text`, changed by `overrides`: dotted paths and values, such as
    /// `("links.radio.loss", "0.01")`. `source_name` is what errors call the file, and its stem names the scenario.
    ///
    /// # Errors
    /// The first thing that is wrong, with the line in the file or the override.
    pub fn parse(
        text: &str,
        source_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        let source = Source::new(source_name, text, overrides);
        read(&source, overrides).map_err(|problem| {
            // Only an error needs the path of its key; the tables were used up, so they are read again.
            let root = document::parse(&source, overrides);
            let key = root.map_or_else(|_| String::new(), |root| path_at(root.get_ref(), problem.span.start));
            problem.render(&source, key)
        })
    }

    /// The scheme called `name`: one of the file's, or else the profile of that name against receivers `linux`.
    ///
    /// # Errors
    /// Where there is neither; the message has the nearest name.
    pub fn scheme(&self, name: &str) -> Result<&Scheme, ScenarioError> {
        let mut all = self.schemes.iter().chain(&self.profiles);
        all.find(|scheme| scheme.name == name).ok_or_else(|| {
            let names = self.schemes.iter().chain(&self.profiles).map(|scheme| scheme.name.as_str());
            let hint = hint(name, names);
            let message =
                format!("error: there is no scheme and no profile called `{}`: {hint}", name.escape_debug());
            ScenarioError {
                message,
                source_name: String::new(),
                line: 0,
                column: 0,
                key: "schemes".to_owned(),
            }
        })
    }

    /// One line for `handfast list`: what the scenario holds.
    pub fn summary(&self) -> String {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let parts = [
            count(self.nodes.len(), "node"),
            count(self.links.len(), "link"),
            count(self.flows.len(), "flow"),
            count(self.events.len(), "event"),
            count(self.schemes.len(), "scheme"),
        ];
        format!("{}, {}", parts.join(", "), self.duration)
    }
}

fn read(source: &Source<'_>, overrides: &[(String, String)]) -> Checked<Scenario> {
    if source.file().len() > LONGEST_FILE {
        return Err(Problem::at(0..0, format!("the file is longer than {LONGEST_FILE} bytes")));
    }
    let file = document::read(document::parse(source, overrides)?)?;
    resolve::resolve(&file, source)
}
