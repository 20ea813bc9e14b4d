//! No text makes a reader of traces fail: the corpus of the fuzz target, and texts drawn at random.

mod survive;

use proptest::prelude::*;

#[test]
fn the_corpus_survives() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/trace");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        survive::survive_input(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

proptest! {
    #[test]
    fn any_text_survives(text in "(time_s,rate_mbps,delay_ms,loss|time_us,rate_bps|)\n?([0-9]{0,9}[-.,e\n#\"x]?){0,40}") {
        survive::survive_input(text.as_bytes());
    }
}
