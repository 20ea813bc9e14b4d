//! A profile of TCP in a file: by its name.

use std::borrow::Cow;

use handfast_document::{Checked, Problem, Span};
use handfast_tcp::{PROFILES, Profile, profile};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name of a profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct ProfileName(pub String);

impl JsonSchema for ProfileName {
    fn schema_name() -> Cow<'static, str> {
        "ProfileName".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let profiles: Vec<Value> =
            PROFILES.iter().map(|p| json!({"const": p.name, "description": p.summary})).collect();
        json_schema!({"oneOf": profiles})
    }
}

/// The profile called `name`.
///
/// # Errors
/// There is none.
pub fn profile_called(name: &str, span: &Span) -> Checked<&'static Profile> {
    if let Some(profile) = profile(name) {
        return Ok(profile);
    }
    let problem = Problem::at(span.clone(), format!("there is no profile called `{}`", name.escape_debug()));
    Err(problem
        .expected("expected a profile's name")
        .nearest(name, PROFILES.iter().map(|profile| profile.name)))
}
