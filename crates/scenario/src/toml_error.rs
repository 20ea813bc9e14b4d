//! Errors of the `toml` crate as problems of the scenario file.

use handfast_document::{Problem, ZERO_RATE};

/// What is said to some wrong words: what else may be meant.
const NOTES: &[(&str, &str)] =
    &[(ZERO_RATE, "for a link that is gone for a while use an event with `do = \"outage\"`")];

/// An error of the `toml` crate as a problem.
pub(crate) fn problem(error: &toml::de::Error) -> Problem {
    handfast_document::problem(error, NOTES)
}
