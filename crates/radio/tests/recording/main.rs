//! Recorded movement from anybody: every entry of the fuzz target's corpus.

mod survive;

use std::path::Path;

#[test]
fn the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/recording");
    let mut entries = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        survive::survive_input(&std::fs::read(entry.unwrap().path()).unwrap());
        entries += 1;
    }
    assert!(entries >= 5, "only {entries} entries in {}", corpus.display());
}
