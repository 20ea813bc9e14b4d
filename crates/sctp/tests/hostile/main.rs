//! A peer that obeys no rule makes an association neither panic, nor grow, nor wait for ever.

mod attack;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sctp_association");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 100);
    for input in inputs {
        attack::run(&input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_script_is_survived(script in vec(any::<u8>(), 0..800)) {
        attack::run(&script);
    }
}
