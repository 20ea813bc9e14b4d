//! The right files, what is made wrong in them, and the page of messages that comes of it.

use std::fmt::Write;

use handfast_scenario::Scenario;

/// A link is gone for a while.
pub(crate) const BASE: &str = include_str!("base.toml");
/// A station roams.
pub(crate) const ROAM: &str = include_str!("roam.toml");
/// A station has two radios at once, and a flow of SCTP.
pub(crate) const BOTH: &str = include_str!("both.toml");
/// A station walks.
pub(crate) const WALK: &str = include_str!("../../../../scenarios/wifi-walk.toml");

/// What is wrong, what the right file says, and what it says instead.
pub(crate) type Case = (&'static str, &'static str, &'static str);

/// Compares the messages of one of the file's tables with its snapshot.
pub(crate) fn assert_messages(table: &str, cases: &[(&str, &[Case])]) {
    let mut out = String::new();
    for &(right, cases) in cases {
        Scenario::parse(right, "base.toml", &[]).expect("without a change the file is right");
        for (what, old, new) in cases {
            assert!(right.contains(old), "{what}: the file lacks {old}");
            write_message(&mut out, what, &right.replacen(old, new, 1), &[]);
        }
    }
    assert_page(table, &out);
}

/// Compares a page with the snapshot of that name.
pub(crate) fn assert_page(name: &str, page: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, page);
    });
}

/// Adds the message to the page, with the place that programs get.
pub(crate) fn write_message(out: &mut String, what: &str, text: &str, overrides: &[(String, String)]) {
    let Err(error) = Scenario::parse(text, "base.toml", overrides) else { panic!("{what}: no error") };
    let (line, column, key) = (error.line, error.column, &error.key);
    write!(out, "# {what} (line {line}, column {column}, key `{key}`)\n{error}\n\n").unwrap();
    assert!(line >= 1 && line <= text.lines().count() + 1, "{what}: line {line}");
}
