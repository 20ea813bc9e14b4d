//! Errors of the file as a whole: no TOML, keys at the top.

use crate::support::{BASE, Case, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    ("an unknown key at the top", "duration =", "seed = 3\nduration ="),
    ("an unknown table", "[[events]]", "[[event]]"),
    ("no duration", "duration = \"30s\"\n", ""),
    ("no TOML", "duration = \"30s\"", "duration = 30s"),
    ("an open string", "duration = \"30s\"", "duration = \"30s"),
];

#[test]
fn messages() {
    assert_messages("file", &[(BASE, OUTAGE)]);
}
