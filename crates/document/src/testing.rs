//! Changes of a file's text, for tests.

/// `text` with `new` for each `old`, which has to be there: a test that changes nothing shows nothing.
///
/// # Panics
/// The text lacks `old`.
#[must_use]
#[track_caller]
pub fn edited(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "the text lacks {old}");
    text.replace(old, new)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_place_is_changed() {
        assert_eq!(super::edited("a = 1, b = 1", "= 1", "= 2"), "a = 2, b = 2");
    }

    #[test]
    #[should_panic(expected = "the text lacks = 3")]
    fn a_change_of_nothing_is_a_mistake() {
        let _ = super::edited("a = 1", "= 3", "= 2");
    }
}
