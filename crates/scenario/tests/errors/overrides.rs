//! Errors of `--set`: they point into the override.

use crate::support::{BASE, assert_page, write_message};

/// What is wrong; the path and the value.
const CASES: &[(&str, &str, &str)] = &[
    ("an unknown key", "links.radio.los", "0.01"),
    ("an unknown entry", "links.raido.loss", "0.01"),
    ("an entry out of range", "flows.3.app", "bulk"),
    ("a path through a value", "duration.seconds", "3"),
    ("a wrong value", "links.radio.rate", "20Mbps"),
    ("an open string", "name", "\"unfinished"),
    ("no path", "links..loss", "0.01"),
];

#[test]
fn messages() {
    let mut out = String::new();
    for &(what, path, value) in CASES {
        write_message(&mut out, what, BASE, &[(path.to_owned(), value.to_owned())]);
    }
    assert_page("overrides", &out);
}
