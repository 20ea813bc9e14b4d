//! Any bytes are survived: random ones, chunks of random contents, and packets with bytes overwritten and cut.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::samples::{chunks, packet};
use crate::survive::survive_input;

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sctp_packet");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 100);
    for input in inputs {
        survive_input(&input);
    }
}

/// A chunk with a right length and padding, of any type and value.
fn framed(kind: u8, flags: u8, value: &[u8]) -> Vec<u8> {
    let len = (4 + value.len() as u16).to_be_bytes();
    let mut chunk = [&[kind, flags], &len[..], value].concat();
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    chunk
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        survive_input(&bytes);
    }

    #[test]
    fn chunks_of_any_contents_are_survived(
        chunks in vec((prop_oneof![0..16_u8, any::<u8>()], any::<u8>(), vec(0..9_u8, 0..60)), 1..5),
    ) {
        let mut bytes = vec![0; 12];
        for (kind, flags, value) in chunks {
            bytes.extend(framed(kind, flags, &value));
        }
        survive_input(&bytes);
    }

    #[test]
    fn damaged_packets_are_survived(
        which in vec(0..14_usize, 1..4),
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in any::<Index>(),
    ) {
        let all = chunks();
        let mut input = packet(which.iter().map(|&n| all[n].clone()).collect()).emit().unwrap().to_vec();
        for (at, byte) in damage {
            let at = at.index(input.len());
            input[at] = byte;
        }
        survive_input(&input);
        survive_input(&input[..cut.index(input.len())]);
    }
}
