//! Any bytes are survived: random ones, packets with bytes overwritten and cut, and what the fuzzer has found.

use std::fs;
use std::path::Path;

use handfast_wire::sdtp::{Sdtp, Seal};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::samples::{between_edges, emit, messages, sdtp};
use crate::survive::survive_input;

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sdtp_packet");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 30);
    for input in inputs {
        survive_input(&input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        survive_input(&bytes);
    }

    #[test]
    fn damaged_packets_are_survived(
        which in 0..6_usize,
        sealed in any::<bool>(),
        carriage in 0..3_u8,
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in any::<Index>(),
    ) {
        let message = messages()[which].clone();
        let seal = sealed.then_some(Seal { node: 1, counter: 2, tag: [3; 16] });
        let mut input = vec![carriage];
        input.extend(emit(&between_edges(Sdtp { seal, ..sdtp(message) })));
        for (at, byte) in damage {
            let at = 1 + at.index(input.len() - 1);
            input[at] = byte;
        }
        survive_input(&input);
        survive_input(&input[..cut.index(input.len())]);
    }
}
