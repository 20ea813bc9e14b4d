//! The JSON Schema of the scenario file, for editors.

use crate::file::File;

/// The JSON Schema (draft 2020-12) of scenario files, indented.
pub fn schema() -> String {
    let schema = schemars::schema_for!(File);
    format!("{:#}", schema.as_value())
}
