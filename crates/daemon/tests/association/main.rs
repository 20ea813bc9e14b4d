//! The fuzzer's corpus, on a stable compiler.

mod survive;

use std::fs;
use std::path::Path;

use handfast_daemon::association::LONGEST_LINE;

#[test]
fn the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/association_line");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() >= 18);
    for input in inputs {
        survive::survive_input(&input);
    }
}

#[test]
fn long_lines_are_survived() {
    let key = |len| format!("{{\"{}\": 1}}", "\u{1}".repeat(len)).replace('\u{1}', "\\u0001");
    for len in [1, 600, LONGEST_LINE] {
        survive::survive_input(key(len).as_bytes());
    }
}
